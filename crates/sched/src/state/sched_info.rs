// SPDX-License-Identifier: GPL-2.0-or-later
//! Accounting of run-delay and running time: the kernel's `struct sched_info`.
//!
//! Models `sched_info_switch()` with `sched_info_depart()` and `sched_info_arrive()` (6.1).

use crate::state::rq::Rq;
use crate::state::task::{TaskState, Tasks};
use crate::types::ids::TaskId;

impl Rq {
    /// Accounts waiting and running time at a context switch, except for the idle task:
    /// `sched_info_switch()`.
    pub(crate) fn sched_info_switch(&mut self, tasks: &mut Tasks, prev: TaskId, next: TaskId) {
        let now = self.clock;
        if prev != self.idle {
            let p = &mut tasks[prev];
            self.stats.rq_cpu_time += now.wrapping_sub(p.info.last_arrival);
            if p.state == TaskState::Running && p.info.last_queued == 0 {
                p.info.last_queued = now;
            }
        }
        if next != self.idle {
            let info = &mut tasks[next].info;
            if info.last_queued != 0 {
                let delay = now.wrapping_sub(info.last_queued);
                info.last_queued = 0;
                info.run_delay = info.run_delay.wrapping_add(delay);
                info.last_arrival = now;
                info.pcount += 1;
                self.stats.run_delay = self.stats.run_delay.wrapping_add(delay);
                self.stats.pcount += 1;
            }
        }
    }
}
