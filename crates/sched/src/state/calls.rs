// SPDX-License-Identifier: GPL-2.0-or-later
//! Inter-processor interrupts, and the requests that they carry.
//!
//! Models `resched_curr()` and the call-function queue of `smp.c` (6.1). Remote wake-ups, NOHZ kicks and
//! starts of remote slice timers share one queue; only the first entry sends an interrupt.

use crate::interface::ctx::{Ctx, Effect, IpiKind};
use crate::interface::probe::Event;
use crate::state::State;
use crate::types::ids::{CpuId, TaskId};
use crate::types::work::KernelOp;

/// Request that one CPU sends to another through the call-function queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFunction {
    /// Activate a task for which another CPU has selected this one.
    Wake(TaskId),
    /// Check whether to balance on behalf of idle CPUs: `nohz_csd_func()`.
    NohzKick,
    /// Arm the slice timer: `__hrtick_start()`.
    HrtickStart,
    /// Push waiting real-time tasks: `rto_push_irq_work_func()`.
    RtPush {
        /// Root domain to which the round of requests belongs.
        root_domain: u32,
    },
    /// End the throttling of cfs_rqs that have received runtime: `__cfsb_csd_unthrottle()` (6.12).
    Unthrottle,
    /// Find the first timer and program the hardware timer for it: `retrigger_next_event()`.
    Timers,
}

impl State {
    /// Requests that the running task of a CPU reschedules. Sends an interrupt to a remote CPU, unless that
    /// CPU is offline.
    pub(crate) fn resched_curr(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if core::mem::replace(&mut self.rqs[cpu].need_resched, true) || cpu == ctx.cpu {
            return;
        }
        if self.hotplug.online.contains(cpu) {
            self.send_ipi(ctx, cpu, IpiKind::Reschedule);
        }
    }

    /// Queues a request for another CPU. Sends an interrupt if the queue was empty.
    pub(crate) fn queue_call(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, call: CallFunction) {
        let queue = &mut self.rqs[cpu].call_queue;
        queue.push_back(call);
        if queue.len() == 1 {
            self.send_ipi(ctx, cpu, IpiKind::CallFunction);
        }
    }

    /// Requests that another CPU arms its slice timer, unless such a request is pending.
    pub(crate) fn call_hrtick_start(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if !core::mem::replace(&mut self.rqs[cpu].hrtick_csd_pending, true) {
            self.queue_call(ctx, cpu, CallFunction::HrtickStart);
        }
    }

    /// Sets whether idle CPUs monitor TIF_NEED_RESCHED (TIF_POLLING_NRFLAG), as x86 does with MWAIT in every
    /// idle state.
    ///
    /// A remote CPU then notifies an idle one by a write, which costs no interrupt on either side. The
    /// request still arrives.
    pub fn set_polling_idle(&mut self, polls: bool) {
        self.polling_idle = polls;
    }

    /// Whether a CPU idles and a write is enough to wake it: `set_nr_if_polling()`.
    pub(crate) fn is_polling(&self, cpu: CpuId) -> bool {
        self.polling_idle && self.rqs[cpu].curr == self.rqs[cpu].idle
    }

    fn send_ipi(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, kind: IpiKind) {
        if core::mem::replace(&mut self.rqs[cpu].ipi_pending[kind as usize], true) {
            return;
        }
        if !self.is_polling(cpu) {
            ctx.charge(KernelOp::IpiSend);
        }
        ctx.report(Event::Ipi { cpu, kind, on: ctx.cpu });
        ctx.emit(Effect::SendIpi { cpu, kind });
    }
}
