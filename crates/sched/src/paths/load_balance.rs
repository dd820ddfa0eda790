// SPDX-License-Identifier: GPL-2.0-or-later
//! One load-balance pass over a sched domain.
//!
//! Models `load_balance()` (6.1; since 6.10 `sched_balance_rq()`) and `should_we_balance()`. The steps of a
//! pass:
//! 1. Check whether this CPU should balance the domain.
//! 2. Find the busiest group, and its busiest runqueue.
//! 3. Move tasks. If all tasks there are pinned, start over without that runqueue.
//! 4. If no task was moved, possibly request a push of the running task.
//!
//! The pass can yield between the steps ([`crate::paths::resumable`]), because locks are dropped there:
//! statistics can be out of date when it resumes.

use crate::interface::balance::{BalanceVerdict, BalancedReason, MigrationType};
use crate::interface::ctx::Ctx;
use crate::interface::policy::BalanceChoice;
use crate::interface::probe::Event;
use crate::paths::active::PushRequest;
use crate::paths::resumable::{Step, YieldPoint};
use crate::paths::sched::Sched;
use crate::rules::balance::env::LbEnv;
use crate::rules::balance::policy::BalancePolicyScan;
use crate::state::counters::{DomainCounter, LbCounter};
use crate::state::topology::{DomainId, SchedGroup, SchedGroupCapacity, SchedGroupId, SdFlags};
use crate::types::cpumask::CpuMask;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;
use crate::types::work::KernelOp;

/// Limit in ms up to which the interval of a domain is doubled while all tasks are pinned.
const MAX_PINNED_INTERVAL_MS: u32 = 512;

/// Result of one load-balance pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LbPassResult {
    pub nr_moved: u32,
    /// Whether the CPU should also balance the domains above.
    pub continue_balancing: bool,
}

/// Load-balance pass in progress.
#[derive(Clone, Debug)]
pub(crate) struct LbPass {
    pub env: LbEnv,
    /// CPU for which the pass was begun. The destination `env.dst_cpu` can change during the pass.
    this_cpu: CpuId,
    phase: LbPhase,
}

/// Next phase of a pass. A phase that takes a lock is named after its work under the lock.
#[derive(Clone, Copy, Debug)]
enum LbPhase {
    /// Collect group statistics and find the busiest group. No lock.
    GatherStats,
    /// Sample a CPU for the policy hook, which decides what is pulled. No lock.
    SamplePolicy(BalancePolicyScan),
    /// Find the busiest runqueue of the group. No lock.
    FindQueue(SchedGroupId),
    /// Detach tasks from the busiest runqueue, under its lock.
    Detach,
    /// Attach this number of tasks, under the lock of the destination.
    Attach(u32),
    /// Request a push of the running task, under the lock of the busiest runqueue.
    Push,
}

impl Sched {
    /// Runs a complete pass without yielding.
    #[cfg(test)]
    pub(crate) fn load_balance(
        &mut self,
        ctx: &mut Ctx<'_>,
        this_cpu: CpuId,
        sd: DomainId,
        idle: CpuIdleType,
    ) -> LbPassResult {
        let mut pass = self.begin_pass(ctx, this_cpu, sd, idle);
        loop {
            if let Step::Done(result) = self.step_pass(ctx, &mut pass) {
                return result;
            }
        }
    }

    /// Begins a pass over a domain for a CPU. A CPU in newly-idle balancing is charged for the pass here,
    /// because it measures its own cost.
    pub(crate) fn begin_pass(&mut self, ctx: &mut Ctx<'_>, this_cpu: CpuId, sd: DomainId, idle: CpuIdleType) -> LbPass {
        let mut cpus = self.take_balance_mask(ctx.cpu);
        let domain = &self.domains.domains[sd];
        let active = &self.hotplug.active;
        cpus.assign_and(&domain.span, active);
        let has_all_cpus = domain.span.is_subset_of(active);
        let mut env = LbEnv::new(ctx.cpu, sd, domain.level, this_cpu, idle, cpus);
        env.has_all_cpus = has_all_cpus;
        ctx.charge(KernelOp::BalancePass);
        if idle == CpuIdleType::NewlyIdle {
            ctx.charge_self_timed(KernelOp::NewidlePass);
        }
        self.count_lb(ctx, &env, LbCounter::Count, 1);
        LbPass { env, this_cpu, phase: LbPhase::GatherStats }
    }

