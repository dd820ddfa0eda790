// SPDX-License-Identifier: GPL-2.0-or-later
//! Push requests for real-time tasks: overloaded CPUs push one after the other (feature RT_PUSH_IPI).
//!
//! Models `send_push_ipi()` and `rto_push_irq_work_func()` (6.1).

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::calls::CallFunction;

impl Sched {
    /// Requests a push from the first overloaded CPU, unless a round of requests is in progress; that round
    /// then continues.
    pub(crate) fn send_push_ipi(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(cpu) = self.rt_root.overload.begin_round(ctx.cpu) {
            self.queue_call(ctx, cpu, CallFunction::RtPush);
        }
    }

    /// Pushes the waiting tasks of the executing CPU and requests a push from the next CPU.
    pub(crate) fn rto_push_irq_work(&mut self, ctx: &mut Ctx<'_>) {
        self.push_if_waiting(ctx);
        if let Some(cpu) = self.rt_root.overload.next(ctx.cpu) {
            self.queue_call(ctx, cpu, CallFunction::RtPush);
        }
    }
}
