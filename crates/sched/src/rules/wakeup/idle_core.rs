// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle cores, on machines with SMT.
//!
//! Models `__update_idle_core()`, `set_idle_cores()`, `test_idle_cores()`, `select_idle_core()`,
//! `select_idle_smt()`, and the part of `select_idle_cpu()` that scans cores (6.1). Whether a cache domain
//! may have an idle core is a hint: it is set when a core becomes idle, and only an unsuccessful scan clears
//! it.

use super::search::{IdleScan, ScanBudget, ScanOrder, Selection};
use crate::interface::ctx::Ctx;
use crate::interface::wakeup::{WakeRule, WakeupDecision};
use crate::state::State;
use crate::state::rq::Rqs;
use crate::state::topology::{DomainId, SchedDomains};
use crate::types::cpumask::CpuMask;
use crate::types::features::Feature;
use crate::types::ids::CpuId;
use crate::types::work::KernelOp;

/// Position of a scan by cores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreScan {
    start: CpuId,
    /// CPU whose core is sampled next.
    next: Option<CpuId>,
    /// First idle CPU found so far.
    idle_cpu: Option<CpuId>,
}

impl State {
    /// Begins a scan of the target's cache domain for an idle core.
    ///
    /// Rules, in order:
    /// 1. With SIS_UTIL, no scan if `nr_idle_scan` is 0. Other values do not limit a scan by cores.
    /// 2. Core by core, starting with that of the CPU after the target: the first core whose CPUs are all
    ///    idle. The CPU by which the scan reached the core is chosen.
    /// 3. Without an idle core: the first idle CPU that was found, or the target. The hint was wrong and is
    ///    cleared.
    pub(super) fn select_idle_core(&mut self, ctx: &Ctx<'_>, sd: DomainId, mut decision: WakeupDecision) -> Selection {
        let target = decision.target;
        if self.features.has(Feature::SisUtil) {
            decision.nr_idle_scan = self.domains.nr_idle_scan(target);
            if decision.nr_idle_scan == Some(0) {
                return Selection::chosen(decision, target, WakeRule::ScanBusy);
            }
        }
        let allowed = &self.tasks[decision.task].cpus_allowed;
        let candidates = &mut self.masks[ctx.cpu].select;
        candidates.assign_and(&self.domains.domains[sd].span, allowed);
        let start = CpuId((target.0 + 1) % self.rqs.len() as u32);
        let next = candidates.next_wrap(start);
        let scan = ScanOrder::Cores(CoreScan { start, next, idle_cpu: None });
        Selection::Search(IdleScan::new(scan, decision, Self::take_result))
    }

    /// Applies rules 2 and 3 of [`State::select_idle_core`] within the budget. Returns whether the scan is
    /// over.
    pub(super) fn scan_cores(
        &mut self,
        ctx: &mut Ctx<'_>,
        scan: &mut CoreScan,
        decision: &mut WakeupDecision,
        mut scan_budget: ScanBudget,
    ) -> bool {
        while let Some(cpu) = scan.next {
            if scan_budget.is_exhausted() {
                return false;
            }
            decision.nr_cores_scanned += 1;
            ctx.charge(KernelOp::ScanCore);
            if self.check_core_idle(ctx, cpu, &mut scan.idle_cpu, decision, &mut scan_budget) {
                decision.choose(cpu, WakeRule::IdleCore);
                return true;
            }
            // The rest of the core need not be sampled again, so the first remaining CPU always belongs to a
            // new core.
            self.masks[decision.waker].select.and_not_with(self.domains.cores.mask_of(cpu));
            scan.next = next_around(&self.masks[decision.waker].select, scan.start, cpu);
        }
        self.domains.set_idle_cores(decision.target, false);
        match scan.idle_cpu {
            Some(cpu) => decision.choose(cpu, WakeRule::IdleCpuOfBusyCore),
            None => decision.choose(decision.target, WakeRule::NothingIdle),
        }
        true
    }

