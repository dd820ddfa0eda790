// SPDX-License-Identifier: GPL-2.0-or-later
//! Wakee flips: a task that wakes many different tasks does not pull them to its CPU.
//!
//! Models `record_wakee()` and `wake_wide()` (6.1).

use crate::state::task::Task;
use crate::types::ids::TaskId;

impl Task {
    /// Records that the task wakes `wakee` at the jiffy `now` (`record_wakee()`).
    ///
    /// Rules, in order:
    /// 1. The flip count is halved at the first wake-up after more than a second.
    /// 2. A wakee other than the last one counts as a flip.
    ///
    /// The time stamp of a new task is before all jiffies of a run (the kernel's jiffies start far above 0),
    /// so its first wake-up always sets the stamp.
    pub(crate) fn record_wakee(&mut self, wakee: TaskId, now: u64, second: u64) {
        if self.wakee_flip_decay_ts == 0 || now > self.wakee_flip_decay_ts + second {
            self.wakee_flips >>= 1;
            self.wakee_flip_decay_ts = now;
        }
        if self.last_wakee != Some(wakee) {
            self.last_wakee = Some(wakee);
            self.wakee_flips += 1;
        }
    }

    /// Whether the task and a wakee are in a one-to-many relation that is too wide for one
    /// cache (`wake_wide()`).
    pub(crate) fn wake_wide(&self, wakee: &Self, llc_size: u32) -> bool {
        is_wide(self.wakee_flips, wakee.wakee_flips, llc_size)
    }
}

/// Whether the smaller flip count reaches the number of CPUs of the cache, and the larger one is at least
/// that many times larger.
fn is_wide(a: u32, b: u32, llc_size: u32) -> bool {
    let (master, slave) = (a.max(b), a.min(b));
    // The kernel's product wraps; no flip count comes near the limit.
    slave >= llc_size && master >= slave.wrapping_mul(llc_size)
}

#[cfg(test)]
mod tests {
    use super::is_wide;

    #[test]
    fn a_relation_is_wide_if_one_flips_per_cpu_and_the_other_as_often_again_for_each() {
        assert!(is_wide(64, 8, 8));
        assert!(is_wide(8, 64, 8));
        assert!(!is_wide(63, 8, 8));
        assert!(!is_wide(1000, 7, 8));
        assert!(!is_wide(0, 0, 1));
        assert!(is_wide(1, 1, 1));
    }
}
