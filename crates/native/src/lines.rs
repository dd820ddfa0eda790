// SPDX-License-Identifier: GPL-2.0-or-later
//! Latency of a cache line between two CPUs.

use crate::cpus::{join, restrict_to};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
use std::{io, thread};

/// Round trips of one measurement, and those before it.
const ROUNDS: u32 = 2000;
const WARM_UP: u32 = 200;

/// Number of a thread that cannot go on.
const ABORTED: u32 = u32::MAX;

/// A word alone on its cache lines, so that nothing else moves with it.
#[repr(align(256))]
struct Line(AtomicU32);

/// Returns the time that a line takes from one CPU to the other, in nanoseconds: half of a round trip in which each CPU
/// waits for the other one's write.
pub(crate) fn latency(first: u32, second: u32) -> io::Result<f64> {
    let line = Line(AtomicU32::new(0));
    let turn = &line.0;
    thread::scope(|scope| {
        let peer = scope.spawn(|| {
            let pinned = restrict_to(&[second]);
            if pinned.is_err() {
                turn.store(ABORTED, Ordering::Release);
            }
            for round in 0..if pinned.is_ok() { ROUNDS + WARM_UP } else { 0 } {
                if !wait_for(turn, 2 * round + 1) {
                    break;
                }
                turn.store(2 * round + 2, Ordering::Release);
            }
            pinned
        });
        let measured = scope.spawn(|| {
            let pinned = restrict_to(&[first]);
            if pinned.is_err() {
                turn.store(ABORTED, Ordering::Release);
            }
            pinned?;
            let mut begun = Instant::now();
            for round in 0..ROUNDS + WARM_UP {
                if round == WARM_UP {
                    begun = Instant::now();
                }
                turn.store(2 * round + 1, Ordering::Release);
                if !wait_for(turn, 2 * round + 2) {
                    break;
                }
            }
            Ok(begun.elapsed().as_nanos() as f64 / f64::from(ROUNDS) / 2.0)
        });
        let (measured, peer) = (join(measured), join(peer));
        peer.and(measured)
    })
}

/// Spins until the word has a number. Returns false if the other thread cannot go on.
fn wait_for(turn: &AtomicU32, number: u32) -> bool {
    loop {
        match turn.load(Ordering::Acquire) {
            ABORTED => return false,
            seen if seen == number => return true,
            _ => spin_loop(),
        }
    }
}
