// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs of the tests that a simulated machine runs as well.

use crate::cpus::run_on;
use crate::exchange::{WARM_UP, pass, ping_pong, repeat, timed};
use crate::messaging::messaging;
use crate::timers::sleeps;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::micro::{Micro, MicroTest, Placement};
use std::hint::black_box;
use std::{io, thread};

/// Runs a test, and returns the duration of one operation in nanoseconds.
pub(crate) fn run(micro: Micro) -> io::Result<f64> {
    let Micro { test, rounds, cpus, .. } = micro;
    let first = cpus[0];
    let elapsed = match test {
        MicroTest::EmptyCall => run_on(&[first], || {
            timed(rounds, || {
                black_box(rustix::process::getppid());
                Ok(())
            })
        }),
        MicroTest::Yield => run_on(&[first], || {
            timed(rounds, || {
                rustix::thread::sched_yield();
                Ok(())
            })
        }),
        MicroTest::Pass(transport) => pass(transport, rounds, first),
        MicroTest::PingPong(transport, Placement::OneCpu) => ping_pong(transport, rounds, [first, first]),
        MicroTest::PingPong(transport, Placement::TwoCpus) => ping_pong(transport, rounds, cpus),
        MicroTest::Sleep => sleeps(rounds, first),
        MicroTest::Thread => run_on(&[first], || {
            repeat(WARM_UP.min(rounds), create_thread)?;
            timed(rounds, create_thread)
        }),
        MicroTest::Messaging(transport) => messaging(transport, rounds),
    }?;
    Ok(micro.per_operation_ns(Nanos(elapsed as u64)))
}

/// Creates a thread that ends at once, and waits for it.
fn create_thread() -> io::Result<()> {
    let thread = thread::Builder::new().stack_size(16 << 10).spawn(|| {})?;
    thread.join().map_err(|_| io::Error::other("a thread without content has panicked"))
}
