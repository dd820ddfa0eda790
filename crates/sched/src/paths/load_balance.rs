// SPDX-License-Identifier: GPL-2.0-or-later
//! One pass of balancing over a domain.
//!
//! Models `load_balance()` (6.1; since 6.10 `sched_balance_rq()`) and `should_we_balance()`. The steps: is it this CPU's
//! turn; which group is the busiest, and which of its runqueues; move tasks; if all tasks there are pinned start over
//! without that runqueue; if nothing could be moved, perhaps have the running task pushed. Between the steps locks change
//! hands, so a pass can pause there ([`crate::paths::walks`]): what it has seen may not hold any more when it goes on.

use crate::interface::balance::{BalanceVerdict, BalancedReason, MigrationType};
use crate::interface::ctx::Ctx;
use crate::interface::policy::BalanceChoice;
use crate::interface::probe::Event;
use crate::paths::active::PushRequest;
use crate::paths::resumable::{Step, YieldPoint};
use crate::paths::sched::Sched;
use crate::rules::balance::env::LbEnv;
use crate::rules::balance::policy::PolicyScan;
use crate::state::counters::{DomainCounter, LbCounter};
use crate::state::topology::{DomainId, SchedGroupCapacity, SchedGroupId};
use crate::types::cpumask::CpuMask;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;
use crate::types::work::KernelOp;

/// An interval is doubled up to this while all tasks are pinned, in ms.
const MAX_PINNED_INTERVAL_MS: u32 = 512;

/// What a pass has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PassResult {
    /// Number of tasks moved.
    pub nr_moved: u32,
    /// Whether it makes sense for this CPU to balance wider domains as well.
    pub continue_balancing: bool,
}

/// A pass of balancing on its way.
#[derive(Clone, Debug)]
pub(crate) struct LbPass {
    pub env: LbEnv,
    /// For which CPU it was begun.
    this_cpu: CpuId,
    /// What comes next.
    phase: Phase,
}

/// The phases of a pass. Those that take a lock are named after what they do under it.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Gather statistics and find the busiest group. No lock.
    Look,
    /// Look at a CPU for a policy of one's own, which decides what is pulled. No lock.
    Ask(PolicyScan),
    /// Find the group's busiest runqueue. No lock.
    Choose(SchedGroupId),
    /// Take tasks from it.
    Detach,
    /// Put so many into the destination's runqueue.
    Attach(u32),
    /// Have the running task of the busiest runqueue pushed.
    Push,
}

impl Sched {
    /// Balances a domain for a CPU, without pauses.
    #[cfg(test)]
    pub(crate) fn load_balance(
        &mut self,
        ctx: &mut Ctx<'_>,
        this_cpu: CpuId,
        sd: DomainId,
        idle: CpuIdleType,
    ) -> PassResult {
        let mut pass = self.begin_pass(ctx, this_cpu, sd, idle);
        loop {
            if let Step::Done(result) = self.step_pass(ctx, &mut pass) {
                return result;
            }
        }
    }

    /// Begins a pass over a domain for a CPU. A CPU that runs out of work pays for it from here on, as it measures itself.
    pub(crate) fn begin_pass(&mut self, ctx: &mut Ctx<'_>, this_cpu: CpuId, sd: DomainId, idle: CpuIdleType) -> LbPass {
        let mut cpus = self.lend_balance_mask(ctx.cpu);
        let domain = &self.domains.domains[sd];
        let online = &self.domains.root.online;
        cpus.assign_and(&domain.span, online);
        let has_all_cpus = domain.span.is_subset_of(online);
        let mut env = LbEnv::new(ctx.cpu, sd, domain.level, this_cpu, idle, cpus);
        env.has_all_cpus = has_all_cpus;
        ctx.charge(KernelOp::BalancePass);
        if idle == CpuIdleType::NewlyIdle {
            ctx.charge_elapsing(KernelOp::NewidlePass);
        }
        self.count_lb(ctx, &env, LbCounter::Count, 1);
        LbPass { env, this_cpu, phase: Phase::Look }
    }

