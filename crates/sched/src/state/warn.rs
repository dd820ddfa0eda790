// SPDX-License-Identifier: GPL-2.0-or-later
//! State that the warnings of [`crate::track::warn`] need.

use crate::types::getters::getters;

/// State of a runqueue that the warnings need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RqWarn {
    /// Lock section in which the clock was updated last.
    clock_section: u64,
    /// Time at which a tick first saw that the CPU has to reschedule, in ns: `last_seen_need_resched_ns`; 0
    /// if none has.
    resched_seen_ns: u64,
    /// Number of ticks that have seen it since: `ticks_without_resched`.
    ticks: u32,
}

impl RqWarn {
    /// Records a clock update in a lock section. Returns whether it is the second one of that section.
    #[inline]
    pub(crate) fn is_second_update(&mut self, section: u64) -> bool {
        core::mem::replace(&mut self.clock_section, section) == section && section > 0
    }

    /// Records at a tick that the CPU has to reschedule. Returns the time since the first such tick, in ns, and the
    /// number of ticks since; `None` for the first one.
    pub(crate) fn see_resched(&mut self, now: u64) -> Option<(u64, u32)> {
        if self.resched_seen_ns == 0 {
            (self.resched_seen_ns, self.ticks) = (now, 0);
            return None;
        }
        self.ticks += 1;
        Some((now - self.resched_seen_ns, self.ticks))
    }

    /// Clears the record of a pending reschedule, because `schedule()` has picked a task.
    #[inline]
    pub(crate) fn end_resched(&mut self) {
        self.resched_seen_ns = 0;
    }
}

/// Machine-wide state that the warnings need.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WarnState {
    /// Number of locks taken so far. From 1 on, so that no clock counts as updated in the first section.
    lock_section: u64,
    /// Whether a latency warning was reported.
    pub(crate) has_warned_latency: bool,
}

impl WarnState {
    getters!(lock_section: u64);

    /// Begins the section of a lock that has just been taken.
    #[inline]
    pub(crate) fn begin_section(&mut self) {
        self.lock_section += 1;
    }
}
