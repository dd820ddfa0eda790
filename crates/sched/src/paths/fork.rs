// SPDX-License-Identifier: GPL-2.0-or-later
//! Creating tasks, and the first utilisation of a new one.
//!
//! Models `sched_fork()`, `sched_cgroup_fork()`, `wake_up_new_task()`, `init_entity_runnable_average()` and
//! `post_init_entity_util_avg()` (6.1).

#[cfg(test)]
mod golden_tests;

use crate::classes::fair::enqueue::EnqueueFlags;
use crate::paths::wake::PendingWakeup;
use crate::state::new_task::NewTask;
use crate::state::sched::Sched;
use crate::state::task::{SchedClass, TaskState};
use crate::told::ctx::Ctx;
use crate::told::probe::Event;
use crate::told::wakeup::WakeFlags;
use crate::words::ids::{CpuId, TaskId};
use crate::words::work::Op;

impl Sched {
    /// Forks a task on the CPU that executes this, as a child of whatever runs there, and lets it run where its class
    /// chooses.
    pub fn handle_fork(&mut self, ctx: &mut Ctx<'_>, new: NewTask) -> TaskId {
        let pending = self.begin_fork(ctx, new);
        self.finish_wakeup(ctx, pending);
        pending.task()
    }

    /// The first phase of a fork: the task is made and a CPU is selected. [`Sched::finish_wakeup`] enqueues it there.
    pub fn begin_fork(&mut self, ctx: &mut Ctx<'_>, new: NewTask) -> PendingWakeup {
        let task = self.fork_task(ctx, new);
        self.select_for_new_task(ctx, task)
    }

    /// Creates a task that is not runnable yet.
    pub(crate) fn fork_task(&mut self, ctx: &mut Ctx<'_>, new: NewTask) -> TaskId {
        ctx.charge(Op::Fork);
        let has_uclamp = new.uclamp.is_some();
        let task = self.new_task(new, ctx.cpu);
        if self.tasks[task.index()].class == SchedClass::Fair {
            self.task_fork_fair(ctx, ctx.cpu, task);
        }
        if has_uclamp {
            // Clamps are set as those of any task, under the lock of its runqueue.
            self.release_rq_locks();
            self.update_rq_clock(ctx, ctx.cpu);
            self.uclamp_used = true;
        }
        task
    }

    /// Chooses the first CPU of a new task: the first half of `wake_up_new_task()`.
    fn select_for_new_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> PendingWakeup {
        self.tasks[task.index()].state = TaskState::Running;
        let parent_cpu = self.tasks[task.index()].cpu;
        self.tasks[task.index()].recent_used_cpu = parent_cpu;
        let flags = WakeFlags { fork: true, ..WakeFlags::default() };
        let cpu = self.select_task_rq(ctx, task, parent_cpu, flags);
        self.place_task_on(ctx, task, cpu);
        self.tasks[task.index()].in_wakeup = true;
        PendingWakeup::of_new_task(task, cpu)
    }

    /// Puts a new task on its runqueue: the second half of `wake_up_new_task()`.
    pub(crate) fn enqueue_new_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId, cpu: CpuId) {
        self.release_rq_locks();
        self.update_rq_clock(ctx, cpu);
        self.post_init_entity_util_avg(task);
        self.activate_task(ctx, cpu, task, EnqueueFlags::default());
        ctx.report(Event::Wakeup { task, cpu, is_new: true, on: ctx.cpu });
        self.check_preempt_curr(ctx, cpu, task, true);
        self.task_woken(ctx, cpu, task);
    }

    /// Guesses the utilisation of a new task.
    ///
    /// Rules: as much of the cfs_rq's utilisation as its weight is of the load, but at the most half of the capacity that
    /// is still free; that half if the cfs_rq has no utilisation yet. Other classes start with nothing.
    pub(crate) fn post_init_entity_util_avg(&mut self, task: TaskId) {
        let p = &self.tasks[task.index()];
        let (is_fair, entity) = (p.class == SchedClass::Fair, p.se);
        let cfs_rq = self.entities[entity.index()].cfs_rq;
        if !is_fair {
            self.entities[entity.index()].avg.last_update_time = self.cfs_rq_clock_pelt(cfs_rq);
            return;
        }
        let queue = &self.cfs_rqs[cfs_rq.index()];
        let capacity = self.rqs[queue.cpu.index()].cpu_capacity_orig;
        let se = &mut self.entities[entity.index()];
        se.avg.util_avg = first_util(capacity, queue.avg.util_avg, queue.avg.load_avg, se.load.weight, se.avg.util_avg);
        se.avg.runnable_avg = se.avg.util_avg;
    }
}

/// The first utilisation of a task on a cfs_rq, or what it has if no capacity is free.
pub(crate) fn first_util(capacity: u64, cfs_util: u64, cfs_load: u64, weight: u64, own: u64) -> u64 {
    let most = (capacity as i64 - cfs_util as i64) / 2;
    if most <= 0 {
        return own;
    }
    if cfs_util == 0 { most as u64 } else { (cfs_util * weight / (cfs_load + 1)).min(most as u64) }
}
