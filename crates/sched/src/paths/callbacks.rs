// SPDX-License-Identifier: GPL-2.0-or-later
//! TODO
use crate::state::callbacks::BalanceCallback;
use crate::state::sched::Sched;
use crate::told::ctx::Ctx;
use crate::words::ids::CpuId;

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
}
