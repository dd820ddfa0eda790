// SPDX-License-Identifier: GPL-2.0-or-later
//! Scan for an idle CPU on machines with asymmetric capacities.
//!
//! Models `select_idle_capacity()` (6.1).

use super::search::{IdleScan, ScanBudget, ScanOrder, Selection};
use crate::interface::ctx::Ctx;
use crate::interface::wakeup::{WakeRule, WakeupDecision};
use crate::state::State;
use crate::state::topology::DomainId;
use crate::track::fits::{ClampedUtil, Fit};
use crate::types::ids::CpuId;
use crate::types::units::Capacity;
use crate::types::work::KernelOp;

/// Position of a scan over CPUs of different capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CapacityScan {
    sd: DomainId,
    /// CPU that is sampled next.
    next: CpuId,
    /// Number of CPUs sampled so far.
    nr_scanned: u32,
    /// Utilisation and clamps of the task.
    util: ClampedUtil,
    /// Rank of the best CPU so far: whether it fits apart from the lower clamp, and its capacity.
    best: Option<(bool, Capacity)>,
}

impl State {
    /// Begins a scan of the narrowest domain with all capacities, from the target around, for an idle CPU.
    ///
    /// Rules, in order:
    /// 1. The first idle CPU that fits the task.
    /// 2. Otherwise, of the idle CPUs that would fit without the lower clamp, the one with the highest
    ///    capacity after thermal pressure.
    /// 3. Otherwise the idle CPU with the most capacity for fair tasks.
    /// 4. Among equals the first. If no CPU is idle, the target.
    pub(super) fn select_idle_capacity(
        &self,
        sd: DomainId,
        util: ClampedUtil,
        mut decision: WakeupDecision,
    ) -> Selection {
        decision.choose(decision.target, WakeRule::NothingIdle);
        let scan = ScanOrder::Capacities(CapacityScan { sd, next: decision.target, nr_scanned: 0, util, best: None });
        Selection::Search(IdleScan::new(scan, decision, Self::take_result))
    }

    /// Applies the rules of [`State::select_idle_capacity`] within the budget. Returns whether the scan is
    /// over.
    pub(crate) fn scan_capacities(
        &self,
        ctx: &mut Ctx<'_>,
        scan: &mut CapacityScan,
        decision: &mut WakeupDecision,
        mut scan_budget: ScanBudget,
    ) -> bool {
        let span = &self.domains.domains[scan.sd].span;
        let allowed = &self.tasks[decision.task].cpus_allowed;
        // A resumed scan must not begin a second round.
        let nr_left = span.weight_and(allowed) - scan.nr_scanned as usize;
        for cpu in span.iter_and_wrap_from(allowed, scan.next).take(nr_left) {
            if !scan_budget.take() {
                scan.next = cpu;
                return false;
            }
            ctx.charge(KernelOp::ScanCpu);
            ctx.op_counts.touch_scan(core::iter::once(cpu));
            scan.nr_scanned += 1;
            decision.nr_scanned += 1;
            if !self.fair.is_idle_for_wakeup(&self.tunables, &self.rqs[cpu]) {
                continue;
            }
            let rq = &self.rqs[cpu];
            let rank = match self.rqs[cpu].util_fits(scan.util, &self.rules, self.uclamp_used) {
                Fit::Yes => {
                    decision.choose(cpu, WakeRule::AsymFits);
                    return true;
                }
                Fit::ButForClamp if self.rules.uses_actual_capacity => (true, rq.actual_capacity()),
                Fit::ButForClamp => (true, rq.cpu_capacity_orig.saturating_sub(rq.avg_thermal.load_avg)),
                Fit::No => (false, rq.cpu_capacity),
            };
            // A CPU without any capacity is no better than none.
            if rank > scan.best.unwrap_or((false, 0)) {
                scan.best = Some(rank);
                decision.choose(cpu, WakeRule::AsymBest);
            }
        }
        true
    }
}
