// SPDX-License-Identifier: GPL-2.0-or-later
//! What classes have put off until their runqueue is consistent is done now; and what follows when a task was woken.
//!
//! Models `__balance_callbacks()` and the classes' `task_woken` (6.1).

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::callbacks::BalanceCallback;
use crate::state::task::SchedClass;
use crate::types::ids::{CpuId, TaskId};

impl Sched {
    /// Does what classes have put off on a runqueue.
    #[inline]
    pub(crate) fn balance_callbacks(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if self.rqs[cpu.index()].callbacks.has_any() {
            self.run_balance_callbacks(ctx, cpu);
        }
    }

    pub(crate) fn run_balance_callbacks(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if self.rqs[cpu.index()].callbacks.is_pushing() {
            return self.balance_push(ctx, cpu);
        }
        let callbacks = core::mem::take(&mut self.rqs[cpu.index()].callbacks);
        for callback in callbacks.iter_from_last() {
            match callback {
                BalanceCallback::RtPull => self.pull_rt_task(ctx, cpu),
                BalanceCallback::RtPush => self.push_rt_tasks(ctx, cpu),
                BalanceCallback::DlPull => self.pull_dl_task(ctx, cpu),
                BalanceCallback::DlPush => self.push_dl_tasks(ctx, cpu),
            }
        }
    }

    /// A task that was woken is on its runqueue: some classes now look for a better place.
    pub(crate) fn task_woken(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        match self.tasks[task.index()].class {
            SchedClass::RealTime => self.task_woken_rt(ctx, cpu, task),
            SchedClass::Deadline => self.task_woken_dl(ctx, cpu, task),
            _ => {}
        }
    }
}
