// SPDX-License-Identifier: GPL-2.0-or-later
//! Scheduler tick: the part under the runqueue lock, and the path without the lock that follows.
//!
//! Models `scheduler_tick()` (6.1; since 6.10 `sched_tick()`), with the conditions of
//! `trigger_load_balance()` and `nohz_balancer_kick()` under which [`super::nohz::kick`] decides.

use crate::interface::balance::{KickDecision, KickReason};
use crate::interface::ctx::Ctx;
use crate::paths::resumable::{CpuPathStack, Resumable, Step, YieldPoint, Yielded};
use crate::paths::sched::Sched;
use crate::state::State;
use crate::state::task::SchedClass;
use crate::types::features::Feature;
use crate::types::ids::CpuId;
use crate::types::work::KernelOp;

/// Next phase of the part of a tick that holds no runqueue lock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TickPath {
    /// Check whether balancing is due on this CPU. Other CPUs may have changed this state meanwhile.
    TriggerBalance,
    /// Check whether this CPU is idle or was tickless (`nohz_balancer_kick()`).
    Kick,
    /// Decide whether to kick a tickless CPU. If this CPU was tickless until now, it has left that state in
    /// the phase before, so CPUs that tick at one instant see each other as busy.
    DecideKick,
    /// Kick a tickless CPU. Other CPUs can make the same decision before this kick is visible to them.
    SendKick(KickDecision),
}

impl Resumable for TickPath {
    type Output = ();

    fn step(&mut self, sched: &mut Sched, ctx: &mut Ctx<'_>) -> Step<()> {
        let cpu = ctx.cpu;
        loop {
            match *self {
                Self::TriggerBalance => {
                    let is_idle = sched.rqs[cpu].is_idle();
                    sched.rqs[cpu].idle_balance = is_idle;
                    if !sched.trigger_load_balance(cpu) {
                        return Step::Done(());
                    }
                    *self = Self::Kick;
                }
                Self::Kick => {
                    if sched.rqs[cpu].idle_balance {
                        let reason = KickReason::CpuIsIdle;
                        sched.send_nohz_kick(ctx, KickDecision { cpu, reason, flags: 0, target: None, kicked: false });
                        return Step::Done(());
                    }
                    *self = Self::DecideKick;
                    let state = &mut sched.state;
                    if state.nohz.nohz_balance_exit_idle(ctx, &mut state.domains, &mut state.rqs[cpu]) {
                        return Step::Yield(YieldPoint::UNLOCKED);
                    }
                }
                Self::DecideKick => {
                    let decision = sched.decide_nohz_kick(ctx, cpu);
                    *self = Self::SendKick(decision);
                    if decision.flags != 0 {
                        return Step::Yield(YieldPoint::UNLOCKED);
                    }
                }
                Self::SendKick(decision) => {
                    sched.send_nohz_kick(ctx, decision);
                    return Step::Done(());
                }
            }
        }
    }

    fn slot(stack: &mut CpuPathStack) -> &mut Option<Yielded<Self>> {
        &mut stack.tick
    }
}

impl Sched {
    /// Handles the tick of the executing CPU (`scheduler_tick()`).
    pub fn handle_tick(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::Tick);
        let cpu = ctx.cpu;
        let _rq = self.rq_lock_clocked(ctx, cpu);
        if self.tracks_thermal {
            self.state.rqs[cpu].update_thermal_load_avg(ctx, &self.state.tunables);
        }
        let curr = self.rqs[cpu].curr;
        match self.tasks[curr].class {
            SchedClass::Fair => self.task_tick_fair(ctx, cpu, curr, false),
            SchedClass::RealTime => self.task_tick_rt(ctx, cpu, curr),
            SchedClass::Deadline => self.task_tick_dl(ctx, cpu, curr, false),
            SchedClass::Stop | SchedClass::Idle => {}
        }
        if self.features.has(Feature::LatencyWarn) {
            let State { rqs, tunables, warn, .. } = &mut self.state;
            rqs[cpu].check_resched_latency(ctx, tunables, warn);
        }
        if self.run_path_after(ctx, TickPath::TriggerBalance, YieldPoint::UNLOCKED).is_some() {
            self.run_softirqs(ctx);
        }
    }

    /// Resumes the part of a tick without the runqueue lock.
    pub(crate) fn resume_tick(&mut self, ctx: &mut Ctx<'_>, path: TickPath) {
        if self.run_path(ctx, path).is_some() {
            self.run_softirqs(ctx);
        }
    }

    /// Raises the balancing softirq of this CPU if it is due. Returns whether the CPU has domains at all.
    fn trigger_load_balance(&mut self, cpu: CpuId) -> bool {
        if self.domains.cpus[cpu].base.is_none() {
            return false;
        }
        if self.jiffies >= self.nohz.cpus[cpu].next_balance {
            self.rqs[cpu].sched_softirq = true;
        }
        true
    }

    /// Runs only the `nohz_balancer_kick()` part of a tick.
    #[cfg(test)]
    pub(crate) fn nohz_balancer_kick(&mut self, ctx: &mut Ctx<'_>) {
        self.run_path(ctx, TickPath::Kick);
    }

    /// Runs only the part of the tick without the runqueue lock.
    #[cfg(test)]
    pub(crate) fn finish_tick(&mut self, ctx: &mut Ctx<'_>) {
        self.resume_tick(ctx, TickPath::TriggerBalance);
    }
}
