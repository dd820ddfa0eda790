// SPDX-License-Identifier: GPL-2.0-or-later
//! The loop that runs a machine: start, warm-up, reset, samples, early end, finish.

#![expect(clippy::disallowed_methods, reason = "this is the loop")]

use crate::observers::RunObservers;
use crate::prepare::ReadyRun;
use crate::warmup::{SettleDetector, WarmupPlan};
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

/// Smallest number of steps of a run.
const MIN_STEPS: u64 = 1000;
const MAX_INTERVAL: Nanos = Nanos::from_millis(10);

/// Returns the simulated time between two steps of a run of this length.
fn step_length(length: Nanos) -> Nanos {
    Nanos(length.0.div_ceil(MIN_STEPS).clamp(1, MAX_INTERVAL.0))
}

/// Run in progress: the one loop of all runs, which the caller advances step by step.
///
/// A step simulates up to [`MAX_INTERVAL`], or a few milliseconds of a benchmark. What was measured before the end of the
/// warm-up is discarded. A run that settles before the latest end of its warm-up ends so much earlier. A benchmark's run also
/// ends once all tasks have exited, and any run if a trace cannot be written.
#[derive(Debug)]
pub struct Drive {
    is_bench: bool,
    /// Simulated time between two steps.
    step: Nanos,
    /// End of the last step, on the machine's clock.
    until: Nanos,
    /// Whether the machine has more events, and the run is to continue.
    has_more: bool,
    /// Warm-up that has not ended.
    warmup: Option<RunningWarmup>,
    /// Number of steps since the end of the warm-up.
    nr_steps: u64,
    /// Time from which on findings sample the state again, at the end of a step. The scheduler updates at ticks most of what
    /// they sample.
    next_sample: Nanos,
    /// Number of changes of tasks' attributes that findings know.
    nr_attribute_changes: u64,
}

/// Warm-up of a run in progress.
#[derive(Debug)]
struct RunningWarmup {
    end: Nanos,
    /// Simulated time after the warm-up.
    measured: Nanos,
    detector: Option<SettleDetector>,
}

impl Drive {
    /// Starts a machine.
    ///
    /// # Errors
    /// If a program makes no progress.
    pub fn start<E: Engine>(
        machine: &mut Machine<E>,
        observers: &mut RunObservers,
        warmup: WarmupPlan,
    ) -> Result<Self, RunError> {
        let is_bench = observers.bench.is_some();
        let step = if is_bench { BENCH_STEP } else { step_length(machine.duration()) };
        machine.start(observers)?;
        let latest = warmup.latest();
        let warmup = (latest > Nanos::ZERO).then(|| RunningWarmup {
            end: START + latest,
            measured: machine.duration().saturating_since(latest),
            detector: warmup.detector(),
        });
        Ok(Self {
            is_bench,
            step,
            until: START,
            has_more: true,
            warmup,
            nr_steps: 0,
            next_sample: START,
            nr_attribute_changes: 0,
        })
    }

    /// Simulates the next step. Returns false if the run has ended; then the machine is finished.
    ///
    /// # Errors
    /// If a program makes no progress.
    pub fn next<E: Engine>(
        &mut self,
        machine: &mut Machine<E>,
        observers: &mut RunObservers,
    ) -> Result<bool, RunError> {
        while self.has_more {
            match self.warmup.as_ref().map(|warmup| warmup.end) {
                Some(end) if self.until < end => self.step_of_warmup(machine, observers)?,
                Some(end) => {
                    self.end_warmup(machine, observers, end);
                    continue;
                }
                None if self.is_done(machine) => break,
                None => {
                    self.until += self.step;
                    self.nr_steps += 1;
                    self.advance(machine, observers)?;
                }
            }
            if self.has_more {
                return Ok(true);
            }
        }
        if let Some(end) = self.warmup.as_ref().map(|warmup| warmup.end) {
            self.end_warmup(machine, observers, end);
        }
        machine.finish(observers);
        Ok(false)
    }

