// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts of scheduling decisions: wake-up placements by rule, load-balancing passes by outcome.

use crate::measure::MeasureSummary;
use crate::measure::passes::PassRow;
use crate::slot_mut;
use fairlab_sched::interface::wakeup::{WakeKind, WakeRule, WakeupDecision};
use serde::{Deserialize, Serialize};

/// Counters of wake-up placements during a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct DecisionStats {
    /// Number of placements by rule, in the order of [`WakeRule::ALL`].
    rules: Vec<u64>,
    /// Counts except those by rule.
    selection: SelectionSummary,
}

/// Placements of tasks on CPUs (`select_task_rq()`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SelectionSummary {
    /// Number of placements of waking tasks.
    pub wakeups: u64,
    /// Number of placements of forked tasks.
    pub forks: u64,
    /// Number of placements of tasks that executed another program.
    pub execs: u64,
    /// Number of placements of waking tasks on their previous CPU.
    pub stayed: u64,
    /// Number of placements of waking tasks that scanned CPUs beyond the fast checks.
    pub scans: u64,
    /// Number of CPUs scanned in placements of waking tasks.
    pub cpus_scanned: u64,
    /// Number of placements decided by each rule, including forks and execs, most frequent first.
    pub by_rule: Vec<(String, u64)>,
}

/// Load-balancing passes of all CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BalanceSummary {
    /// Number of passes of `load_balance()`.
    pub passes: u64,
    /// Number of passes that moved tasks.
    pub moved: u64,
    /// Number of tasks moved in these passes.
    pub tasks_moved: u64,
    /// Number of passes that started active balancing, in which a stopper pushes the running task.
    pub active: u64,
    /// Number of passes that found an imbalance but could not move a task.
    pub failed: u64,
    /// Number of ticks that kicked an idle CPU to balance for the tickless ones.
    pub kicks: u64,
}

impl DecisionStats {
    #[inline]
    pub(crate) fn on_selection(&mut self, decision: &WakeupDecision) {
        let total = &mut self.selection;
        match decision.kind {
            WakeKind::Wakeup => {
                total.wakeups += 1;
                total.stayed += u64::from(decision.cpu == decision.prev);
                total.scans += u64::from(decision.nr_scanned > 0);
                total.cpus_scanned += u64::from(decision.nr_scanned);
            }
            WakeKind::Fork => total.forks += 1,
            WakeKind::Exec => total.execs += 1,
        }
        *slot_mut(&mut self.rules, decision.rule as usize) += 1;
    }

    pub(crate) fn selections(&self) -> SelectionSummary {
        let counted = WakeRule::ALL.iter().zip(&self.rules).filter(|&(_, &count)| count > 0);
        let mut by_rule: Vec<(String, u64)> = counted.map(|(rule, &count)| (rule.name().to_owned(), count)).collect();
        by_rule.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        SelectionSummary { by_rule, ..self.selection.clone() }
    }
}

impl BalanceSummary {
    pub(crate) fn new(measure: &MeasureSummary) -> Self {
        let sum = |what: fn(&PassRow) -> u64| measure.passes.iter().map(what).sum();
        Self {
            passes: sum(|row| row.passes),
            moved: sum(|row| row.moved),
            tasks_moved: sum(|row| row.tasks_moved),
            active: sum(|row| row.active),
            failed: sum(|row| row.failed),
            kicks: measure.kicks.iter().map(|row| row.interrupts).sum(),
        }
    }
}
