// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab patch`: what a patch to a kernel tree changes, on a fleet of machines.
//!
//! 1. Both kernels are built, or found ([`kernels`]).
//! 2. Each case of the fleet ([`fleet`]) is an experiment: the two are arms, with the seeds and statistics of `fairlab compare`. The level of the tests
//!    is divided by the number of cases.
//! 3. With a budget, all cases are run once before any is repeated: then it is known what the budget has room for, and told.
//! 4. In cases that are not the same in every event, the first one that differs is looked for ([`first`]), and the decision behind it ([`calls`]).
//! 5. The patched kernel runs each case once more with lines that are counted: what of the patch no run has reached is told.
//! 6. A kernel that does not come back in a case is a result of that case.

pub(crate) mod args;
mod calls;
mod divergence;
mod fleet;
pub(crate) mod kernels;
pub(crate) mod report;

use crate::args::{Plain, VariantArgs};
use crate::cmd::compare::trials::TrialArms;
use crate::error::CliError;
use crate::input;
use crate::output::Output;
use crate::trial::{Trial, Work};
use crate::values::EngineName;
use args::PatchArgs;
use divergence::Divergence;
use fairlab_kernel::store::{Store, StoreEntry};
use fairlab_sched::units::Nanos;
use fairlab_study::experiment::comparison::{Comparison, ComparisonRules, compare};
use fairlab_study::experiment::metrics::MetricDirection;
use fairlab_study::experiment::rank::enough;
use fairlab_study::experiment::{Observation, Repetitions, repeat};
use fleet::{FLEET, FleetLoad, MIX, PatchCase};
use report::PatchReport;
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So many figures of a case are compared: its main ones.
const FIGURES: usize = 2;
/// Differences may be found in this part of all comparisons in which there is none.
const LEVEL: f64 = 0.05;
/// No budget has more repetitions than this.
const MOST_RUNS: u64 = 1000;
/// The form of its JSON.
pub(crate) const SCHEMA: &str = "patch/1";
/// Exit status: something became worse.
const WORSE: u8 = 1;

/// What came of a case.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct CaseOutcome {
    pub(crate) machine: &'static str,
    pub(crate) load: &'static str,
    /// The two beside each other, if both came back.
    pub(crate) comparison: Option<Comparison>,
    /// Why one did not.
    pub(crate) failure: Option<String>,
    /// Why it could not be run with such kernels.
    pub(crate) left_out: Option<String>,
    /// Where they first differ, if that was looked for.
    pub(crate) first: Option<Divergence>,
    /// Why the machine was taken as with `--plain=priced`; none: all of it.
    pub(crate) plain_because: Option<String>,
    /// Lines that kernels printed.
    pub(crate) warnings: Vec<String>,
    /// How long its runs took.
    #[serde(rename = "took_s", serialize_with = "report::seconds")]
    #[schemars(with = "f64")]
    pub(crate) took: Duration,
}

