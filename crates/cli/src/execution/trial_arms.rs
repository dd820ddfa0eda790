// SPDX-License-Identifier: GPL-2.0-or-later
//! The arms of an experiment as trials that can be run.

use crate::execution::trial::{Trial, TrialResult};
use crate::output::progress::{Progress, RunsProgress};
use crate::values::arms::Arm;
use crate::values::error::CliError;
use fairlab_experiment::metrics::RequestedMetric;
use fairlab_experiment::report::facts::RunFacts;
use fairlab_experiment::report::notes::Note;
use fairlab_experiment::{Arms, Observation};
use fairlab_measure::summary::RunSummary;
use fairlab_run::job::RunOutputs;
use fairlab_run::values::Starts;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Text of the error of a benchmark that has not ended, after its name.
pub(crate) const DOES_NOT_END: &str = " does not end";

/// Progress of an experiment: of a known number of runs, or of the time that it may take.
enum ExperimentProgress {
    Runs(RunsProgress),
    Time(Mutex<Progress>, Instant, Duration),
}

/// Trials, one for each arm.
#[derive(Default)]
pub(crate) struct TrialArms<'a> {
    trials: Vec<Trial>,
    asked: &'a [RequestedMetric],
    /// Whether there is one repetition, without a seed, as the kernel is after its boot.
    is_seedless: bool,
    progress: Option<ExperimentProgress>,
    warnings: Mutex<BTreeSet<String>>,
    /// Notes about the costs of each arm, and the seed of their run. Shares of costs differ between repetitions: those
    /// of the smallest seed stand for all.
    cost_notes: Mutex<BTreeMap<usize, (u64, Vec<String>)>>,
    /// Time limit of a run; a benchmark that has not ended by then has no result.
    has_to_end: bool,
    on_run: Option<RunObserverFn<'a>>,
    /// Outputs of each arm's run beside its summary; empty unless each arm runs once.
    outputs: Vec<RunOutputs>,
    /// Summary of each arm's run, if each runs once.
    results: Mutex<BTreeMap<usize, RunSummary>>,
    /// Facts about the runs of each arm.
    facts: Mutex<BTreeMap<usize, RunFacts>>,
}

/// Callback with arm, seed and result of a run that was not stopped.
pub(crate) type RunObserverFn<'a> = Box<dyn Fn(usize, u64, Result<&TrialResult, &CliError>) + Sync + 'a>;

impl<'a> TrialArms<'a> {
    /// Prepares the runs of arms, with progress by number of runs or by time.
    pub(crate) fn new(
        trials: Vec<Trial>,
        asked: &'a [RequestedMetric],
        is_seedless: bool,
        runs: Result<usize, Duration>,
    ) -> Self {
        let telling = match runs {
            Ok(runs) => ExperimentProgress::Runs(RunsProgress::new(runs)),
            Err(budget) => {
                let whole = Nanos(u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX));
                ExperimentProgress::Time(Mutex::new(Progress::new("repeating", whole)), Instant::now(), budget)
            }
        };
        Self { trials, asked, is_seedless, progress: Some(telling), ..Self::default() }
    }

    /// Returns these trials such that the result of each arm's only run is kept, and the run has these outputs.
    pub(crate) fn keeping_results(self, outputs: Vec<RunOutputs>) -> Self {
        Self { outputs, ..self }
    }

    /// Returns the summaries of the only run of each arm.
    pub(crate) fn take_results(&self) -> Vec<RunSummary> {
        std::mem::take(&mut *self.results.lock().expect("noting does not panic")).into_values().collect()
    }

    /// Returns notes on the runs that do not follow from metrics.
    pub(crate) fn facts(&self, arms: &[Arm]) -> Vec<Note> {
        let facts = self.facts.lock().expect("noting does not panic");
        let facts: Vec<(&str, &RunFacts)> =
            facts.iter().map(|(&arm, facts)| (arms[arm].name.as_str(), facts)).collect();
        RunFacts::notes(&facts)
    }

    /// Returns these trials without progress output.
    pub(crate) fn without_progress(self) -> Self {
        Self { progress: None, ..self }
    }

    /// Returns these trials such that a benchmark that does not end is an error.
    pub(crate) fn with_required_end(self) -> Self {
        Self { has_to_end: true, ..self }
    }

    /// Returns these trials with a callback after each run, which replaces the warnings about kernel messages and tasks
    /// without progress.
    pub(crate) fn observed_by(self, on_run: RunObserverFn<'a>) -> Self {
        Self { on_run: Some(on_run), ..self }
    }

    /// Removes the progress bar after the last trial.
    pub(crate) fn finish(&mut self) {
        match self.progress.take() {
            Some(ExperimentProgress::Runs(progress)) => progress.clear(),
            Some(ExperimentProgress::Time(progress, ..)) => {
                progress.into_inner().expect("showing does not panic").clear();
            }
            None => {}
        }
    }

    /// Returns the warnings of all runs without duplicates.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.lock().expect("noting does not panic").clone();
        let notes = self.cost_notes.lock().expect("noting does not panic");
        warnings.extend(notes.values().flat_map(|(_, notes)| notes.iter().cloned()));
        warnings.into_iter().collect()
    }

    /// Whether start times and run lengths vary too, not only the scheduler's random numbers.
    pub(crate) fn is_varied(&self) -> bool {
        self.trials.iter().any(|trial| trial.spec.settings.starts == Starts::Jittered)
    }
}

