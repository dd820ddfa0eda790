// SPDX-License-Identifier: GPL-2.0-or-later
//! Results of netperf's request/response tests for each instance, and what netperf does not compute: their sum, and how
//! often both ends of a pair ran on one CPU.
//!
//! Pairs have stable states under load: both ends on one CPU, each end on a CPU of its own, or each wake-up on a different
//! CPU. The share of transactions on one CPU and the migrations per transaction say which state a run was in.

use super::pair_states::{PairStates, change_sentence};
use super::rounds::Rounds;
use super::{BenchObserver, BenchResult, RunProgress, slot_mut};
use crate::latency::LatencySummary;
use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::netperf::{Netperf, NetperfTest, TRANSACTION};
use serde::Serialize;

/// Largest number of instances with a row in the output.
const MAX_ROWS: usize = 8;
/// Socket buffer sizes that netperf prints, in bytes: Linux's defaults.
const SOCKETS: [(NetperfTest, &str, u32, u32); 2] =
    [(NetperfTest::TcpRr, "TCP", 16_384, 131_072), (NetperfTest::UdpRr, "UDP", 212_992, 212_992)];

/// Observer that counts transactions.
#[derive(Clone, Debug, Default)]
pub struct NetperfObserver {
    bench: Netperf,
    rounds: Rounds,
    /// Last CPU of each task of the scheduler.
    cpus: Vec<Option<CpuId>>,
    /// Number in the scheduler of each task of the workload.
    ids: Vec<usize>,
    /// Number of transactions in which both ends ran on one CPU.
    nr_on_one_cpu: u64,
    /// Number of times that a task ran on a different CPU than before.
    nr_moves: u64,
    states: PairStates,
}

/// Result of a request/response test.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct NetperfResult {
    /// Length of the measured time, in seconds.
    pub elapsed_s: f64,
    /// Transactions per second of each instance.
    pub per_instance: Vec<f64>,
    /// Transactions per second of all instances.
    pub sum: f64,
    /// Share of the transactions after which both ends had last run on one CPU.
    pub on_one_cpu: f64,
    /// Share of the transactions on one CPU in each quarter of the milliseconds from the first transaction to the last; empty
    /// for fewer than four milliseconds.
    pub on_one_cpu_quarters: Vec<f64>,
    /// Time from the first transaction's millisecond to that from which on at least three quarters of each millisecond's
    /// transactions are on one CPU, in nanoseconds; absent if those of the last one are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stacked_after_ns: Option<u64>,
    /// Number of times per transaction that a task ran on a different CPU than before.
    pub moves_per_transaction: f64,
    /// Latencies of the transactions of all instances.
    pub latency: LatencySummary,
}

impl NetperfObserver {
    /// Creates the observer of a test.
    pub fn new(bench: Netperf) -> Self {
        Self { bench, ..Self::default() }
    }

    /// Computes the result of a measured time.
    pub fn result(&self, elapsed: Nanos) -> NetperfResult {
        let elapsed_s = elapsed.0 as f64 / 1e9;
        let of_client = |client| self.rounds.of_task(client) as f64 / elapsed_s;
        let total = self.rounds.total();
        NetperfResult {
            elapsed_s,
            per_instance: self.bench.clients().map(of_client).collect(),
            sum: total as f64 / elapsed_s,
            on_one_cpu: self.nr_on_one_cpu as f64 / total.max(1) as f64,
            on_one_cpu_quarters: self.states.quarters(),
            stacked_after_ns: self.states.stacked_after().map(|after| after.0),
            moves_per_transaction: self.nr_moves as f64 / total.max(1) as f64,
            latency: self.rounds.latency().summary().unwrap_or_default(),
        }
    }

    /// Whether both ends of a pair last ran on one CPU. The server precedes its client in the workload.
    fn is_on_one_cpu(&self, client: usize) -> bool {
        let cpu = |spec: usize| self.cpus.get(*self.ids.get(spec)?).copied().flatten();
        let spec = self.rounds.spec_of(client);
        let at = cpu(spec);
        at.is_some() && at == cpu(spec - 1)
    }

    fn text(&self, result: &NetperfResult) -> String {
        let (_, name, send, receive) =
            SOCKETS.into_iter().find(|&(test, ..)| test == self.bench.test).expect("each test has a row");
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
        let change = change_sentence(&result.on_one_cpu_quarters, result.stacked_after_ns.map(Nanos));
        page += &format!(
            "\n{} instances: {:.2} trans/s, {:.0} % of them on one CPU, {:.2} moves each; latency us: min {:.2} mean {:.2} 50th {:.2} 99th {:.2} max {:.2}\n",
            result.per_instance.len(),
            result.sum,
            100.0 * result.on_one_cpu,
            result.moves_per_transaction,
            micros(min_ns),
            micros(mean_ns),
            micros(p50_ns),
            micros(p99_ns),
            micros(max_ns)
        );
        page + &change.map_or_else(String::new, |change| change + "\n")
    }
}

impl SchedObserver for NetperfObserver {
    #[inline]
    fn event(&mut self, _now: Nanos, event: &Event<'_>) {
        if let Event::Switch { cpu, next, .. } = *event {
            let last = slot_mut(&mut self.cpus, next.index()).replace(cpu);
            self.nr_moves += u64::from(last.is_some_and(|last| last != cpu));
        }
    }
}

impl Observer for NetperfObserver {
    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        self.rounds.record_event(now, event, TRANSACTION);
        match *event {
            MachineEvent::Forked { id, spec, .. } => *slot_mut(&mut self.ids, spec) = id.index(),
            MachineEvent::Mark { task, .. } => {
                let is_on_one_cpu = self.is_on_one_cpu(task);
                self.nr_on_one_cpu += u64::from(is_on_one_cpu);
                self.states.record(now, is_on_one_cpu);
            }
            _ => {}
        }
    }
}

impl BenchObserver for NetperfObserver {
    fn reset(&mut self) -> bool {
        self.rounds.reset();
        (self.nr_on_one_cpu, self.nr_moves) = (0, 0);
        self.states = PairStates::default();
        true
    }

    fn outcome(&self, _reached: RunProgress, measured: Nanos) -> BenchResult {
        let result = self.result(measured);
        BenchResult::new(self.text(&result), &result)
    }
}
