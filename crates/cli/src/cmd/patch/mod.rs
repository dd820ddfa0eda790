// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab patch`: compares a kernel tree with and without a patch on a fleet of machines.
//!
//! 1. Both kernels are built or found ([`kernels`]).
//! 2. Each case of the fleet ([`fleet`]) is an experiment: the kernels are arms, with the seeds and
//!    statistics of `fairlab compare`. The significance level is divided by the number of cases.
//! 3. With a budget, all cases run once before any is repeated. The number of repetitions that fit is then
//!    known and reported.
//! 4. For cases with different events, the first differing event is located ([`divergence`]), and the
//!    decision behind it ([`calls`]).
//! 5. The patched kernel runs each case again with line coverage. Lines of the patch that no run has reached
//!    are reported.
//! 6. Kernels that do not return, lost wake-ups and warnings are results ([`problems`]). The patch is worse if only the
//!    patched kernel has one.
//! 7. After Ctrl-C, the cases that were run are reported.

mod calls;
mod divergence;
mod fleet;
pub(crate) mod kernels;
mod problems;
pub(crate) mod report;

use crate::args::patch::PatchArgs;
use crate::execution::trial::{Trial, bench_from_line, share_costs};
use crate::execution::trial_arms::TrialArms;
use crate::output::Output;
use crate::values::error::CliError;
use crate::values::interrupt;
use divergence::Divergence;
use fairlab_experiment::comparison::{Comparison, ComparisonRules, compare};
use fairlab_experiment::metrics::MetricDirection;
use fairlab_experiment::rank::enough;
use fairlab_experiment::{Arms as _, Observation, Repetitions, repeat};
use fairlab_kernel::store::{Store, StoreEntry};
use fairlab_run::input::InputFile;
use fairlab_run::settings::Settings;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_run::values::{CallCosts, EngineName, Plain, Starts};
use fairlab_run::warmup::Warmup;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use fleet::{FLEET, FleetLoad, MIX, PatchCase};
use problems::{KERNEL_NAMES, RunLog};
use report::PatchReport;
use serde::Serialize;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Number of metrics that are compared for a case: its main ones.
const NR_METRICS: usize = 2;
/// Probability of any false difference in the whole fleet.
const SIGNIFICANCE_LEVEL: f64 = 0.05;
/// Largest number of repetitions within a budget.
const MAX_RUNS: u64 = 1000;
/// Name and version of the JSON output.
pub(crate) const SCHEMA: &str = "patch/3";
/// Exit status if a metric became worse, or only the patched kernel has a problem.
const STATUS_WORSE: u8 = 1;

/// Result of a case.
#[derive(Debug, Default, Serialize, schemars::JsonSchema)]
pub(crate) struct CaseResult {
    pub(crate) machine: &'static str,
    pub(crate) load: &'static str,
    /// Comparison of both kernels, if both returned.
    pub(crate) comparison: Option<Comparison>,
    /// Reports of kernels that did not return.
    pub(crate) failures: Vec<CaseFailure>,
    /// Reason why the case could not be run with these kernels.
    pub(crate) left_out: Option<String>,
    /// First difference between the kernels, if it was located.
    pub(crate) first: Option<Divergence>,
    /// Reason why the machine was simplified as with `--plain=priced`; null if it was simulated completely.
    pub(crate) plain_because: Option<String>,
    /// Warnings about the runs.
    pub(crate) warnings: Vec<String>,
    /// Wall-clock time of its runs, in seconds.
    #[serde(rename = "took_s", serialize_with = "report::seconds")]
    #[schemars(with = "f64")]
    pub(crate) took: Duration,
}

/// Report of a kernel that did not return.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct CaseFailure {
    /// `base` or `patched`.
    pub(crate) kernel: &'static str,
    pub(crate) report: String,
}