    /// Does the next phase of a pass.
    pub(crate) fn step_pass(&mut self, ctx: &mut Ctx<'_>, pass: &mut LbPass) -> Step<PassResult> {
        let step = match pass.phase {
            Phase::Look => self.gather_stats(ctx, pass),
            Phase::Ask(mut asking) => {
                let choice = self.scan_for_balance(ctx, &pass.env, &mut asking);
                self.follow(ctx, pass, asking, choice)
            }
            Phase::Choose(group) => self.choose(ctx, pass, group),
            Phase::Detach => self.detach(ctx, pass),
            Phase::Attach(nr) => {
                let dst = self.rq_lock_clocked(ctx, pass.env.dst_cpu);
                self.attach_tasks(ctx, &dst, &mut pass.env);
                pass.env.decision.nr_moved += nr;
                self.after_detach(ctx, pass)
            }
            Phase::Push => Step::Done(self.push(ctx, pass)),
        };
        match step {
            Step::Pause(before) => Step::Pause(before),
            Step::Done(verdict) => Step::Done(self.end_pass(ctx, &mut pass.env, verdict)),
        }
    }

    /// Is it this CPU's turn, and which group is the busiest?
    fn gather_stats(&mut self, ctx: &mut Ctx<'_>, pass: &mut LbPass) -> Step<BalanceVerdict> {
        let env = &mut pass.env;
        if !self.should_we_balance(env) {
            return Step::Done(BalanceVerdict::NotOurs);
        }
        let found = self.find_busiest_group(ctx, env);
        let choice = self.choose_balance(ctx, env, found, None, 0);
        self.follow(ctx, pass, PolicyScan { found, next: pass.this_cpu, nr_looks: 0 }, choice)
    }

    /// Does what a policy of one's own says; without one the kernel's rules decide.
    fn follow(
        &mut self,
        ctx: &mut Ctx<'_>,
        pass: &mut LbPass,
        asking: PolicyScan,
        choice: BalanceChoice,
    ) -> Step<BalanceVerdict> {
        let env = &mut pass.env;
        match choice {
            BalanceChoice::Look(next) => {
                pass.phase = Phase::Ask(PolicyScan { next, ..asking });
                Step::Pause(YieldPoint::FREE)
            }
            BalanceChoice::Pull { from, tasks } => {
                env.flags.by_policy = true;
                (env.migration, env.imbalance) = (MigrationType::Task, i64::from(tasks));
                (env.decision.migration, env.decision.imbalance) = (Some(env.migration), env.imbalance);
                self.pull_from(ctx, pass, from)
            }
            BalanceChoice::Nothing => self.continue_pass(ctx, pass, Err(BalancedReason::Policy)),
            BalanceChoice::Kernel | BalanceChoice::Fail(_) => self.continue_pass(ctx, pass, asking.found),
        }
    }

    /// Goes on with the busiest group, or ends because there is none.
    fn continue_pass(
        &mut self,
        ctx: &mut Ctx<'_>,
        pass: &mut LbPass,
        found: Result<SchedGroupId, BalancedReason>,
    ) -> Step<BalanceVerdict> {
        let env = &mut pass.env;
        match found {
            Ok(group) => {
                env.decision.busiest_group = self.domains.groups[group].span.first();
                (env.decision.migration, env.decision.imbalance) = (Some(env.migration), env.imbalance);
                pass.phase = Phase::Choose(group);
                Step::Pause(YieldPoint::FREE)
            }
            Err(why) => {
                self.count_lb(ctx, env, LbCounter::NobusyG, 1);
                env.decision.balanced = Some(why);
                Step::Done(BalanceVerdict::NoBusiestGroup)
            }
        }
    }

    /// Which runqueue of the group is the busiest? Until its lock is held, others can take its tasks.
    fn choose(&mut self, ctx: &mut Ctx<'_>, pass: &mut LbPass, group: SchedGroupId) -> Step<BalanceVerdict> {
        let env = &mut pass.env;
        self.refresh_tallies_in(env.sd);
        let Some(busiest) = self.find_busiest_queue(ctx, env, group) else {
            self.count_lb(ctx, env, LbCounter::NobusyQ, 1);
            return Step::Done(BalanceVerdict::NoBusiestQueue);
        };
        self.pull_from(ctx, pass, busiest)
    }

    /// Tasks are to come from this runqueue, if it has any beside the running one.
    fn pull_from(&mut self, ctx: &mut Ctx<'_>, pass: &mut LbPass, busiest: CpuId) -> Step<BalanceVerdict> {
        let env = &mut pass.env;
        self.count_lb(ctx, env, LbCounter::Imbalance, env.imbalance);
        env.decision.busiest_queue = Some(busiest);
        env.src_cpu = busiest;
        env.flags.all_pinned = true;
        env.flags.emptied = false;
        env.decision.nr_moved = 0;
        let nr_running = self.rqs[busiest.index()].nr_running;
        if nr_running <= 1 {
            return self.finish_pulling(ctx, pass);
        }
        env.max_looked = self.tunables.nr_migrate.min(nr_running);
        pass.phase = Phase::Detach;
        Step::Pause(YieldPoint::lock(busiest))
    }

