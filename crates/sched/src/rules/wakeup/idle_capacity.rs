// SPDX-License-Identifier: GPL-2.0-or-later
//! The search for an idle CPU where CPUs differ in capacity.
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

/// Where a search among all capacities is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CapacityScan {
    /// The domain that is searched.
    sd: DomainId,
    /// The CPU that is looked at next.
    next: CpuId,
    /// How many were.
    nr_scanned: u32,
    /// What the task needs.
    util: ClampedUtil,
    /// How good the best CPU so far is: whether but for the clamp it is big enough, and its capacity.
    best: Option<(bool, Capacity)>,
}

impl State {
    /// Searches the narrowest domain with all capacities, from the target on and around, for an idle CPU.
    ///
    /// Rules, in order:
    /// 1. The first idle CPU that is big enough.
    /// 2. Otherwise, of those that would be big enough but for the lower clamp, the one with the highest capacity that
    ///    heat leaves.
    /// 3. Otherwise the one of which the fair class has most.
    /// 4. The first of equals. If none is idle, the target.
    pub(super) fn select_idle_capacity(
        &self,
        ctx: &Ctx<'_>,
        sd: DomainId,
        util: ClampedUtil,
        mut decision: WakeupDecision,
    ) -> Selection {
        decision.choose(decision.target, WakeRule::NothingIdle);
        let walk = ScanOrder::Capacities(CapacityScan { sd, next: decision.target, nr_scanned: 0, util, best: None });
        Selection::Search(IdleScan::new(ctx, walk, decision, Self::take_result))
    }

    /// The rules of [`State::select_idle_capacity`], for so many looks. Returns whether the search is over.
    pub(crate) fn scan_capacities(
        &self,
        ctx: &mut Ctx<'_>,
        walk: &mut CapacityScan,
        decision: &mut WakeupDecision,
        mut looks: ScanBudget,
    ) -> bool {
        let span = &self.domains.domains[walk.sd].span;
        let allowed = &self.tasks[decision.task.index()].cpus_allowed;
        // A walk that was interrupted must not begin a second round.
        let nr_left = span.weight_and(allowed) - walk.nr_scanned as usize;
        for cpu in span.iter_and_wrap_from(allowed, walk.next).take(nr_left) {
            if !looks.take() {
                walk.next = cpu;
                return false;
            }
            ctx.charge(KernelOp::ScanCpu);
            ctx.work.touch_read(cpu);
            walk.nr_scanned += 1;
            decision.nr_scanned += 1;
            if !self.is_idle_for_wakeup(cpu) {
                continue;
            }
            let rq = &self.rqs[cpu.index()];
            let rank = match self.util_fits_cpu(walk.util, cpu) {
                Fit::Yes => {
                    decision.choose(cpu, WakeRule::AsymFits);
                    return true;
                }
                Fit::ButForClamp => (true, rq.cpu_capacity_orig.saturating_sub(rq.avg_thermal.load_avg)),
                Fit::No => (false, rq.cpu_capacity),
            };
            // A CPU without any capacity is no better than none.
            if rank > walk.best.unwrap_or((false, 0)) {
                walk.best = Some(rank);
                decision.choose(cpu, WakeRule::AsymBest);
            }
        }
        true
    }
}
