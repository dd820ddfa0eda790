// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab compare`: a workload or a benchmark under several arms.
//!
//! All arms have the same seeds, so differences between them follow from their changes. Statistics are those of
//! `fairlab_experiment`; one run of each arm is the case of one repetition. The report is written in the requested formats
//! ([`crate::output::experiment`]). [`gate`] decides whether the command fails.

mod gate;

use crate::args::compare::CompareArgs;
use crate::execution::page::record;
use crate::execution::trial::{Trial, Workloads, share_costs};
use crate::execution::trial_arms::TrialArms;
use crate::output::Output;
use crate::output::experiment::formats::{ReportFormat, RequestedFormat};
use crate::output::experiment::report::{self, ExperimentReport};
use crate::output::progress::Progress;
use crate::values::arms::Arm;
use crate::values::error::{CliError, command_line};
use crate::values::interrupt;
use crate::values::whole_file::AtomicFile;
use fairlab_experiment::comparison::{Comparison, ComparisonRules};
use fairlab_experiment::report::ComparisonReport;
use fairlab_experiment::{repeat, until_found};
use fairlab_measure::missing_addition::MissingAddition;
use fairlab_measure::summary::Settling;
use fairlab_report::RecordedRun;
use fairlab_run::first_difference::{FirstDifference, first_difference};
use fairlab_run::job::RunOutputs;
use fairlab_run::prepare::with_known_length;
use fairlab_run::spec::RunSpec;
use fairlab_run::values::{EngineName, Starts};
use fairlab_run::warmup::Warmup;
use fairlab_workload::message::Message;
use std::path::Path;
use std::time::Instant;

/// Default of `--budget`, the time limit of `--until-significant`.
const DEFAULT_BUDGET_NS: u64 = 300_000_000_000;

/// Runs `fairlab compare`: each arm once, or repeatedly with a statistical comparison.
pub(crate) fn compare(output: &mut Output, args: &CompareArgs) -> Result<(), CliError> {
    args.exports.refuse_stdout("compare")?;
    args.jobs.apply();
    interrupt::install_handlers();
    let arms = arms(args)?;
    if args.experiment.hold_still && args.is_single() {
        let help = "add --runs N, or leave it out";
        return Err(CliError::with_help("--hold-still is about repetitions", help));
    }
    experiment(output, args, &arms)
}

/// The arms: those that were given, after the workload as it is if that is a single one; or the engines that were given.
fn arms(args: &CompareArgs) -> Result<Vec<Arm>, CliError> {
    let engines = args.work.settings.engines();
    if args.arm.is_empty() {
        let first = if engines.len() == 1 { vec![Arm::from_engine(&EngineName::BuiltIn)] } else { Vec::new() };
        return Ok(first.into_iter().chain(engines.iter().map(Arm::from_engine)).collect());
    }
    if engines.len() > 1 {
        let help = "say it in the arms: --arm 'NAME: engine=kernel:6.1,...'";
        return Err(CliError::with_help("several engines and arms: which arm has which engine?", help));
    }
    let first = (args.arm.len() < 2).then(Arm::unchanged);
    Ok(first.into_iter().chain(args.arm.iter().cloned()).collect())
}

/// Returns the runs of the arms, without seeds.
fn trials(args: &CompareArgs, arms: &[Arm]) -> Result<Vec<Trial>, CliError> {
    let mut workloads = Workloads::of_command("fairlab compare");
    let base = workloads.of_args(args.work.file.as_deref(), args.work.bench.as_deref())?;
    let mut settings = args.work.settings.settings();
    if if args.is_single() { args.vary } else { !args.experiment.hold_still } {
        settings.starts = Starts::Jittered;
    }
    let trial = |arm: &Arm| {
        let spec = RunSpec { workload: workloads.of_arm(arm, base.as_ref())?, settings: settings.clone() };
        Ok::<_, CliError>(Trial { spec: spec.with_changes(&arm.changes) })
    };
    let mut trials: Vec<Trial> = arms.iter().map(trial).collect::<Result<_, CliError>>()?;
    share_costs(&mut trials);
    Ok(trials)
}

impl CompareArgs {
    /// Returns the run of each arm; with repetitions, the first one.
    pub(crate) fn specs(&self) -> Result<Vec<RunSpec>, CliError> {
        Ok(self.first_specs(&trials(self, &arms(self)?)?))
    }

