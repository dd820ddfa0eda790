// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab patch`: what a patch to a kernel tree changes, on a fleet of machines.
//!
//! 1. Both kernels are built, or found ([`kernels`]).
//! 2. Each case of the fleet ([`fleet`]) is an experiment: the two are arms, with the seeds and statistics of `fairlab compare`. The level of the tests
//!    is divided by the number of cases.
//! 3. In cases that are not the same in every event, the first one that differs is looked for ([`first`]).
//! 4. The patched kernel runs each case once more with lines that are counted: what of the patch no run has reached is told.
//! 5. A kernel that does not come back in a case is a result of that case.

pub(crate) mod args;
mod first;
mod fleet;
pub(crate) mod kernels;
mod report;

use crate::args::{Plain, VariantArgs};
use crate::cmd::compare::trials::TrialArms;
use crate::error::CliError;
use crate::input;
use crate::output::Output;
use crate::trial::{Trial, Work};
use crate::values::EngineName;
use args::PatchArgs;
use fairlab_kernel::store::Entry;
use fairlab_study::experiment::comparison::{Comparison, Rules, compare};
use fairlab_study::experiment::metrics::Better;
use fairlab_study::experiment::rank::enough;
use fairlab_study::experiment::{Observation, repeat};
use first::First;
use fleet::{Case, FLEET, Load, MIX};
use report::Report;
use serde::Serialize;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So many figures of a case are compared: its main ones.
const FIGURES: usize = 2;
/// Differences may be found in this part of all comparisons in which there is none.
const LEVEL: f64 = 0.05;
/// No budget has more repetitions than this.
const MOST_RUNS: u64 = 1000;
/// Exit status: something became worse.
const WORSE: u8 = 1;

/// What came of a case.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) machine: &'static str,
    pub(crate) load: &'static str,
    /// The two beside each other, if both came back.
    pub(crate) comparison: Option<Comparison>,
    /// Why one did not.
    pub(crate) failure: Option<String>,
    /// Why it could not be run with such kernels.
    pub(crate) left_out: Option<String>,
    /// Where they first differ, if that was looked for.
    pub(crate) first: Option<First>,
    /// Lines that kernels printed.
    pub(crate) warnings: Vec<String>,
}

/// Runs the command.
pub(crate) fn patch(output: &mut Output, args: &PatchArgs) -> Result<(), CliError> {
    args.jobs.apply();
    let cases: Vec<&Case> =
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
    let begun = Instant::now();
    let built_here = kernels::kernels(output, args).map_err(not_run)?;
    let kernels = &built_here.kernels;
    let covered = kernels::covered(output, args, &built_here).map_err(not_run)?;
    let built = begun.elapsed();
    let mix_file = mix_file()?;
    let mix = mix_file.path().to_str().unwrap_or_default();
    let mut outcomes = Vec::new();
    for (nr, case) in cases.iter().enumerate() {
        let left = args.budget.map(|budget| Duration::from_nanos(budget.0).saturating_sub(begun.elapsed()));
        let share = left.map(|left| left / u32::try_from(cases.len() - nr).unwrap_or(1));
        let mut outcome = run(args, case, kernels, mix, share).map_err(not_run)?;
        let is_wanted = outcomes.iter().filter(|outcome: &&Outcome| outcome.first.is_some()).count() < args.differences;
        if is_wanted && outcome.comparison.as_ref().is_some_and(|comparison| !comparison.identical[0]) {
            let [base, patched] = trials(case, kernels, mix)?;
            outcome.first = first::first(&base, &patched, args.seed)?;
        }
        if let Some((kernel, _)) = &covered {
            let [_, mut patched] = trials(case, kernels, mix)?;
            patched.variant.engine = vec![EngineName::of_kernel(&kernel.name)];
            // A kernel that does not come back has been told of; what it has reached until then is lost.
            let _told = patched.run(Some(args.seed), &mut |_, _| {});
        }
        outcomes.push(outcome);
    }
    let coverage = covered.map(|(_, covered)| covered.end()).transpose()?;
    let report = Report { kernels, outcomes, coverage, built, took: begun.elapsed() };
    if output.is_json() {
        output.json(&report)?;
    } else {
        output.text(&report.text())?;
    }
    if report.outcomes.iter().all(|outcome| outcome.left_out.is_some()) {
        return Err(CliError::Input("no case could be run with these kernels: see why above".to_owned()));
    }
    if report.is_worse() { Err(CliError::Told { status: WORSE }) } else { Ok(()) }
}

