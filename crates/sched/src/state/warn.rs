// SPDX-License-Identifier: GPL-2.0-or-later
//! What the complaints of [`crate::track::warn`] have to remember.

/// What the complaints need to remember of a runqueue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RqWarn {
    /// The section of the lock in which the clock was updated last.
    pub(crate) clock_section: u64,
    /// When a tick saw first that the CPU has to reschedule: `last_seen_need_resched_ns`; 0: it has not.
    pub(crate) resched_seen_ns: u64,
    /// How many ticks have seen it since: `ticks_without_resched`.
    pub(crate) ticks: u32,
}

/// What they need to remember of all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WarnState {
    /// Grows with each lock that is taken. From 1 on, so that no clock counts as updated in the first.
    pub(crate) lock_section: u64,
    /// There was a complaint about latency.
    pub(crate) has_warned_latency: bool,
}

impl WarnState {
    /// A lock is taken.
    #[inline]
    pub(crate) fn begin_section(&mut self) {
        self.lock_section += 1;
    }
}