    /// Runs the next phase of a pass.
    pub(crate) fn step_pass(&mut self, ctx: &mut Ctx<'_>, pass: &mut LbPass) -> Step<LbPassResult> {
        let step = match pass.phase {
            LbPhase::GatherStats => self.gather_stats(ctx, pass),
            LbPhase::SamplePolicy(mut asking) => {
                let choice = self.scan_for_balance(ctx, &pass.env, &mut asking);
                self.apply_policy_choice(ctx, pass, asking, choice)
            }
            LbPhase::FindQueue(group) => self.choose_busiest_queue(ctx, pass, group),
            LbPhase::Detach => self.detach(ctx, pass),
            LbPhase::Attach(nr) => {
                let dst = self.rq_lock_clocked(ctx, pass.env.dst_cpu);
                self.attach_tasks(ctx, &dst, &mut pass.env);
                drop(dst);
                if !self.path_stacks.wakeups_of_migrating.is_empty() {
                    self.finish_wakeups_of_migrating(ctx);
                }
                pass.env.decision.nr_moved += nr;
                self.after_detach(ctx, pass)
            }
            LbPhase::Push => Step::Done(self.push(ctx, pass)),
        };
        match step {
            Step::Yield(before) => Step::Yield(before),
            Step::Done(verdict) => Step::Done(self.end_pass(ctx, &mut pass.env, verdict)),
        }
    }

    /// Checks whether this CPU should balance, and finds the busiest group.
    fn gather_stats(&mut self, ctx: &mut Ctx<'_>, pass: &mut LbPass) -> Step<BalanceVerdict> {
        let env = &mut pass.env;
        if !self.should_we_balance(env) {
            return Step::Done(BalanceVerdict::NotOurs);
        }
        let found = self.find_busiest_group(ctx, env);
        let choice = self.choose_balance(ctx, env, found, None, 0);
        self.apply_policy_choice(ctx, pass, BalancePolicyScan { found, next: pass.this_cpu, nr_looks: 0 }, choice)
    }

    /// Applies the choice of the policy hook. Without a hook, or if it leaves the choice to the kernel, the
    /// kernel's rules decide.
    fn apply_policy_choice(
        &mut self,
        ctx: &mut Ctx<'_>,
        pass: &mut LbPass,
        asking: BalancePolicyScan,
        choice: BalanceChoice,
    ) -> Step<BalanceVerdict> {
        let env = &mut pass.env;
        match choice {
            BalanceChoice::Sample(next) => {
                pass.phase = LbPhase::SamplePolicy(BalancePolicyScan { next, ..asking });
                Step::Yield(YieldPoint::UNLOCKED)
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

    /// Continues with the busiest group, or ends the pass because there is none.
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
                pass.phase = LbPhase::FindQueue(group);
                Step::Yield(YieldPoint::UNLOCKED)
            }
            Err(why) => {
                self.count_lb(ctx, env, LbCounter::NobusyG, 1);
                env.decision.balanced = Some(why);
                Step::Done(BalanceVerdict::NoBusiestGroup)
            }
        }
    }

    /// Selects the busiest runqueue of the group. Other CPUs can take its tasks until its lock is held.
    fn choose_busiest_queue(
        &mut self,
        ctx: &mut Ctx<'_>,
        pass: &mut LbPass,
        group: SchedGroupId,
    ) -> Step<BalanceVerdict> {
        let env = &mut pass.env;
        self.refresh_lb_cache_in(env.sd);
        let Some(busiest) = self.find_busiest_queue(ctx, env, group) else {
            self.count_lb(ctx, env, LbCounter::NobusyQ, 1);
            return Step::Done(BalanceVerdict::NoBusiestQueue);
        };
        self.pull_from(ctx, pass, busiest)
    }

    /// Makes `busiest` the source of the pass. Its tasks are detached next if it has any besides the running
    /// one.
    fn pull_from(&mut self, ctx: &mut Ctx<'_>, pass: &mut LbPass, busiest: CpuId) -> Step<BalanceVerdict> {
        let env = &mut pass.env;
        self.count_lb(ctx, env, LbCounter::Imbalance, env.imbalance);
        env.decision.busiest_queue = Some(busiest);
        env.src_cpu = busiest;
        env.flags.all_pinned = true;
        env.flags.emptied = false;
        env.decision.nr_moved = 0;
        let nr_running = self.rqs[busiest].nr_running;
        if nr_running <= 1 {
            return self.finish_pulling(ctx, pass);
        }
        env.loop_max = self.tunables.nr_migrate.min(nr_running);
        pass.phase = LbPhase::Detach;
        Step::Yield(YieldPoint::lock(busiest))
    }

