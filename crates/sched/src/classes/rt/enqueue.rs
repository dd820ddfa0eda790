// SPDX-License-Identifier: GPL-2.0-or-later
//! Enqueue and dequeue of real-time tasks, and their counts.
//!
//! Models `enqueue_task_rt()`, `dequeue_task_rt()`, `inc_rt_tasks()`, `dec_rt_tasks()`, `enqueue_top_rt_rq()`
//! and `dequeue_top_rt_rq()` (6.1).

use crate::classes::fair::enqueue::{DequeueFlags, EnqueueFlags};
use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::prio::Prio;
use crate::state::rt::NO_PRIO;
use crate::state::rt::cpupri::CpuLevel;
use crate::types::ids::{CpuId, TaskId};
use crate::types::work::KernelOp;

impl State {
    /// Enqueues a real-time task: at the tail of its priority, at the head if its priority was lowered, or at
    /// its old position if it was dequeued only briefly.
    pub(crate) fn enqueue_task_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, flags: EnqueueFlags) {
        flags.charge(ctx);
        let nr_before = self.rqs[cpu].rt.nr_running;
        self.dequeue_top_rt_rq(cpu, nr_before);
        if !flags.restore || flags.moved {
            self.rqs[cpu].rt.queues.insert(&mut self.tasks, task, flags.head);
        }
        self.inc_rt_tasks(ctx, cpu, task);
        self.enqueue_top_rt_rq(ctx, cpu);
        if self.rqs[cpu].curr != task {
            self.enqueue_pushable_task(cpu, task);
        }
    }

    /// Dequeues a real-time task. A task that returns to its position stays in its queue, but is not counted
    /// meanwhile.
    pub(crate) fn dequeue_task_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, flags: DequeueFlags) {
        ctx.charge(KernelOp::Dequeue);
        self.update_curr_rt(ctx, cpu);
        let nr_before = self.rqs[cpu].rt.nr_running;
        if !flags.save || flags.moved {
            self.rqs[cpu].rt.queues.remove(&mut self.tasks, task);
        }
        self.dec_rt_tasks(cpu, task);
        self.dequeue_top_rt_rq(cpu, nr_before);
        self.enqueue_top_rt_rq(ctx, cpu);
        self.dequeue_pushable_task(cpu, task);
    }

    /// Moves a task to the tail or head of its priority (`requeue_task_rt()`).
    pub(crate) fn requeue_task_rt(&mut self, cpu: CpuId, task: TaskId, at_head: bool) {
        if self.tasks[task].rt.on_rq {
            let queues = &mut self.rqs[cpu].rt.queues;
            queues.remove(&mut self.tasks, task);
            queues.insert(&mut self.tasks, task, at_head);
        }
    }

    /// Adds the tasks to the runnable tasks of the CPU, unless they are throttled. All are added at once: a
    /// CPU whose count rises from below two to two or more is marked as overloaded.
    pub(crate) fn enqueue_top_rt_rq(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        if rq.rt.queued || rq.rt.throttled {
            return;
        }
        if rq.rt.nr_running > 0 {
            rq.rt.queued = true;
            let nr = rq.rt.nr_running;
            self.add_nr_running(cpu, nr);
        }
        self.cpufreq_update_util(ctx, cpu);
    }

    /// Subtracts `nr` tasks from the runnable tasks of the CPU.
    pub(crate) fn dequeue_top_rt_rq(&mut self, cpu: CpuId, nr: u32) {
        let rq = &mut self.rqs[cpu];
        if core::mem::take(&mut rq.rt.queued) {
            self.sub_nr_running(cpu, nr);
        }
    }

    /// Adds a waiting task to the pushable tasks, if it may use more than one CPU.
    pub(crate) fn enqueue_pushable_task(&mut self, cpu: CpuId, task: TaskId) {
        let p = &self.tasks[task];
        if p.nr_cpus_allowed > 1 {
            let prio = p.prio();
            let rt = &mut self.rqs[cpu].rt;
            rt.pushable.insert(prio, task);
            rt.highest_next = rt.highest_next.min(prio);
            if self.rules.rt_overload_by_pushable {
                self.update_rt_migration(cpu);
            }
        }
    }

    /// Removes a task from the pushable tasks, because it runs here or is dequeued.
    pub(crate) fn dequeue_pushable_task(&mut self, cpu: CpuId, task: TaskId) {
        let rt = &mut self.rqs[cpu].rt;
        rt.pushable.remove(task);
        rt.highest_next = rt.pushable.first().map_or(NO_PRIO, |(prio, _)| prio);
        if self.rules.rt_overload_by_pushable {
            self.update_rt_migration(cpu);
        }
    }

    fn inc_rt_tasks(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        let p = &mut self.tasks[task];
        p.rt.on_rq = true;
        let (prio, may_migrate) = (p.prio(), p.nr_cpus_allowed > 1);
        let rt = &mut self.rqs[cpu].rt;
        rt.nr_running += 1;
        rt.nr_migratory += u32::from(may_migrate);
        if prio < rt.highest_curr {
            self.set_highest_prio(cpu, prio);
        }
        self.update_rt_migration(cpu);
        self.start_rt_bandwidth(ctx);
    }

    fn dec_rt_tasks(&mut self, cpu: CpuId, task: TaskId) {
        let p = &mut self.tasks[task];
        p.rt.on_rq = false;
        let (prio, may_migrate) = (p.prio(), p.nr_cpus_allowed > 1);
        let rt = &mut self.rqs[cpu].rt;
        rt.nr_running -= 1;
        rt.nr_migratory -= u32::from(may_migrate);
        if rt.nr_running == 0 {
            self.set_highest_prio(cpu, NO_PRIO);
        } else if prio == rt.highest_curr {
            let highest = rt.queues.highest();
            self.set_highest_prio(cpu, highest);
        }
        self.update_rt_migration(cpu);
    }

    fn set_highest_prio(&mut self, cpu: CpuId, prio: Prio) {
        let rq = &mut self.rqs[cpu];
        if core::mem::replace(&mut rq.rt.highest_curr, prio) != prio && rq.online {
            self.rt_root.cpupri.set(cpu, CpuLevel::from_prio(prio));
        }
    }

    /// Updates the CPU's priority level: real-time tasks do not preempt on a CPU with deadline tasks.
    pub(crate) fn set_cpupri_of_deadline(&mut self, cpu: CpuId, has_tasks: bool) {
        let rq = &self.rqs[cpu];
        if !rq.online {
            return;
        }
        let highest = rq.rt.highest_curr;
        self.rt_root.cpupri.set(cpu, if has_tasks { CpuLevel::HIGHER } else { CpuLevel::from_prio(highest) });
    }

    /// Updates whether a CPU is overloaded: it has several real-time tasks, and at least one may migrate
    /// (`update_rt_migration()`). In 6.12 it has pushable ones.
    fn update_rt_migration(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        let (rt, is_online) = (&mut rq.rt, rq.online);
        let overloaded = if self.rules.rt_overload_by_pushable {
            rt.pushable.first().is_some()
        } else {
            rt.nr_migratory > 0 && rt.nr_running > 1
        };
        if core::mem::replace(&mut rt.overloaded, overloaded) != overloaded && is_online {
            self.rt_root.overload.set(cpu, overloaded);
        }
    }
}
