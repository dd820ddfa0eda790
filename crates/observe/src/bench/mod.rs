// SPDX-License-Identifier: GPL-2.0-or-later
//! Observers that measure models of benchmarks, with results in the benchmarks' own units and output formats.
//!
//! [`fairlab_workload::bench`] has the models. Each observer here computes the results that the benchmark
//! itself would measure, from marks of the model, with histograms and counters. [`run`] executes a model;
//! [`warm_up`] and [`run_to_end`] do so with a warm-up.

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
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::units::Nanos;

/// Result of a benchmark.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BenchResult {
    /// Output in the benchmark's own format, with a newline at the end.
    pub text: String,
    /// Result as JSON data.
    pub data: serde_json::Value,
}

impl BenchResult {
    /// Creates a result from its text and its data.
    ///
    /// # Panics
    /// If the data cannot be serialised as JSON; results contain only numbers and names.
    pub fn new(text: String, data: &impl serde::Serialize) -> Self {
        Self { text, data: serde_json::to_value(data).expect("results are numbers and names") }
    }
}

/// Progress of a run, as far as benchmarks report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunProgress {
    /// Simulated time since the start of the run.
    pub elapsed: Nanos,
    /// Whether all tasks have exited.
    pub is_done: bool,
    /// Total run time of all tasks, in nanoseconds.
    pub cpu_ns: i64,
}

impl RunProgress {
    /// Returns the progress of a machine.
    pub fn from_machine(machine: &Machine<impl Engine>) -> Self {
        let cpu_ns = machine.tasks().iter().map(|task| task.runtime_ns).sum();
        Self { elapsed: machine.elapsed(), is_done: machine.is_done(), cpu_ns }
    }
}

/// Observer that measures a benchmark during its run.
pub trait BenchObserver: Observer {
    /// Discards what was measured so far, at the end of the warm-up. Returns whether the benchmark supports
    /// this: one that runs to its end has no warm-up.
    fn reset(&mut self) -> bool;

    /// Returns the result after the run, of which the time `measured` counts.
    fn outcome(&self, reached: RunProgress, measured: Nanos) -> BenchResult;
}

/// Adapter of a benchmark observer for a machine of any engine; these observers use only events, no scheduler
/// state.
pub struct BenchObserverRef<'a>(pub &'a mut dyn BenchObserver);

impl SchedObserver for BenchObserverRef<'_> {
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

/// Simulated time between two calls of the progress callback.
const PART: Nanos = Nanos::from_millis(5);
/// Number of such slices between two checks whether all tasks have exited.
const CHECK_EVERY_PARTS: u32 = 10;

/// Progress callback: called after each slice with the simulated time, and returns whether the run continues.
pub type ProgressFn<'a> = &'a mut dyn FnMut(Nanos) -> bool;

/// Runs a machine until the end of its run, until all its tasks have exited, or until `on_progress` returns false.
///
/// # Errors
/// If a program makes no progress.
pub fn run<E: Engine>(
    machine: &mut Machine<E>,
    observer: &mut dyn Observer<E>,
    on_progress: ProgressFn<'_>,
) -> Result<(), RunError> {
    machine.start(observer)?;
    run_to_end(machine, observer, on_progress)
}

/// Starts a machine and runs it for the length of a warm-up, or to its end if that comes first.
/// [`run_to_end`] runs the rest.
///
/// # Errors
/// If a program makes no progress.
pub fn warm_up<E: Engine>(
    machine: &mut Machine<E>,
    observer: &mut dyn Observer<E>,
    length: Nanos,
    on_progress: ProgressFn<'_>,
) -> Result<(), RunError> {
    machine.start(observer)?;
    let mut until = START;
    while until < START + length {
        until = (until + PART).min(START + length);
        if !run_slice(machine, observer, until, on_progress)? {
            break;
        }
    }
    Ok(())
}

/// Runs a machine to its end, after [`warm_up`] or a start.
///
/// # Errors
/// If a program makes no progress.
pub fn run_to_end<E: Engine>(
    machine: &mut Machine<E>,
    observer: &mut dyn Observer<E>,
    on_progress: ProgressFn<'_>,
) -> Result<(), RunError> {
    let mut until = START + machine.elapsed();
    for nr in 1_u32.. {
        until += PART;
        let has_more = run_slice(machine, observer, until, on_progress)?;
        if !has_more || (nr.is_multiple_of(CHECK_EVERY_PARTS) && machine.is_done()) {
            break;
        }
    }
    machine.finish(observer);
    Ok(())
}

/// Runs one slice. Returns whether the run continues; if `on_progress` returns false, the run ends with this slice.
fn run_slice<E: Engine>(
    machine: &mut Machine<E>,
    observer: &mut dyn Observer<E>,
    until: Nanos,
    on_progress: ProgressFn<'_>,
) -> Result<bool, RunError> {
    let has_more = machine.advance(observer, until)?;
    if !on_progress(machine.elapsed()) {
        machine.end_at(until);
        return Ok(false);
    }
    Ok(has_more)
}

/// Returns the element of a task in a list that is indexed by tasks, after growing the list if necessary.
fn slot_mut<T: Clone + Default>(list: &mut Vec<T>, task: usize) -> &mut T {
    if list.len() <= task {
        list.resize(task + 1, T::default());
    }
    &mut list[task]
}

/// Returns the difference in microseconds of two times that are rounded down, as in programs that call
/// `gettimeofday()`.
fn micros(from: Nanos, to: Nanos) -> u32 {
    u32::try_from(to.0 / 1000 - from.0 / 1000).unwrap_or(u32::MAX)
}
