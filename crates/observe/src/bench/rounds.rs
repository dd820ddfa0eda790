// SPDX-License-Identifier: GPL-2.0-or-later
//! Rounds of clients that do one thing after the other: how many, of which kind, and how long they took.

use super::{BenchObserver, BenchResult, RunProgress, slot_mut};
use crate::latency::Latency;
use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::units::Nanos;
use serde::Serialize;

/// Rounds of all clients of a run.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// When a task's round began, by its place in the machine.
    since: Vec<Nanos>,
    /// Its place in the workload.
    specs: Vec<usize>,
    /// Rounds of each task of the workload.
    per_task: Vec<u64>,
    /// Rounds that ended with each mark.
    by_mark: Vec<u64>,
    latency: Latency,
}

impl Rounds {
    /// Looks at an event. A mark below `first_end` begins a round, another one ends it, and begins the next.
    #[inline]
    pub fn record_event(&mut self, now: Nanos, event: &MachineEvent, first_end: u32) {
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

    /// Forgets the rounds so far.
    pub fn reset(&mut self) {
        self.per_task.clear();
        self.by_mark.clear();
        self.latency = Latency::default();
    }

    /// Rounds of a task, by its place in the workload.
    pub fn of_task(&self, task: usize) -> u64 {
        self.per_task.get(task).copied().unwrap_or(0)
    }

    /// Rounds that ended with a mark.
    pub fn of_mark(&self, mark: u32) -> u64 {
        self.by_mark.get(mark as usize).copied().unwrap_or(0)
    }

    /// All rounds.
    pub fn total(&self) -> u64 {
        self.latency.count()
    }

    /// How long they took.
    pub fn latency(&self) -> &Latency {
        &self.latency
    }
}

/// What a benchmark makes of its clients' rounds.
pub trait RoundsReport {
    /// What is told.
    type Output: Serialize;
    /// The lowest mark that ends a round.
    const FIRST_END: u32;

    /// What is told of rounds in so much time.
    fn result(&self, rounds: &Rounds, elapsed: Nanos) -> Self::Output;

    /// The same in the benchmark's own form.
    fn text(result: &Self::Output) -> String;
}

/// Measures a benchmark by its rounds.
#[derive(Clone, Debug, Default)]
pub struct RoundsObserver<T> {
    report: T,
    rounds: Rounds,
}

impl<T: RoundsReport> RoundsObserver<T> {
    /// For a model.
    pub fn new(told: T) -> Self {
        Self { report: told, rounds: Rounds::default() }
    }

    /// What is told.
    pub fn result(&self, elapsed: Nanos) -> T::Output {
        self.report.result(&self.rounds, elapsed)
    }
}

impl<T: RoundsReport> Probe for RoundsObserver<T> {
    #[inline]
    fn event(&mut self, _now: Nanos, _event: &Event<'_>) {}
}

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
        BenchResult::new(T::text(&result), &result)
    }
}