impl Arms for TrialArms<'_> {
    type Error = CliError;

    fn nr_arms(&self) -> usize {
        self.trials.len()
    }

    fn run(&self, arm: usize, seed: u64) -> Result<Option<Observation>, CliError> {
        let on_progress = &mut |length: Nanos, more: Nanos| match &self.progress {
            Some(ExperimentProgress::Runs(progress)) => progress.add(length, more),
            Some(ExperimentProgress::Time(progress, begun, budget)) => {
                let elapsed = begun.elapsed().min(*budget).as_nanos();
                let elapsed = Nanos(u64::try_from(elapsed).unwrap_or(u64::MAX));
                progress.lock().expect("showing does not panic").show(elapsed);
            }
            None => {}
        };
        let outputs = self.outputs.get(arm).map_or_else(RunOutputs::of_summary, Clone::clone);
        let run = self.trials[arm].run_with_traces((!self.is_seedless).then_some(seed), &outputs, on_progress);
        let result = match run {
            Err(CliError::Stopped { .. }) => return Ok(None),
            result => result.and_then(|result| self.check_end(arm, result)),
        };
        if let Some(on_run) = &self.on_run {
            on_run(arm, seed, result.as_ref());
        }
        let result = result?;
        // For an observer, tasks without progress are results.
        let of_tasks = if self.on_run.is_some() { result.summary.standstill.sentences() } else { Vec::new() };
        let warnings = result.summary.warnings.iter().filter(|warning| !of_tasks.contains(warning)).cloned();
        self.warnings.lock().expect("noting does not panic").extend(warnings);
        if let Some(engine) = result.summary.engine.as_ref().filter(|_| self.on_run.is_none()) {
            let lines = engine.log.iter().map(|line| format!("{}: {}", engine.name, line.text));
            self.warnings.lock().expect("noting does not panic").extend(lines);
        }
        if self.on_run.is_none() {
            let mut notes = self.cost_notes.lock().expect("noting does not panic");
            let known = notes.entry(arm).or_insert_with(|| (u64::MAX, Vec::new()));
            if seed < known.0 {
                *known = (seed, result.summary.uncommon_costs());
            }
        }
        let json = result.json();
        let mut facts = self.facts.lock().expect("noting does not panic");
        facts.entry(arm).or_default().add(&json, result.has_zero_costs);
        drop(facts);
        let observation = Observation::from_result(&json, self.asked).map_err(CliError::Input)?;
        if !self.outputs.is_empty() {
            self.results.lock().expect("noting does not panic").insert(arm, result.summary);
        }
        Ok(Some(observation))
    }
}

impl TrialArms<'_> {
    /// Returns the error of a benchmark that has not ended although it has to.
    fn check_end(&self, arm: usize, result: TrialResult) -> Result<TrialResult, CliError> {
        if !self.has_to_end || result.bench.as_ref().is_none_or(|bench| bench["is_done"] != false) {
            return Ok(result);
        }
        let what = format!(
            "{}{DOES_NOT_END}: after {} its tasks still run or wait",
            self.trials[arm].spec.workload.name(),
            Nanos(result.summary.duration_ns)
        );
        let engine = result.summary.engine.as_ref().map_or_else(String::new, |engine| format!("{}: ", engine.name));
        Err(CliError::Run(Message::new(engine + &what)))
    }
}