    /// Takes tasks from the busiest runqueue, under its lock.
    fn detach(&mut self, ctx: &mut Ctx<'_>, pass: &mut LbPass) -> Step<BalanceVerdict> {
        let env = &mut pass.env;
        env.decision.nr_locks += 1;
        let src = self.rq_lock_charged(ctx, env.src_cpu);
        self.update_rq_clock(ctx, &src);
        match self.detach_tasks(ctx, &src, env) {
            0 => self.after_detach(ctx, pass),
            detached => {
                pass.phase = Phase::Attach(detached);
                Step::Pause(YieldPoint::lock_next(env.dst_cpu))
            }
        }
    }

    /// What follows when tasks have been moved, or none could be.
    ///
    /// Rules, in order:
    /// 1. If the lock was dropped only for a moment, go on.
    /// 2. If there are tasks that may run only on another CPU of the group, go on for that one.
    /// 3. If pinned tasks are the reason why an imbalance remains, the domain above hears of it.
    /// 4. If all tasks are pinned, start over without that runqueue, or give up.
    fn after_detach(&mut self, ctx: &mut Ctx<'_>, pass: &mut LbPass) -> Step<BalanceVerdict> {
        let env = &mut pass.env;
        pass.phase = Phase::Detach;
        if core::mem::take(&mut env.flags.need_break) {
            return Step::Pause(YieldPoint::lock(env.src_cpu));
        }
        if env.flags.dst_pinned && env.imbalance > 0 {
            env.leave_out(env.dst_cpu);
            env.dst_cpu = env.new_dst_cpu;
            env.flags.dst_pinned = false;
            env.restart_looking();
            return Step::Pause(YieldPoint::lock(env.src_cpu));
        }
        if env.flags.some_pinned
            && env.imbalance > 0
            && let Some(above) = self.own_group_above(env)
        {
            above.imbalance = true;
        }
        if !env.flags.all_pinned {
            return self.finish_pulling(ctx, pass);
        }
        if !self.try_redo(env) {
            return Step::Done(BalanceVerdict::AllPinned);
        }
        env.decision.redos += 1;
        env.decision.raced += u32::from(env.flags.emptied);
        env.restart_looking();
        pass.phase = Phase::Look;
        Step::Pause(YieldPoint::FREE)
    }

    /// Whether it is this CPU's turn to balance a domain.
    ///
    /// Rules, in order:
    /// 1. A CPU that was set aside because of pinned tasks does not.
    /// 2. A CPU that runs out of work does, unless it has got some meanwhile.
    /// 3. Otherwise the first idle CPU of the group, or the group's first CPU if none is idle.
    pub(crate) fn should_we_balance(&mut self, env: &LbEnv) -> bool {
        if !env.cpus.contains(env.dst_cpu) {
            return false;
        }
        if env.idle == CpuIdleType::NewlyIdle {
            let rq = &self.rqs[env.dst_cpu.index()];
            return rq.nr_running == 0 && !rq.ttwu_pending;
        }
        self.refresh_tallies_in(env.sd);
        let group = &self.domains.groups[self.domains.domains[env.sd].groups];
        let idle = group.balance_mask.first_and_and(&env.cpus, self.tallies.idle());
        idle.unwrap_or(group.balance_cpu) == env.dst_cpu
    }

    /// Whether the pass starts over without the runqueue whose tasks are all pinned: CPUs of other groups must be left. What a policy of one's
    /// own has chosen is not replaced by another choice.
    fn try_redo(&self, env: &mut LbEnv) -> bool {
        env.leave_out(env.src_cpu);
        let local = &self.domains.groups[self.domains.domains[env.sd].groups].balance_mask;
        let is_allowed = self.tunables.changes.redo_max.is_none_or(|max| env.decision.redos < max);
        !env.cpus.is_subset_of(local) && is_allowed && !env.flags.by_policy
    }

    /// After tasks were looked at: if none was moved, perhaps have the running one pushed.
    fn finish_pulling(&mut self, ctx: &mut Ctx<'_>, pass: &mut LbPass) -> Step<BalanceVerdict> {
        let env = &mut pass.env;
        let verdict = if env.decision.nr_moved > 0 {
            self.domains.domains[env.sd].nr_balance_failed = 0;
            BalanceVerdict::Moved
        } else {
            self.count_lb(ctx, env, LbCounter::Failed, 1);
            if env.idle != CpuIdleType::NewlyIdle {
                self.domains.domains[env.sd].nr_balance_failed += 1;
            }
            if self.need_active_balance(env) {
                pass.phase = Phase::Push;
                return Step::Pause(YieldPoint::lock(env.src_cpu));
            }
            BalanceVerdict::Failed
        };
        self.reset_interval(env.sd);
        Step::Done(verdict)
    }