pub(crate) fn patch(output: &mut Output, args: &PatchArgs) -> Result<(), CliError> {
    args.jobs.apply();
    interrupt::install_handlers();
    let cases: Vec<&PatchCase> =
        FLEET.iter().filter(|case| args.only.is_empty() || args.only.iter().any(|text| case.matches(text))).collect();
    if cases.is_empty() {
        let help = "fairlab patch --list shows machines and workloads";
        return Err(CliError::with_help(
            format!("--only {}: no case has this text in its name", args.only.join(", ")),
            help,
        ));
    }
    if args.list {
        return output
            .text(&cases.iter().map(|case| format!("{:<14} {}\n", case.machine, case.load())).collect::<String>());
    }
    // Prune must not remove the engines of this command while it runs.
    let store = Store::for_user()?;
    let _held = store.lock_against_prune()?;
    let begun = Instant::now();
    let built_here = kernels::find_or_build_kernels(output, args).map_err(as_not_run)?;
    let kernels = &built_here.kernels;
    let covered = kernels::build_covered(output, args, &built_here).map_err(as_not_run)?;
    let built = begun.elapsed();
    // The path is stable, so that the printed command can be repeated.
    let mix = store.write_file(MIX_NAME, MIX)?.display().to_string();
    let mix = mix.as_str();
    let mut running = Vec::new();
    let is_stopped = || interrupt::requested().is_some();
    for (nr, case) in cases.iter().enumerate() {
        if is_stopped() {
            break;
        }
        let one = RunningCase::new(args, case, kernels, mix)?;
        if nr == 0 && !is_stopped() {
            let seconds = one.took.as_secs_f64();
            output.eprint(&format!(
                "{} cases; the first one, once with each kernel, took {seconds:.1} s\n",
                cases.len()
            ))?;
        }
        running.push(one);
        if args.budget.is_none() {
            let one = running.last_mut().expect("it was pushed");
            one.repeat_until(args, args.runs.unwrap_or_else(min_repetitions), &|| !is_stopped());
        }
    }
    let budget = args.budget.filter(|_| !is_stopped());
    let budget = budget.map(|budget| Budget::after_first(budget, begun.elapsed(), built, &running));
    if let Some(budget) = &budget {
        output.eprint(&format!("{}\n", budget.sentence()))?;
        for nr in 0..running.len() {
            let left = budget.whole.saturating_sub(begun.elapsed());
            let share = left / u32::try_from(running.len() - nr).unwrap_or(1);
            let again = Instant::now();
            running[nr].repeat_until(args, MAX_RUNS, &|| again.elapsed() < share && !is_stopped());
        }
    }
    let mut log = RunLog::default();
    let mut outcomes = Vec::new();
    for one in running {
        let [base, patched] = one.trials.clone();
        let (outcome, case_log) = one.finish(mix).map_err(as_not_run)?;
        log.extend(case_log);
        let Some(mut outcome) = outcome else { continue };
        let is_wanted =
            outcomes.iter().filter(|outcome: &&CaseResult| outcome.first.is_some()).count() < args.differences;
        let is_different = outcome.comparison.as_ref().is_some_and(|comparison| !comparison.identical[0]);
        if is_wanted && is_different && !is_stopped() {
            // Without the location of a difference, the rows are still complete.
            outcome.first = unless_stopped(divergence::find_first(&base, &patched, args.seed))?.flatten();
        }
        if let Some((kernel, _)) = covered.as_ref().filter(|_| !is_stopped()) {
            let mut patched = patched;
            patched.spec.settings.engine = Some(EngineName::Kernel(kernel.name.clone()));
            patched.spec.settings.costs = CallCosts::Counted;
            // A kernel that does not return has been reported; its coverage is lost.
            let _reported = patched.run(Some(args.seed), &mut |_, _| {});
        }
        outcomes.push(outcome);
    }
    let coverage = covered.filter(|_| !is_stopped()).map(|(_, covered)| covered.end());
    let coverage = unless_stopped(coverage.transpose().map_err(CliError::from))?.flatten();
    let stopped_by = interrupt::requested();
    if let Some(signal) = stopped_by.filter(|_| outcomes.is_empty()) {
        return Err(CliError::Stopped { signal });
    }
    let report = PatchReport {
        schema: SCHEMA,
        kernels,
        problems: log.problems(),
        uncommon_costs: log.uncommon(),
        nr_cases: cases.len(),
        is_stopped: stopped_by.is_some(),
        outcomes,
        coverage,
        budget,
        built,
        took: begun.elapsed(),
    };
    output.json_or_text(&report, |_| report.text())?;
    if let Some(signal) = stopped_by {
        return Err(CliError::Stopped { signal });
    }
    if report.outcomes.iter().all(|outcome| outcome.left_out.is_some()) {
        return Err(CliError::Input(Message::new("no case could be run with these kernels: see the reasons above")));
    }
    if report.is_worse() { Err(CliError::AlreadyReported { status: STATUS_WORSE }) } else { Ok(()) }
}

/// Returns nothing in place of the error of something that a signal has stopped.
fn unless_stopped<T>(result: Result<T, CliError>) -> Result<Option<T>, CliError> {
    match result {
        Err(_) if interrupt::requested().is_some() => Ok(None),
        result => result.map(Some),
    }
}