    fn first_specs(&self, trials: &[Trial]) -> Vec<RunSpec> {
        let seed = (!self.is_seedless()).then_some(self.first_seed());
        trials.iter().map(|trial| trial.with_seed(seed)).collect()
    }

    /// Whether the random numbers of the only run are those of a kernel after its boot.
    fn is_seedless(&self) -> bool {
        self.is_single() && self.seed.is_none()
    }

    fn first_seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }
}

fn experiment(output: &mut Output, args: &CompareArgs, arms: &[Arm]) -> Result<(), CliError> {
    if args.exports.writes_files() && !args.is_single() {
        let help = "leave --export and --event-log out, or compare once: a run of `fairlab run --seed N --vary --export ...` is a repetition";
        return Err(CliError::with_help("an experiment writes no traces", help));
    }
    let how = &args.experiment;
    let is_single = args.is_single();
    let trials = trials(args, arms)?;
    let checked = trials.iter().map(|trial| trial.check(args.seed)).collect::<Result<Vec<_>, _>>()?;
    let (subjects, missing): (Vec<_>, Vec<_>) = checked.into_iter().unzip();
    let rules = ComparisonRules {
        statistic: how.statistic,
        level: how.level / 100.0,
        detect_percent: how.detect,
        matters_percent: how.matters,
    };
    let first_seed = args.first_seed();
    let begun = Instant::now();
    let budget = std::time::Duration::from_nanos(how.budget.map_or(DEFAULT_BUDGET_NS, |budget| budget.0));
    let seedless = args.is_seedless();
    let runs = how.runs.unwrap_or(1);
    let telling = if how.until_significant { Err(budget) } else { Ok(runs as usize * trials.len()) };
    let specs = args.first_specs(&trials);
    let mut arms_of = TrialArms::new(trials, &how.metric, seedless, telling);
    if is_single {
        let outputs = |arm: &Arm| {
            let mut outputs = RunOutputs::of_summary();
            args.exports.of_run(&arm.name).add_to(&mut outputs);
            outputs
        };
        arms_of = arms_of.keeping_results(arms.iter().map(outputs).collect());
    }
    let found = if how.until_significant {
        let has_more = || begun.elapsed() < budget && interrupt::requested().is_none();
        let found = until_found(&arms_of, first_seed, rules, &has_more);
        arms_of.finish();
        let found = found?.ok_or_else(|| no_repetition_error(output))?;
        let is_out_of_time = found.is_out_of_time && interrupt::requested().is_none();
        let checks = Some((found.nr_checks, is_out_of_time));
        (found.comparison, checks)
    } else {
        let has_more = || interrupt::requested().is_none();
        // The first repetition shows whether this number of repetitions can be significant.
        let first = if args.fail_on.is_some() {
            repeat(&arms_of, first_seed..first_seed + 1, &has_more)
        } else {
            Ok(Vec::new())
        };
        let repetitions = first.and_then(|mut all| {
            if !all.is_empty() {
                gate::refuse_undetectable(args, &all, rules)?;
            }
            all.extend(repeat(&arms_of, first_seed + all.len() as u64..first_seed + runs, &has_more)?);
            Ok(all)
        });
        arms_of.finish();
        let repetitions = repetitions?;
        if repetitions.is_empty() {
            return Err(no_repetition_error(output));
        }
        (fairlab_experiment::comparison::compare(&repetitions, rules), None)
    };
    // The report names the arms that run without something.
    let named: Vec<String> = missing.iter().flatten().map(MissingAddition::warning).collect();
    let warnings: Vec<String> = arms_of.warnings().into_iter().filter(|warning| !named.contains(warning)).collect();
    output.warn_all(&warnings)?;
    if how.metric.is_empty() && !is_single {
        refuse_untested(&found.0)?;
    }
    // A signal that came when all was done has cut nothing short.
    let whole = if how.until_significant { 0 } else { runs };
    let is_whole = !how.until_significant && found.0.repetitions as u64 == runs;
    let stopped_by = interrupt::requested().filter(|_| !is_whole);
    let first_differences = first_differences(&specs, &found.0)?;
    let has_page = args.format.iter().any(|format| format.form == ReportFormat::Html);
    let recorded = if has_page { record_first(&specs, arms)? } else { Vec::new() };
    let report = ExperimentReport {
        schema: report::SCHEMA,
        compared: ComparisonReport {
            arms: arms.iter().map(|arm| arm.name.clone()).collect(),
            subjects,
            missing,
            comparison: found.0,
            checks: found.1,
            is_varied: arms_of.is_varied(),
            first_seed: (!seedless).then_some(first_seed),
            command: command_line(),
            cut_short_of_runs: stopped_by.map(|_| whole),
            facts: arms_of.facts(arms),
            has_all_rows: args.all || is_single,
        },
        results: arms_of.take_results(),
        first_differences,
        recorded,
    };
    write_reports(output, args, &report)?;
    if let Some(signal) = stopped_by {
        // A condition on all repetitions cannot be checked.
        return Err(CliError::Stopped { signal });
    }
    gate::gate(args, &report.compared)
}

