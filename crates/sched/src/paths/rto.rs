// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that are overloaded with real-time tasks are asked to push, one after the other (feature RT_PUSH_IPI).
//!
//! Models `send_push_ipi()` and `rto_push_irq_work_func()` (6.1).

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::calls::CallFunction;

impl Sched {
    /// Asks the first overloaded CPU to push, unless a round of requests is under way: that will go on.
    pub(crate) fn send_push_ipi(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(cpu) = self.rt_root.overload.begin_round(ctx.cpu) {
            self.queue_call(ctx, cpu, CallFunction::RtPush);
        }
    }

    /// The CPU that executes this pushes its waiting tasks and asks the next one.
    pub(crate) fn rto_push_irq_work(&mut self, ctx: &mut Ctx<'_>) {
        self.push_if_waiting(ctx);
        if let Some(cpu) = self.rt_root.overload.next(ctx.cpu) {
            self.queue_call(ctx, cpu, CallFunction::RtPush);
        }
    }
}
