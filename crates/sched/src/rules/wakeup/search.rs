// SPDX-License-Identifier: GPL-2.0-or-later
//! What a selection comes to: a CPU, or a search for an idle one that has begun.
//!
//! A search sees each CPU as it is when it comes to it: one that was idle when the search began may be taken meanwhile, and a
//! busy one may have become idle. The selection therefore does not search itself. It answers with a [`Search`]; who asked has
//! it look ([`State::resume_scan`]), at as many CPUs at a time as he likes, and when it has seen enough the rules that stand behind
//! the search conclude ([`State::conclude_search`]), perhaps with another search. What is looked for is said in
//! [`super::idle_cpu`], [`super::idle_core`] and [`super::idle_capacity`], or by a [`super::policy`].

use super::idle_capacity::CapacityScan;
use super::idle_core::CoreScan;
use super::idle_cpu::CpuScan;
use super::policy::PolicyScanOrder;
use crate::interface::ctx::Ctx;
use crate::interface::wakeup::{WakeRule, WakeupDecision};
use crate::state::State;
use crate::types::ids::CpuId;
use crate::types::units::Nanos;

/// What a selection comes to.
#[derive(Clone, Copy, Debug)]
#[must_use = "a selection that is dropped loses its task"]
#[allow(clippy::large_enum_variant, reason = "both are made on each wake-up, where nothing may allocate")]
pub(crate) enum Selection {
    /// A CPU is chosen.
    Chosen(WakeupDecision),
    /// An idle CPU has to be searched for.
    Search(IdleScan),
}

impl Selection {
    /// The end of a selection.
    pub(super) fn chosen(mut decision: WakeupDecision, cpu: CpuId, rule: WakeRule) -> Self {
        decision.choose(cpu, rule);
        Self::Chosen(decision)
    }
}

/// The rules that stand behind a search.
pub(crate) type Conclude = fn(&mut State, &mut Ctx<'_>, IdleScan) -> Selection;

/// A search that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleScan {
    /// What is known so far, and in the end what was found.
    pub decision: WakeupDecision,
    pub(super) walk: ScanOrder,
    pub(super) began: Nanos,
    conclude: Conclude,
    is_over: bool,
}

impl IdleScan {
    /// A search that has not looked at any CPU yet.
    pub(super) fn new(ctx: &Ctx<'_>, walk: ScanOrder, decision: WakeupDecision, conclude: Conclude) -> Self {
        Self { decision, walk, began: ctx.now, conclude, is_over: false }
    }

    /// The same search with another rule behind it.
    #[cfg(test)]
    pub(crate) fn with_rule_behind(self, conclude: Conclude) -> Self {
        Self { conclude, ..self }
    }

    /// Whether it has seen enough.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }
}

/// Where a search is.
#[derive(Clone, Copy, Debug)]
pub(super) enum ScanOrder {
    /// CPU by CPU.
    Cpus(CpuScan),
    /// Core by core.
    Cores(CoreScan),
    /// CPU by CPU, where capacities differ.
    Capacities(CapacityScan),
    /// As a policy of one's own wants.
    Policy(PolicyScanOrder),
}

/// How many looks a search may take now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanBudget {
    left: u32,
}

impl ScanBudget {
    /// As many as it likes.
    pub(crate) const ALL: Self = Self { left: u32::MAX };

    /// At most so many.
    pub(crate) const fn at_most(left: u32) -> Self {
        Self { left }
    }

    /// Takes one, if there is one.
    pub(super) fn take(&mut self) -> bool {
        let has_one = self.left > 0;
        self.left = self.left.saturating_sub(1);
        has_one
    }

    /// Whether there are none left.
    pub(super) fn are_spent(self) -> bool {
        self.left == 0
    }
}

impl State {
    /// Looks further.
    pub(crate) fn resume_scan(&mut self, ctx: &mut Ctx<'_>, search: &mut IdleScan, looks: ScanBudget) {
        let IdleScan { decision, walk, .. } = search;
        search.is_over = match walk {
            ScanOrder::Cpus(walk) => self.scan_cpus(ctx, walk, decision, looks),
            ScanOrder::Cores(walk) => self.scan_cores(ctx, walk, decision, looks),
            ScanOrder::Capacities(walk) => self.scan_capacities(ctx, walk, decision, looks),
            ScanOrder::Policy(walk) => self.scan_for_policy(ctx, walk, decision, looks),
        };
    }

    /// A search has seen enough, and the time that its last looks took has passed: the rules behind it.
    pub(crate) fn conclude_search(&mut self, ctx: &mut Ctx<'_>, search: IdleScan) -> Selection {
        debug_assert!(search.is_over, "a search looks until it has seen enough");
        (search.conclude)(self, ctx, search)
    }

    /// No rule stands behind the search: what it found is chosen.
    pub(super) fn take_result(&mut self, _ctx: &mut Ctx<'_>, search: IdleScan) -> Selection {
        Selection::Chosen(search.decision)
    }

    /// Carries a selection through at once.
    #[cfg(test)]
    pub(crate) fn search_at_once(&mut self, ctx: &mut Ctx<'_>, mut selection: Selection) -> WakeupDecision {
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