    /// Whether all CPUs of a core are idle.
    ///
    /// Records the first idle candidate on the way. Once there is one, the first busy CPU ends the check. A
    /// CPU that runs only SCHED_IDLE tasks counts as busy but is such a candidate, and ends the check too.
    pub(super) fn check_core_idle(
        &self,
        ctx: &mut Ctx<'_>,
        core: CpuId,
        idle_cpu: &mut Option<CpuId>,
        decision: &mut WakeupDecision,
        scan_budget: &mut ScanBudget,
    ) -> bool {
        let candidates = &self.masks[decision.waker].select;
        let mut is_idle = true;
        for cpu in self.domains.cores.mask_of(core).iter() {
            decision.nr_scanned += 1;
            scan_budget.take();
            ctx.op_counts.touch_scan(core::iter::once(cpu));
            if self.rqs[cpu].is_idle() {
                if idle_cpu.is_none() && candidates.contains(cpu) {
                    *idle_cpu = Some(cpu);
                }
                continue;
            }
            is_idle = false;
            if idle_cpu.is_some() {
                break;
            }
            if self.fair.is_idle_but_for_idle_tasks(&self.tunables, &self.rqs[cpu]) && candidates.contains(cpu) {
                *idle_cpu = Some(cpu);
                break;
            }
        }
        is_idle
    }

    /// Returns an idle sibling of the previous CPU that the task may use, within the domain.
    #[inline(always)]
    pub(crate) fn select_idle_smt(
        &self,
        ctx: &mut Ctx<'_>,
        sd: DomainId,
        decision: &mut WakeupDecision,
    ) -> Option<CpuId> {
        let allowed = &self.tasks[decision.task].cpus_allowed;
        let span = &self.domains.domains[sd].span;
        let siblings = self.domains.cores.mask_of(decision.prev).iter_and(allowed);
        for cpu in siblings.filter(|&cpu| cpu != decision.prev && span.contains(cpu)) {
            ctx.charge(KernelOp::ScanCpu);
            ctx.op_counts.touch_scan(core::iter::once(cpu));
            decision.nr_scanned += 1;
            if self.fair.is_idle_for_wakeup(&self.tunables, &self.rqs[cpu]) {
                return Some(cpu);
            }
        }
        None
    }
}

impl SchedDomains {
    /// Whether the cache domain of a CPU may have an idle core.
    pub(crate) fn test_idle_cores(&self, cpu: CpuId) -> bool {
        let shared = self.cpus[cpu].sd_llc_shared;
        shared.is_some_and(|shared| self.shared[shared].has_idle_cores)
    }

    pub(super) fn set_idle_cores(&mut self, cpu: CpuId, has_idle_cores: bool) {
        if let Some(shared) = self.cpus[cpu].sd_llc_shared {
            self.shared[shared].has_idle_cores = has_idle_cores;
        }
    }

    /// Sets the idle-core hint of the cache domain if a CPU goes idle and its siblings are idle too.
    pub(crate) fn update_idle_core(&mut self, rqs: &Rqs, active: &CpuMask, cpu: CpuId) {
        if !self.smt_present || !active.contains(cpu) || self.test_idle_cores(cpu) {
            return;
        }
        let siblings = self.cores.mask_of(cpu);
        if siblings.iter().all(|sibling| sibling == cpu || rqs[sibling].is_idle()) {
            self.set_idle_cores(cpu, true);
        }
    }

    /// Whether clusters matter (6.12), and a CPU is not in that of the target.
    #[inline]
    pub(super) fn is_in_other_cluster(&self, cpu: CpuId, target: CpuId) -> bool {
        self.cluster_active && !self.cpus_share_resources(cpu, target)
    }
}

/// Returns the next candidate after `cpu` on the way around from `start` to the CPU before it.
#[inline]
fn next_around(candidates: &CpuMask, start: CpuId, cpu: CpuId) -> Option<CpuId> {
    let next = candidates.next_from(CpuId(cpu.0 + 1));
    if cpu >= start {
        next.or_else(|| candidates.first().filter(|&first| first < start))
    } else {
        next.filter(|&next| next < start)
    }
}
