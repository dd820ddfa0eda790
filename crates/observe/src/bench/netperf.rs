// SPDX-License-Identifier: GPL-2.0-or-later
//! Results of netperf's request/response tests for each instance, and their sum, which netperf does not
//! compute.

use super::rounds::{Rounds, RoundsObserver, RoundsReport};
use crate::latency::LatencySummary;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::netperf::{Netperf, NetperfTest, TRANSACTION};
use serde::Serialize;

/// Largest number of instances with a row in the output.
const MAX_ROWS: usize = 8;
/// Socket buffer sizes that netperf prints, in bytes: Linux's defaults.
const SOCKETS: [(NetperfTest, &str, u32, u32); 2] =
    [(NetperfTest::TcpRr, "TCP", 16_384, 131_072), (NetperfTest::UdpRr, "UDP", 212_992, 212_992)];

/// Observer that counts transactions.
pub type NetperfObserver = RoundsObserver<Netperf>;

/// Result of a request/response test.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct NetperfResult {
    /// Length of the measured time, in seconds.
    pub elapsed_s: f64,
    /// Transactions per second of each instance.
    pub per_instance: Vec<f64>,
    /// Transactions per second of all instances.
    pub sum: f64,
    /// Latencies of the transactions of all instances.
    pub latency: LatencySummary,
}

impl RoundsReport for Netperf {
    type Output = NetperfResult;
    const FIRST_END: u32 = TRANSACTION;

    fn result(&self, rounds: &Rounds, elapsed: Nanos) -> NetperfResult {
        let elapsed_s = elapsed.0 as f64 / 1e9;
        let per_instance: Vec<f64> = self.clients().map(|client| rounds.of_task(client) as f64 / elapsed_s).collect();
        NetperfResult {
            elapsed_s,
            per_instance,
            sum: rounds.total() as f64 / elapsed_s,
            latency: rounds.latency().summary().unwrap_or_default(),
        }
    }

    fn text(&self, result: &NetperfResult) -> String {
        let (_, name, send, receive) =
            SOCKETS.into_iter().find(|&(test, ..)| test == self.test).expect("each test has a row");
        let mut page = format!(
            "MIGRATED {name} REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET : \
             first burst 0\nLocal /Remote\nSocket Size   Request  Resp.   Elapsed  Trans.\nSend   Recv   Size     Size    \
             Time     Rate         \nbytes  Bytes  bytes    bytes   secs.    per sec   \n\n"
        );
        let elapsed = result.elapsed_s;
        for rate in result.per_instance.iter().take(MAX_ROWS) {
            page += &format!("{send:<6} {receive:<6} {:<8} {:<7} {elapsed:<8.2} {rate:<10.2}\n", 1, 1);
        }
        if result.per_instance.len() > MAX_ROWS {
            page += &format!("... and {} more instances\n", result.per_instance.len() - MAX_ROWS);
        }
        let micros = |ns: u64| ns as f64 / 1000.0;
        let LatencySummary { min_ns, mean_ns, p50_ns, p99_ns, max_ns, .. } = result.latency;
        page + &format!(
            "\n{} instances: {:.2} trans/s; latency us: min {:.2} mean {:.2} 50th {:.2} 99th {:.2} max {:.2}\n",
            result.per_instance.len(),
            result.sum,
            micros(min_ns),
            micros(mean_ns),
            micros(p50_ns),
            micros(p99_ns),
            micros(max_ns)
        )
    }
}
