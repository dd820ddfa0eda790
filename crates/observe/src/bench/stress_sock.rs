// SPDX-License-Identifier: GPL-2.0-or-later
//! What stress-ng tells of its sock stressor: bogo operations.

use super::rounds::Rounds;
use super::{BenchObserver, BenchResult, RunProgress};
use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_sched::ctx::PrevState;
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::stress_sock::{BOGO_OP, StressSock};
use serde::Serialize;

/// Counts connections, and switches away from a task that still could run.
#[derive(Clone, Debug)]
pub struct StressSockObserver {
    bench: StressSock,
    rounds: Rounds,
    preempted: u64,
    switches: u64,
}

/// What is told.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct StressSockResult {
    /// Connections.
    pub bogo_ops: u64,
    /// Length of the run in seconds.
    pub real_time_s: f64,
    /// Connections per second.
    pub bogo_ops_per_s: f64,
    /// Context switches.
    pub switches: u64,
    /// Those that were not voluntary.
    pub involuntary: u64,
}

impl StressSockObserver {
    /// For a model.
    pub fn new(bench: StressSock) -> Self {
        Self { bench, rounds: Rounds::default(), preempted: 0, switches: 0 }
    }

    /// What is told.
    pub fn result(&self, elapsed: Nanos) -> StressSockResult {
        let (bogo_ops, real_time_s) = (self.rounds.total(), elapsed.0 as f64 / 1e9);
        StressSockResult {
            bogo_ops,
            real_time_s,
            bogo_ops_per_s: bogo_ops as f64 / real_time_s,
            switches: self.switches,
            involuntary: self.preempted,
        }
    }

    fn text(&self, result: &StressSockResult) -> String {
        format!(
            "stress-ng: info:  dispatching hogs: {} sock\n\
             stress-ng: metrc: stressor       bogo ops real time   bogo ops/s\n\
             stress-ng: metrc:                           (secs)  (real time)\n\
             stress-ng: metrc: {:<13} {:>9} {:>9.2} {:>12.2}\n\
             context switches {}, of them involuntary {}\n",
            self.bench.instances,
            "sock",
            result.bogo_ops,
            result.real_time_s,
            result.bogo_ops_per_s,
            result.switches,
            result.involuntary
        )
    }
}

impl Probe for StressSockObserver {
    #[inline]
    fn event(&mut self, _now: Nanos, event: &Event<'_>) {
        if let Event::Switch { prev_state, .. } = event {
            self.switches += 1;
            self.preempted += u64::from(*prev_state == PrevState::Runnable);
        }
    }
}

impl Observer for StressSockObserver {
    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        self.rounds.record_event(now, event, BOGO_OP);
    }
}

impl BenchObserver for StressSockObserver {
    fn reset(&mut self) -> bool {
        self.rounds.reset();
        (self.preempted, self.switches) = (0, 0);
        true
    }

    fn outcome(&self, _reached: RunProgress, measured: Nanos) -> BenchResult {
        let result = self.result(measured);
        BenchResult::new(self.text(&result), &result)
    }
}
