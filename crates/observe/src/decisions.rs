// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts of scheduling decisions: wake-up placements by rule, load-balancing passes by outcome.

use fairlab_sched::interface::wakeup::{WakeKind, WakeRule, WakeupDecision};
use fairlab_sched::probe::{BalanceDecision, BalanceVerdict, KickDecision};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counters of decisions during a run.
#[derive(Clone, Debug, Default)]
pub struct DecisionStats {
    rules: BTreeMap<WakeRule, u64>,
    wakeups: u64,
    forks: u64,
    execs: u64,
    on_prev: u64,
    scans: u64,
    cpus_scanned: u64,
    balance: BalanceSummary,
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
    /// Counts the placement of a task.
    #[inline]
    pub fn on_selection(&mut self, decision: &WakeupDecision) {
        match decision.kind {
            WakeKind::Wakeup => {
                self.wakeups += 1;
                self.on_prev += u64::from(decision.cpu == decision.prev);
                self.scans += u64::from(decision.nr_scanned > 0);
                self.cpus_scanned += u64::from(decision.nr_scanned);
            }
            WakeKind::Fork => self.forks += 1,
            WakeKind::Exec => self.execs += 1,
        }
        *self.rules.entry(decision.rule).or_default() += 1;
    }

    /// Counts a completed load-balancing pass.
    #[inline]
    pub fn on_balance(&mut self, decision: &BalanceDecision) {
        let total = &mut self.balance;
        total.passes += 1;
        total.tasks_moved += u64::from(decision.nr_moved);
        match decision.verdict {
            BalanceVerdict::Moved => total.moved += 1,
            BalanceVerdict::ActiveBalance => total.active += 1,
            BalanceVerdict::Failed
            | BalanceVerdict::AllPinned
            | BalanceVerdict::NoBusiestQueue
            | BalanceVerdict::ActiveBalancePending
            | BalanceVerdict::RunningTaskPinned => total.failed += 1,
            BalanceVerdict::NotOurs | BalanceVerdict::NoBusiestGroup => {}
        }
    }

    /// Counts a tick's decision to kick a tickless CPU.
    #[inline]
    pub fn on_kick_decision(&mut self, decision: &KickDecision) {
        self.balance.kicks += u64::from(decision.kicked);
    }

    /// Returns the counts of placements.
    pub fn selections(&self) -> SelectionSummary {
        let mut by_rule: Vec<(String, u64)> = self.rules.iter().map(|(rule, &n)| (format!("{rule:?}"), n)).collect();
        by_rule.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        SelectionSummary {
            wakeups: self.wakeups,
            forks: self.forks,
            execs: self.execs,
            stayed: self.on_prev,
            scans: self.scans,
            cpus_scanned: self.cpus_scanned,
            by_rule,
        }
    }

    /// Returns the counts of load-balancing passes.
    pub fn balancing(&self) -> BalanceSummary {
        self.balance.clone()
    }
}
