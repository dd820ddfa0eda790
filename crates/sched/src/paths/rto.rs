// SPDX-License-Identifier: GPL-2.0-or-later
//! Push requests for real-time tasks: overloaded CPUs push one after the other (feature RT_PUSH_IPI).
//!
//! Models `send_push_ipi()` and `rto_push_irq_work_func()` (6.1).

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::calls::CallFunction;
use crate::types::ids::CpuId;

impl Sched {
    /// Requests a push from the first overloaded CPU, unless a round of requests is in progress; that round
    /// then continues.
    pub(crate) fn send_push_ipi(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(cpu) = self.rt_root.overload.begin_round(ctx.cpu) {
            self.send_rto_request(ctx, cpu);
        }
    }

    /// Pushes the waiting tasks of the executing CPU and requests a push from the next CPU. A request from before the
    /// sched domains were rebuilt has no next CPU: all CPUs have left its root domain.
    pub(crate) fn rto_push_irq_work(&mut self, ctx: &mut Ctx<'_>, root_domain: u32) {
        self.push_if_waiting(ctx);
        if root_domain != self.rt_root.overload.root_domain() {
            return;
        }
        if let Some(cpu) = self.rt_root.overload.next(ctx.cpu) {
            self.send_rto_request(ctx, cpu);
        }
    }

    fn send_rto_request(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let root_domain = self.rt_root.overload.root_domain();
        self.state.rqs[cpu].queue_call(ctx, CallFunction::RtPush { root_domain }, self.state.polling_idle);
    }
}
