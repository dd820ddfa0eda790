// SPDX-License-Identifier: GPL-2.0-or-later
//! Passes of `load_balance()` with their work, by level of the domain and idle type of the CPU.

use crate::slot_mut;
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Machine;
use fairlab_sched::probe::{BalanceDecision, BalanceVerdict};
use fairlab_sched::topology::CpuIdleType;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default)]
pub(crate) struct PassStats {
    /// Rows of each level, by idle type in the order of [`CpuIdleType::ALL`].
    levels: Vec<[PassRow; CpuIdleType::ALL.len()]>,
}

/// Passes over domains of one level by CPUs of one idle type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PassRow {
    /// Level of the domains, from 0 for the narrowest.
    pub level: u32,
    /// Name of the level, such as `MC`.
    pub domain: String,
    /// Idle type of the CPU, after the kernel's `enum cpu_idle_type`: `idle`, `busy` or `newidle`.
    pub kind: String,
    /// Number of passes of `load_balance()`.
    pub passes: u64,
    /// Number of passes that were left to another CPU (`should_we_balance()`).
    pub not_ours: u64,
    /// Number of passes that found no imbalance.
    pub balanced: u64,
    /// Number of passes that moved tasks.
    pub moved: u64,
    /// Number of passes that started active balancing of a running task.
    pub active: u64,
    /// Number of passes that found an imbalance but could not move a task.
    pub failed: u64,
    /// Number of CPUs whose statistics were updated.
    pub cpus: u64,
    /// Number of times that the busiest runqueue was locked.
    pub locks: u64,
    /// Number of tasks that were considered for migration.
    pub tasks_looked_at: u64,
    /// Number of tasks that were moved.
    pub tasks_moved: u64,
    /// Number of restarts of a pass because all tasks of the busiest runqueue were pinned.
    pub redos: u64,
    /// Number of passes that locked a runqueue.
    #[serde(default)]
    pub locked: u64,
    /// Number of times that the busiest runqueue had lost its tasks by the time it was locked.
    #[serde(default)]
    pub emptied: u64,
    /// Number of restarts of a pass for that reason.
    #[serde(default)]
    pub raced: u64,
    /// Highest `max_newidle_lb_cost` of the domains of this level at the end, in nanoseconds; only for
    /// `newidle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_newidle_lb_cost_ns: Option<u64>,
}

impl PassStats {
    #[inline]
    pub(crate) fn on_balance(&mut self, decision: &BalanceDecision) {
        let row = &mut slot_mut(&mut self.levels, decision.level as usize)[decision.idle as usize];
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

    /// Returns the counters, narrowest domains first.
    pub(crate) fn rows(&self, machine: &Machine<impl Engine>) -> Vec<PassRow> {
        let domains = machine.sched().as_sched().map(|sched| &sched.domains().domains);
        let row = |(level, idle, row): (u32, CpuIdleType, &PassRow)| {
            let mut row = row.clone();
            let of_level = || domains.iter().flat_map(|domains| domains.iter()).filter(|domain| domain.level == level);
            row.level = level;
            row.domain = of_level().next().map_or_else(String::new, |domain| domain.name.to_owned());
            row.kind = idle_type_name(idle).to_owned();
            if idle == CpuIdleType::NewlyIdle {
                row.max_newidle_lb_cost_ns = of_level().map(|domain| domain.max_newidle_lb_cost).max();
            }
            row
        };
        let rows = (0..).zip(&self.levels).flat_map(|(level, rows)| {
            CpuIdleType::ALL.into_iter().zip(rows).map(move |(idle, row)| (level, idle, row))
        });
        rows.filter(|(.., row)| row.passes > 0).map(row).collect()
    }
}

/// Name of an idle type in results and traces.
pub const fn idle_type_name(idle: CpuIdleType) -> &'static str {
    match idle {
        CpuIdleType::Idle => "idle",
        CpuIdleType::NotIdle => "busy",
        CpuIdleType::NewlyIdle => "newidle",
    }
}
