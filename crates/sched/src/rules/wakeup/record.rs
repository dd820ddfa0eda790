// SPDX-License-Identifier: GPL-2.0-or-later
//! Who wakes whom: tasks that wake many others are not pulled together.
//!
//! Models `record_wakee()` and `wake_wide()` (6.1).

use crate::state::State;
use crate::types::ids::{CpuId, TaskId};

impl State {
    /// Notes whom the running task of a CPU wakes.
    ///
    /// Rules, in order:
    /// 1. What it has counted is halved when it wakes for the first time after a second or longer.
    /// 2. Another task than the last one counts as a flip.
    ///
    /// A new task's stamp lies before all jiffies of a run (the kernel counts them from a number far above 0), so its
    /// first wake-up always sets it.
    pub(crate) fn record_wakee(&mut self, this_cpu: CpuId, wakee: TaskId) {
        let (now, second) = (self.jiffies, self.hz);
        let waker = &mut self.tasks[self.rqs[this_cpu.index()].curr.index()];
        if waker.wakee_flip_decay_ts == 0 || now > waker.wakee_flip_decay_ts + second {
            waker.wakee_flips >>= 1;
            waker.wakee_flip_decay_ts = now;
        }
        if waker.last_wakee != Some(wakee) {
            waker.last_wakee = Some(wakee);
            waker.wakee_flips += 1;
        }
    }

    /// Whether the running task of a CPU and the one that it wakes stand in a one-to-many relation that is too wide for
    /// one cache: `wake_wide()`.
    pub(crate) fn wake_wide(&self, this_cpu: CpuId, wakee: TaskId) -> bool {
        let waker = &self.tasks[self.rqs[this_cpu.index()].curr.index()];
        let llc_size = self.domains.cpus[this_cpu.index()].sd_llc_size;
        is_wide(waker.wakee_flips, self.tasks[wakee.index()].wakee_flips, llc_size)
    }
}

/// Whether even the one that flips less often flips for each CPU of the cache, and the other one that many times more often.
fn is_wide(a: u32, b: u32, llc_size: u32) -> bool {
    let (master, slave) = (a.max(b), a.min(b));
    // The kernel's product wraps; no count of flips comes near that.
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
