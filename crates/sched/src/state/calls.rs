// SPDX-License-Identifier: GPL-2.0-or-later
//! Inter-processor interrupts and what they carry.
//!
//! Models `resched_curr()`, and of `smp.c` the call-function queue (6.1): remote wake-ups, kicks for idle
//! balancing and starts of remote slice timers share one queue, and only the first entry sends an interrupt.

use crate::interface::ctx::{Ctx, Effect, IpiKind};
use crate::interface::probe::Event;
use crate::state::State;
use crate::types::ids::{CpuId, TaskId};
use crate::types::work::KernelOp;

/// Something that one CPU wants done on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFunction {
    /// Activate a task whose wake-up was decided elsewhere.
    Wake(TaskId),
    /// Look whether to balance for idle CPUs: `nohz_csd_func()`.
    NohzKick,
    /// Arm the slice timer: `__hrtick_start()`.
    HrtickStart,
    /// Push waiting real-time tasks: `rto_push_irq_work_func()`.
    RtPush,
    /// Look which timer is next: `retrigger_next_event()`.
    Timers,
}

impl State {
    /// Asks the running task of a CPU to give way.
    pub(crate) fn resched_curr(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if core::mem::replace(&mut self.rqs[cpu.index()].need_resched, true) || cpu == ctx.cpu {
            return;
        }
        self.send_ipi(ctx, cpu, IpiKind::Reschedule);
    }

    /// Queues something for another CPU.
    pub(crate) fn queue_call(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, call: CallFunction) {
        let queue = &mut self.rqs[cpu.index()].call_queue;
        queue.push_back(call);
        if queue.len() == 1 {
            self.send_ipi(ctx, cpu, IpiKind::CallFunction);
        }
    }

    /// Has the slice timer of another CPU armed there, unless that is under way.
    pub(crate) fn call_hrtick_start(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if !core::mem::replace(&mut self.rqs[cpu.index()].hrtick_csd_pending, true) {
            self.queue_call(ctx, cpu, CallFunction::HrtickStart);
        }
    }

    /// Has idle CPUs monitor the flag that asks them to reschedule (TIF_POLLING_NRFLAG, as x86's MWAIT does in every idle state). What
    /// other CPUs want of them is then a write, which costs no interrupt on either side; it arrives all the same.
    pub fn set_polling_idle(&mut self, polls: bool) {
        self.polling_idle = polls;
    }

    /// Whether a CPU idles and a write is enough to wake it: `set_nr_if_polling()`.
    pub(crate) fn is_polling(&self, cpu: CpuId) -> bool {
        self.polling_idle && self.rqs[cpu.index()].curr == self.rqs[cpu.index()].idle
    }

    fn send_ipi(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, kind: IpiKind) {
        if core::mem::replace(&mut self.rqs[cpu.index()].ipi_pending[kind as usize], true) {
            return;
        }
        if !self.is_polling(cpu) {
            ctx.charge(KernelOp::IpiSend);
        }
        ctx.report(Event::Ipi { cpu, kind, on: ctx.cpu });
        ctx.emit(Effect::SendIpi { cpu, kind });
    }
}