/// Whatever keeps it from being run has the status of wrong input.
fn not_run(error: CliError) -> CliError {
    match error {
        CliError::Run(message) => CliError::Input(message),
        other => other,
    }
}

/// The mix as a file, which workers read.
fn mix_file() -> Result<tempfile::NamedTempFile, CliError> {
    let failed = |error: std::io::Error| CliError::run(format!("a temporary file: {error}"));
    let mut file = tempfile::Builder::new().prefix("mix-").suffix(".json").tempfile().map_err(failed)?;
    file.write_all(MIX.as_bytes()).map_err(failed)?;
    Ok(file)
}

/// A case with each kernel.
fn trials(case: &Case, kernels: &[Entry; 2], mix: &str) -> Result<[Trial; 2], CliError> {
    let work = match case.load {
        Load::Mix => Work::File(Arc::new(input::workload(mix)?)),
        Load::Bench(line) => Work::Bench(line.to_owned()),
    };
    let trial = |kernel: &Entry| Trial {
        work: work.clone(),
        variant: VariantArgs {
            machine: Some(case.machine.to_owned()),
            engine: vec![EngineName::of_kernel(&kernel.name)],
            plain: Some(Plain::Priced),
            ..VariantArgs::default()
        },
        duration: case.span(),
        warmup: fairlab_sched::units::Nanos::from_millis(case.warmup_ms),
        vary: true,
    };
    Ok(kernels.each_ref().map(trial))
}

/// Keeps the figures that are compared, and those that nobody judges.
fn keep_main(observation: &mut Observation) {
    let mut judged = 0;
    observation.metrics.retain(|(metric, _)| {
        judged += usize::from(metric.better != Better::Neither);
        metric.better == Better::Neither || judged <= FIGURES
    });
}

/// What a worker says, without the lines that it breaks, and of the mix rather than of its file.
fn in_a_line(said: &str, mix: &str) -> String {
    said.replace(mix, "rt-app mix").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs a case, so often or for so long.
fn run(
    args: &PatchArgs,
    case: &Case,
    kernels: &[Entry; 2],
    mix: &str,
    share: Option<Duration>,
) -> Result<Outcome, CliError> {
    let trials = trials(case, kernels, mix)?;
    let level = LEVEL / FLEET.len() as f64;
    let least = enough(FIGURES, level) as u64;
    let runs = args.runs.unwrap_or_else(|| if share.is_some() { MOST_RUNS } else { least });
    let telling = share.map_or(Ok(2 * runs as usize), Err);
    let mut arms = TrialArms::new(trials.into(), &[], false, telling).having_to_end();
    let begun = Instant::now();
    let goes_on = || share.is_none_or(|share| begun.elapsed() < share);
    let mut outcome = Outcome {
        machine: case.machine,
        load: case.load(),
        comparison: None,
        failure: None,
        left_out: None,
        first: None,
        warnings: Vec::new(),
    };
    // The first repetition is made whatever it takes.
    let repetitions = repeat(&arms, args.seed..args.seed + 1, &|| true).and_then(|mut first| {
        first.extend(repeat(&arms, args.seed + 1..args.seed + runs, &goes_on)?);
        Ok(first)
    });
    arms.finish();
    outcome.warnings = arms.warnings().iter().map(|warning| in_a_line(warning, mix)).collect();
    match repetitions {
        Ok(mut repetitions) => {
            repetitions.iter_mut().flatten().for_each(keep_main);
            outcome.comparison = Some(compare(&repetitions, Rules { level, ..Rules::default() }));
        }
        Err(error @ CliError::Run(_)) => outcome.failure = Some(error.to_string()),
        Err(CliError::Input(what)) => outcome.left_out = Some(in_a_line(&what, mix)),
        Err(other) => return Err(other),
    }
    Ok(outcome)
}
