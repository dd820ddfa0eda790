// SPDX-License-Identifier: GPL-2.0-or-later
//! Deferred balance callbacks of the classes, and their hooks after a wake-up.
//!
//! Models `__balance_callbacks()` and the classes' `task_woken` (6.1). Classes queue callbacks in
//! [`crate::state::callbacks`] while a runqueue is inconsistent.

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::callbacks::BalanceCallback;
use crate::state::task::SchedClass;
use crate::types::ids::{CpuId, TaskId};

impl Sched {
    /// Runs the balance callbacks that are queued on a runqueue.
    #[inline]
    pub(crate) fn balance_callbacks(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if self.rqs[cpu].callbacks.has_any() {
            self.run_balance_callbacks(ctx, cpu);
        }
    }

    pub(crate) fn run_balance_callbacks(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if self.rqs[cpu].callbacks.is_pushing() {
            return self.balance_push(ctx, cpu);
        }
        let callbacks = core::mem::take(&mut self.rqs[cpu].callbacks);
        for callback in callbacks.iter_from_last() {
            match callback {
                BalanceCallback::RtPull => self.pull_rt_task(ctx, cpu),
                BalanceCallback::RtPush => self.push_rt_tasks(ctx, cpu),
                BalanceCallback::DlPull => self.pull_dl_task(ctx, cpu),
                BalanceCallback::DlPush => self.push_dl_tasks(ctx, cpu),
            }
        }
    }

    /// Calls the class's `task_woken` for a task that is on its runqueue after a wake-up; the class may push
    /// tasks.
    pub(crate) fn task_woken(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        match self.tasks[task].class {
            SchedClass::RealTime => self.task_woken_rt(ctx, cpu, task),
            SchedClass::Deadline => self.task_woken_dl(ctx, cpu, task),
            _ => {}
        }
    }
}
