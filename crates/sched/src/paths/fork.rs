// SPDX-License-Identifier: GPL-2.0-or-later
//! Creation of tasks.
//!
//! Models `sched_fork()`, `sched_cgroup_fork()`, `wake_up_new_task()`, `init_entity_runnable_average()` and
//! `post_init_entity_util_avg()` (6.1).

#[cfg(test)]
mod golden_tests;

use crate::classes::fair::enqueue::EnqueueFlags;
use crate::interface::ctx::Ctx;
use crate::interface::probe::{Event, LagMoment};
use crate::paths::sched::Sched;
use crate::state::State;
use crate::state::new_task::NewTask;
use crate::state::task::{SchedClass, TaskState};
use crate::types::ids::{CpuId, TaskId};
use crate::types::units::Nanos;
use crate::types::work::KernelOp;

impl Sched {
    /// Forks a task on the executing CPU, as a child of the current task. The class of the new task selects
    /// its CPU.
    pub fn handle_fork(&mut self, ctx: &mut Ctx<'_>, new: NewTask) -> TaskId {
        let task = self.fork_task(ctx, new);
        let p = &mut self.tasks[task];
        (p.state, p.recent_used_cpu) = (TaskState::Running, p.cpu);
        self.wake_up_new_task(ctx, task);
        task
    }

    /// Creates a task that is not runnable yet.
    pub(crate) fn fork_task(&mut self, ctx: &mut Ctx<'_>, new: NewTask) -> TaskId {
        ctx.charge(KernelOp::Fork);
        let (has_uclamp, slice) = (new.uclamp.is_some(), new.slice.unwrap_or_default());
        let task = self.new_task(new, ctx.cpu);
        self.report_priority(ctx, task);
        if self.tasks[task].class == SchedClass::Fair {
            let State { tasks, domains, rqs, .. } = &mut self.state;
            tasks[task].set_max_allowed_capacity(domains, rqs);
            if !self.rules.places_new_task_on_enqueue {
                let rq = self.rq_lock(ctx.cpu);
                self.task_fork_fair(ctx, &rq, task);
            }
        }
        if has_uclamp {
            // The clamps are set under the runqueue lock, like those of an existing task.
            let _rq = self.rq_lock_clocked(ctx, ctx.cpu);
            self.uclamp_used = true;
        }
        if slice > Nanos::ZERO {
            // A task without a fair policy keeps the kernel's slice.
            let _refused = self.set_slice(ctx, task, slice).is_err();
        }
        task
    }

    /// Enqueues a new task: the second half of `wake_up_new_task()`.
    pub(crate) fn enqueue_new_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId, cpu: CpuId) {
        let rq = self.rq_lock_clocked(ctx, cpu);
        self.state.fair.post_init_entity_util_avg(&self.state.rqs, &self.state.rules, &self.state.tasks[task]);
        self.activate_task(ctx, &rq, task, EnqueueFlags { is_paid: true, initial: true, ..EnqueueFlags::default() });
        ctx.report(Event::Wakeup { task, cpu, is_new: true, on: ctx.cpu });
        self.report_lags(ctx, task, LagMoment::Wakeup);
        self.check_preempt_curr(ctx, &rq, task, true);
        self.task_woken(ctx, cpu, task);
    }
}
