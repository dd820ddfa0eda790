// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls of `update_blocked_averages()`: how many in a second, and on whose way.

use fairlab_sched::probe::{BlockedCaller, BlockedUpdate};
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts the calls.
#[derive(Clone, Debug, Default)]
pub struct BlockedStats {
    by_caller: BTreeMap<BlockedCaller, (u64, u64)>,
}

/// What is told of the calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BlockedSummary {
    /// Calls.
    pub calls: u64,
    /// Calls in a second, of all CPUs together.
    pub calls_per_s: f64,
    /// How many cfs_rqs they visited.
    pub cfs_rqs: u64,
    /// The same by caller.
    pub by_caller: Vec<BlockedRow>,
}

/// The calls on the way of one caller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BlockedRow {
    /// The caller: a name of `BlockedCaller`.
    pub caller: String,
    /// Calls.
    pub calls: u64,
    /// Calls in a second.
    pub calls_per_s: f64,
    /// How many cfs_rqs they visited.
    pub cfs_rqs: u64,
}

impl BlockedStats {
    /// A CPU's averages were brought up to date.
    #[inline]
    pub fn on_update(&mut self, update: &BlockedUpdate) {
        let (calls, cfs_rqs) = self.by_caller.entry(update.caller).or_default();
        *calls += 1;
        *cfs_rqs += update.nr_cfs_rqs;
    }

    /// What was counted in a run of this length.
    pub fn summary(&self, duration: Nanos) -> BlockedSummary {
        let per_s = |calls: u64| if duration.0 == 0 { 0.0 } else { calls as f64 * 1e9 / duration.0 as f64 };
        let row = |(caller, &(calls, cfs_rqs)): (&BlockedCaller, &(u64, u64))| BlockedRow {
            caller: caller.name().to_owned(),
            calls,
            calls_per_s: per_s(calls),
            cfs_rqs,
        };
        let by_caller: Vec<BlockedRow> = self.by_caller.iter().map(row).collect();
        let calls = by_caller.iter().map(|row| row.calls).sum();
        let cfs_rqs = by_caller.iter().map(|row| row.cfs_rqs).sum();
        BlockedSummary { calls, calls_per_s: per_s(calls), cfs_rqs, by_caller }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_sched::ids::CpuId;

    #[test]
    fn calls_are_told_by_caller_and_second() {
        let mut blocked = BlockedStats::default();
        let mut update = |caller, nr_cfs_rqs| {
            blocked.on_update(&BlockedUpdate { on: CpuId(0), cpu: CpuId(1), caller, nr_cfs_rqs });
        };
        update(BlockedCaller::NohzKick, 300);
        update(BlockedCaller::Softirq, 1);
        update(BlockedCaller::Softirq, 2);
        let summary = blocked.summary(Nanos(500_000_000));
        assert_eq!((summary.calls, summary.calls_per_s, summary.cfs_rqs), (3, 6.0, 303));
        let rows: Vec<_> = summary.by_caller.iter().map(|row| (row.caller.as_str(), row.calls_per_s)).collect();
        assert_eq!(rows, [("Softirq", 4.0), ("NohzKick", 2.0)]);
    }
}
