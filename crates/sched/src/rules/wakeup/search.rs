// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU selection in steps: a selection is either a chosen CPU or a scan for an idle CPU that has begun.
//!
//! A scan sees the state of each CPU at the moment at which it samples that CPU: an idle CPU may be taken
//! meanwhile, and a busy one may become idle. The selection rules therefore do not scan themselves. They
//! return an [`IdleScan`]. The caller runs it over as many CPUs at a time as it wants
//! ([`State::resume_scan`]). At the end of the scan the rules that follow it decide
//! ([`State::conclude_search`]), possibly with a further scan.
//!
//! Scans are defined by [`super::idle_cpu`], [`super::idle_core`], [`super::cluster`], [`super::idle_capacity`], and
//! by a [`super::policy`].

use super::cluster::ClusterScan;
use super::idle_capacity::CapacityScan;
use super::idle_core::CoreScan;
use super::idle_cpu::CpuScan;
use super::policy::WakePolicyScan;
use crate::interface::ctx::Ctx;
use crate::interface::wakeup::{WakeRule, WakeupDecision};
use crate::state::State;
use crate::types::ids::CpuId;
use crate::types::units::Nanos;

/// Result of a selection step: a CPU, or a scan to run.
#[derive(Clone, Copy, Debug)]
#[must_use = "a selection that is dropped loses its task"]
#[allow(clippy::large_enum_variant, reason = "boxing would allocate on each wake-up, which must not allocate")]
pub(crate) enum Selection {
    Chosen(WakeupDecision),
    Search(IdleScan),
}

impl Selection {
    /// Ends a selection with a CPU.
    pub(super) fn chosen(mut decision: WakeupDecision, cpu: CpuId, rule: WakeRule) -> Self {
        decision.choose(cpu, rule);
        Self::Chosen(decision)
    }
}

/// Rules that follow a scan and turn its result into a selection.
pub(crate) type ConcludeFn = fn(&mut State, &mut Ctx<'_>, IdleScan) -> Selection;

/// Scan for an idle CPU in progress (`select_idle_cpu()` and its relatives).
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleScan {
    /// Decision record of the selection; at the end of the scan it contains the found CPU.
    pub decision: WakeupDecision,
    pub(super) order: ScanOrder,
    /// Time of the first sample; `None` before it.
    pub(super) began: Option<Nanos>,
    conclude: ConcludeFn,
    is_over: bool,
}

impl IdleScan {
    /// Creates a scan that has not sampled any CPU yet.
    pub(super) fn new(order: ScanOrder, decision: WakeupDecision, conclude: ConcludeFn) -> Self {
        Self { decision, order, began: None, conclude, is_over: false }
    }

    /// Returns this scan with other rules after it.
    #[cfg(test)]
    pub(crate) fn with_conclude(self, conclude: ConcludeFn) -> Self {
        Self { conclude, ..self }
    }

    /// Whether the scan has sampled all CPUs that it needs.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }
}

/// Kind of a scan, with its position.
#[derive(Clone, Copy, Debug)]
pub(super) enum ScanOrder {
    /// Samples CPU after CPU.
    Cpus(CpuScan),
    /// Samples core after core.
    Cores(CoreScan),
    /// Samples CPUs or cores of the target's cluster and then those of its other clusters.
    Clusters(ClusterScan),
    /// Samples CPU after CPU, on machines with asymmetric capacities.
    Capacities(CapacityScan),
    /// Samples the CPUs that a policy hook requests.
    Policy(WakePolicyScan),
}

/// Number of CPUs that a scan may still sample in this phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanBudget {
    left: u32,
}

impl ScanBudget {
    /// Budget without a limit: the scan runs to its end.
    pub(crate) const ALL: Self = Self { left: u32::MAX };

    /// Limits a phase to this number of CPUs.
    pub(crate) const fn at_most(left: u32) -> Self {
        Self { left }
    }

    /// Uses up one sample. Returns false if none is left.
    pub(super) fn take(&mut self) -> bool {
        let has_one = self.left > 0;
        self.left = self.left.saturating_sub(1);
        has_one
    }

    /// Whether no sample is left.
    pub(super) fn is_exhausted(self) -> bool {
        self.left == 0
    }
}

impl State {
    /// Continues a scan within the budget.
    pub(crate) fn resume_scan(&mut self, ctx: &mut Ctx<'_>, search: &mut IdleScan, scan_budget: ScanBudget) {
        let IdleScan { decision, order, began, .. } = search;
        began.get_or_insert(ctx.now);
        search.is_over = match order {
            ScanOrder::Cpus(scan) => self.scan_cpus(ctx, scan, decision, scan_budget),
            ScanOrder::Cores(scan) => self.scan_cores(ctx, scan, decision, scan_budget),
            ScanOrder::Clusters(scan) => self.scan_clusters(ctx, scan, decision, scan_budget),
            ScanOrder::Capacities(scan) => self.scan_capacities(ctx, scan, decision, scan_budget),
            ScanOrder::Policy(scan) => self.scan_for_policy(ctx, scan, decision, scan_budget),
        };
    }

    /// Applies the rules that follow a complete scan, after the cost of its last samples has elapsed.
    pub(crate) fn conclude_search(&mut self, ctx: &mut Ctx<'_>, search: IdleScan) -> Selection {
        debug_assert!(search.is_over, "a scan must be complete before its result is used");
        (search.conclude)(self, ctx, search)
    }

    /// Chooses the CPU that the scan has found, for scans that no further rule follows.
    pub(super) fn take_result(&mut self, _ctx: &mut Ctx<'_>, search: IdleScan) -> Selection {
        Selection::Chosen(search.decision)
    }

    /// Runs a selection to its end at once.
    #[cfg(test)]
    pub(crate) fn finish_selection(&mut self, ctx: &mut Ctx<'_>, mut selection: Selection) -> WakeupDecision {
        loop {
            match selection {
                Selection::Chosen(decision) => return decision,
                Selection::Search(mut search) => {
                    self.resume_scan(ctx, &mut search, ScanBudget::ALL);
                    selection = self.conclude_search(ctx, search);
                }
            }
        }
    }
}
