// SPDX-License-Identifier: GPL-2.0-or-later
//! Scan of a cache domain for an idle CPU, and its limit.
//!
//! Models the part of `select_idle_cpu()` that samples single CPUs (6.1; [`super::idle_core`] has the rest).
//! Three limits have been in use: since 5.19 SIS_UTIL, by the utilisation of the cache domain; before that
//! SIS_PROP, by the waker's average idle time and the average cost of scans; and none.

use super::search::{IdleScan, ScanBudget, ScanOrder, Selection};
use crate::interface::ctx::Ctx;
use crate::interface::wakeup::{WakeRule, WakeupDecision};
use crate::state::State;
use crate::state::rq::Rq;
use crate::state::topology::{DomainId, SchedDomains};
use crate::types::features::Feature;
use crate::types::ids::CpuId;
use crate::types::work::KernelOp;

/// Minimum limit of SIS_PROP, including the CPU at which the scan gives up.
const MIN_PROP_SCAN: u64 = 4;

/// Position of a scan by single CPUs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuScan {
    sd: DomainId,
    /// CPU that is sampled next.
    next: CpuId,
    /// Number of CPUs sampled so far.
    nr_scanned: u32,
    /// Domain whose average scan cost this scan updates, with SIS_PROP.
    accounted_to: Option<DomainId>,
}

impl State {
    /// Begins a scan of the target's cache domain for an idle CPU.
    ///
    /// Rules, in order:
    /// 1. With SIS_PROP, the limit follows from the waker's idle time and its domain's average scan cost;
    ///    without a domain there is no scan.
    /// 2. With SIS_UTIL the limit is `nr_idle_scan` instead; 0 means the cache domain is busy, so there is no
    ///    scan.
    /// 3. Start after the target and wrap, so that neighbours do not all find the same CPU.
    /// 4. A scan that reaches the limit ends without result.
    /// 5. With SIS_PROP, a scan that ended before the limit is accounted: its cost goes into the average and
    ///    is subtracted from the idle time.
    pub(super) fn select_idle_cpu(&mut self, ctx: &Ctx<'_>, sd: DomainId, mut decision: WakeupDecision) -> Selection {
        let target = decision.target;
        let mut accounted_to = None;
        if self.features.has(Feature::SisProp) {
            accounted_to = self.domains.cpus[ctx.cpu].sd_llc;
            let Some(this_sd) = accounted_to else {
                return Selection::chosen(decision, target, WakeRule::NoCacheDomain);
            };
            decision.nr_idle_scan = self.domains.prop_scan_limit(&mut self.rqs[ctx.cpu], self.jiffies, this_sd, sd);
        }
        if self.features.has(Feature::SisUtil)
            && let Some(nr) = self.domains.nr_idle_scan(target)
        {
            decision.nr_idle_scan = Some(nr);
            if nr == 0 {
                return Selection::chosen(decision, target, WakeRule::ScanBusy);
            }
        }
        let next = CpuId((target.0 + 1) % self.rqs.len() as u32);
        let scan = ScanOrder::Cpus(CpuScan { sd, next, nr_scanned: 0, accounted_to });
        Selection::Search(IdleScan::new(scan, decision, Self::conclude_cpus))
    }

