// SPDX-License-Identifier: GPL-2.0-or-later
//! What models of benchmarks measure, told in the benchmarks' own words and forms.
//!
//! The models are in [`fairlab_workload::bench`]. Each has a meter here: an observer that turns marks into the figures which the
//! benchmark would take, streamed into histograms and counts. [`run`] runs a model under its meter; [`warm_up`] and
//! [`go_on`] do so with a warm-up before.

pub mod cyclictest;
pub mod elapsed;
pub mod netperf;
pub mod oltp;
pub mod plat;
pub mod rounds;
pub mod schbench;
pub mod schbench_rps;
pub mod stress_sock;
pub mod tbench;

use fairlab_machine::engine::{Machine, RunError, START};
use fairlab_machine::observer::Observer;
use fairlab_sched::units::Nanos;

/// What came of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// In the benchmark's own form, with a newline at the end.
    pub text: String,
    /// As data.
    pub data: serde_json::Value,
}

impl Outcome {
    /// From what can be told in both ways.
    ///
    /// # Panics
    /// If the data cannot be written as JSON: results are numbers and names.
    pub fn of(text: String, data: &impl serde::Serialize) -> Self {
        Self { text, data: serde_json::to_value(data).expect("results are numbers and names") }
    }
}

/// Measures a model during a run.
pub trait Meter: Observer {
    /// Forgets what was measured so far: the warm-up is over. Returns whether that means anything for the benchmark: one that
    /// runs until it is done has no warm-up.
    fn reset(&mut self) -> bool;

    /// What came of it, after the run, of which so much was measured.
    fn outcome(&self, machine: &Machine, measured: Nanos) -> Outcome;
}

/// How often it is looked whether all tasks have ended.
const LOOK_EVERY: Nanos = Nanos::from_millis(50);

/// Runs a machine until its run is over or all its tasks have ended. Tells after each part how much time has passed.
///
/// # Errors
/// If a program makes no progress.
pub fn run(machine: &mut Machine, observer: &mut dyn Observer, told: &mut dyn FnMut(Nanos)) -> Result<(), RunError> {
    machine.start(observer)?;
    go_on(machine, observer, told)
}

/// Starts a machine and runs it for the length of a warm-up, or to the end if that comes first. [`go_on`] does the rest.
///
/// # Errors
/// If a program makes no progress.
pub fn warm_up(machine: &mut Machine, observer: &mut dyn Observer, length: Nanos) -> Result<(), RunError> {
    machine.start(observer)?;
    machine.advance(observer, START + length).map(|_| ())
}

/// Runs a machine on, after its warm-up.
///
/// # Errors
/// If a program makes no progress.
pub fn go_on(machine: &mut Machine, observer: &mut dyn Observer, told: &mut dyn FnMut(Nanos)) -> Result<(), RunError> {
    go_on_while(machine, observer, &mut |elapsed| {
        told(elapsed);
        true
    })
}

/// The same as long as who is told wants it: then the run ends where it is.
///
/// # Errors
/// If a program makes no progress.
pub fn go_on_while(
    machine: &mut Machine,
    observer: &mut dyn Observer,
    told: &mut dyn FnMut(Nanos) -> bool,
) -> Result<(), RunError> {
    let mut until = START + machine.elapsed();
    loop {
        until += LOOK_EVERY;
        let goes_on = machine.advance(observer, until)?;
        let is_wanted = told(machine.elapsed());
        if !goes_on || machine.is_done() {
            break;
        }
        if !is_wanted {
            machine.end_at(until);
            break;
        }
    }
    machine.finish(observer);
    Ok(())
}

/// Grows a list that is indexed by tasks, and gives a task's place.
fn place<T: Clone + Default>(list: &mut Vec<T>, task: usize) -> &mut T {
    if list.len() <= task {
        list.resize(task + 1, T::default());
    }
    &mut list[task]
}

/// Microseconds, rounded down as by programs that subtract two times of day.
fn micros(from: Nanos, to: Nanos) -> u32 {
    u32::try_from(to.0 / 1000 - from.0 / 1000).unwrap_or(u32::MAX)
}