/// Runs the command.
pub(crate) fn patch(output: &mut Output, args: &PatchArgs) -> Result<(), CliError> {
    args.jobs.apply();
    let cases: Vec<&PatchCase> =
        FLEET.iter().filter(|case| args.only.is_empty() || args.only.iter().any(|text| case.has(text))).collect();
    if cases.is_empty() {
        let help = "fairlab patch --list shows machines and workloads";
        return Err(CliError::Input(format!(
            "--only {}: no case has that in its name\nhelp: {help}",
            args.only.join(", ")
        )));
    }
    if args.list {
        return output
            .text(&cases.iter().map(|case| format!("{:<14} {}\n", case.machine, case.load())).collect::<String>());
    }
    // Engines of this command stay until it has ended.
    let store = Store::of_user()?;
    let _held = store.hold()?;
    let begun = Instant::now();
    let built_here = kernels::kernels(output, args).map_err(not_run)?;
    let kernels = &built_here.kernels;
    let covered = kernels::covered(output, args, &built_here).map_err(not_run)?;
    let built = begun.elapsed();
    // Where somebody finds it who repeats a run of it.
    let mix = store.file(MIX_NAME, MIX)?.display().to_string();
    let mix = mix.as_str();
    let mut running = Vec::new();
    for (nr, case) in cases.iter().enumerate() {
        let one = RunningCase::begin(args, case, kernels, mix)?;
        if nr == 0 {
            let seconds = one.took.as_secs_f64();
            output.eprint(&format!(
                "{} cases; the first one, once with each kernel, took {seconds:.1} s\n",
                cases.len()
            ))?;
        }
        running.push(one);
        if args.budget.is_none() {
            let one = running.last_mut().expect("it was pushed");
            one.advance_case(args, args.runs.unwrap_or_else(least), &|| true);
        }
    }
    let budget = args.budget.map(|budget| Budget::after_first(budget, begun.elapsed(), built, &running));
    if let Some(budget) = &budget {
        output.eprint(&format!("{}\n", budget.sentence()))?;
        for nr in 0..running.len() {
            let left = budget.whole.saturating_sub(begun.elapsed());
            let share = left / u32::try_from(running.len() - nr).unwrap_or(1);
            let again = Instant::now();
            running[nr].advance_case(args, MOST_RUNS, &|| again.elapsed() < share);
        }
    }
    let mut outcomes = Vec::new();
    for one in running {
        let [base, patched] = one.trials.clone();
        let mut outcome = one.outcome(mix).map_err(not_run)?;
        let is_wanted =
            outcomes.iter().filter(|outcome: &&CaseOutcome| outcome.first.is_some()).count() < args.differences;
        if is_wanted && outcome.comparison.as_ref().is_some_and(|comparison| !comparison.identical[0]) {
            outcome.first = divergence::find_first(&base, &patched, args.seed)?;
        }
        if let Some((kernel, _)) = &covered {
            let mut patched = patched;
            patched.variant.engine = vec![EngineName::of_kernel(&kernel.name)];
            // A kernel that does not come back has been told of; what it has reached until then is lost.
            let _told = patched.run(Some(args.seed), &mut |_, _| {});
        }
        outcomes.push(outcome);
    }
    let coverage = covered.map(|(_, covered)| covered.end()).transpose()?;
    let report = PatchReport { schema: SCHEMA, kernels, outcomes, coverage, budget, built, took: begun.elapsed() };
    if output.is_json() {
        output.json(&report)?;
    } else {
        output.text(&report.text())?;
    }
    if report.outcomes.iter().all(|outcome| outcome.left_out.is_some()) {
        return Err(CliError::Input("no case could be run with these kernels: see why above".to_owned()));
    }
    if report.is_worse() { Err(CliError::AlreadyReported { status: WORSE }) } else { Ok(()) }
}

/// Whatever keeps it from being run has the status of wrong input.
fn not_run(error: CliError) -> CliError {
    match error {
        CliError::Run(message) => CliError::Input(message),
        other => other,
    }
}

/// The mix's file in the store, which workers read.
const MIX_NAME: &str = "rt-app-mix.json";

/// As many repetitions as a difference needs to be found.
fn least() -> u64 {
    enough(FIGURES, level()) as u64
}

fn level() -> f64 {
    LEVEL / FLEET.len() as f64
}

/// What a budget has room for.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Budget {
    #[serde(rename = "budget_s", serialize_with = "report::seconds")]
    #[schemars(with = "f64")]
    pub(crate) whole: Duration,
    /// What building and one repetition of each case took.
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

    /// What it has room for, once each case has been run once.
    pub(crate) fn sentence(&self) -> String {
        let Self { whole, first, repetition, built } = self;
        let [whole, first, repetition] = [whole, first, repetition].map(|time| time.as_secs_f64());
        let once = format!("one repetition of the fleet takes {repetition:.0} s");
        if first < whole {
            return format!(
                "{once}: the budget of {whole:.0} s has room for {:.0} more",
                (whole - first) / repetition.max(0.1)
            );
        }
        let what = if *built { ", most of it for building" } else { "" };
        format!("{once}: the budget of {whole:.0} s is over after {first:.0} s{what}, so each case was run once")
    }
}

/// A case with each kernel, on the whole machine or what is left of it.
fn trials(
    case: &PatchCase,
    kernels: &[StoreEntry; 2],
    mix: &str,
    plain: Option<Plain>,
) -> Result<[Trial; 2], CliError> {
    let work = match case.load {
        FleetLoad::Mix => Work::File(Arc::new(input::workload(mix)?)),
        FleetLoad::Bench(line) => Work::Bench(line.to_owned()),
    };
    let trial = |kernel: &StoreEntry| Trial {
        work: work.clone(),
        variant: VariantArgs {
            machine: Some(case.machine.to_owned()),
            engine: vec![EngineName::of_kernel(&kernel.name)],
            plain,
            ..VariantArgs::default()
        },
        duration: case.span(),
        warmup: Nanos::from_millis(case.warmup_ms),
        vary: true,
    };
    Ok(kernels.each_ref().map(trial))
}

