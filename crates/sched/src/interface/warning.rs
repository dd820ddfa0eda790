// SPDX-License-Identifier: GPL-2.0-or-later
//! Complaints of the scheduler about itself.

/// A complaint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The clock of a runqueue was updated twice under one lock, so the time between belongs to nobody.
    DoubleClock,
    /// A CPU has not rescheduled for long though it should have.
    ReschedLatency {
        /// How long, since a tick saw it first, in ns.
        latency_ns: u64,
        /// How many ticks have seen it since.
        ticks: u32,
    },
}
