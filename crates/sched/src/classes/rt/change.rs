// SPDX-License-Identifier: GPL-2.0-or-later
//! Consequences of policy and priority changes for the real-time class.
//!
//! Models `switched_to_rt()`, `switched_from_rt()` and `prio_changed_rt()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::callbacks::BalanceCallback;
use crate::state::prio::Prio;
use crate::state::rq::Rq;
use crate::state::task::{Task, Tasks};
use crate::types::ids::TaskId;

impl State {
    /// Handles a task that has entered the class. If it runs, its time counts as real-time from now on; if it
    /// waits, it may preempt or be pushed.
    pub(crate) fn switched_to_rt(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let p = &self.tasks[task];
        let (cpu, prio, may_migrate) = (p.cpu, p.prio(), p.nr_cpus_allowed > 1);
        let rq = &self.rqs[cpu];
        if rq.curr == task {
            self.rqs[cpu].update_rt_rq_load_avg(ctx, &self.tunables, false);
        } else if p.is_queued() {
            let is_more_important = prio < self.tasks[rq.curr].prio();
            if may_migrate && rq.rt.overloaded() {
                self.rqs[cpu].queue_push_tasks();
            }
            if is_more_important {
                self.resched_curr(ctx, cpu);
            }
        }
    }
}

impl Rq {
    /// Handles a runnable task that has left the class. If it was the last one here, tasks may be pulled.
    pub(crate) fn switched_from_rt(&mut self, p: &Task) {
        if p.is_queued() && self.rt.nr_running() == 0 {
            self.callbacks.queue(BalanceCallback::RtPull);
        }
    }

    /// Handles a task whose priority was `old`. If it runs and its priority fell, a task that waits here or
    /// on another CPU may preempt it; if it waits, it may preempt. Returns whether the CPU must reschedule.
    pub(crate) fn prio_changed_rt(&mut self, tasks: &Tasks, task: TaskId, old: Prio) -> bool {
        let p = &tasks[task];
        if !p.is_queued() {
            return false;
        }
        let prio = p.prio();
        if self.curr != task {
            return prio < tasks[self.curr].prio();
        }
        if old < prio {
            self.callbacks.queue(BalanceCallback::RtPull);
        }
        prio > self.rt.highest_curr()
    }
}
