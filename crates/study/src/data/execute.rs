// SPDX-License-Identifier: GPL-2.0-or-later
//! Execution of one case under an arm with a seed, with a JSON result.
//!
//! The result is that of `fairlab run --json`, and in addition:
//! - `bench`: the `result` of `fairlab bench --json`, or null
//! - `marks`: the number of passes of each mark, by the mark's number
//! - `done_s`: the time in seconds from the start of the workload to the end of its last task
//! - `count`: the run's amount of work, from the data

use super::runs::RunCase;
use super::workloads::{InputFiles, PreparedWorkload};
use crate::definition::ArmDefinition;
use crate::error::{StudyError, of_run};
use crate::external::ExternalRunner;
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_measure::bench::elapsed::LastExit;
use fairlab_measure::bench::{BenchObserver, RunProgress};
use fairlab_measure::summary::RunSubject;
use fairlab_run::drive::drive;
use fairlab_run::observers::RunObservers;
use fairlab_run::prepare::apply;
use fairlab_run::settings::Settings;
use fairlab_run::warmup::WarmupPlan;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Longest simulated time of a workload that runs to its end.
const MAX_RUN_TIME: Nanos = Nanos::from_secs(3600);

/// Differences of one execution from the study's data, for measurements of robustness and for trials.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variation {
    /// Number that is added to all seeds.
    pub(crate) seeds_from: u64,
    /// Numerator and denominator of a factor on all lengths.
    pub(crate) span: Option<(u64, u64)>,
    /// Settings of all runs, on which those of the case and the arm are applied.
    pub(crate) settings: Settings,
    /// Longest measured time; set for trials, which only check that a run starts.
    pub(crate) trial: Option<Nanos>,
    /// Largest number of seeds of each case.
    pub(crate) most_seeds: Option<u64>,
}

/// Everything that a run needs besides its case, arm and seed.
pub(crate) struct RunEnv<'a> {
    pub(crate) file: &'a str,
    pub(crate) home: &'a InputFiles,
    pub(crate) default_machine: &'a str,
    /// Runner of another engine, which replaces the built-in scheduler.
    pub(crate) runner: Option<&'a dyn ExternalRunner>,
}

/// Run that is set up, and can be executed on a machine.
pub struct PreparedCase {
    file: String,
    case: RunCase,
    seed: u64,
    meter: Option<Box<dyn BenchObserver>>,
    begin: Nanos,
    warm_up: WarmupPlan,
    /// Whether the run has no length and must end by itself.
    is_until_done: bool,
}

impl RunEnv<'_> {
    /// Name of the machine for a case under an arm: the arm's own, else the case's, else the study's.
    pub(crate) fn machine_of<'c>(&'c self, case: &'c RunCase, arm: &'c ArmDefinition) -> &'c str {
        arm.settings.machine_name().or(case.machine.as_deref()).unwrap_or(self.default_machine)
    }

    /// Executes a case under an arm with a seed, and returns its result.
    ///
    /// # Errors
    /// If the run cannot be set up, or makes no progress.
    pub(crate) fn run(
        &self,
        case: &RunCase,
        arm: &ArmDefinition,
        seed: u64,
        variation: &Variation,
    ) -> Result<Value, StudyError> {
        if let Some(runner) = self.runner {
            return runner.run(&case.name, &arm.name, seed);
        }
        let (setup, begun) = self.begin(case, arm, seed, variation)?;
        begun.run(&mut Machine::new(setup)?)
    }

    /// Sets up a case under an arm with a seed.
    ///
    /// # Errors
    /// If the workload or the machine is invalid.
    pub(crate) fn begin(
        &self,
        case: &RunCase,
        arm: &ArmDefinition,
        seed: u64,
        variation: &Variation,
    ) -> Result<(Setup, PreparedCase), StudyError> {
        let of_case = |error: Message| StudyError::Input(of_run(self.file, &case.name, error));
        let name = self.machine_of(case, arm);
        let settings = settings_of(case, arm, seed, &variation.settings);
        let PreparedWorkload { mut setup, kernel, meter, has_length } =
            self.home.prepare(case, name, &settings, seed).map_err(of_case)?;
        // The kernel of an engine is that of its tree.
        let kernel = Some(kernel).filter(|_| settings.kernel_engine().is_none());
        apply(&mut setup, &settings, kernel).map_err(|error| of_case(error.into()))?;
        let begin = case.start.of_seed(seed);
        for task in &mut setup.workload.tasks {
            task.start_at = task.start_at.map(|at| at + begin);
            task.timer_origin += begin;
        }
        let starts = setup.workload.starts;
        let warm_up = WarmupPlan::new(case.warm_up, begin, &setup.workload);
        let until_measured = warm_up.latest().max(begin);
        let (up, down) = variation.span.unwrap_or((1, 1));
        let span = case.span.map(|span| Nanos(span.0 * up / down));
        setup.duration = match span {
            Some(span) => until_measured + span,
            None if has_length => begin + starts + setup.duration,
            None => MAX_RUN_TIME,
        };
        if let Some(trial) = variation.trial {
            setup.duration = setup.duration.min(until_measured + trial);
        }
        let is_until_done = span.is_none() && !has_length && variation.trial.is_none();
        let (file, case) = (self.file.to_owned(), case.clone());
        Ok((setup, PreparedCase { file, case, seed, meter, begin, warm_up, is_until_done }))
    }
}

