// SPDX-License-Identifier: GPL-2.0-or-later
//! The arms of an experiment as trials that can be run.

use crate::error::CliError;
use crate::output::progress::{Progress, RunsProgress};
use crate::trial::Trial;
use fairlab_sched::units::Nanos;
use fairlab_study::experiment::metrics::{self, RequestedMetric};
use fairlab_study::experiment::{Arms, Observation};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Progress of an experiment: of a known number of runs, or of the time that it may take.
enum TrialProgress {
    Runs(RunsProgress),
    Time(Mutex<Progress>, Instant, Duration),
}

/// Trials, one for each arm.
pub(crate) struct TrialArms<'a> {
    trials: Vec<Trial>,
    asked: &'a [RequestedMetric],
    /// There is one repetition, as the kernel is after its boot.
    is_seedless: bool,
    telling: Option<TrialProgress>,
    warnings: Mutex<BTreeSet<String>>,
    /// A benchmark that has not ended when its time is over tells no figure.
    has_to_end: bool,
}

impl<'a> TrialArms<'a> {
    /// Tells of so many runs, or of the time.
    pub(crate) fn new(
        trials: Vec<Trial>,
        asked: &'a [RequestedMetric],
        is_seedless: bool,
        runs: Result<usize, Duration>,
    ) -> Self {
        let telling = match runs {
            Ok(runs) => TrialProgress::Runs(RunsProgress::new(runs)),
            Err(budget) => {
                let whole = Nanos(u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX));
                TrialProgress::Time(Mutex::new(Progress::new("repeating", whole)), Instant::now(), budget)
            }
        };
        Self { trials, asked, is_seedless, telling: Some(telling), warnings: Mutex::default(), has_to_end: false }
    }

    /// Tells nothing meanwhile.
    pub(crate) fn quiet(self) -> Self {
        Self { telling: None, ..self }
    }

    /// A benchmark that does not end is an error.
    pub(crate) fn having_to_end(self) -> Self {
        Self { has_to_end: true, ..self }
    }

    /// All is done.
    pub(crate) fn finish(&mut self) {
        match self.telling.take() {
            Some(TrialProgress::Runs(progress)) => progress.clear(),
            Some(TrialProgress::Time(progress, ..)) => progress.into_inner().expect("showing does not panic").clear(),
            None => {}
        }
    }

    /// What runs warned of, each once.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().expect("noting does not panic").iter().cloned().collect()
    }

    /// Whether more than the dice varies.
    pub(crate) fn is_varied(&self) -> bool {
        self.trials.iter().any(|trial| trial.vary)
    }
}

impl Arms for TrialArms<'_> {
    type Error = CliError;

    fn nr_arms(&self) -> usize {
        self.trials.len()
    }

    fn run(&self, arm: usize, seed: u64) -> Result<Option<Observation>, CliError> {
        let hears = &mut |length: Nanos, more: Nanos| match &self.telling {
            Some(TrialProgress::Runs(progress)) => progress.add(length, more),
            Some(TrialProgress::Time(progress, begun, budget)) => {
                let elapsed = begun.elapsed().min(*budget).as_nanos();
                let elapsed = Nanos(u64::try_from(elapsed).unwrap_or(u64::MAX));
                progress.lock().expect("showing does not panic").show(elapsed);
            }
            None => {}
        };
        let told = match self.trials[arm].run((!self.is_seedless).then_some(seed), hears) {
            Err(CliError::Stopped { .. }) => return Ok(None),
            told => told?,
        };
        self.warnings.lock().expect("noting does not panic").extend(told.summary.warnings.iter().cloned());
        if let Some(engine) = &told.summary.engine {
            let lines = engine.log.iter().map(|line| format!("{}: {}", engine.name, line.text));
            self.warnings.lock().expect("noting does not panic").extend(lines);
        }
        if self.has_to_end && told.bench.as_ref().is_some_and(|bench| bench["is_done"] == false) {
            let what = format!(
                "{} does not end: after {} its tasks still run or wait",
                self.trials[arm].work.name(),
                Nanos(told.summary.duration_ns)
            );
            let engine = told.summary.engine.as_ref().map_or_else(String::new, |engine| format!("{}: ", engine.name));
            return Err(CliError::Run(engine + &what));
        }
        let metrics = metrics::of_run(&told.json(), self.asked).map_err(CliError::Input)?;
        Ok(Some(Observation { digest: told.summary.digest, metrics }))
    }
}
