// SPDX-License-Identifier: GPL-2.0-or-later
//! One pass of balancing over a domain.
//!
//! Models `load_balance()` (6.1; since 6.10 `sched_balance_rq()`) and `should_we_balance()`. The steps: is it this CPU's
//! turn; which group is the busiest, and which of its runqueues; move tasks; if all tasks there are pinned start over
//! without that runqueue; if nothing could be moved, perhaps have the running task pushed.

use super::active::PushRequest;
use super::counters::{DomainCounter, LbCounter};
use super::decision::BalanceVerdict;
use super::env::LbEnv;
use crate::cpumask::CpuMask;
use crate::ctx::Ctx;
use crate::ids::CpuId;
use crate::probe::Event;
use crate::sched::Sched;
use crate::topology::{CpuIdleType, DomainId, SchedGroupCapacity};
use crate::work::Op;

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

impl Sched {
    /// Balances a domain for a CPU.
    pub(crate) fn load_balance(
        &mut self,
        ctx: &mut Ctx<'_>,
        this_cpu: CpuId,
        sd: DomainId,
        idle: CpuIdleType,
    ) -> PassResult {
        // The mask is lent from the scratch space; what stands in for it meanwhile does not allocate.
        let mut cpus = core::mem::replace(&mut self.scratch.balance, CpuMask::new(1));
        debug_assert!(cpus.nr_cpus() == self.rqs.len(), "balancing passes do not nest");
        let domain = &self.domains.domains[sd];
        cpus.assign_and(&domain.span, &self.domains.root.online);
        let mut env = LbEnv::new(ctx.cpu, sd, domain.level, this_cpu, idle, cpus);
        self.begin_pass(ctx, &env);
        let verdict = self.run_pass(ctx, &mut env, this_cpu);
        self.end_pass(ctx, &mut env, verdict);
        let result = PassResult {
            nr_moved: if verdict == BalanceVerdict::Moved { env.decision.nr_moved } else { 0 },
            continue_balancing: verdict != BalanceVerdict::NotOurs,
        };
        self.scratch.balance = env.cpus;
        result
    }

    /// A CPU that runs out of work pays for the pass from here on, as it measures itself.
    fn begin_pass(&mut self, ctx: &mut Ctx<'_>, env: &LbEnv) {
        ctx.charge(Op::BalancePass);
        if env.idle == CpuIdleType::NewlyIdle {
            ctx.charge(Op::NewidlePass);
            ctx.ahead += ctx.newidle_pass_cost;
        }
        self.count_lb(ctx, env, LbCounter::Count, 1);
    }

    /// The pass proper. What it decides about the domain's state is left to [`Sched::end_pass`].
    fn run_pass(&mut self, ctx: &mut Ctx<'_>, env: &mut LbEnv, this_cpu: CpuId) -> BalanceVerdict {
        loop {
            if !self.should_we_balance(env) {
                return BalanceVerdict::NotOurs;
            }
            let group = match self.find_busiest_group(ctx, env) {
                Ok(group) => group,
                Err(why) => {
                    self.count_lb(ctx, env, LbCounter::NobusyG, 1);
                    env.decision.balanced = Some(why);
                    return BalanceVerdict::NoBusiestGroup;
                }
            };
            env.decision.busiest_group = self.domains.groups[group].span.first();
            (env.decision.migration, env.decision.imbalance) = (Some(env.migration), env.imbalance);
            let Some(busiest) = self.find_busiest_queue(ctx, env, group) else {
                self.count_lb(ctx, env, LbCounter::NobusyQ, 1);
                return BalanceVerdict::NoBusiestQueue;
            };
            self.count_lb(ctx, env, LbCounter::Imbalance, env.imbalance);
            env.decision.busiest_queue = Some(busiest);
            env.src_cpu = busiest;
            env.flags.all_pinned = true;
            env.decision.nr_moved = 0;
            if self.rqs[busiest.index()].nr_running > 1 {
                self.pull_tasks(ctx, env);
                if env.flags.all_pinned {
                    if self.may_start_over(env) {
                        env.decision.redos += 1;
                        env.restart_looking();
                        continue;
                    }
                    return BalanceVerdict::AllPinned;
                }
            }
            return self.finish_pulling(ctx, env, this_cpu);
        }
    }