impl PreparedCase {
    /// Executes the run on a machine of any engine, and returns its result.
    ///
    /// # Errors
    /// If the run makes no progress, or does not end within one simulated hour.
    pub fn run<E: Engine>(self, machine: &mut Machine<E>) -> Result<Value, StudyError> {
        let Self { file, case, seed, meter, begin, warm_up, is_until_done } = self;
        if case.dice {
            machine.seed(seed);
        }
        let mut observers = RunObservers {
            bench: meter,
            marks: Some(BTreeMap::new()),
            last_exit: Some(LastExit::default()),
            ..RunObservers::for_summary(machine)
        };
        drive(machine, &mut observers, warm_up, &mut |_| true)?;
        if is_until_done && !machine.is_done() {
            let error = Message::new(format!("does not end within {MAX_RUN_TIME}")).with_help("say a `span`");
            return Err(StudyError::Input(of_run(&file, &case.name, error)));
        }
        let until_measured = warm_up.length(observers.settling.as_ref()).max(begin);
        Ok(result_of(observers, machine, begin, until_measured, &case))
    }
}

/// Returns the settings of a run: those of all runs, then those of the case, then those of the arm.
fn settings_of(case: &RunCase, arm: &ArmDefinition, seed: u64, all: &Settings) -> Settings {
    let changes = [case.settings.changes(), arm.settings.changes()].concat();
    let mut settings = all.clone().with_changes(&changes);
    if settings.plain.is_some() {
        // A machine without frequencies has no governor to set.
        settings.governor = None;
    }
    if case.permute {
        settings.perturb = Some(order_of(seed, settings.perturb));
    }
    settings
}

/// Returns the result of a run as JSON.
fn result_of(
    observers: RunObservers,
    machine: &Machine<impl Engine>,
    begin: Nanos,
    until_measured: Nanos,
    case: &RunCase,
) -> Value {
    let subject =
        RunSubject { workload: case.name.clone(), machine: machine.hardware().name.clone(), ..RunSubject::default() };
    let mut summary = observers.summary_of(subject, machine).expect("it was there before the run");
    let RunObservers { bench, marks, last_exit, settling, .. } = observers;
    summary.add_settling(settling);
    let mut output = serde_json::to_value(&summary).expect("a summary is JSON");
    // Keys that another engine does not report are removed: their zeros would be wrong.
    if let (None, Some(keys)) = (machine.as_built_in(), output.as_object_mut()) {
        for key in ["placement", "selection", "balance", "measure"] {
            keys.remove(key);
        }
    }
    let measured = machine.duration().saturating_since(until_measured);
    let of_bench = bench.as_ref().map(|meter| meter.outcome(RunProgress::from_machine(machine), measured).data);
    output["bench"] = of_bench.unwrap_or(Value::Null);
    output["marks"] =
        marks.unwrap_or_default().iter().map(|(phase, count)| (phase.to_string(), json!(count))).collect();
    output["done_s"] = json!(last_exit.unwrap_or_default().elapsed().saturating_since(begin).0 as f64 / 1e9);
    output["count"] = json!(case.count);
    output
}

/// Returns the permutation seed of simultaneous events for a seed; each number of `--perturb` gives another
/// one.
const fn order_of(seed: u64, perturb: Option<u64>) -> u64 {
    const SEEDS: u64 = 1 << 32;
    let number = match perturb {
        Some(number) => number,
        None => 0,
    };
    number.wrapping_mul(SEEDS).wrapping_add(seed).wrapping_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_seed_has_an_order_of_its_own_and_another_one_with_each_number_of_perturb() {
        let numbers = [None, Some(1), Some(2), Some(1000)];
        let orders: BTreeSet<u64> =
            numbers.iter().flat_map(|&number| (0..100).map(move |seed| order_of(seed, number))).collect();
        assert_eq!(orders.len(), 400);
    }
}
