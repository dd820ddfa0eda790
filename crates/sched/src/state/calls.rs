// SPDX-License-Identifier: GPL-2.0-or-later
//! Inter-processor interrupts, and the requests that they carry.
//!
//! Models `resched_curr()` and the call-function queue of `smp.c` (6.1). Remote wake-ups, NOHZ kicks and
//! starts of remote slice timers share one queue; only the first entry sends an interrupt.

use crate::interface::ctx::{Ctx, Effect, IpiKind};
use crate::interface::probe::Event;
use crate::state::State;
use crate::state::rq::Rq;
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
        let rq = &mut self.rqs[cpu];
        if core::mem::replace(&mut rq.need_resched, true) || cpu == ctx.cpu {
            return;
        }
        if self.hotplug.online.contains(cpu) {
            rq.send_ipi(ctx, IpiKind::Reschedule, self.polling_idle);
        }
    }
}

impl Rq {
    /// Queues a request for the CPU, which is another one. Sends an interrupt if the queue was empty. `polling_idle` says
    /// whether idle CPUs monitor TIF_NEED_RESCHED.
    pub(crate) fn queue_call(&mut self, ctx: &mut Ctx<'_>, call: CallFunction, polling_idle: bool) {
        self.call_queue.push_back(call);
        if self.call_queue.len() == 1 {
            self.send_ipi(ctx, IpiKind::CallFunction, polling_idle);
        }
    }

    /// Requests that the CPU, which is another one, arms its slice timer, unless such a request is pending.
    pub(crate) fn call_hrtick_start(&mut self, ctx: &mut Ctx<'_>, polling_idle: bool) {
        if !core::mem::replace(&mut self.hrtick_csd_pending, true) {
            self.queue_call(ctx, CallFunction::HrtickStart, polling_idle);
        }
    }

    /// Sends an interrupt to the CPU, unless one of this kind is on its way. An idle CPU that polls notices a write
    /// instead (`set_nr_if_polling()`), which costs nothing.
    fn send_ipi(&mut self, ctx: &mut Ctx<'_>, kind: IpiKind, polling_idle: bool) {
        if core::mem::replace(&mut self.ipi_pending[kind as usize], true) {
            return;
        }
        if !(polling_idle && self.is_idle_task_running()) {
            ctx.charge(KernelOp::IpiSend);
        }
        ctx.report(Event::Ipi { cpu: self.cpu, kind, on: ctx.cpu });
        ctx.emit(Effect::SendIpi { cpu: self.cpu, kind });
    }
}