    /// Applies rules 3 and 4 of [`State::select_idle_cpu`] within the budget. Returns whether the scan is
    /// over.
    pub(crate) fn scan_cpus(
        &self,
        ctx: &mut Ctx<'_>,
        scan: &mut CpuScan,
        decision: &mut WakeupDecision,
        mut scan_budget: ScanBudget,
    ) -> bool {
        let target = decision.target;
        let span = &self.domains.domains[scan.sd].span;
        let allowed = &self.tasks[decision.task].cpus_allowed;
        let limit = decision.nr_idle_scan.unwrap_or(u32::MAX);
        let (first, nr_before) = (scan.next, scan.nr_scanned);
        let mut is_over = true;
        decision.choose(target, WakeRule::NothingIdle);
        // A resumed scan must not begin a second round.
        let nr_left = if nr_before == 0 { usize::MAX } else { span.weight_and(allowed) - nr_before as usize };
        for cpu in span.iter_and_wrap_from(allowed, first).take(nr_left) {
            if scan.nr_scanned == limit {
                decision.choose(target, WakeRule::ScanLimit);
                break;
            }
            if !scan_budget.take() {
                scan.next = cpu;
                is_over = false;
                break;
            }
            scan.nr_scanned += 1;
            if self.fair.is_idle_for_wakeup(&self.tunables, &self.rqs[cpu]) {
                decision.choose(cpu, WakeRule::IdleCpu);
                break;
            }
        }
        let nr_looks = scan.nr_scanned - nr_before;
        decision.nr_scanned += nr_looks;
        ctx.op_counts.count(KernelOp::ScanCpu, u64::from(nr_looks));
        // Repeats the iteration to record touches, which keeps the scan itself fast.
        ctx.op_counts.touch_scan(span.iter_and_wrap_from(allowed, first).take(nr_looks as usize));
        is_over
    }

    /// Applies rule 5 of [`State::select_idle_cpu`]. The cost of a scan is its simulated time from the first
    /// sample on. If kernel code takes no time, it is `scan_cost_ns` per sampled CPU.
    fn conclude_cpus(&mut self, ctx: &mut Ctx<'_>, search: IdleScan) -> Selection {
        if let ScanOrder::Cpus(CpuScan { nr_scanned, accounted_to: Some(this_sd), .. }) = search.order
            && search.decision.rule != WakeRule::ScanLimit
        {
            let took = search.began.map_or(0, |began| (ctx.now - began).0);
            let cost = if took > 0 { took } else { u64::from(nr_scanned) * self.tunables.changes.scan_cost_ns };
            self.domains.account_scan(&mut self.rqs[search.decision.waker], this_sd, cost);
        }
        Selection::Chosen(search.decision)
    }
}

impl SchedDomains {
    /// Returns how many CPUs a scan of the target's cache domain may sample by SIS_UTIL, as of the last
    /// periodic balancing.
    pub(crate) fn nr_idle_scan(&self, target: CpuId) -> Option<u32> {
        let shared = self.cpus[target].sd_llc_shared?;
        let nr = self.shared[shared].nr_idle_scan;
        Some(u32::try_from(nr).expect("a number of CPUs is not negative"))
    }

    /// Accounts the cost of a scan, in ns.
    pub(crate) fn account_scan(&mut self, rq: &mut Rq, this_sd: DomainId, cost: u64) {
        rq.wake_avg_idle = rq.wake_avg_idle.saturating_sub(cost);
        let average = &mut self.domains[this_sd].avg_scan_cost;
        // One eighth of the difference, rounded towards zero.
        let diff = cost.wrapping_sub(*average) as i64;
        *average = average.wrapping_add_signed(diff / 8);
    }

    /// Returns how many CPUs a scan may sample by SIS_PROP; `None` means all.
    ///
    /// The waker's average idle time halves with each jiffy without a wake-up. It is multiplied by the number
    /// of CPUs of the domain and divided by the average cost per scan. The CPU that would exceed the limit is
    /// not sampled, but three CPUs always are.
    fn prop_scan_limit(&self, rq: &mut Rq, now: u64, this_sd: DomainId, sd: DomainId) -> Option<u32> {
        while rq.wake_stamp < now && rq.wake_avg_idle > 0 {
            rq.wake_stamp += 1;
            rq.wake_avg_idle >>= 1;
        }
        let cost = self.domains[this_sd].avg_scan_cost + 1;
        let budget = u64::from(self.domains[sd].span_weight) * rq.wake_avg_idle;
        let nr = if budget > MIN_PROP_SCAN * cost { budget / cost } else { MIN_PROP_SCAN };
        // The kernel stores the number in an int: a value that does not fit may become negative or 0, and
        // then does not limit the scan.
        u32::try_from((nr as i32).wrapping_sub(1)).ok()
    }
}
