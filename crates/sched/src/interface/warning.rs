// SPDX-License-Identifier: GPL-2.0-or-later
//! Warnings of the scheduler about its own state.

/// A warning of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The clock of a runqueue was updated twice under one lock, so the time between the updates is charged
    /// to no task.
    DoubleClock,
    /// A CPU has not rescheduled for a long time although it should have.
    ReschedLatency {
        /// Time since a tick first found `TIF_NEED_RESCHED` set, in ns.
        latency_ns: u64,
        /// Number of ticks that have found it set since.
        ticks: u32,
    },
}
