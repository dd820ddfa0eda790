// SPDX-License-Identifier: GPL-2.0-or-later
//! Scan of a cache domain with clusters for an idle CPU or core: the target's cluster comes first.
//!
//! Models what 6.6 added to `select_idle_cpu()` and `select_idle_sibling()` (6.12). CPUs of a cluster share a
//! mid-level cache, so a task is woken outside the target's cluster only if no CPU of that cluster is idle.

use super::search::{IdleScan, ScanBudget, ScanOrder, Selection};
use crate::interface::ctx::Ctx;
use crate::interface::wakeup::{WakeRule, WakeupDecision};
use crate::state::State;
use crate::state::topology::{DomainId, SchedDomains, SchedGroupId, SdFlags};
use crate::types::cpumask::CpuMask;
use crate::types::features::Feature;
use crate::types::ids::CpuId;
use crate::types::work::KernelOp;

/// Position of a scan with clusters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterScan {
    /// Group of the target's cluster, until its CPUs have been sampled; `None` without one.
    cluster: Option<SchedGroupId>,
    /// CPU after the target.
    start: CpuId,
    /// Whether whole cores are sampled, because one is expected to be idle.
    by_core: bool,
    /// First idle CPU of a partly busy core.
    idle_cpu: Option<CpuId>,
    nr_scanned: u32,
    /// Idle CPU outside the cluster that is chosen if the scan finds none.
    fallback: Option<(CpuId, WakeRule)>,
}

impl State {
    /// Searches the cache domain of a wake-up's target on a machine with clusters. Rules, in order:
    /// 1. If no core is expected to be idle: a sibling of the previous CPU.
    /// 2. With SIS_UTIL, no scan if `nr_idle_scan` is 0. It does not limit a scan by cores.
    /// 3. The CPUs of the target's cluster, and then those of the other clusters.
    /// 4. Without a result the fallback, and without one the target.
    #[cold]
    #[inline(never)]
    pub(super) fn select_in_clusters(
        &mut self,
        ctx: &mut Ctx<'_>,
        sd: DomainId,
        mut decision: WakeupDecision,
        fallback: Option<(CpuId, WakeRule)>,
    ) -> Selection {
        let WakeupDecision { prev, target, .. } = decision;
        let by_core = self.domains.smt_present && self.domains.test_idle_cores(target);
        if self.domains.smt_present
            && !by_core
            && self.domains.cpus_share_cache(prev, target)
            && let Some(cpu) = self.select_idle_smt(ctx, sd, &mut decision)
        {
            return Selection::chosen(decision, cpu, WakeRule::IdleSmt);
        }
        if self.features.has(Feature::SisUtil)
            && let Some(nr) = self.domains.nr_idle_scan(target)
        {
            decision.nr_idle_scan = Some(nr);
            if nr == 0 {
                let (cpu, rule) = fallback.unwrap_or((target, WakeRule::ScanBusy));
                return Selection::chosen(decision, cpu, rule);
            }
        }
        let allowed = &self.tasks[decision.task].cpus_allowed;
        self.masks[ctx.cpu].select.assign_and(&self.domains.domains[sd].span, allowed);
        let group = self.domains.domains[sd].groups;
        let cluster = Some(group).filter(|&group| self.domains.groups[group].flags.contains(SdFlags::CLUSTER));
        let start = CpuId((target.0 + 1) % self.rqs.len() as u32);
        let scan = ClusterScan { cluster, start, by_core, idle_cpu: None, nr_scanned: 0, fallback };
        Selection::Search(IdleScan::new(ScanOrder::Clusters(scan), decision, Self::take_result))
    }

    /// Applies rules 3 and 4 of [`State::select_in_clusters`] within the budget. Returns whether the scan is over.
    #[cold]
    #[inline(never)]
    pub(super) fn scan_clusters(
        &mut self,
        ctx: &mut Ctx<'_>,
        scan: &mut ClusterScan,
        decision: &mut WakeupDecision,
        mut scan_budget: ScanBudget,
    ) -> bool {
        let waker = decision.waker;
        let limit = decision.nr_idle_scan.filter(|_| !scan.by_core).unwrap_or(u32::MAX);
        while let Some(cpu) = scan.next_cpu(&self.domains, &self.masks[waker].select) {
            if scan.nr_scanned == limit {
                decision.choose(decision.target, WakeRule::ScanLimit);
                return scan.finish(decision);
            }
            if scan_budget.is_exhausted() {
                return false;
            }
            if scan.by_core {
                decision.nr_cores_scanned += 1;
                ctx.charge(KernelOp::ScanCore);
                if self.check_core_idle(ctx, cpu, &mut scan.idle_cpu, decision, &mut scan_budget) {
                    decision.choose(cpu, WakeRule::IdleCore);
                    return true;
                }
                self.masks[waker].select.and_not_with(self.domains.cores.mask_of(cpu));
                continue;
            }
            scan_budget.take();
            scan.nr_scanned += 1;
            decision.nr_scanned += 1;
            ctx.op_counts.count(KernelOp::ScanCpu, 1);
            ctx.op_counts.touch_scan(core::iter::once(cpu));
            if self.fair.is_idle_for_wakeup(&self.tunables, &self.rqs[cpu]) {
                decision.choose(cpu, WakeRule::IdleCpu);
                return true;
            }
            self.masks[waker].select.clear(cpu);
        }
        if scan.by_core {
            self.domains.set_idle_cores(decision.target, false);
        }
        match scan.idle_cpu {
            Some(cpu) => decision.choose(cpu, WakeRule::IdleCpuOfBusyCore),
            None => decision.choose(decision.target, WakeRule::NothingIdle),
        }
        scan.finish(decision)
    }
}

impl ClusterScan {
    /// Returns the next CPU to sample, from the one after the target around. Sampled CPUs and cores are no candidates
    /// any more.
    fn next_cpu(&mut self, domains: &SchedDomains, candidates: &CpuMask) -> Option<CpuId> {
        if let Some(group) = self.cluster {
            let cluster = &domains.groups[group].span;
            if let Some(cpu) = candidates.iter_and_wrap_from(cluster, self.start).next() {
                return Some(cpu);
            }
            self.cluster = None;
        }
        candidates.next_wrap(self.start)
    }

    /// Chooses the fallback if the scan has found no CPU. The scan is over.
    fn finish(&self, decision: &mut WakeupDecision) -> bool {
        let has_found_none = matches!(decision.rule, WakeRule::ScanLimit | WakeRule::NothingIdle);
        if let Some((cpu, rule)) = self.fallback.filter(|_| has_found_none) {
            decision.choose(cpu, rule);
        }
        true
    }
}