    /// Whether it is this CPU's turn to balance a domain.
    ///
    /// Rules, in order:
    /// 1. A CPU that was set aside because of pinned tasks does not.
    /// 2. A CPU that runs out of work does, unless it has got some meanwhile.
    /// 3. Otherwise the first idle CPU of the group, or the group's first CPU if none is idle.
    pub(crate) fn should_we_balance(&self, env: &LbEnv) -> bool {
        if !env.cpus.contains(env.dst_cpu) {
            return false;
        }
        if env.idle == CpuIdleType::NewlyIdle {
            let rq = &self.rqs[env.dst_cpu.index()];
            return rq.nr_running == 0 && !rq.ttwu_pending;
        }
        let group = &self.domains.groups[self.domains.domains[env.sd].groups];
        let mut candidates = group.balance_mask.iter_and(&env.cpus);
        let idle = candidates.find(|cpu| self.rqs[cpu.index()].is_idle());
        idle.unwrap_or(group.balance_cpu) == env.dst_cpu
    }

    /// Moves tasks from the busiest runqueue.
    ///
    /// Again after the lock was dropped, and again for another CPU of the group if there are tasks that may run only there.
    /// If pinned tasks are the reason why an imbalance remains, the domain above hears of it.
    fn pull_tasks(&mut self, ctx: &mut Ctx<'_>, env: &mut LbEnv) {
        env.max_looked = self.tunables.nr_migrate.min(self.rqs[env.src_cpu.index()].nr_running);
        loop {
            ctx.charge(Op::RqLock);
            env.decision.nr_locks += 1;
            self.update_rq_clock(ctx, env.src_cpu);
            let detached = self.detach_tasks(ctx, env);
            if detached > 0 {
                self.attach_tasks(ctx, env);
                env.decision.nr_moved += detached;
            }
            if core::mem::take(&mut env.flags.need_break) {
                continue;
            }
            if env.flags.dst_pinned && env.imbalance > 0 {
                env.cpus.clear(env.dst_cpu);
                env.dst_cpu = env.new_dst_cpu;
                env.flags.dst_pinned = false;
                env.restart_looking();
                continue;
            }
            break;
        }
        if env.flags.some_pinned
            && env.imbalance > 0
            && let Some(above) = self.own_group_above(env)
        {
            above.imbalance = true;
        }
    }

    /// Whether the pass starts over without the runqueue whose tasks are all pinned: CPUs of other groups must be left.
    fn may_start_over(&self, env: &mut LbEnv) -> bool {
        env.cpus.clear(env.src_cpu);
        let local = &self.domains.groups[self.domains.domains[env.sd].groups].balance_mask;
        let is_allowed = self.tunables.changes.redo_max.is_none_or(|max| env.decision.redos < max);
        !env.cpus.is_subset_of(local) && is_allowed
    }

    /// After tasks were looked at: if none was moved, perhaps have the running one pushed.
    fn finish_pulling(&mut self, ctx: &mut Ctx<'_>, env: &mut LbEnv, this_cpu: CpuId) -> BalanceVerdict {
        let verdict = if env.decision.nr_moved > 0 {
            self.domains.domains[env.sd].nr_balance_failed = 0;
            BalanceVerdict::Moved
        } else {
            self.count_lb(ctx, env, LbCounter::Failed, 1);
            if env.idle != CpuIdleType::NewlyIdle {
                self.domains.domains[env.sd].nr_balance_failed += 1;
            }
            if self.need_active_balance(env) {
                match self.request_push(ctx, env, this_cpu) {
                    PushRequest::Pinned => return BalanceVerdict::RunningTaskPinned,
                    PushRequest::Pending => BalanceVerdict::ActiveBalancePending,
                    PushRequest::Sent => BalanceVerdict::ActiveBalance,
                }
            } else {
                BalanceVerdict::Failed
            }
        };
        if verdict != BalanceVerdict::ActiveBalance || self.need_active_balance(env) {
            let sd = &mut self.domains.domains[env.sd];
            sd.balance_interval = sd.min_interval_ms;
        }
        verdict
    }

    /// What the pass means for the domain. An imbalance that was found has been dealt with.
    ///
    /// Rules, in order:
    /// 1. Balanced, and not because of pinned tasks: the domain above need not bother any more.
    /// 2. Balanced or all pinned: failures are forgotten.
    /// 3. Nothing to do here for a CPU that has time to wait: the next pass is later, twice as much each time.
    fn end_pass(&mut self, ctx: &mut Ctx<'_>, env: &mut LbEnv, verdict: BalanceVerdict) {
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
    }

    /// In the domain above, the group of the CPU to whose chain the domain belongs.
    fn own_group_above(&mut self, env: &LbEnv) -> Option<&mut SchedGroupCapacity> {
        let parent = self.domains.domains[env.sd].parent?;
        let group = self.domains.domains[parent].groups;
        let capacity = self.domains.groups[group].capacity;
        Some(&mut self.domains.capacities[capacity])
    }

    fn count_lb(&mut self, ctx: &mut Ctx<'_>, env: &LbEnv, counter: LbCounter, amount: i64) {
        self.count_domain(ctx, env.sd, DomainCounter::Lb(counter, env.idle), amount);
    }
}
