// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle loop of a CPU: entering and leaving tickless idle.
//!
//! Models the scheduler's part of `do_idle()` and of `tick-sched.c` (6.1). The idle governor decides whether
//! the tick stops; it belongs to the machine.

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::types::ids::CpuId;
use crate::types::units::Nanos;
use crate::types::work::KernelOp;

/// Fate of the tick of a CPU that idles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleTick {
    /// The tick stops, if it has not stopped already.
    Stop,
    /// The governor would stop the tick, but a timer expires within one tick period.
    RetainForTimer,
    /// The tick continues; the CPU stays out of tickless idle.
    Retain,
}

impl Sched {
    /// Enters the loop of the idle task on the executing CPU. Deferred idle balancing is done first; if it
    /// brings no work, the tick stops as `tick` says.
    ///
    /// Returns whether the CPU idles now. If the path yields, it returns false, and the loop must be entered
    /// again afterwards.
    pub fn handle_idle_enter(&mut self, ctx: &mut Ctx<'_>, tick: IdleTick) -> bool {
        let cpu = ctx.cpu;
        if self.is_dying(cpu) {
            ctx.charge(KernelOp::IdleEnter);
            return self.sched_cpu_dying(ctx);
        }
        if !self.nohz_run_idle_balance(ctx, cpu) {
            return false;
        }
        ctx.charge(KernelOp::IdleEnter);
        if self.rqs[cpu].need_resched {
            return false;
        }
        if tick == IdleTick::Retain {
            return true;
        }
        self.rqs[cpu].idle_calls += 1;
        if tick == IdleTick::Stop && !core::mem::replace(&mut self.rqs[cpu].tick_stopped, true) {
            self.state.nohz.nohz_balance_enter_idle(&mut self.state.domains, &mut self.state.rqs[cpu]);
        }
        true
    }

    /// Records the exit latency of the CPU's idle state, or `None` outside idle states (`idle_set_state()`).
    /// The search for an idle CPU for a new task prefers a short exit latency.
    pub fn set_idle_exit_latency(&mut self, cpu: CpuId, latency: Option<Nanos>) {
        self.rqs[cpu].idle_exit_latency = latency;
    }

    /// Reschedules all idle CPUs (`wake_up_all_idle_cpus()`), so that each enters its loop again and its
    /// governor decides again.
    ///
    /// This includes the executing CPU if it idles, because the process that requests this runs there.
    pub fn wake_up_all_idle_cpus(&mut self, ctx: &mut Ctx<'_>) {
        for cpu in self.cpu_ids() {
            let rq = &self.rqs[cpu];
            if rq.curr == rq.idle && self.is_online(cpu) {
                self.resched_curr(ctx, cpu);
            }
        }
    }

    /// Leaves the loop of the idle task on the executing CPU: its tick runs again.
    pub fn handle_idle_exit(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::IdleExit);
        self.rqs[ctx.cpu].tick_stopped = false;
    }

    /// Whether the tick of a CPU is stopped.
    pub fn is_tick_stopped(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].tick_stopped
    }
}
