// SPDX-License-Identifier: GPL-2.0-or-later
//! Results of stress-ng's sock stressor: bogo operations and context switches.

use super::rounds::Rounds;
use super::{BenchObserver, BenchResult, RunProgress};
use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::TaskId;
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::stress_sock::{BOGO_OP, StressSock};
use serde::Serialize;

/// Observer that counts connections and context switches.
#[derive(Clone, Debug)]
pub struct StressSockObserver {
    bench: StressSock,
    rounds: Rounds,
    preempted: u64,
    switches: u64,
    /// Number of the first task; idle tasks and stoppers have lower ones.
    first: Option<TaskId>,
}

/// Result of the sock stressor.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct StressSockResult {
    /// Number of connections (bogo operations).
    pub bogo_ops: u64,
    /// Length of the measured time, in seconds.
    pub real_time_s: f64,
    /// Connections per second of the measured time.
    pub bogo_ops_per_s: f64,
    /// Number of context switches of all CPUs.
    pub switches: u64,
    /// Number of involuntary context switches: those away from a runnable task, which idle tasks are not.
    pub involuntary: u64,
}

impl StressSockObserver {
    /// Creates the observer of a benchmark.
    pub fn new(bench: StressSock) -> Self {
        Self { bench, rounds: Rounds::default(), preempted: 0, switches: 0, first: None }
    }

    /// Returns the result of a measured time.
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

impl SchedObserver for StressSockObserver {
    #[inline]
    fn event(&mut self, _now: Nanos, event: &Event<'_>) {
        if let Event::Switch { prev, prev_state, .. } = event {
            self.switches += 1;
            let is_task = self.first.is_some_and(|first| *prev >= first);
            self.preempted += u64::from(is_task && *prev_state == PrevState::Runnable);
        }
    }
}

impl Observer for StressSockObserver {
    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        if let MachineEvent::Forked { id, .. } = event {
            self.first.get_or_insert(*id);
        }
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
