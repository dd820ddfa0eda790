// SPDX-License-Identifier: GPL-2.0-or-later
//! The tick: what it does under its runqueue's lock, and what it looks at afterwards.
//!
//! Models `scheduler_tick()` (6.1; since 6.10 `sched_tick()`), with the conditions of `trigger_load_balance()` and
//! `nohz_balancer_kick()` under which it goes on to [`super::tickless::kick`].

use crate::interface::balance::{KickDecision, KickReason};
use crate::interface::ctx::Ctx;
use crate::paths::resumable::{CpuPathStack, Resumable, Step, YieldPoint, Yielded};
use crate::paths::sched::Sched;
use crate::state::task::SchedClass;
use crate::types::ids::CpuId;
use crate::types::work::KernelOp;

/// The part of a tick without the runqueue's lock: what comes next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TickPath {
    /// See whether somebody has to balance. What that looks at others have written meanwhile.
    Look,
    /// See whether this CPU itself may be tickless: `nohz_balancer_kick()`.
    Kick,
    /// See whether tickless CPUs are left for which somebody has to balance. One that was tickless itself until now has left them,
    /// so that CPUs that tick at one instant see each other as busy.
    LookForTickless,
    /// Ask a tickless CPU. Others can decide the same and do not see that this one will.
    Ask(KickDecision),
}

impl Resumable for TickPath {
    type Output = ();

    fn step(&mut self, sched: &mut Sched, ctx: &mut Ctx<'_>) -> Step<()> {
        let cpu = ctx.cpu;
        loop {
            match *self {
                Self::Look => {
                    let is_idle = sched.rqs[cpu.index()].is_idle();
                    sched.rqs[cpu.index()].idle_balance = is_idle;
                    if !sched.trigger_load_balance(cpu) {
                        return Step::Done(());
                    }
                    *self = Self::Kick;
                }
                Self::Kick => {
                    if sched.rqs[cpu.index()].idle_balance {
                        let reason = KickReason::CpuIsIdle;
                        sched.send_nohz_kick(ctx, KickDecision { cpu, reason, flags: 0, target: None, kicked: false });
                        return Step::Done(());
                    }
                    *self = Self::LookForTickless;
                    if sched.nohz_balance_exit_idle(ctx, cpu) {
                        return Step::Pause(YieldPoint::FREE);
                    }
                }
                Self::LookForTickless => {
                    let decision = sched.find_tickless(ctx, cpu);
                    *self = Self::Ask(decision);
                    if decision.flags != 0 {
                        return Step::Pause(YieldPoint::FREE);
                    }
                }
                Self::Ask(decision) => {
                    sched.send_nohz_kick(ctx, decision);
                    return Step::Done(());
                }
            }
        }
    }

    fn place(walks: &mut CpuPathStack) -> &mut Option<Yielded<Self>> {
        &mut walks.tick
    }
}

impl Sched {
    /// The scheduler's tick on the CPU that executes this.
    pub fn handle_tick(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::Tick);
        let cpu = ctx.cpu;
        let _rq = self.rq_lock_clocked(ctx, cpu);
        self.update_thermal_load_avg(ctx, cpu);
        let curr = self.rqs[cpu.index()].curr;
        match self.tasks[curr.index()].class {
            SchedClass::Fair => self.task_tick_fair(ctx, cpu, curr, false),
            SchedClass::RealTime => self.task_tick_rt(ctx, cpu, curr),
            SchedClass::Deadline => self.task_tick_dl(ctx, cpu, curr, false),
            SchedClass::Stop | SchedClass::Idle => {}
        }
        self.check_resched_latency(ctx, cpu);
        if self.drive_after(ctx, TickPath::Look, YieldPoint::FREE).is_some() {
            self.run_softirqs(ctx);
        }
    }

    /// Goes on after a pause.
    pub(crate) fn resume_tick(&mut self, ctx: &mut Ctx<'_>, walk: TickPath) {
        if self.drive(ctx, walk).is_some() {
            self.run_softirqs(ctx);
        }
    }

    /// The tick asks for balancing on this CPU if it is due. Returns whether the CPU has domains at all.
    fn trigger_load_balance(&mut self, cpu: CpuId) -> bool {
        if self.domains.cpus[cpu.index()].base.is_none() {
            return false;
        }
        if self.jiffies >= self.nohz.cpus[cpu.index()].next_balance {
            self.rqs[cpu.index()].sched_softirq = true;
        }
        true
    }

    /// Whether somebody has to balance for tickless CPUs, by itself: what the kernel's function of this name does.
    #[cfg(test)]
    pub(crate) fn nohz_balancer_kick(&mut self, ctx: &mut Ctx<'_>) {
        self.drive(ctx, TickPath::Kick);
    }

    /// The part of the tick without the lock, by itself.
    #[cfg(test)]
    pub(crate) fn finish_tick(&mut self, ctx: &mut Ctx<'_>) {
        self.resume_tick(ctx, TickPath::Look);
    }
}
