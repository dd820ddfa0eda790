// SPDX-License-Identifier: GPL-2.0-or-later
//! Passes of `load_balance()`, by level of the domain and state of the CPU, with the work that they did.

use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Machine;
use fairlab_sched::probe::{BalanceDecision, BalanceVerdict};
use fairlab_sched::topology::CpuIdleType;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts the passes.
#[derive(Clone, Debug, Default)]
pub struct PassStats {
    rows: BTreeMap<(u32, CpuIdleType), PassRow>,
}

/// The passes over domains of one level by CPUs in one state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PassRow {
    /// Level of the domains, from 0.
    pub level: u32,
    /// The level's name, such as `MC`.
    pub domain: String,
    /// State of the CPU, as in the kernel's `enum cpu_idle_type`: `idle`, `busy` or `newidle`.
    pub kind: String,
    /// Passes.
    pub passes: u64,
    /// Passes that were another CPU's business.
    pub not_ours: u64,
    /// Passes that found nothing to do.
    pub balanced: u64,
    /// Passes that moved tasks.
    pub moved: u64,
    /// Passes that had a running task pushed.
    pub active: u64,
    /// Passes that found an imbalance and could not change it.
    pub failed: u64,
    /// CPUs whose statistics were gathered.
    pub cpus: u64,
    /// How often the busiest runqueue was locked.
    pub locks: u64,
    /// Tasks that were looked at.
    pub tasks_looked_at: u64,
    /// Tasks that moved.
    pub tasks_moved: u64,
    /// How often a pass started over because all tasks of the busiest runqueue were pinned.
    pub redos: u64,
    /// Passes that locked a runqueue.
    #[serde(default)]
    pub locked: u64,
    /// How often a runqueue had lost its tasks when it was locked.
    #[serde(default)]
    pub emptied: u64,
    /// How often a pass started over because of that.
    #[serde(default)]
    pub raced: u64,
    /// Of the domains of this level: the highest `max_newidle_lb_cost` at the end, in nanoseconds. For `newidle` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_newidle_lb_cost_ns: Option<u64>,
}

impl PassStats {
    /// A pass is over.
    #[inline]
    pub fn on_balance(&mut self, decision: &BalanceDecision) {
        let row = self.rows.entry((decision.level, decision.idle)).or_default();
        row.passes += 1;
        *match decision.verdict {
            BalanceVerdict::NotOurs => &mut row.not_ours,
            BalanceVerdict::NoBusiestGroup => &mut row.balanced,
            BalanceVerdict::Moved => &mut row.moved,
            BalanceVerdict::ActiveBalance => &mut row.active,
            BalanceVerdict::Failed
            | BalanceVerdict::AllPinned
            | BalanceVerdict::NoBusiestQueue
            | BalanceVerdict::ActiveBalancePending
            | BalanceVerdict::RunningTaskPinned => &mut row.failed,
        } += 1;
        row.cpus += u64::from(decision.nr_cpus);
        row.locks += u64::from(decision.nr_locks);
        row.tasks_looked_at += u64::from(decision.nr_scanned);
        row.tasks_moved += u64::from(decision.nr_moved);
        row.redos += u64::from(decision.redos);
        row.locked += u64::from(decision.nr_locks > 0);
        row.emptied += u64::from(decision.emptied);
        row.raced += u64::from(decision.raced);
    }

    /// What was counted, narrow domains first.
    pub fn rows(&self, machine: &Machine<impl Engine>) -> Vec<PassRow> {
        let domains = machine.sched().as_sched().map(|sched| &sched.domains().domains);
        let row = |(&(level, idle), row): (&(u32, CpuIdleType), &PassRow)| {
            let mut row = row.clone();
            let of_level = || domains.iter().flat_map(|domains| domains.iter()).filter(|domain| domain.level == level);
            row.level = level;
            row.domain = of_level().next().map_or_else(String::new, |domain| domain.name.to_owned());
            row.kind = name_of(idle).to_owned();
            if idle == CpuIdleType::NewlyIdle {
                row.max_newidle_lb_cost_ns = of_level().map(|domain| domain.max_newidle_lb_cost).max();
            }
            row
        };
        self.rows.iter().map(row).collect()
    }
}

/// The name of a state in results.
const fn name_of(idle: CpuIdleType) -> &'static str {
    match idle {
        CpuIdleType::Idle => "idle",
        CpuIdleType::NotIdle => "busy",
        CpuIdleType::NewlyIdle => "newidle",
    }
}