    /// Detaches tasks from the busiest runqueue, under its lock.
    fn detach(&mut self, ctx: &mut Ctx<'_>, pass: &mut LbPass) -> Step<BalanceVerdict> {
        let env = &mut pass.env;
        env.decision.nr_locks += 1;
        let src = self.rq_lock_charged(ctx, env.src_cpu);
        self.update_rq_clock(ctx, &src);
        match self.detach_tasks(ctx, &src, env) {
            0 => self.after_detach(ctx, pass),
            detached => {
                pass.phase = LbPhase::Attach(detached);
                Step::Yield(YieldPoint::lock_irqs_off(env.dst_cpu))
            }
        }
    }

    /// Selects the next phase after tasks were moved, or none could be moved.
    ///
    /// Rules, in order:
    /// 1. If detaching was interrupted only to drop the lock (`LBF_NEED_BREAK`), continue it.
    /// 2. If pinned tasks may run on another CPU of the group, continue for that CPU.
    /// 3. If pinned tasks cause a remaining imbalance, mark the group in the domain above as imbalanced.
    /// 4. If all tasks are pinned, start over without that runqueue, or give up.
    fn after_detach(&mut self, ctx: &mut Ctx<'_>, pass: &mut LbPass) -> Step<BalanceVerdict> {
        let env = &mut pass.env;
        pass.phase = LbPhase::Detach;
        if core::mem::take(&mut env.flags.need_break) {
            return Step::Yield(YieldPoint::lock(env.src_cpu));
        }
        if env.flags.dst_pinned && env.imbalance > 0 {
            env.exclude_cpu(env.dst_cpu);
            env.dst_cpu = env.new_dst_cpu;
            env.flags.dst_pinned = false;
            env.restart_scan();
            return Step::Yield(YieldPoint::lock(env.src_cpu));
        }
        if env.flags.some_pinned
            && env.imbalance > 0
            && let Some(above) = self.own_group_above(env.sd)
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
        env.restart_scan();
        pass.phase = LbPhase::GatherStats;
        Step::Yield(YieldPoint::UNLOCKED)
    }

    /// Whether the destination CPU should balance the domain (`should_we_balance()`).
    ///
    /// Rules, in order:
    /// 1. A CPU that was excluded because of pinned tasks: no.
    /// 2. A newly idle CPU: yes, unless it has received work or a queued wake-up.
    /// 3. Otherwise only the first idle CPU of the group, or the group's balance CPU (`group_balance_cpu()`)
    ///    if none is idle. In 6.12, above cores, a CPU of an idle core comes before one of a busy core.
    pub(crate) fn should_we_balance(&mut self, env: &LbEnv) -> bool {
        if !env.cpus.contains(env.dst_cpu) {
            return false;
        }
        if env.idle == CpuIdleType::NewlyIdle {
            let rq = &self.rqs[env.dst_cpu];
            return rq.nr_running == 0 && !rq.ttwu_pending;
        }
        self.refresh_lb_cache_in(env.sd);
        self.is_balancer(env.sd, env.dst_cpu, &env.cpus)
    }

    /// Whether a CPU that is not newly idle balances a domain, by the cached statistics of the domain. `cpus` take part.
    #[inline]
    pub(crate) fn is_balancer(&self, sd: DomainId, cpu: CpuId, cpus: &CpuMask) -> bool {
        let group = &self.domains.groups[self.domains.domains[sd].groups];
        if group.group_weight == 1 {
            return group.balance_cpu == cpu;
        }
        let idle = if self.rules.balances_from_idle_core {
            self.idle_balancer(sd, cpus, group)
        } else {
            group.balance_mask.first_and_and(cpus, self.lb_cache.idle())
        };
        idle.unwrap_or(group.balance_cpu) == cpu
    }

    /// Returns the idle CPU of a group that should balance in 6.12: the first one on an idle core, otherwise the first
    /// one. In a domain of siblings, and without SMT, cores do not matter.
    #[cold]
    #[inline(never)]
    fn idle_balancer(&self, sd: DomainId, cpus: &CpuMask, group: &SchedGroup) -> Option<CpuId> {
        let first = group.balance_mask.first_and_and(cpus, self.lb_cache.idle());
        let is_sibling_domain = self.domains.domains[sd].flags.intersects(SdFlags::SHARE_CPUCAPACITY);
        if !self.domains.smt_present || is_sibling_domain {
            return first;
        }
        let mut candidates = group.balance_mask.iter_and(cpus).filter(|cpu| self.lb_cache.idle().contains(*cpu));
        candidates.find(|&cpu| self.is_core_idle(cpu)).or(first)
    }

    /// Whether the pass starts over without the runqueue whose tasks are all pinned. This requires CPUs
    /// outside the local group. A choice of the policy hook is final: the pass does not start over.
    fn try_redo(&self, env: &mut LbEnv) -> bool {
        env.exclude_cpu(env.src_cpu);
        let local = &self.domains.groups[self.domains.domains[env.sd].groups].balance_mask;
        let is_allowed = self.tunables.changes.redo_max.is_none_or(|max| env.decision.redos < max);
        !env.cpus.is_subset_of(local) && is_allowed && !env.flags.by_policy
    }

