// SPDX-License-Identifier: GPL-2.0-or-later
//! Results of the OLTP benchmark of sysbench.

use super::rounds::{Rounds, RoundsObserver, RoundsReport};
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::oltp::{QUERIES, READS, TRANSACTION, WRITES};
use serde::Serialize;

/// Observer that counts transactions.
pub type OltpObserver = RoundsObserver<OltpReport>;

/// Report of sysbench for an OLTP load.
#[derive(Clone, Copy, Debug, Default)]
pub struct OltpReport;

/// Result of an OLTP load.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct OltpResult {
    /// Number of completed transactions.
    pub transactions: u64,
    /// Completed transactions per second.
    pub per_s: f64,
    /// Latencies in milliseconds: minimum, mean, maximum and 95th percentile.
    pub latency_ms: [f64; 4],
    /// Length of the measured time, in seconds.
    pub total_time_s: f64,
}

impl RoundsReport for OltpReport {
    type Output = OltpResult;
    const FIRST_END: u32 = TRANSACTION;

    fn result(&self, rounds: &Rounds, elapsed: Nanos) -> OltpResult {
        let total_time_s = elapsed.0 as f64 / 1e9;
        let latency = rounds.latency();
        let summary = latency.summary().unwrap_or_default();
        let p95 = if summary.count > 0 { latency.quantile(0.95) } else { 0 };
        OltpResult {
            transactions: summary.count,
            per_s: summary.count as f64 / total_time_s,
            latency_ms: [summary.min_ns, summary.mean_ns, summary.max_ns, p95].map(|ns| ns as f64 / 1e6),
            total_time_s,
        }
    }

    fn text(&self, result: &OltpResult) -> String {
        let count = |each: u32| result.transactions * u64::from(each);
        let rate = |all: u64| all as f64 / result.total_time_s;
        let [min, avg, max, p95] = result.latency_ms;
        format!(
            "SQL statistics:\n    queries performed:\n        read:                            {}\n        write:          \
             \u{20}                {}\n        other:                           {}\n        total:                           \
             {}\n    transactions:                        {:<6} ({:.2} per sec.)\n    queries:                             {:<6} \
             ({:.2} per sec.)\n\nGeneral statistics:\n    total time:                          {:.4}s\n\nLatency (ms):\n         \
             min:                              {min:>10.2}\n         avg:                              {avg:>10.2}\n         \
             max:                              {max:>10.2}\n         95th percentile:                  {p95:>10.2}\n",
            count(READS),
            count(WRITES),
            count(QUERIES - READS - WRITES),
            count(QUERIES),
            result.transactions,
            rate(result.transactions),
            count(QUERIES),
            rate(count(QUERIES)),
            result.total_time_s,
        )
    }
}
