// SPDX-License-Identifier: GPL-2.0-or-later
//! The search of a cache domain for an idle CPU, one by one, and how far it goes.
//!
//! Models `select_idle_cpu()` as far as it looks at single CPUs (6.1; [`super::idle_core`] has the rest). Three limits have been
//! in use: since 5.19 SIS_UTIL, by the utilisation of the cache domain; before it SIS_PROP, by the waker's average idle
//! time and what searches have cost; and none.

use super::decision::{WakeRule, WakeupDecision};
use crate::ctx::Ctx;
use crate::features::Feature;
use crate::ids::CpuId;
use crate::sched::Sched;
use crate::topology::DomainId;
use crate::work::Op;

/// What SIS_PROP allows at the least, counting the CPU at which the search gives up.
const LEAST_PROP_SCAN: u64 = 4;

impl Sched {
    /// Searches the target's cache domain for an idle CPU.
    ///
    /// Rules, in order:
    /// 1. With SIS_PROP, the limit follows from the waker's idle time and its domain's average cost; without a domain
    ///    there is no search.
    /// 2. With SIS_UTIL the limit is `nr_idle_scan` instead; 0 means the cache domain is busy, so do not look.
    /// 3. Start after the target and wrap, so that neighbours do not all find the same CPU.
    /// 4. Looking at more CPUs than the limit ends the search without result.
    /// 5. With SIS_PROP, a search that was not cut off is accounted: its cost goes into the average and comes off the idle
    ///    time.
    pub(super) fn select_idle_cpu(&mut self, ctx: &mut Ctx<'_>, sd: DomainId, decision: &mut WakeupDecision) {
        let target = decision.target;
        let mut accounted_to = None;
        if self.features.has(Feature::SisProp) {
            accounted_to = self.domains.cpus[ctx.cpu.index()].sd_llc;
            let Some(this_sd) = accounted_to else {
                return decision.choose(target, WakeRule::NoCacheDomain);
            };
            decision.nr_idle_scan = self.prop_scan_limit(ctx.cpu, this_sd, sd);
        }
        if self.features.has(Feature::SisUtil)
            && let Some(nr) = self.nr_idle_scan(target)
        {
            decision.nr_idle_scan = Some(nr);
            if nr == 0 {
                return decision.choose(target, WakeRule::ScanBusy);
            }
        }
        let nr_scanned = self.scan_cpus(sd, decision);
        decision.nr_scanned += nr_scanned;
        ctx.work.count(Op::ScanCpu, u64::from(nr_scanned));
        if ctx.work.records_touches() {
            self.touch_scanned(ctx, sd, decision, nr_scanned);
        }
        if decision.rule != WakeRule::ScanLimit
            && let Some(this_sd) = accounted_to
        {
            self.account_scan(ctx.cpu, this_sd, nr_scanned);
        }
    }

    /// Rules 3 and 4 of [`Sched::select_idle_cpu`]. Returns how many CPUs were looked at.
    fn scan_cpus(&self, sd: DomainId, decision: &mut WakeupDecision) -> u32 {
        let target = decision.target;
        let start = CpuId((target.0 + 1) % self.rqs.len() as u32);
        let allowed = &self.tasks[decision.task.index()].cpus_allowed;
        let limit = decision.nr_idle_scan.unwrap_or(u32::MAX);
        let mut nr_scanned = 0;
        let mut choice = (target, WakeRule::NothingIdle);
        for cpu in self.domains.domains[sd].span.iter_and_wrap_from(allowed, start) {
            if nr_scanned == limit {
                choice = (target, WakeRule::ScanLimit);
                break;
            }
            nr_scanned += 1;
            if self.is_idle_for_wakeup(cpu) {
                choice = (cpu, WakeRule::IdleCpu);
                break;
            }
        }
        decision.choose(choice.0, choice.1);
        nr_scanned
    }

    /// Notes which CPUs a search has looked at: the same walk again, so that the search itself need not.
    fn touch_scanned(&self, ctx: &mut Ctx<'_>, sd: DomainId, decision: &WakeupDecision, nr_scanned: u32) {
        let start = CpuId((decision.target.0 + 1) % self.rqs.len() as u32);
        let allowed = &self.tasks[decision.task.index()].cpus_allowed;
        let scanned = self.domains.domains[sd].span.iter_and_wrap_from(allowed, start).take(nr_scanned as usize);
        scanned.for_each(|cpu| ctx.work.touch_read(cpu));
    }

    /// How many CPUs a search of the target's cache domain may look at by SIS_UTIL, as of the last periodic balancing.
    pub(super) fn nr_idle_scan(&self, target: CpuId) -> Option<u32> {
        let shared = self.domains.cpus[target.index()].sd_llc_shared?;
        let nr = self.domains.shared[shared].nr_idle_scan;
        Some(u32::try_from(nr).expect("a number of CPUs is not negative"))
    }

    /// How many CPUs a search may look at by SIS_PROP; `None`: as many as there are.
    ///
    /// The waker's average idle time halves with each jiffy without a wake-up. As large a part of it as the domain is
    /// large may be spent, at the average cost; the CPU that would exceed it is not looked at, but the third always is.
    fn prop_scan_limit(&mut self, this_cpu: CpuId, this_sd: DomainId, sd: DomainId) -> Option<u32> {
        let now = self.jiffies;
        let rq = &mut self.rqs[this_cpu.index()];
        while rq.wake_stamp < now && rq.wake_avg_idle > 0 {
            rq.wake_stamp += 1;
            rq.wake_avg_idle >>= 1;
        }
        let cost = self.domains.domains[this_sd].avg_scan_cost + 1;
        let budget = u64::from(self.domains.domains[sd].span_weight) * rq.wake_avg_idle;
        let nr = if budget > LEAST_PROP_SCAN * cost { budget / cost } else { LEAST_PROP_SCAN };
        // The kernel keeps the number in an int: one that does not fit may be negative or 0, and then limits nothing.
        u32::try_from((nr as i32).wrapping_sub(1)).ok()
    }

    /// Accounts the cost of a search that looked at this many CPUs.
    fn account_scan(&mut self, this_cpu: CpuId, this_sd: DomainId, nr_scanned: u32) {
        let cost = u64::from(nr_scanned) * self.tunables.changes.scan_cost_ns;
        let rq = &mut self.rqs[this_cpu.index()];
        rq.wake_avg_idle = rq.wake_avg_idle.saturating_sub(cost);
        let average = &mut self.domains.domains[this_sd].avg_scan_cost;
        // One part in eight of the difference, rounded towards no change.
        let diff = cost.wrapping_sub(*average) as i64;
        *average = average.wrapping_add_signed(diff / 8);
    }
}