/// Returns the first difference of each arm from the first one, as far as the built-in scheduler runs both with one workload.
fn first_differences(specs: &[RunSpec], comparison: &Comparison) -> Result<Vec<Option<FirstDifference>>, CliError> {
    let is_comparable = |spec: &RunSpec| spec.settings.kernel_engine().is_none() && spec.workload == specs[0].workload;
    let of_arm = |arm: usize| {
        let is_equal = arm > 0 && comparison.identical[arm - 1];
        if arm == 0
            || is_equal
            || interrupt::requested().is_some()
            || !is_comparable(&specs[0])
            || !is_comparable(&specs[arm])
        {
            return Ok(None);
        }
        let mut progress = None;
        let found = first_difference([&specs[0], &specs[arm]], &mut |length, done| {
            progress.get_or_insert_with(|| Progress::new("first difference", length)).show(done);
            interrupt::requested().is_none()
        });
        progress.iter_mut().for_each(Progress::clear);
        Ok(found?)
    };
    (0..specs.len()).map(of_arm).collect()
}

/// Repeats the first repetition of each arm for the page. After a signal there are no such runs.
fn record_first(specs: &[RunSpec], arms: &[Arm]) -> Result<Vec<RecordedRun>, CliError> {
    let mut runs = Vec::new();
    for (spec, arm) in specs.iter().zip(arms) {
        if interrupt::requested().is_some() {
            return Ok(Vec::new());
        }
        let spec = with_known_length(spec.clone(), settling(spec)?.as_ref())?;
        match record(&spec, arm.name.clone()) {
            Err(CliError::Stopped { .. }) => return Ok(Vec::new()),
            recorded => runs.push(recorded?.0),
        }
    }
    Ok(runs)
}

/// Returns when a run settles that is measured from then on.
fn settling(spec: &RunSpec) -> Result<Option<Settling>, CliError> {
    if !matches!(spec.settings.warmup, Some(Warmup::Settled { .. })) {
        return Ok(None);
    }
    let trial = Trial { spec: spec.clone() };
    Ok(trial.run(spec.settings.seed, &mut |_, _| {})?.summary.settling)
}

/// Rejects a comparison whose arms differ, but in which no metric can be better or worse.
fn refuse_untested(comparison: &Comparison) -> Result<(), CliError> {
    if comparison.is_judged() || comparison.identical.iter().all(|is_same| *is_same) {
        return Ok(());
    }
    let help = "choose a metric and its direction, such as --metric totals.migrations:less";
    Err(CliError::with_help("nothing can be compared: no metric of these runs has a better direction", help))
}

/// Returns the error for an experiment without a complete repetition.
fn no_repetition_error(output: &Output) -> CliError {
    let Some(signal) = interrupt::requested() else {
        let help = "give it more time: --budget 30m";
        return CliError::Run(Message::new("no repetition was finished within the budget").with_help(help));
    };
    // The exit status stays if the warning cannot be written.
    let _ = output.warn("stopped before every arm had run once: there is nothing to compare");
    CliError::Stopped { signal }
}

/// Writes the report in all forms that were asked for.
fn write_reports(output: &mut Output, args: &CompareArgs, report: &ExperimentReport) -> Result<(), CliError> {
    let default =
        [RequestedFormat { form: if output.is_json() { ReportFormat::Json } else { ReportFormat::Text }, file: None }];
    let wanted = if args.format.is_empty() { &default[..] } else { &args.format[..] };
    for RequestedFormat { form, file } in wanted {
        let styles = if file.is_some() { crate::output::Styles { on: false } } else { output.styles() };
        let text = form.render(report, styles)?;
        match file {
            None => output.text(&text)?,
            Some(file) => AtomicFile::write(Path::new(file), text.as_bytes())?,
        }
    }
    Ok(())
}