/// Gives an error that prevents the comparison the status of wrong input.
fn as_not_run(error: CliError) -> CliError {
    match error {
        CliError::Run(message) => CliError::Input(message),
        other => other,
    }
}

/// Name of the mix's file in the store, which workers read.
const MIX_NAME: &str = "rt-app-mix.json";

/// Returns the number of repetitions that a significant difference needs at least.
fn min_repetitions() -> u64 {
    enough(NR_METRICS, significance_level()) as u64
}

fn significance_level() -> f64 {
    SIGNIFICANCE_LEVEL / FLEET.len() as f64
}

/// Number of repetitions that fit into a budget.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Budget {
    #[serde(rename = "budget_s", serialize_with = "report::seconds")]
    #[schemars(with = "f64")]
    pub(crate) whole: Duration,
    /// Wall-clock time of building and of one repetition of each case, in seconds.
    #[serde(rename = "first_s", serialize_with = "report::seconds")]
    #[schemars(with = "f64")]
    first: Duration,
    #[serde(rename = "repetition_s", serialize_with = "report::seconds")]
    #[schemars(with = "f64")]
    repetition: Duration,
    built: bool,
}

impl Budget {
    fn after_first(budget: Nanos, first: Duration, built: Duration, running: &[RunningCase<'_>]) -> Self {
        let repetition = running.iter().map(|one| one.took).sum();
        Self { whole: Duration::from_nanos(budget.0), first, repetition, built: built > repetition }
    }

    /// Describes the repetitions that fit after each case has run once.
    pub(crate) fn sentence(&self) -> String {
        let Self { whole, first, repetition, built } = self;
        let [whole, first, repetition] = [whole, first, repetition].map(|time| time.as_secs_f64());
        let once = format!("one repetition of the fleet takes {repetition:.0} s");
        if first < whole {
            return format!(
                "{once}: the budget of {whole:.0} s allows {:.0} more",
                (whole - first) / repetition.max(0.1)
            );
        }
        let what = if *built { ", most of it for building" } else { "" };
        format!("{once}: the budget of {whole:.0} s is over after {first:.0} s{what}, so each case was run once")
    }
}

/// Returns the trials of a case with both kernels, which have the same features and tunables, on the whole or the
/// simplified machine.
fn trials(
    args: &PatchArgs,
    case: &PatchCase,
    kernels: &[StoreEntry; 2],
    mix: &str,
    plain: Option<Plain>,
) -> Result<[Trial; 2], CliError> {
    let workload = match case.load {
        FleetLoad::Mix => WorkloadSpec::File(InputFile::new(mix).read_workload()?),
        FleetLoad::Bench(line) => bench_from_line(line, "fairlab patch")?,
    };
    let trial = |kernel: &StoreEntry| {
        let settings = Settings {
            machine: Some(InputFile::new(case.machine)),
            engine: Some(EngineName::Kernel(kernel.name.clone())),
            plain,
            duration: case.span(),
            warmup: (case.warmup_ms > 0).then(|| Warmup::After(Nanos::from_millis(case.warmup_ms))),
            starts: Starts::Jittered,
            ..args.settings.settings()
        };
        Trial { spec: RunSpec { workload: workload.clone(), settings } }
    };
    let mut trials = kernels.each_ref().map(trial);
    share_costs(&mut trials);
    Ok(trials)
}

/// Removes all metrics except the main ones and those without a better direction.
fn keep_main_metrics(observation: &mut Observation) {
    let mut judged = 0;
    observation.metrics.retain(|(metric, _)| {
        judged += usize::from(metric.better != MetricDirection::Neither);
        metric.better == MetricDirection::Neither || judged <= NR_METRICS
    });
}

/// Joins the lines of a worker's message, and replaces the path of the mix by its name.
fn one_line(error: &Message, mix: &str) -> String {
    error.one_line().replace(mix, "rt-app mix")
}

/// Case that is being repeated.
struct RunningCase<'a> {
    case: &'a PatchCase,
    trials: [Trial; 2],
    /// Reason why the machine is simplified.
    plain_because: Option<String>,
    arms: TrialArms<'static>,
    repetitions: Result<Repetitions, CliError>,
    /// Problems of both kernels so far, and the reports of those that did not return.
    log: Arc<Mutex<(RunLog, Vec<CaseFailure>)>>,
    took: Duration,
}

