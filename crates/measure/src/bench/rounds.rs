// SPDX-License-Identifier: GPL-2.0-or-later
//! Rounds of clients that repeat one sequence of steps: their number, kind and duration.

use super::{BenchObserver, BenchResult, RunProgress, slot_mut};
use crate::latency::Latency;
use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_sched::probe::SchedObserver;
use fairlab_sched::units::Nanos;
use serde::Serialize;

/// Rounds of all clients of a run.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// Start of the current round of each task, by its index in the machine.
    since: Vec<Nanos>,
    /// Index of each task's specification in the workload.
    specs: Vec<usize>,
    per_task: Vec<u64>,
    by_mark: Vec<u64>,
    latency: Latency,
}

impl Rounds {
    /// Records a machine event. A mark below `first_end` starts a round; any other mark ends the round and
    /// starts the next.
    #[inline]
    pub(crate) fn record_event(&mut self, now: Nanos, event: &MachineEvent, first_end: u32) {
        match *event {
            MachineEvent::Forked { task, spec, .. } => {
                *slot_mut(&mut self.specs, task) = spec;
                *slot_mut(&mut self.since, task) = now;
            }
            MachineEvent::Mark { task, phase } => {
                let since = std::mem::replace(&mut self.since[task], now);
                if phase >= first_end {
                    self.latency.record((now - since).0);
                    *slot_mut(&mut self.per_task, self.specs[task]) += 1;
                    *slot_mut(&mut self.by_mark, phase as usize) += 1;
                }
            }
            _ => {}
        }
    }

    pub(crate) fn reset(&mut self) {
        self.per_task.clear();
        self.by_mark.clear();
        self.latency = Latency::default();
    }

    /// Index in the workload of a task of the machine, which has been forked.
    pub(crate) fn spec_of(&self, task: usize) -> usize {
        self.specs[task]
    }

    /// Returns the number of rounds of a task, by its index in the workload.
    pub(crate) fn of_task(&self, task: usize) -> u64 {
        self.per_task.get(task).copied().unwrap_or(0)
    }

    pub(crate) fn of_mark(&self, mark: u32) -> u64 {
        self.by_mark.get(mark as usize).copied().unwrap_or(0)
    }

    pub(crate) fn total(&self) -> u64 {
        self.latency.count()
    }

    pub(crate) fn latency(&self) -> &Latency {
        &self.latency
    }
}

/// Computation of a benchmark's result from the rounds of its clients.
#[expect(missing_docs, reason = "the names describe the items")]
pub trait RoundsReport {
    type Output: Serialize;
    /// Lowest mark that ends a round.
    const FIRST_END: u32;

    fn result(&self, rounds: &Rounds, elapsed: Nanos) -> Self::Output;

    fn text(&self, result: &Self::Output) -> String;
}

/// Observer of a benchmark that is measured by its rounds.
#[derive(Clone, Debug, Default)]
pub struct RoundsObserver<T> {
    report: T,
    rounds: Rounds,
}

impl<T: RoundsReport> RoundsObserver<T> {
    /// Creates the observer of a benchmark.
    pub fn new(report: T) -> Self {
        Self { report, rounds: Rounds::default() }
    }

    /// Computes the result of a measured time.
    pub fn result(&self, elapsed: Nanos) -> T::Output {
        self.report.result(&self.rounds, elapsed)
    }
}

impl<T: RoundsReport> SchedObserver for RoundsObserver<T> {}

impl<T: RoundsReport> Observer for RoundsObserver<T> {
    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        self.rounds.record_event(now, event, T::FIRST_END);
    }
}

impl<T: RoundsReport> BenchObserver for RoundsObserver<T> {
    fn reset(&mut self) -> bool {
        self.rounds.reset();
        true
    }

    fn outcome(&self, _reached: RunProgress, measured: Nanos) -> BenchResult {
        let result = self.result(measured);
        BenchResult::new(self.report.text(&result), &result)
    }
}
