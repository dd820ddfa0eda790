// SPDX-License-Identifier: GPL-2.0-or-later
//! The search for an idle CPU where CPUs differ in capacity.
//!
//! Models `select_idle_capacity()` (6.1).

use super::decision::{WakeRule, WakeupDecision};
use crate::ctx::Ctx;
use crate::fits::{ClampedUtil, Fit};
use crate::sched::Sched;
use crate::topology::DomainId;
use crate::units::Capacity;
use crate::work::Op;

impl Sched {
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
        ctx: &mut Ctx<'_>,
        sd: DomainId,
        util: ClampedUtil,
        decision: &mut WakeupDecision,
    ) {
        let allowed = &self.tasks[decision.task.index()].cpus_allowed;
        let mut best: Option<(bool, Capacity)> = None;
        decision.choose(decision.target, WakeRule::NothingIdle);
        for cpu in self.domains.domains[sd].span.iter_and_wrap_from(allowed, decision.target) {
            ctx.charge(Op::ScanCpu);
            ctx.work.touch_read(cpu);
            decision.nr_scanned += 1;
            if !self.is_idle_for_wakeup(cpu) {
                continue;
            }
            let rq = &self.rqs[cpu.index()];
            let rank = match self.util_fits_cpu(util, cpu) {
                Fit::Yes => return decision.choose(cpu, WakeRule::AsymFits),
                Fit::ButForClamp => (true, rq.cpu_capacity_orig.saturating_sub(rq.avg_thermal.load_avg)),
                Fit::No => (false, rq.cpu_capacity),
            };
            // A CPU without any capacity is no better than none.
            if rank > best.unwrap_or((false, 0)) {
                best = Some(rank);
                decision.choose(cpu, WakeRule::AsymBest);
            }
        }
    }
}
