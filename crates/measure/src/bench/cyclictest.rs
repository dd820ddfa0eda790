// SPDX-License-Identifier: GPL-2.0-or-later
//! Results of cyclictest for each thread: minimum, last, mean and maximum latency, in microseconds.

use super::{BenchObserver, BenchResult, RunProgress, slot_mut};
use crate::latency::{Latency, LatencySummary};
use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_sched::probe::SchedObserver;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::cyclictest::{Cyclictest, SAMPLE};
use serde::Serialize;

/// Observer that measures latencies from the expiry of a thread's timer until the thread runs.
#[derive(Clone, Debug)]
pub struct CyclictestObserver {
    bench: Cyclictest,
    expiries: Vec<Nanos>,
    last_ns: Vec<u64>,
    latencies: Vec<Latency>,
    all: Latency,
}

/// Result of all threads.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CyclictestResult {
    /// Threads, in ascending order.
    pub threads: Vec<ThreadResult>,
    /// Latencies of all cycles of all threads; null without any cycle.
    pub latency: Option<LatencySummary>,
}

/// Result of one thread.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ThreadResult {
    /// Number of the thread.
    pub thread: u32,
    /// Real-time priority of the thread.
    pub priority: u8,
    /// Interval of the thread's timer, in microseconds.
    pub interval_us: u64,
    /// Last latency, in nanoseconds.
    pub last_ns: u64,
    /// Latencies of all cycles.
    pub latency: LatencySummary,
}

impl CyclictestObserver {
    /// Creates the observer of a benchmark.
    pub fn new(bench: Cyclictest) -> Self {
        Self { bench, expiries: Vec::new(), last_ns: Vec::new(), latencies: Vec::new(), all: Latency::default() }
    }

    /// Returns the results of all threads, which are the first tasks of the workload.
    pub fn result(&self) -> CyclictestResult {
        let of = |thread: u32| ThreadResult {
            thread,
            priority: self.bench.priority_of(thread),
            interval_us: self.bench.interval_of(thread).0 / 1000,
            last_ns: self.last_ns.get(thread as usize).copied().unwrap_or(0),
            latency: self.latencies.get(thread as usize).and_then(Latency::summary).unwrap_or_default(),
        };
        CyclictestResult { threads: (0..self.bench.threads).map(of).collect(), latency: self.all.summary() }
    }
}

fn line(result: &ThreadResult) -> String {
    let us = |ns: u64| ns / 1000;
    let LatencySummary { count, min_ns, mean_ns, max_ns, .. } = result.latency;
    format!(
        "T:{:2} ({:5}) P:{:2} I:{} C:{:7} Min:{:7} Act:{:5} Avg:{:5} Max:{:8}\n",
        result.thread,
        result.thread,
        result.priority,
        result.interval_us,
        count,
        us(min_ns),
        us(result.last_ns),
        us(mean_ns),
        us(max_ns)
    )
}

impl SchedObserver for CyclictestObserver {}

impl Observer for CyclictestObserver {
    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        match *event {
            MachineEvent::TimerWoke { task, expired } => *slot_mut(&mut self.expiries, task) = expired,
            MachineEvent::Mark { task, phase: SAMPLE } => {
                let ns = (now - *slot_mut(&mut self.expiries, task)).0;
                *slot_mut(&mut self.last_ns, task) = ns;
                slot_mut(&mut self.latencies, task).record(ns);
                self.all.record(ns);
            }
            _ => {}
        }
    }
}

impl BenchObserver for CyclictestObserver {
    fn reset(&mut self) -> bool {
        self.latencies.clear();
        self.last_ns.clear();
        self.all = Latency::default();
        true
    }

    fn outcome(&self, _reached: RunProgress, _measured: Nanos) -> BenchResult {
        let result = self.result();
        BenchResult::new(result.threads.iter().map(line).collect(), &result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_a_line_as_cyclictest_writes_it() {
        let mut meter = CyclictestObserver::new(Cyclictest { priority: 80, ..Cyclictest::default() });
        for (cycle, late_us) in [(1, 3), (2, 9), (3, 4)] {
            let expired = Nanos::from_micros(1000 * cycle);
            meter.machine_event(Nanos(0), &MachineEvent::TimerWoke { task: 0, expired });
            let late = expired + Nanos::from_micros(late_us);
            meter.machine_event(late, &MachineEvent::Mark { task: 0, phase: SAMPLE });
        }
        let text: String = meter.result().threads.iter().map(line).collect();
        assert_eq!(text, "T: 0 (    0) P:80 I:1000 C:      3 Min:      3 Act:    4 Avg:    5 Max:       9\n");
    }
}
