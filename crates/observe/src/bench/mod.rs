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
use fairlab_machine::observer::{MachineEvent, Observer, Wants};
use fairlab_machine::seam::Engine;
use fairlab_sched::probe::{Event, Probe};
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

/// What a run has come to, as far as benchmarks tell of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// So much was simulated.
    pub elapsed: Nanos,
    /// Whether all tasks have ended.
    pub is_done: bool,
    /// How long tasks have run, in sum.
    pub cpu_ns: i64,
}

impl Reached {
    /// Of a machine.
    pub fn of(machine: &Machine<impl Engine>) -> Self {
        let cpu_ns = machine.tasks().iter().map(|task| task.runtime_ns).sum();
        Self { elapsed: machine.elapsed(), is_done: machine.is_done(), cpu_ns }
    }
}

/// Measures a model during a run.
pub trait Meter: Observer {
    /// Forgets what was measured so far: the warm-up is over. Returns whether that means anything for the benchmark: one that
    /// runs until it is done has no warm-up.
    fn reset(&mut self) -> bool;

    /// What came of it, after the run, of which so much was measured.
    fn outcome(&self, reached: Reached, measured: Nanos) -> Outcome;
}

/// A meter on a machine of any engine: meters hear events and look at no scheduler.
pub struct Metering<'a>(pub &'a mut dyn Meter);

impl Probe for Metering<'_> {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.0.event(now, event);
    }
}

impl<E: Engine> Observer<E> for Metering<'_> {
    fn wants(&self) -> Wants {
        self.0.wants()
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        self.0.machine_event(now, event);
    }

    fn wants_kernel_paths(&self) -> bool {
        self.0.wants_kernel_paths()
    }
}

/// So much is simulated before somebody says whether the run is to go on.
const PART: Nanos = Nanos::from_millis(5);
/// After so many parts it is looked whether all tasks have ended.
const LOOK_EVERY: u32 = 10;

/// Hears after each part how much time has passed, and says whether the run is to go on.
pub type Told<'a> = &'a mut dyn FnMut(Nanos) -> bool;

/// Runs a machine until its run is over, all its tasks have ended, or it is not to go on.
///
/// # Errors
/// If a program makes no progress.
pub fn run<E: Engine>(
    machine: &mut Machine<E>,
    observer: &mut dyn Observer<E>,
    told: Told<'_>,
) -> Result<(), RunError> {
    machine.start(observer)?;
    go_on(machine, observer, told)
}

/// Starts a machine and runs it for the length of a warm-up, or to the end if that comes first. [`go_on`] does the rest.
///
/// # Errors
/// If a program makes no progress.
pub fn warm_up<E: Engine>(
    machine: &mut Machine<E>,
    observer: &mut dyn Observer<E>,
    length: Nanos,
    told: Told<'_>,
) -> Result<(), RunError> {
    machine.start(observer)?;
    let mut until = START;
    while until < START + length {
        until = (until + PART).min(START + length);
        if !part(machine, observer, until, told)? {
            break;
        }
    }
    Ok(())
}

/// Runs a machine on, after its warm-up.
///
/// # Errors
/// If a program makes no progress.
pub fn go_on<E: Engine>(
    machine: &mut Machine<E>,
    observer: &mut dyn Observer<E>,
    told: Told<'_>,
) -> Result<(), RunError> {
    let mut until = START + machine.elapsed();
    for nr in 1_u32.. {
        until += PART;
        let goes_on = part(machine, observer, until, told)?;
        if !goes_on || (nr.is_multiple_of(LOOK_EVERY) && machine.is_done()) {
            break;
        }
    }
    machine.finish(observer);
    Ok(())
}

/// Whether there is more behind this part. A run that is not to go on ends with it.
fn part<E: Engine>(
    machine: &mut Machine<E>,
    observer: &mut dyn Observer<E>,
    until: Nanos,
    told: Told<'_>,
) -> Result<bool, RunError> {
    let goes_on = machine.advance(observer, until)?;
    if !told(machine.elapsed()) {
        machine.end_at(until);
        return Ok(false);
    }
    Ok(goes_on)
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