    /// Ends the pulling of tasks. If none was moved, the running task may be pushed.
    fn finish_pulling(&mut self, ctx: &mut Ctx<'_>, pass: &mut LbPass) -> Step<BalanceVerdict> {
        let env = &mut pass.env;
        let verdict = if env.decision.nr_moved > 0 {
            self.domains.domains[env.sd].nr_balance_failed = 0;
            BalanceVerdict::Moved
        } else {
            self.count_lb(ctx, env, LbCounter::Failed, 1);
            let spares_misfit = self.spares_misfit(env);
            if env.idle != CpuIdleType::NewlyIdle && !spares_misfit {
                self.domains.domains[env.sd].nr_balance_failed += 1;
            }
            if self.need_active_balance(env) {
                pass.phase = LbPhase::Push;
                return Step::Yield(YieldPoint::lock(env.src_cpu));
            }
            BalanceVerdict::Failed
        };
        self.reset_interval(env.sd);
        Step::Done(verdict)
    }

    /// Whether a pass counts no failures and lets the interval be because it looked for a misfit task (6.12).
    fn spares_misfit(&self, env: &LbEnv) -> bool {
        env.migration == MigrationType::Misfit && self.rules.spares_misfit_interval
    }

    /// Requests a push of the running task of the busiest runqueue, under its lock.
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

    /// Sets the interval to its minimum: an imbalance was found, so the next pass follows soon.
    fn reset_interval(&mut self, sd: DomainId) {
        let min_interval_ms = self.domains.domains[sd].min_interval_ms;
        self.set_balance_interval(sd, min_interval_ms);
    }

    /// Ends the pass: updates the domain's state and reports the decision.
    ///
    /// Rules, in order:
    /// 1. Balanced, and not because of pinned tasks: the group in the domain above is no longer marked as
    ///    imbalanced.
    /// 2. Balanced or all pinned: the failure count is reset.
    /// 3. Balanced or pinned, and the CPU is not newly idle: the interval doubles, up to its limit.
    fn end_pass(&mut self, ctx: &mut Ctx<'_>, env: &mut LbEnv, verdict: BalanceVerdict) -> LbPassResult {
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
                && let Some(above) = self.own_group_above(env.sd)
            {
                above.imbalance = false;
            }
            self.count_lb(ctx, env, LbCounter::Balanced, 1);
            self.domains.domains[env.sd].nr_balance_failed = 0;
        }
        if (is_balanced || is_pinned) && env.idle != CpuIdleType::NewlyIdle && !self.spares_misfit(env) {
            let sd = &self.domains.domains[env.sd];
            let interval = sd.balance_interval;
            if env.flags.all_pinned && interval < MAX_PINNED_INTERVAL_MS || interval < sd.max_interval_ms {
                self.set_balance_interval(env.sd, 2 * interval);
            }
        }
        env.decision.verdict = verdict;
        ctx.report(Event::BalanceDecision(&env.decision));
        let cpus = core::mem::replace(&mut env.cpus, CpuMask::new(1));
        self.masks[ctx.cpu].balance = cpus;
        LbPassResult {
            nr_moved: if verdict == BalanceVerdict::Moved { env.decision.nr_moved } else { 0 },
            continue_balancing: verdict != BalanceVerdict::NotOurs,
        }
    }

    /// Returns the capacity record, in the domain above, of the group of the CPU that owns the domain.
    #[inline]
    pub(crate) fn own_group_above(&mut self, sd: DomainId) -> Option<&mut SchedGroupCapacity> {
        let parent = self.domains.domains[sd].parent?;
        let group = self.domains.domains[parent].groups;
        let capacity = self.domains.groups[group].capacity;
        Some(&mut self.domains.capacities[capacity])
    }

    #[inline]
    fn count_lb(&mut self, ctx: &mut Ctx<'_>, env: &LbEnv, counter: LbCounter, amount: i64) {
        self.domains.domains[env.sd].count(ctx, DomainCounter::Lb(counter, env.idle), amount);
    }

    /// Takes the CPU mask for balancing passes of a CPU. The mask that replaces it meanwhile does not
    /// allocate.
    fn take_balance_mask(&mut self, cpu: CpuId) -> CpuMask {
        let mask = core::mem::replace(&mut self.masks[cpu].balance, CpuMask::new(1));
        debug_assert!(mask.nr_cpus() == self.rqs.len(), "balancing passes of a CPU do not nest");
        mask
    }
}
