// SPDX-License-Identifier: GPL-2.0-or-later
//! Removal of the tasks of a CPU that goes offline.
//!
//! Models `balance_push()` and `__balance_push_cpu_stop()` (6.1). Each task that the CPU picks is passed to
//! its stopper, which preempts and moves it at once. The CPU therefore removes its tasks in the order in
//! which it would run them.

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::stop_work::StopWork;
use crate::types::ids::{CpuId, TaskId};

impl Sched {
    /// Requests that the task that a CPU has just picked is moved to another CPU, unless it is a per-CPU
    /// kernel thread.
    pub(crate) fn balance_push(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let curr = self.rqs[cpu].curr;
        if cpu != ctx.cpu || !self.is_online(cpu) || self.tasks[curr].is_per_cpu_kthread {
            return;
        }
        self.stop_one_cpu_nowait(ctx, cpu, StopWork::Push(curr));
    }

    /// Moves a task that the stopper has just preempted to a fallback CPU.
    pub(crate) fn balance_push_cpu_stop(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let cpu = ctx.cpu;
        let rq = self.rq_lock_clocked(ctx, cpu);
        let p = &self.tasks[task];
        if p.cpu != cpu || !p.is_queued() {
            return;
        }
        let to = self.select_fallback_rq(ctx, cpu, task);
        if self.is_cpu_allowed(task, to) {
            self.move_queued_task(ctx, rq, task, to);
        }
    }
}
