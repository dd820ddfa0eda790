// SPDX-License-Identifier: GPL-2.0-or-later
//! Results of tbench: throughput of file data, and the number of operations of each kind.

use super::rounds::{Rounds, RoundsObserver, RoundsReport};
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::tbench::{DONE, OPERATIONS, Tbench};
use serde::Serialize;

/// Observer that counts operations.
pub type TbenchObserver = RoundsObserver<Tbench>;

/// Result of a tbench run.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct TbenchResult {
    /// File data per second, in mebibytes.
    pub throughput_mb_s: f64,
    /// Number of client processes.
    pub clients: u32,
    /// Duration of the longest operation, in milliseconds.
    pub max_latency_ms: f64,
    /// Number of operations of each kind: pairs of name and count.
    pub operations: Vec<(&'static str, u64)>,
}

impl RoundsReport for Tbench {
    type Output = TbenchResult;
    const FIRST_END: u32 = DONE;

    fn result(&self, rounds: &Rounds, elapsed: Nanos) -> TbenchResult {
        let (mut bytes, mut operations) = (0, Vec::<(&'static str, u64)>::new());
        for (operation, mark) in OPERATIONS.iter().zip(DONE..) {
            let count = rounds.of_mark(mark);
            bytes += count * u64::from(operation.data);
            match operations.iter_mut().find(|(name, _)| *name == operation.name) {
                Some((_, sum)) => *sum += count,
                None => operations.push((operation.name, count)),
            }
        }
        let max_ns = rounds.latency().summary().map_or(0, |summary| summary.max_ns);
        TbenchResult {
            throughput_mb_s: bytes as f64 / f64::from(1 << 20) / (elapsed.0 as f64 / 1e9),
            clients: self.clients,
            max_latency_ms: max_ns as f64 / 1e6,
            operations,
        }
    }

    fn text(&self, result: &TbenchResult) -> String {
        let mut page = format!(" {:<14} {:>10}\n {}\n", "Operation", "Count", "-".repeat(25));
        for (name, count) in &result.operations {
            page += &format!(" {name:<14} {count:>10}\n");
        }
        page + &format!(
            "\nThroughput {:.6} MB/sec  {} clients  {} procs  max_latency={:.3} ms\n",
            result.throughput_mb_s, result.clients, result.clients, result.max_latency_ms
        )
    }
}