    /// Asks for the running task of the busiest runqueue, under its lock.
    fn push(&mut self, ctx: &mut Ctx<'_>, pass: &mut LbPass) -> BalanceVerdict {
        let env = &mut pass.env;
        let verdict = match self.request_push(ctx, env, pass.this_cpu) {
            PushRequest::Pinned => return BalanceVerdict::RunningTaskPinned,
            PushRequest::Pending => BalanceVerdict::ActiveBalancePending,
            PushRequest::Sent => BalanceVerdict::ActiveBalance,
        };
        if verdict != BalanceVerdict::ActiveBalance || self.need_active_balance(env) {
            self.reset_interval(env.sd);
        }
        verdict
    }

    /// There was an imbalance: the next pass is soon.
    fn reset_interval(&mut self, sd: DomainId) {
        let sd = &mut self.domains.domains[sd];
        sd.balance_interval = sd.min_interval_ms;
    }

    /// What the pass means for the domain. An imbalance that was found has been dealt with.
    ///
    /// Rules, in order:
    /// 1. Balanced, and not because of pinned tasks: the domain above need not bother any more.
    /// 2. Balanced or all pinned: failures are forgotten.
    /// 3. Nothing to do here for a CPU that has time to wait: the next pass is later, twice as much each time.
    fn end_pass(&mut self, ctx: &mut Ctx<'_>, env: &mut LbEnv, verdict: BalanceVerdict) -> PassResult {
        let (is_balanced, is_pinned) = match verdict {
            BalanceVerdict::NotOurs | BalanceVerdict::NoBusiestGroup | BalanceVerdict::NoBusiestQueue => (true, false),
            BalanceVerdict::AllPinned => (true, true),
            BalanceVerdict::RunningTaskPinned => (false, true),
            BalanceVerdict::Moved
            | BalanceVerdict::Failed
            | BalanceVerdict::ActiveBalance
            | BalanceVerdict::ActiveBalancePending => (false, false),
        };
        if is_balanced {
            if !is_pinned
                && !env.flags.all_pinned
                && let Some(above) = self.own_group_above(env)
            {
                above.imbalance = false;
            }
            self.count_lb(ctx, env, LbCounter::Balanced, 1);
            self.domains.domains[env.sd].nr_balance_failed = 0;
        }
        if (is_balanced || is_pinned) && env.idle != CpuIdleType::NewlyIdle {
            let sd = &mut self.domains.domains[env.sd];
            let interval = sd.balance_interval;
            if env.flags.all_pinned && interval < MAX_PINNED_INTERVAL_MS || interval < sd.max_interval_ms {
                sd.balance_interval *= 2;
            }
        }
        env.decision.verdict = verdict;
        ctx.report(Event::BalanceDecision(&env.decision));
        let cpus = core::mem::replace(&mut env.cpus, CpuMask::new(1));
        self.masks[ctx.cpu.index()].balance = cpus;
        PassResult {
            nr_moved: if verdict == BalanceVerdict::Moved { env.decision.nr_moved } else { 0 },
            continue_balancing: verdict != BalanceVerdict::NotOurs,
        }
    }

    /// In the domain above, the group of the CPU to whose chain the domain belongs.
    fn own_group_above(&mut self, env: &LbEnv) -> Option<&mut SchedGroupCapacity> {
        let parent = self.domains.domains[env.sd].parent?;
        let group = self.domains.domains[parent].groups;
        let capacity = self.domains.groups[group].capacity;
        Some(&mut self.domains.capacities[capacity])
    }

    #[inline]
    fn count_lb(&mut self, ctx: &mut Ctx<'_>, env: &LbEnv, counter: LbCounter, amount: i64) {
        self.count_domain(ctx, env.sd, DomainCounter::Lb(counter, env.idle), amount);
    }

    /// Lends the mask of a CPU's balancing passes. What stands in for it meanwhile does not allocate.
    fn lend_balance_mask(&mut self, cpu: CpuId) -> CpuMask {
        let mask = core::mem::replace(&mut self.masks[cpu.index()].balance, CpuMask::new(1));
        debug_assert!(mask.nr_cpus() == self.rqs.len(), "balancing passes of a CPU do not nest");
        mask
    }
}
