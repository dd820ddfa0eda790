// SPDX-License-Identifier: GPL-2.0-or-later
//! Wakee flips: a task that wakes many different tasks does not pull them to its CPU.
//!
//! Models `record_wakee()` and `wake_wide()` (6.1).

use crate::state::State;
use crate::types::ids::{CpuId, TaskId};

impl State {
    /// Records that the running task of a CPU wakes `wakee` (`record_wakee()`).
    ///
    /// Rules, in order:
    /// 1. The flip count is halved at the first wake-up after more than a second.
    /// 2. A wakee other than the last one counts as a flip.
    ///
    /// The time stamp of a new task is before all jiffies of a run (the kernel's jiffies start far above 0),
    /// so its first wake-up always sets the stamp.
    pub(crate) fn record_wakee(&mut self, this_cpu: CpuId, wakee: TaskId) {
        let (now, second) = (self.jiffies, self.hz);
        let waker = &mut self.tasks[self.rqs[this_cpu].curr];
        if waker.wakee_flip_decay_ts == 0 || now > waker.wakee_flip_decay_ts + second {
            waker.wakee_flips >>= 1;
            waker.wakee_flip_decay_ts = now;
        }
        if waker.last_wakee != Some(wakee) {
            waker.last_wakee = Some(wakee);
            waker.wakee_flips += 1;
        }
    }

    /// Whether the running task of a CPU and the wakee are in a one-to-many relation that is too wide for one
    /// cache (`wake_wide()`).
    pub(crate) fn wake_wide(&self, this_cpu: CpuId, wakee: TaskId) -> bool {
        let waker = &self.tasks[self.rqs[this_cpu].curr];
        let llc_size = self.domains.cpus[this_cpu].sd_llc_size;
        is_wide(waker.wakee_flips, self.tasks[wakee].wakee_flips, llc_size)
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
