// SPDX-License-Identifier: GPL-2.0-or-later
//! The loop that runs a machine: start, warm-up, reset, samples, early end, finish.

#![expect(clippy::disallowed_methods, reason = "this is the loop")]

use crate::observers::RunObservers;
use crate::prepare::ReadyRun;
use crate::warmup::WarmupPlan;
use fairlab_findings::{Finding, Findings, Limits};
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::Observer;
use fairlab_machine::sim::{Machine, RunError, START};
use fairlab_measure::summary::RunSummary;
use fairlab_sched::sched::Sched;
use fairlab_sched::units::Nanos;
use fairlab_traces::import::fidelity::ReplayMeter;
use fairlab_traces::import::measure::{LatencyBasis, TraceMeasurement};

/// Simulated time between two steps of a benchmark's run.
const BENCH_STEP: Nanos = Nanos::from_millis(5);
/// Number of such steps between two checks whether all tasks have exited.
const CHECK_EVERY_STEPS: u64 = 10;

const MIN_SAMPLES: u64 = 1000;
const MAX_INTERVAL: Nanos = Nanos::from_millis(10);

/// Returns the simulated time between two steps of a run of this length: findings sample the state at each.
fn sampling_interval(length: Nanos) -> Nanos {
    Nanos(length.0.div_ceil(MIN_SAMPLES).clamp(1, MAX_INTERVAL.0))
}

/// Progress callback: called after each step with the simulated time, and returns whether the run continues.
pub type StepFn<'a> = &'a mut dyn FnMut(Nanos) -> bool;

/// Runs a machine to its end, or until `on_step` returns false or a trace cannot be written. A benchmark's
/// run also ends once all tasks have exited. What was measured before the end of the warm-up is discarded. A run that
/// settles before the latest end of its warm-up ends so much earlier.
///
/// # Errors
/// If a program makes no progress.
pub fn drive<E: Engine>(
    machine: &mut Machine<E>,
    observers: &mut RunObservers,
    warmup: WarmupPlan,
    on_step: StepFn<'_>,
) -> Result<(), RunError> {
    let is_bench = observers.bench.is_some();
    let step = if is_bench { BENCH_STEP } else { sampling_interval(machine.duration()) };
    machine.start(observers)?;
    let (mut until, mut has_more) = (START, true);
    let mut warmup_end = START + warmup.latest();
    let measured = machine.duration().saturating_since(warmup.latest());
    let mut detector = warmup.detector();
    while has_more && until < warmup_end {
        let reading = detector.as_ref().map_or(warmup_end, |detector| START + detector.next());
        until = (until + step).min(reading);
        has_more = advance(machine, observers, until, on_step)?;
        if let Some(detector) = detector.as_mut().filter(|_| has_more && until == reading)
            && let Some(settling) = detector.read(machine)
        {
            warmup_end = until;
            machine.end_at(until + measured);
            observers.settling = Some(settling);
        }
    }
    if warmup_end > START {
        observers.reset(machine, warmup_end);
        if is_bench {
            until = START + machine.elapsed();
        }
    }
    let mut nr_steps = 0_u64;
    while has_more {
        until += step;
        nr_steps += 1;
        has_more = advance(machine, observers, until, on_step)?;
        if is_bench && nr_steps.is_multiple_of(CHECK_EVERY_STEPS) && machine.is_done() {
            break;
        }
    }
    machine.finish(observers);
    Ok(())
}

/// Advances by one step. Returns whether the run continues; if it does not, it ends with this step.
fn advance<E: Engine>(
    machine: &mut Machine<E>,
    observers: &mut RunObservers,
    until: Nanos,
    on_step: StepFn<'_>,
) -> Result<bool, RunError> {
    let has_more = machine.advance(observers, until)?;
    observers.sample_findings(machine, until.min(START + machine.duration()));
    if !has_more || observers.has_failed() {
        return Ok(false);
    }
    observers.sample(machine);
    if !on_step(machine.elapsed()) {
        machine.end_at(until);
        return Ok(false);
    }
    Ok(true)
}

/// Starts a machine and runs it up to a time on its clock, or to its end if that comes first.
///
/// # Errors
/// If a program makes no progress.
pub fn drive_to<E: Engine>(
    machine: &mut Machine<E>,
    observer: &mut dyn Observer<E>,
    until: Nanos,
) -> Result<(), RunError> {
    machine.start(observer)?;
    drive_on(machine, observer, until)
}

/// Runs a machine that has started up to a later time, or to its end if that comes first.
///
/// # Errors
/// If a program makes no progress.
pub fn drive_on<E: Engine>(
    machine: &mut Machine<E>,
    observer: &mut dyn Observer<E>,
    until: Nanos,
) -> Result<(), RunError> {
    machine.advance(observer, until).map(drop)
}

/// Runs a machine to its end.
///
/// # Errors
/// If a program makes no progress.
pub fn drive_through<E: Engine>(machine: &mut Machine<E>, observer: &mut dyn Observer<E>) -> Result<(), RunError> {
    drive_to(machine, observer, Nanos(u64::MAX))?;
    machine.finish(observer);
    Ok(())
}

/// Runs a machine that has started to its end, or until all its tasks have exited.
///
/// # Errors
/// If a program makes no progress.
pub fn drive_until_done<E: Engine>(machine: &mut Machine<E>, observer: &mut dyn Observer<E>) -> Result<(), RunError> {
    let mut until = START + machine.elapsed();
    for nr in 1.. {
        until += BENCH_STEP;
        let has_more = machine.advance(observer, until)?;
        if !has_more || (nr % CHECK_EVERY_STEPS == 0 && machine.is_done()) {
            break;
        }
    }
    machine.finish(observer);
    Ok(())
}

/// Executes a run and returns its findings, the worst first, without those of the warm-up. `on_progress` is called
/// with the simulated time.
///
/// # Errors
/// If a program makes no progress.
pub fn find(
    run: &mut ReadyRun<Sched>,
    limits: Limits,
    on_progress: &mut dyn FnMut(Nanos),
) -> Result<Vec<Finding>, RunError> {
    let (machine, warmup) = (&mut run.machine, run.about.warmup);
    let mut observers =
        RunObservers { findings: Some(Findings::new(machine, limits)), ..RunObservers::for_summary(machine) };
    drive(machine, &mut observers, warmup, &mut |elapsed| {
        on_progress(elapsed);
        true
    })?;
    let RunObservers { summary, findings, .. } = observers;
    let subject = run.about.subject.clone();
    let families = summary.map_or_else(Vec::new, |summary| RunSummary::new(subject, machine, &summary).families);
    Ok(findings.map_or_else(Vec::new, |findings| findings.finish(machine, &families)))
}

/// Runs a machine and measures the run as a recorded trace is measured.
///
/// # Errors
/// If a program makes no progress.
pub fn replay(
    machine: &mut Machine,
    basis: LatencyBasis,
    on_progress: &mut dyn FnMut(Nanos),
) -> Result<TraceMeasurement, RunError> {
    let (exporter, meter) = ReplayMeter::new(machine, basis);
    let mut observers = RunObservers::default().with_exporter(exporter);
    drive(machine, &mut observers, WarmupPlan::NONE, &mut |elapsed| {
        on_progress(elapsed);
        true
    })?;
    Ok(meter.measurement(machine))
}
