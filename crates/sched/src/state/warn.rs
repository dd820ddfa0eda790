// SPDX-License-Identifier: GPL-2.0-or-later
//! State that the warnings of [`crate::track::warn`] need.

/// State of a runqueue that the warnings need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RqWarn {
    /// Lock section in which the clock was updated last.
    pub(crate) clock_section: u64,
    /// Time at which a tick first saw that the CPU has to reschedule, in ns: `last_seen_need_resched_ns`; 0
    /// if none has.
    pub(crate) resched_seen_ns: u64,
    /// Number of ticks that have seen it since: `ticks_without_resched`.
    pub(crate) ticks: u32,
}

/// Machine-wide state that the warnings need.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WarnState {
    /// Number of locks taken so far. From 1 on, so that no clock counts as updated in the first section.
    pub(crate) lock_section: u64,
    /// Whether a latency warning was reported.
    pub(crate) has_warned_latency: bool,
}

impl WarnState {
    /// Begins the section of a lock that has just been taken.
    #[inline]
    pub(crate) fn begin_section(&mut self) {
        self.lock_section += 1;
    }
}
