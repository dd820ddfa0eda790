// SPDX-License-Identifier: GPL-2.0-or-later
//! Receipt of inter-processor interrupts, and the call-function queue.
//!
//! Models `scheduler_ipi()` and `flush_smp_call_function_queue()` (6.1). [`crate::state::calls`] sends the
//! interrupts.

use crate::interface::ctx::{Ctx, IpiKind};
use crate::paths::sched::Sched;
use crate::state::calls::CallFunction;
use crate::types::work::KernelOp;

impl Sched {
    /// Handles an inter-processor interrupt on the executing CPU.
    pub fn handle_ipi(&mut self, ctx: &mut Ctx<'_>, kind: IpiKind) {
        if !(self.polling_idle && self.rqs[ctx.cpu].is_idle_task_running()) {
            ctx.charge(KernelOp::IpiReceive);
        }
        self.rqs[ctx.cpu].ipi_pending[kind as usize] = false;
        if kind == IpiKind::CallFunction {
            self.flush_call_queue(ctx);
        }
        self.run_softirqs(ctx);
    }

    /// Serves the call-function queue of the executing CPU: all other functions first, then all wake-ups
    /// under one lock.
    pub(crate) fn flush_call_queue(&mut self, ctx: &mut Ctx<'_>) {
        let cpu = ctx.cpu;
        let nr_calls = self.rqs[cpu].call_queue.len();
        for _ in 0..nr_calls {
            let call = self.rqs[cpu].call_queue.pop_front().expect("counted above");
            match call {
                CallFunction::Wake(_) => self.rqs[cpu].call_queue.push_back(call),
                CallFunction::NohzKick => self.nohz_csd_func(ctx, cpu),
                CallFunction::HrtickStart => {
                    self.rqs[cpu].hrtick_csd_pending = false;
                    self.hrtick_restart(ctx, cpu);
                }
                CallFunction::RtPush { root_domain } => self.rto_push_irq_work(ctx, root_domain),
                CallFunction::Unthrottle => self.unthrottle_queued(ctx),
                CallFunction::Timers => self.rqs[ctx.cpu].timers.retrigger(ctx),
            }
        }
        self.activate_queued_wakeups(ctx);
    }
}
