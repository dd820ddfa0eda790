// SPDX-License-Identifier: GPL-2.0-or-later
//! The idle loop of a CPU: entering and leaving tickless idle.
//!
//! Stands for the scheduler's part of `do_idle()` and of `tick-sched.c` (6.1). Whether the tick stops is for the idle governor
//! to say, who is outside.

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::types::ids::CpuId;
use crate::types::units::Nanos;
use crate::types::work::KernelOp;

/// What becomes of the tick of a CPU that idles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleTick {
    /// It stops, if it has not stopped already.
    Stop,
    /// The governor would have it stop, but a timer comes within a tick.
    RetainForTimer,
    /// It goes on.
    Retain,
}

impl Sched {
    /// The idle task of the CPU that executes this enters its loop: left-over idle balancing is done, and if that
    /// brought no work the tick stops, unless it is to go on. Returns whether the CPU idles now; if it pauses instead, the loop
    /// has to be entered again afterwards.
    pub fn handle_idle_enter(&mut self, ctx: &mut Ctx<'_>, tick: IdleTick) -> bool {
        let cpu = ctx.cpu;
        if self.is_dying(cpu) {
            ctx.charge(KernelOp::IdleEnter);
            return self.die(ctx);
        }
        if !self.nohz_run_idle_balance(ctx, cpu) {
            return false;
        }
        ctx.charge(KernelOp::IdleEnter);
        if self.rqs[cpu.index()].need_resched {
            return false;
        }
        if tick == IdleTick::Retain {
            return true;
        }
        self.rqs[cpu.index()].idle_calls += 1;
        if tick == IdleTick::Stop && !core::mem::replace(&mut self.rqs[cpu.index()].tick_stopped, true) {
            self.nohz_balance_enter_idle(cpu);
        }
        true
    }

    /// A CPU is in an idle state that takes so long to leave, or in none any more: `idle_set_state()`. A search for an
    /// idle CPU on behalf of a new task prefers those that wake up soon.
    pub fn set_idle_exit_latency(&mut self, cpu: CpuId, latency: Option<Nanos>) {
        self.rqs[cpu.index()].idle_exit_latency = latency;
    }

    /// All idle CPUs reschedule, so that each enters its loop anew and its governor is asked again: `wake_up_all_idle_cpus()`. The CPU that
    /// executes this does so too if it idles, since the process that wants it runs there.
    pub fn wake_up_all_idle_cpus(&mut self, ctx: &mut Ctx<'_>) {
        for cpu in self.cpu_ids() {
            let rq = &self.rqs[cpu.index()];
            if rq.curr == rq.idle && self.is_online(cpu) {
                self.resched_curr(ctx, cpu);
            }
        }
    }

    /// The idle task of the CPU that executes this leaves its loop: the tick runs again.
    pub fn handle_idle_exit(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::IdleExit);
        self.rqs[ctx.cpu.index()].tick_stopped = false;
    }

    /// Whether the tick of a CPU is stopped.
    pub fn is_tick_stopped(&self, cpu: CpuId) -> bool {
        self.rqs[cpu.index()].tick_stopped
    }
}
