// SPDX-License-Identifier: GPL-2.0-or-later
//! Accounting of run-delay and running time: the kernel's `struct sched_info`.
//!
//! Models `sched_info_switch()` with `sched_info_depart()` and `sched_info_arrive()` (6.1).

use crate::state::State;
use crate::state::task::TaskState;
use crate::types::ids::{CpuId, TaskId};

impl State {
    /// Accounts waiting and running time at a context switch, except for the idle task:
    /// `sched_info_switch()`.
    pub(crate) fn sched_info_switch(&mut self, cpu: CpuId, prev: TaskId, next: TaskId) {
        let rq = &mut self.rqs[cpu];
        let now = rq.clock;
        if prev != rq.idle {
            let p = &mut self.tasks[prev];
            rq.stats.rq_cpu_time += now.wrapping_sub(p.info.last_arrival);
            if p.state == TaskState::Running && p.info.last_queued == 0 {
                p.info.last_queued = now;
            }
        }
        if next != rq.idle {
            let info = &mut self.tasks[next].info;
            if info.last_queued != 0 {
                let delay = now.wrapping_sub(info.last_queued);
                info.last_queued = 0;
                info.run_delay = info.run_delay.wrapping_add(delay);
                info.last_arrival = now;
                info.pcount += 1;
                rq.stats.run_delay = rq.stats.run_delay.wrapping_add(delay);
                rq.stats.pcount += 1;
            }
        }
    }
}
