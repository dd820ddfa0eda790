// SPDX-License-Identifier: GPL-2.0-or-later
//! What models of benchmarks measure, told in the benchmarks' own words and forms.
//!
//! The models are in [`fairlab_workload::bench`]. Each has a meter here: an observer that turns marks into the figures which the
//! benchmark would take, streamed into histograms and counts. [`run`] runs a model under its meter; [`warm_up`] and
//! [`run_to_end`] do so with a warm-up before.

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

use fairlab_machine::engine::Engine;
use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, RunError, START};
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::units::Nanos;

/// What came of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchResult {
    /// In the benchmark's own form, with a newline at the end.
    pub text: String,
    /// As data.
    pub data: serde_json::Value,
}

impl BenchResult {
    /// From what can be told in both ways.
    ///
    /// # Panics
    /// If the data cannot be written as JSON: results are numbers and names.
    pub fn new(text: String, data: &impl serde::Serialize) -> Self {
        Self { text, data: serde_json::to_value(data).expect("results are numbers and names") }
    }
}

/// What a run has come to, as far as benchmarks tell of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunProgress {
    /// So much was simulated.
    pub elapsed: Nanos,
    /// Whether all tasks have ended.
    pub is_done: bool,
    /// How long tasks have run, in sum.
    pub cpu_ns: i64,
}

impl RunProgress {
    /// Of a machine.
    pub fn from_machine(machine: &Machine<impl Engine>) -> Self {
        let cpu_ns = machine.tasks().iter().map(|task| task.runtime_ns).sum();
        Self { elapsed: machine.elapsed(), is_done: machine.is_done(), cpu_ns }
    }
}

/// Measures a model during a run.
pub trait BenchObserver: Observer {
    /// Forgets what was measured so far: the warm-up is over. Returns whether that means anything for the benchmark: one that
    /// runs until it is done has no warm-up.
    fn reset(&mut self) -> bool;

    /// What came of it, after the run, of which so much was measured.
    fn outcome(&self, reached: RunProgress, measured: Nanos) -> BenchResult;
}

/// A meter on a machine of any engine: meters hear events and look at no scheduler.
pub struct BenchObserverRef<'a>(pub &'a mut dyn BenchObserver);

impl Probe for BenchObserverRef<'_> {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.0.event(now, event);
    }
}

impl<E: Engine> Observer<E> for BenchObserverRef<'_> {
    fn wants(&self) -> Interest {
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
const CHECK_EVERY_PARTS: u32 = 10;

/// Hears after each part how much time has passed, and says whether the run is to go on.
pub type ProgressFn<'a> = &'a mut dyn FnMut(Nanos) -> bool;

/// Runs a machine until its run is over, all its tasks have ended, or it is not to go on.
///
/// # Errors
/// If a program makes no progress.
pub fn run<E: Engine>(
    machine: &mut Machine<E>,
    observer: &mut dyn Observer<E>,
    told: ProgressFn<'_>,
) -> Result<(), RunError> {
    machine.start(observer)?;
    run_to_end(machine, observer, told)
}

/// Starts a machine and runs it for the length of a warm-up, or to the end if that comes first. [`run_to_end`] does the rest.
///
/// # Errors
/// If a program makes no progress.
pub fn warm_up<E: Engine>(
    machine: &mut Machine<E>,
    observer: &mut dyn Observer<E>,
    length: Nanos,
    told: ProgressFn<'_>,
) -> Result<(), RunError> {
    machine.start(observer)?;
    let mut until = START;
    while until < START + length {
        until = (until + PART).min(START + length);
        if !run_slice(machine, observer, until, told)? {
            break;
        }
    }
    Ok(())
}

/// Runs a machine on, after its warm-up.
///
/// # Errors
/// If a program makes no progress.
pub fn run_to_end<E: Engine>(
    machine: &mut Machine<E>,
    observer: &mut dyn Observer<E>,
    told: ProgressFn<'_>,
) -> Result<(), RunError> {
    let mut until = START + machine.elapsed();
    for nr in 1_u32.. {
        until += PART;
        let has_more = run_slice(machine, observer, until, told)?;
        if !has_more || (nr.is_multiple_of(CHECK_EVERY_PARTS) && machine.is_done()) {
            break;
        }
    }
    machine.finish(observer);
    Ok(())
}

/// Whether there is more behind this part. A run that is not to go on ends with it.
fn run_slice<E: Engine>(
    machine: &mut Machine<E>,
    observer: &mut dyn Observer<E>,
    until: Nanos,
    told: ProgressFn<'_>,
) -> Result<bool, RunError> {
    let has_more = machine.advance(observer, until)?;
    if !told(machine.elapsed()) {
        machine.end_at(until);
        return Ok(false);
    }
    Ok(has_more)
}

/// Grows a list that is indexed by tasks, and gives a task's place.
fn slot_mut<T: Clone + Default>(list: &mut Vec<T>, task: usize) -> &mut T {
    if list.len() <= task {
        list.resize(task + 1, T::default());
    }
    &mut list[task]
}

/// Microseconds, rounded down as by programs that subtract two times of day.
fn micros(from: Nanos, to: Nanos) -> u32 {
    u32::try_from(to.0 / 1000 - from.0 / 1000).unwrap_or(u32::MAX)
}