impl<'a> RunningCase<'a> {
    /// Creates a case and makes its first repetition: on the whole machine if both kernels support it.
    fn new(args: &PatchArgs, case: &'a PatchCase, kernels: &[StoreEntry; 2], mix: &str) -> Result<Self, CliError> {
        let whole = Self::with_trials(args, case, trials(args, case, kernels, mix, None)?);
        let Err(CliError::Input(because)) = &whole.repetitions else { return Ok(whole) };
        let priced = Self::with_trials(args, case, trials(args, case, kernels, mix, Some(Plain::Priced))?);
        let plain_because = Some(because.text.replace(mix, "rt-app mix"));
        Ok(Self { plain_because: plain_because.filter(|_| priced.repetitions.is_ok()), ..priced })
    }

    fn with_trials(args: &PatchArgs, case: &'a PatchCase, trials: [Trial; 2]) -> Self {
        let runs = usize::try_from(2 * args.runs.unwrap_or_else(min_repetitions)).unwrap_or(usize::MAX);
        let arms = TrialArms::new(trials.to_vec(), &[], false, Ok(runs)).with_required_end();
        let arms = if args.budget.is_some() { arms.without_progress() } else { arms };
        let log = Arc::new(Mutex::new((RunLog::default(), Vec::new())));
        let (shared, name) = (Arc::clone(&log), format!("{}, {}", case.machine, case.load()));
        let arms = arms.observed_by(Box::new(move |arm, seed, result| {
            let mut log = shared.lock().expect("recording does not panic");
            log.0.add(arm, seed, &name, result);
            if let Err(error @ CliError::Run(_)) = result {
                let kernel = KERNEL_NAMES[arm];
                if log.1.iter().all(|failure: &CaseFailure| failure.kernel != kernel) {
                    log.1.push(CaseFailure { kernel, report: error.to_string() });
                }
            }
        }));
        let begun = Instant::now();
        let repetitions = repeat(&arms, args.seed..args.seed + 1, &|| true);
        let mut running = Self { case, trials, plain_because: None, arms, repetitions, log, took: Duration::ZERO };
        running.compare_failure();
        running.took = begun.elapsed();
        running
    }

    /// If a kernel did not return, runs the other one with that seed: does it return?
    fn compare_failure(&self) {
        if !matches!(self.repetitions, Err(CliError::Run(_))) {
            return;
        }
        let failed_at = |arm| self.log.lock().expect("recording does not panic").0.failed_at(arm);
        let seeds = [0, 1].map(failed_at);
        for (arm, seed) in [(0, seeds[1]), (1, seeds[0])] {
            if let (None, Some(seed)) = (seeds[arm], seed) {
                let _is_recorded = self.arms.run(arm, seed);
            }
        }
    }

    /// Repeats the case until it has `runs` repetitions or the time is over.
    fn repeat_until(&mut self, args: &PatchArgs, runs: u64, has_more: &(dyn Fn() -> bool + Sync)) {
        let Ok(repetitions) = &mut self.repetitions else { return };
        let begun = Instant::now();
        match repeat(&self.arms, args.seed + 1..args.seed + runs, has_more) {
            Ok(more) => repetitions.extend(more),
            Err(error) => self.repetitions = Err(error),
        }
        self.compare_failure();
        self.took += begun.elapsed();
        self.arms.finish();
    }

    /// Returns the result of the case, unless it was stopped before its first repetition had ended, and its problems.
    fn finish(mut self, mix: &str) -> Result<(Option<CaseResult>, RunLog), CliError> {
        self.arms.finish();
        let (log, failures) = std::mem::take(&mut *self.log.lock().expect("recording does not panic"));
        let mut outcome = CaseResult {
            machine: self.case.machine,
            load: self.case.load(),
            failures,
            plain_because: self.plain_because,
            warnings: self.arms.warnings().iter().map(|warning| warning.replace(mix, "rt-app mix")).collect(),
            took: self.took,
            ..CaseResult::default()
        };
        match self.repetitions {
            Ok(repetitions) if repetitions.is_empty() => return Ok((None, log)),
            Ok(mut repetitions) => {
                repetitions.iter_mut().flatten().for_each(keep_main_metrics);
                outcome.comparison = Some(compare(
                    &repetitions,
                    ComparisonRules { level: significance_level(), ..ComparisonRules::default() },
                ));
            }
            Err(CliError::Run(_)) => {}
            Err(CliError::Input(error)) => outcome.left_out = Some(one_line(&error, mix)),
            Err(other) => return Err(other),
        }
        Ok((Some(outcome), log))
    }
}
