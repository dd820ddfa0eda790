// SPDX-License-Identifier: GPL-2.0-or-later
//! Push and pull of real-time tasks: a waiting task is pushed to a CPU that runs at lower priority, or pulled
//! by a CPU that has become free for it.
//!
//! Models `push_rt_task()`, `find_lock_lowest_rq()` and `pull_rt_task()` (6.1).

use crate::classes::fair::enqueue::{DequeueFlags, EnqueueFlags};
use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::rules::realtime::is_curr_in_the_way;
use crate::state::prio::Prio;
use crate::types::features::Feature;
use crate::types::ids::{CpuId, TaskId};
use crate::types::work::KernelOp;

impl Sched {
    /// Pushes waiting tasks until one has no better CPU.
    pub(crate) fn push_rt_tasks(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        while self.push_rt_task(ctx, cpu) {}
    }

    /// Pushes the waiting task of highest priority to a CPU that runs at a lower priority. Returns whether it
    /// did.
    ///
    /// If the task should run here, because its priority is above that of the running task, the CPU only
    /// reschedules.
    fn push_rt_task(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu];
        if !rq.rt.overloaded() {
            return false;
        }
        let Some((prio, task)) = rq.rt.pushable().first() else { return false };
        if prio < self.tasks[rq.curr].prio() {
            self.resched_curr(ctx, cpu);
            return false;
        }
        let Some(target) = self.find_lowest_rq(ctx, task) else { return false };
        if target == cpu || self.rqs[target].rt.highest_curr() <= prio {
            return false;
        }
        self.move_pushed_task(ctx, task, target);
        self.resched_curr(ctx, target);
        true
    }

    /// Pulls tasks to a CPU. From each overloaded CPU comes the waiting task of highest priority that may use
    /// `this_cpu`, if its priority is above all tasks here.
    ///
    /// Rules, in order:
    /// 1. Nothing is pulled if no other CPU is overloaded.
    /// 2. With RT_PUSH_IPI the overloaded CPUs are requested to push, one after the other.
    /// 3. A task that is about to preempt the running task of its own CPU stays there.
    pub(crate) fn pull_rt_task(&mut self, ctx: &mut Ctx<'_>, this_cpu: CpuId) {
        if !self.rt_root.overload.has_other(this_cpu) {
            return;
        }
        if self.features.has(Feature::RtPushIpi) {
            self.send_push_ipi(ctx);
            return;
        }
        let mut pulled = false;
        let mut next = self.rt_root.overload.cpus().first();
        while let Some(cpu) = next {
            let (cpu_rt, this_rt) = (&self.rqs[cpu].rt, &self.rqs[this_cpu].rt);
            if cpu != this_cpu && cpu_rt.highest_next() < this_rt.highest_curr() {
                let _theirs = self.rq_lock_charged(ctx, cpu);
                if let Some(task) = self.task_to_pull(cpu, this_cpu) {
                    self.move_pushed_task(ctx, task, this_cpu);
                    pulled = true;
                }
            }
            next = self.rt_root.overload.cpus().next_from(CpuId(cpu.0 + 1));
        }
        if pulled {
            self.resched_curr(ctx, this_cpu);
        }
    }

    fn task_to_pull(&self, from: CpuId, to: CpuId) -> Option<TaskId> {
        let may_come = |&(_, task): &(Prio, TaskId)| {
            let p = &self.tasks[task];
            !p.on_cpu && p.cpus_allowed.contains(to)
        };
        let rq = &self.rqs[from];
        let (prio, task) = rq.rt.pushable().iter().find(may_come)?;
        let is_above_all = prio < self.rqs[to].rt.highest_curr();
        let preempts_at_home = prio < self.tasks[rq.curr].prio();
        (is_above_all && !preempts_at_home).then_some(task)
    }

    /// Moves a waiting real-time or deadline task to another CPU, under both locks.
    pub(crate) fn move_pushed_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId, to: CpuId) {
        let from = self.tasks[task].cpu;
        ctx.charge(KernelOp::DetachTask);
        let from = self.rq_lock_clocked(ctx, from);
        self.deactivate_task(ctx, &from, task, DequeueFlags::default());
        self.set_task_cpu(ctx, task, to);
        ctx.charge(KernelOp::AttachTask);
        let to = self.rq_lock_second(ctx, &from, to);
        self.activate_task(ctx, &to, task, EnqueueFlags::default());
    }

    /// Handles a push request on the executing CPU.
    pub(crate) fn push_if_waiting(&mut self, ctx: &mut Ctx<'_>) {
        if self.rqs[ctx.cpu].rt.pushable().first().is_some() {
            self.push_rt_tasks(ctx, ctx.cpu);
        }
    }

    /// Pulls tasks if the running task is not queued any more and no task of its priority is left. Returns
    /// whether the CPU has real-time work, in which case lower classes need not balance.
    pub(crate) fn balance_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, prev: TaskId) -> bool {
        let p = &self.tasks[prev];
        if !p.rt.on_rq && self.rqs[cpu].online && self.rqs[cpu].rt.highest_curr() > p.prio() {
            self.pull_rt_task(ctx, cpu);
        }
        self.rqs[cpu].rt.is_runnable()
    }

    /// Pushes a woken task at once if it will not run soon on this CPU.
    pub(crate) fn task_woken_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        let (p, rq) = (&self.tasks[task], &self.rqs[cpu]);
        let has_to_wait = !p.on_cpu && !rq.need_resched && p.nr_cpus_allowed > 1;
        if has_to_wait && is_curr_in_the_way(&self.tasks[rq.curr], p) {
            self.push_rt_tasks(ctx, cpu);
        }
    }
}
