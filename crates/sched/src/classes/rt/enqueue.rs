// SPDX-License-Identifier: GPL-2.0-or-later
//! Enqueue and dequeue of real-time tasks.
//!
//! Models `enqueue_task_rt()`, `dequeue_task_rt()` and `enqueue_top_rt_rq()` (6.1). The counts are in
//! [`crate::state::rt::rq`].

use crate::classes::fair::enqueue::{DequeueFlags, EnqueueFlags};
use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::types::ids::{CpuId, TaskId};
use crate::types::work::KernelOp;

impl State {
    /// Enqueues a real-time task: at the tail of its priority, at the head if its priority was lowered, or at
    /// its old position if it was dequeued only briefly.
    pub(crate) fn enqueue_task_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, flags: EnqueueFlags) {
        flags.charge(ctx);
        let Self { rqs, tasks, rt_root, rules, lb_cache, .. } = self;
        let rq = &mut rqs[cpu];
        rq.dequeue_top_rt_rq(lb_cache, rq.rt.nr_running());
        if !flags.restore || flags.moved {
            rq.rt.queues.insert(tasks, task, flags.head);
        }
        rq.inc_rt_tasks(rt_root, rules, &mut tasks[task]);
        self.start_rt_bandwidth(ctx);
        self.enqueue_top_rt_rq(ctx, cpu);
        let rq = &mut self.rqs[cpu];
        if rq.curr != task {
            rq.enqueue_pushable_task(&mut self.rt_root, &self.rules, task, &self.tasks[task]);
        }
    }

    /// Dequeues a real-time task. A task that returns to its position stays in its queue, but is not counted
    /// meanwhile.
    pub(crate) fn dequeue_task_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, flags: DequeueFlags) {
        ctx.charge(KernelOp::Dequeue);
        self.update_curr_rt(ctx, cpu);
        let Self { rqs, tasks, rt_root, rules, lb_cache, .. } = self;
        let rq = &mut rqs[cpu];
        let nr_before = rq.rt.nr_running();
        if !flags.save || flags.moved {
            rq.rt.queues.remove(tasks, task);
        }
        rq.dec_rt_tasks(rt_root, rules, &mut tasks[task]);
        rq.dequeue_top_rt_rq(lb_cache, nr_before);
        self.enqueue_top_rt_rq(ctx, cpu);
        self.rqs[cpu].dequeue_pushable_task(&mut self.rt_root, &self.rules, task);
    }

    /// Adds the real-time tasks to the runnable tasks of the CPU, unless they are throttled.
    pub(crate) fn enqueue_top_rt_rq(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if self.rqs[cpu].enqueue_top_rt_rq(&mut self.lb_cache, &mut self.domains.root) {
            self.cpufreq_update_util(ctx, cpu);
        }
    }
}
