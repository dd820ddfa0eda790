// SPDX-License-Identifier: GPL-2.0-or-later
//! Load-balance passes that pull nothing, without the variables of a pass.
//!
//! Most passes for tickless CPUs are of this kind, and on large machines there are thousands in each jiffy: another
//! CPU of the group balances the domain, or no other group has fair tasks. The cached load-balance statistics show
//! both. Effects, events and counts of operations are those of a pass by [`crate::paths::load_balance`], in its order.

use crate::interface::balance::{BalanceDecision, BalanceVerdict, BalancedReason};
use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::paths::load_balance::LbPassResult;
use crate::paths::sched::Sched;
use crate::rules::balance::stats::QuietStats;
use crate::state::counters::{DomainCounter, LbCounter};
use crate::state::topology::{DomainId, SdFlags};
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;
use crate::types::work::KernelOp;

impl Sched {
    /// Runs a whole pass of periodic balancing if it pulls nothing. `None` means that a pass has to find out.
    pub(crate) fn try_quiet_pass(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        sd: DomainId,
        idle: CpuIdleType,
    ) -> Option<LbPassResult> {
        let is_observed = ctx.policy.is_some() || ctx.op_counts.records_touches();
        let domain = &self.domains.domains[sd];
        let has_capacities = domain.flags.intersects(SdFlags::ASYM_CPUCAPACITY) || self.sched_energy_enabled();
        if is_observed || has_capacities {
            return None;
        }
        let stats = if let Some(stats) = self.stats_of_idle_core(sd) {
            Some(stats)
        } else {
            if !domain.span.is_subset_of(&self.hotplug.active) {
                return None;
            }
            self.refresh_lb_cache_in(sd);
            let is_ours = self.is_balancer(sd, cpu, &self.domains.domains[sd].span);
            if is_ours { Some(self.stats_without_candidate(sd)?) } else { None }
        };
        let is_ours = stats.is_some();
        ctx.charge(KernelOp::BalancePass);
        let count = |sched: &mut Self, ctx: &mut Ctx<'_>, counter| {
            sched.domains.domains[sd].count(ctx, DomainCounter::Lb(counter, idle), 1);
        };
        count(self, ctx, LbCounter::Count);
        let mut decision = BalanceDecision::new(ctx.cpu, cpu, self.domains.domains[sd].level, idle);
        if let Some(stats) = stats {
            self.use_quiet_stats(ctx, &mut decision, sd, &stats);
            count(self, ctx, LbCounter::NobusyG);
        }
        if let Some(above) = self.own_group_above(sd) {
            above.imbalance = false;
        }
        count(self, ctx, LbCounter::Balanced);
        let domain = &mut self.domains.domains[sd];
        domain.nr_balance_failed = 0;
        let interval = domain.balance_interval;
        if interval < domain.max_interval_ms {
            self.set_balance_interval(sd, 2 * interval);
        }
        ctx.report(Event::BalanceDecision(&decision));
        Some(LbPassResult { nr_moved: 0, continue_balancing: is_ours })
    }

    /// Updates what a pass derives from the statistics of a domain: capacity of the local group, overload of the root
    /// domain, limit of idle scans, and the decision.
    fn use_quiet_stats(&mut self, ctx: &mut Ctx<'_>, decision: &mut BalanceDecision, sd: DomainId, stats: &QuietStats) {
        debug_assert!(self.agrees_with_pass(decision, sd, stats), "{stats:?} of {sd:?} for {:?}", decision.dst_cpu);
        self.update_group_capacity(sd, decision.dst_cpu);
        if self.domains.domains[sd].parent.is_none() {
            self.domains.root.overload = stats.overload;
        }
        if let Some(util) = stats.util {
            self.update_idle_cpu_scan(sd, decision.dst_cpu, decision.idle, util);
        }
        ctx.op_counts.count(KernelOp::GroupStatCpu, u64::from(stats.nr_cpus));
        decision.verdict = BalanceVerdict::NoBusiestGroup;
        decision.balanced = Some(BalancedReason::NoCandidate);
        decision.local_type = Some(self.domains.classify_local(sd, &stats.local));
        decision.nr_cpus = stats.nr_cpus;
    }
}

#[cfg(test)]
mod tests;
