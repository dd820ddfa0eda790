// SPDX-License-Identifier: GPL-2.0-or-later
//! Why tasks went where they went: selections of a CPU by rule, passes of load balancing by outcome.

use fairlab_sched::interface::wakeup::{WakeKind, WakeRule, WakeupDecision};
use fairlab_sched::probe::{BalanceDecision, BalanceVerdict, KickDecision};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts decisions.
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

/// How CPUs were selected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SelectionSummary {
    /// Selections for tasks that woke.
    pub wakeups: u64,
    /// Selections for tasks that were forked.
    pub forks: u64,
    /// Selections for tasks that began another program.
    pub execs: u64,
    /// How often the task stayed on the CPU where it was.
    pub stayed: u64,
    /// How often CPUs were looked at beyond the fast checks.
    pub scans: u64,
    /// How many CPUs were looked at in them.
    pub cpus_scanned: u64,
    /// How often each rule decided, most frequent first.
    pub by_rule: Vec<(String, u64)>,
}

/// What load balancing did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BalanceSummary {
    /// Passes of `load_balance()`.
    pub passes: u64,
    /// Passes after which tasks had moved.
    pub moved: u64,
    /// Tasks that moved in them.
    pub tasks_moved: u64,
    /// Passes that made a stopper push the running task.
    pub active: u64,
    /// Passes that found an imbalance and could not change it.
    pub failed: u64,
    /// Ticks that asked an idle CPU to balance for the tickless ones.
    pub kicks: u64,
}

impl DecisionStats {
    /// A CPU was selected.
    #[inline]
    pub fn on_selection(&mut self, decision: &WakeupDecision) {
        match decision.kind {
            WakeKind::Wakeup => self.wakeups += 1,
            WakeKind::Fork => self.forks += 1,
            WakeKind::Exec => self.execs += 1,
        }
        self.on_prev += u64::from(decision.cpu == decision.prev);
        self.scans += u64::from(decision.nr_scanned > 0);
        self.cpus_scanned += u64::from(decision.nr_scanned);
        *self.rules.entry(decision.rule).or_default() += 1;
    }

    /// A pass of load balancing is over.
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

    /// A tick thought of tickless CPUs.
    #[inline]
    pub fn on_kick_decision(&mut self, decision: &KickDecision) {
        self.balance.kicks += u64::from(decision.kicked);
    }

    /// How CPUs were selected.
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

    /// What load balancing did.
    pub fn balancing(&self) -> BalanceSummary {
        self.balance.clone()
    }
}