    /// Ends the run at the last step. The machine is finished by the following call of [`Self::next`].
    pub fn stop<E: Engine>(&mut self, machine: &mut Machine<E>) {
        machine.end_at(self.until);
        self.has_more = false;
    }

    fn step_of_warmup<E: Engine>(
        &mut self,
        machine: &mut Machine<E>,
        observers: &mut RunObservers,
    ) -> Result<(), RunError> {
        let Some(RunningWarmup { end, detector, .. }) = &self.warmup else { return Ok(()) };
        let reading = detector.as_ref().map_or(*end, |detector| START + detector.next());
        self.until = (self.until + self.step).min(reading);
        self.advance(machine, observers)?;
        let Some(RunningWarmup { end, measured, detector: Some(detector) }) = &mut self.warmup else { return Ok(()) };
        if self.has_more
            && self.until == reading
            && let Some(settling) = detector.read(machine)
        {
            *end = self.until;
            machine.end_at(self.until + *measured);
            observers.settling = Some(settling);
            self.sample_findings(machine, observers);
        }
        Ok(())
    }

    /// Samples state for findings at the end of a step, unless that was done.
    fn sample_findings<E: Engine>(&mut self, machine: &Machine<E>, observers: &mut RunObservers) {
        let next = self.until + machine.hardware().tick;
        if core::mem::replace(&mut self.next_sample, next) != next {
            observers.sample_findings(machine, self.until.min(START + machine.duration()));
        }
    }

    fn end_warmup<E: Engine>(&mut self, machine: &Machine<E>, observers: &mut RunObservers, end: Nanos) {
        self.warmup = None;
        // Findings forget what they have read.
        self.nr_attribute_changes = u64::MAX;
        observers.reset(machine, end);
        if self.is_bench {
            self.until = START + machine.elapsed();
        }
    }

    /// Whether all tasks of a benchmark have exited, which is checked at some steps.
    fn is_done<E: Engine>(&self, machine: &Machine<E>) -> bool {
        let is_checked = self.is_bench && self.nr_steps > 0 && self.nr_steps.is_multiple_of(CHECK_EVERY_STEPS);
        is_checked && machine.is_done()
    }

    /// Advances the machine to the end of the step.
    fn advance<E: Engine>(&mut self, machine: &mut Machine<E>, observers: &mut RunObservers) -> Result<(), RunError> {
        self.has_more = machine.advance(observers, self.until)?;
        let nr_changes = machine.as_built_in().map_or(0, |machine| machine.sched().nr_attribute_changes());
        if core::mem::replace(&mut self.nr_attribute_changes, nr_changes) != nr_changes {
            observers.read_attributes(machine);
        }
        let ends_warmup = self.warmup.as_ref().is_some_and(|warmup| self.until >= warmup.end);
        if self.until >= self.next_sample || ends_warmup || !self.has_more {
            self.sample_findings(machine, observers);
        }
        self.has_more &= !observers.has_failed();
        if self.has_more {
            observers.sample(machine);
        }
        Ok(())
    }
}

/// Progress callback: called after each step with the simulated time, and returns whether the run continues.
pub type StepFn<'a> = &'a mut dyn FnMut(Nanos) -> bool;

/// Runs a machine to its end, or until `on_step` returns false; see [`Drive`].
///
/// # Errors
/// If a program makes no progress.
pub fn drive<E: Engine>(
    machine: &mut Machine<E>,
    observers: &mut RunObservers,
    warmup: WarmupPlan,
    on_step: StepFn<'_>,
) -> Result<(), RunError> {
    let mut run = Drive::start(machine, observers, warmup)?;
    while run.next(machine, observers)? {
        if !on_step(machine.elapsed()) {
            run.stop(machine);
        }
    }
    Ok(())
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
    drive_on(machine, observer, until).map(drop)
}

/// Runs a machine that has started up to a later time, or to its end if that comes first. Returns whether more events follow.
///
/// # Errors
/// If a program makes no progress.
pub fn drive_on<E: Engine>(
    machine: &mut Machine<E>,
    observer: &mut dyn Observer<E>,
    until: Nanos,
) -> Result<bool, RunError> {
    machine.advance(observer, until)
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
