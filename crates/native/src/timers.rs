// SPDX-License-Identifier: GPL-2.0-or-later
//! Sleeps and the slack of timers.

use crate::cpus::run_on;
use crate::exchange::timed;
use fairlab_workload::bench::micro::SLEEP;
use std::io;
use std::thread::sleep;
use std::time::Duration;

/// Returns the duration of `rounds` sleeps of 200 us on a CPU, in nanoseconds.
pub(crate) fn sleeps(rounds: u64, cpu: u32) -> io::Result<f64> {
    run_on(&[cpu], || {
        timed(rounds, || {
            sleep(Duration::from_nanos(SLEEP.0));
            Ok(())
        })
    })
}

/// Returns the timer slack of a thread: timers may expire this much later, in nanoseconds.
pub(crate) fn slack_ns() -> io::Result<u64> {
    Ok(rustix::thread::current_timer_slack()?)
}
