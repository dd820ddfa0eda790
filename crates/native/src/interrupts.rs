// SPDX-License-Identifier: GPL-2.0-or-later
//! Interrupts between CPUs, and wake-ups of idle CPUs.

use crate::cpus::{join, restrict_to};
use crate::exchange::{repeat, timed};
use crate::transport::connect;
use fairlab_workload::bench::micro::Transport;
use rustix::thread::{MembarrierCommand, membarrier};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

/// Returns the duration of an interrupt to a busy CPU and its answer, in nanoseconds: `membarrier()` waits until the CPUs
/// that run threads of the process have executed its interrupt.
pub(crate) fn round_trip(rounds: u64, cpus: [u32; 2]) -> io::Result<f64> {
    membarrier(MembarrierCommand::RegisterPrivateExpedited)?;
    let (is_up, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let target = scope.spawn(|| {
            let pinned = restrict_to(&cpus[1..]);
            is_up.store(true, Ordering::Release);
            while !is_over.load(Ordering::Acquire) {
                spin_loop();
            }
            pinned
        });
        let measured = scope.spawn(|| {
            let measured = restrict_to(&cpus[..1]).and_then(|()| {
                while !is_up.load(Ordering::Acquire) {
                    spin_loop();
                }
                let mut barrier = || Ok(membarrier(MembarrierCommand::PrivateExpedited)?);
                repeat(20, &mut barrier)?;
                timed(rounds, barrier)
            });
            is_over.store(true, Ordering::Release);
            measured
        });
        let (measured, target) = (join(measured), join(target));
        target.and(measured).map(|ns| ns / rounds as f64)
    })
}

/// Returns the median time from the start of a wake-up until the woken thread runs on the other CPU, in nanoseconds,
/// after that CPU has been idle for a while.
pub(crate) fn wake_up_after_idle(idle: Duration, rounds: u32, cpus: [u32; 2]) -> io::Result<f64> {
    let (here, there) = connect(Transport::Futex)?;
    let origin = Instant::now();
    // Times in nanoseconds after the origin fit 32 bits, since a measurement takes less than four seconds.
    let now = || origin.elapsed().as_nanos() as u32;
    let (sent, received) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        let woken = scope.spawn(|| {
            restrict_to(&cpus[1..])?;
            let mut latencies = Vec::new();
            repeat(rounds.into(), || {
                there.receive()?;
                latencies.push(now().wrapping_sub(sent.load(Ordering::Acquire)));
                received.fetch_add(1, Ordering::Release);
                Ok(())
            })?;
            latencies.sort_unstable();
            Ok(latencies)
        });
        let waker = scope.spawn(|| {
            restrict_to(&cpus[..1])?;
            (0..rounds).try_for_each(|round| {
                // A message that is sent before the previous one has arrived would replace it.
                while received.load(Ordering::Acquire) < round {
                    spin_loop();
                }
                // The waker stays busy, so that only the other CPU leaves an idle state.
                let until = Instant::now() + idle;
                while Instant::now() < until {
                    spin_loop();
                }
                sent.store(now(), Ordering::Release);
                here.send()
            })
        });
        let (waker, latencies): (io::Result<()>, io::Result<Vec<u32>>) = (join(waker), join(woken));
        waker?;
        let latencies = latencies?;
        Ok(f64::from(latencies[latencies.len() / 2]))
    })
}