/// Keeps the figures that are compared, and those that nobody judges.
fn keep_main(observation: &mut Observation) {
    let mut judged = 0;
    observation.metrics.retain(|(metric, _)| {
        judged += usize::from(metric.better != MetricDirection::Neither);
        metric.better == MetricDirection::Neither || judged <= FIGURES
    });
}

/// What a worker says, without the lines that it breaks, and of the mix rather than of its file.
fn in_a_line(said: &str, mix: &str) -> String {
    said.replace(mix, "rt-app mix").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A case that is being repeated.
struct RunningCase<'a> {
    case: &'a PatchCase,
    trials: [Trial; 2],
    /// Why the kernels have not the whole machine.
    plain_because: Option<String>,
    arms: TrialArms<'static>,
    repetitions: Result<Repetitions, CliError>,
    took: Duration,
}

impl<'a> RunningCase<'a> {
    /// The first repetition is made whatever it takes: on the whole machine, if both kernels have all of it.
    fn begin(args: &PatchArgs, case: &'a PatchCase, kernels: &[StoreEntry; 2], mix: &str) -> Result<Self, CliError> {
        let whole = Self::begin_on(args, case, trials(case, kernels, mix, None)?);
        let Err(CliError::Input(because)) = &whole.repetitions else { return Ok(whole) };
        let priced = Self::begin_on(args, case, trials(case, kernels, mix, Some(Plain::Priced))?);
        let plain_because = because.lines().next().map(|line| in_a_line(line, mix));
        Ok(Self { plain_because: plain_because.filter(|_| priced.repetitions.is_ok()), ..priced })
    }

    fn begin_on(args: &PatchArgs, case: &'a PatchCase, trials: [Trial; 2]) -> Self {
        let runs = usize::try_from(2 * args.runs.unwrap_or_else(least)).unwrap_or(usize::MAX);
        let arms = TrialArms::new(trials.to_vec(), &[], false, Ok(runs)).having_to_end();
        let arms = if args.budget.is_some() { arms.quiet() } else { arms };
        let begun = Instant::now();
        let repetitions = repeat(&arms, args.seed..args.seed + 1, &|| true);
        Self { case, trials, plain_because: None, arms, repetitions, took: begun.elapsed() }
    }

    /// Repeats it, up to so often altogether.
    fn advance_case(&mut self, args: &PatchArgs, runs: u64, has_more: &(dyn Fn() -> bool + Sync)) {
        let Ok(repetitions) = &mut self.repetitions else { return };
        let begun = Instant::now();
        match repeat(&self.arms, args.seed + 1..args.seed + runs, has_more) {
            Ok(more) => repetitions.extend(more),
            Err(error) => self.repetitions = Err(error),
        }
        self.took += begun.elapsed();
        self.arms.finish();
    }

    /// What came of it.
    fn outcome(mut self, mix: &str) -> Result<CaseOutcome, CliError> {
        self.arms.finish();
        let mut outcome = CaseOutcome {
            machine: self.case.machine,
            load: self.case.load(),
            comparison: None,
            failure: None,
            left_out: None,
            first: None,
            plain_because: self.plain_because,
            warnings: self.arms.warnings().iter().map(|warning| in_a_line(warning, mix)).collect(),
            took: self.took,
        };
        match self.repetitions {
            Ok(repetitions) if repetitions.is_empty() => return Err(stopped()),
            Ok(mut repetitions) => {
                repetitions.iter_mut().flatten().for_each(keep_main);
                outcome.comparison =
                    Some(compare(&repetitions, ComparisonRules { level: level(), ..ComparisonRules::default() }));
            }
            Err(error @ CliError::Run(_)) => outcome.failure = Some(error.to_string()),
            Err(CliError::Input(what)) => outcome.left_out = Some(in_a_line(&what, mix)),
            Err(other) => return Err(other),
        }
        Ok(outcome)
    }
}

/// A first repetition that is not there was stopped.
fn stopped() -> CliError {
    match crate::interrupt::requested() {
        Some(signal) => CliError::Stopped { signal },
        None => CliError::run("a run was stopped"),
    }
}
