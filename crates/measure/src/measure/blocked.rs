// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls of `update_blocked_averages()`: their rate, and their callers.

use fairlab_sched::probe::{BlockedCaller, BlockedUpdate};
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(crate) struct BlockedStats {
    by_caller: BTreeMap<BlockedCaller, (u64, u64)>,
}

/// Calls of all callers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BlockedSummary {
    /// Number of calls of `update_blocked_averages()`.
    pub calls: u64,
    /// Calls per second, of all CPUs together.
    pub calls_per_s: f64,
    /// Number of cfs_rqs that the calls visited.
    pub cfs_rqs: u64,
    /// Calls by caller, in the order of `BlockedCaller`.
    pub by_caller: Vec<BlockedRow>,
}

/// Calls of one caller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BlockedRow {
    /// Name of the caller: `Softirq`, `NewIdle`, `NohzIdle`, `NohzNewIdle` or `NohzKick`.
    pub caller: String,
    /// Number of calls of `update_blocked_averages()`.
    pub calls: u64,
    /// Calls per second, of all CPUs together.
    pub calls_per_s: f64,
    /// Number of cfs_rqs that the calls visited.
    pub cfs_rqs: u64,
}

impl BlockedStats {
    #[inline]
    pub(crate) fn on_update(&mut self, update: &BlockedUpdate) {
        let (calls, cfs_rqs) = self.by_caller.entry(update.caller).or_default();
        *calls += 1;
        *cfs_rqs += update.nr_cfs_rqs;
    }

    pub(crate) fn summary(&self, duration: Nanos) -> BlockedSummary {
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
    fn calls_are_counted_by_caller_and_per_second() {
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
