// SPDX-License-Identifier: GPL-2.0-or-later
//! One run of each arm, side by side.

use crate::args::compare::CompareArgs;
use crate::execution::trial::{Trial, share_costs};
use crate::output::figures::{cpus_named, percent, time};
use crate::output::progress::RunsProgress;
use crate::output::residency::kinds;
use crate::output::table::{Align, Cell, Table};
use crate::output::{Output, Styles, wrap};
use crate::values::arms::Arm;
use crate::values::error::CliError;
use crate::values::interrupt;
use fairlab_observe::families::FamilySummary;
use fairlab_observe::latency::LatencySummary;
use fairlab_observe::summary::RunSummary;
use fairlab_run::input::InputFile;
use fairlab_run::job::RunOutputs;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_run::values::Starts;
use fairlab_study::pool;
use serde::Serialize;

/// Task families with rows of their own.
const MAX_FAMILIES: usize = 12;

/// Schema of the JSON output: a list of [`ArmOutput`].
pub(crate) const SCHEMA: &str = "compare/2";

/// An arm with its result.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct ArmOutput<'a> {
    /// The arm, as it was given.
    arm: &'a str,
    /// Summary of its run.
    summary: RunSummary,
    /// Kernel code is free on its machine.
    #[serde(skip)]
    is_free: bool,
}

/// Runs each arm once and prints the results side by side.
pub(super) fn run_once(output: &mut Output, args: &CompareArgs, arms: &[Arm]) -> Result<(), CliError> {
    let Some(file) = &args.work.file else {
        let help = "give a workload file, or --bench 'LINE'";
        return Err(CliError::Input(format!("nothing is run\nhelp: {help}")));
    };
    // Once for all arms: what comes through a pipe can be read once only.
    let workload = WorkloadSpec::File(InputFile::new(file).read_workload()?);
    let mut base = RunSpec { workload, settings: args.work.settings.settings() };
    if args.vary {
        base.settings.starts = Starts::Jittered;
    }
    let mut trials: Vec<Trial> =
        arms.iter().map(|arm| Trial { spec: base.clone().with_changes(&arm.changes) }).collect();
    share_costs(&mut trials);
    trials.iter().try_for_each(|trial| trial.check(args.seed).map(drop))?;
    let progress = RunsProgress::new(arms.len());
    let whole = arms.len();
    let arms: Vec<(&Arm, Trial)> = arms.iter().zip(trials).collect();
    let outcomes = pool::all(arms, |(arm, trial)| {
        let summary = run_arm(args, arm, &trial, &progress)?;
        Ok::<_, CliError>(summary.map(|(summary, is_free)| ArmOutput { arm: &arm.name, summary, is_free }))
    });
    progress.clear();
    let outcomes: Vec<ArmOutput<'_>> = outcomes?.into_iter().flatten().collect();
    let stopped_by = interrupt::requested().filter(|_| outcomes.len() < whole);
    if stopped_by.is_some() && outcomes.is_empty() {
        return Err(super::no_repetition_error(output));
    }
    output.warn_all(&distinct_texts(&outcomes, |summary| summary.warnings.clone()))?;
    output.warn_all(&distinct_texts(&outcomes, RunSummary::uncommon_costs))?;
    let stopped = format!("stopped before the end, after {} of {whole} arms", outcomes.len());
    if output.is_json() {
        if stopped_by.is_some() {
            output.warn(&stopped)?;
        }
        output.json(&outcomes)?;
    } else {
        let mut text = stopped_by.map_or_else(String::new, |_| stopped + "\n");
        text.push_str(&result_text(&outcomes, output.styles()));
        output.text(&text)?;
    }
    stopped_by.map_or(Ok(()), |signal| Err(CliError::Stopped { signal }))
}

/// Returns texts of all arms without duplicates.
fn distinct_texts(outcomes: &[ArmOutput<'_>], texts_of: fn(&RunSummary) -> Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in outcomes.iter().flat_map(|outcome| texts_of(&outcome.summary)) {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

/// Returns a note about arms whose runs are identical to the first: such a change may not have taken effect.
fn identical_arms_note(outcomes: &[ArmOutput<'_>]) -> Option<String> {
    let first = outcomes.first()?;
    let same = |outcome: &&ArmOutput<'_>| outcome.summary.digest == first.summary.digest;
    let alike: Vec<&str> = outcomes[1..].iter().filter(same).map(|outcome| outcome.arm).collect();
    if alike.is_empty() {
        return None;
    }
    let arms = alike.join("`, `");
    Some(format!("`{arms}` made no difference: the run is identical to that of `{}` in every event", first.arm))
}

/// Runs an arm. Returns its summary and whether kernel code had no cost; nothing if a signal stopped it.
fn run_arm(
    args: &CompareArgs,
    arm: &Arm,
    trial: &Trial,
    progress: &RunsProgress,
) -> Result<Option<(RunSummary, bool)>, CliError> {
    if interrupt::requested().is_some() {
        return Ok(None);
    }
    let mut outputs = RunOutputs::of_summary();
    args.exports.of_run(&arm.name).add_to(&mut outputs);
    match trial.run_with_traces(args.seed, &outputs, &mut |length, more| progress.add(length, more)) {
        Err(CliError::Stopped { .. }) => Ok(None),
        result => result.map(|result| Some((result.summary, result.has_zero_costs))),
    }
}

/// A row: what it is about, its value in each arm as a number, and how such a number is written.
struct MetricValues {
    name: String,
    values: Vec<Option<u64>>,
    show: fn(u64) -> String,
}

fn result_text(outcomes: &[ArmOutput<'_>], styles: Styles) -> String {
    let first = &outcomes[0].summary;
    let line = format!(
        "{}: {} on {}, {} simulated{}",
        styles.bold(&first.run.workload),
        first.run.kind,
        if first.run.machine == "scenario" { "its own machine" } else { first.run.machine.as_str() },
        time(first.duration_ns),
        zero_cost_note(outcomes)
    );
    let mut text = wrap(&line, 2);
    for assumption in distinct_texts(outcomes, |summary| summary.assumptions.clone()) {
        text.push_str(&wrap(&assumption, 2));
    }
    text.push('\n');
    let mut columns = vec![("", Align::Left)];
    columns.extend(outcomes.iter().map(|outcome| (outcome.arm, Align::Right)));
    columns.push(("change", Align::Right));
    let mut table = Table::new(&columns);
    for metric in metrics(outcomes) {
        let mut cells: Vec<Cell> = vec![metric.name.as_str().into()];
        let cell =
            |value: &Option<u64>| value.map_or_else(|| Cell::from("-").quiet(), |value| (metric.show)(value).into());
        cells.extend(metric.values.iter().map(cell));
        cells.push(change(&metric.values).into());
        table.row(cells);
    }
    text.push_str(&table.render(styles));
    text.push_str(&identical_arms_note(outcomes).map_or_else(String::new, |line| wrap(&line, 2)));
    if first.energy.as_ref().is_some_and(|energy| energy.idle_uj.is_none()) {
        text.push_str("energy of idle CPUs is not modelled: the machine does not say what its idle states draw\n");
    }
    text
}

/// Returns a note about arms in which kernel code has no cost.
fn zero_cost_note(outcomes: &[ArmOutput<'_>]) -> String {
    let free: Vec<&str> = outcomes.iter().filter(|outcome| outcome.is_free).map(|outcome| outcome.arm).collect();
    match free.len() {
        0 => String::new(),
        all if all == outcomes.len() => "; kernel code is free here".to_owned(),
        _ => format!("; kernel code is free in `{}`", free.join("`, `")),
    }
}

/// From the first arm to the last, in percent.
fn change(values: &[Option<u64>]) -> String {
    match (values.first().copied().flatten(), values.last().copied().flatten()) {
        (Some(from), Some(to)) if from > 0 => format!("{:+.1}%", 100.0 * (to as f64 / from as f64 - 1.0)),
        (Some(0), Some(0)) => "0.0%".to_owned(),
        _ => String::new(),
    }
}

fn metrics(outcomes: &[ArmOutput<'_>]) -> Vec<MetricValues> {
    let mut rows = Vec::new();
    let mut row = |name: String, show: fn(u64) -> String, value: &dyn Fn(&RunSummary) -> Option<u64>| {
        let values: Vec<Option<u64>> = outcomes.iter().map(|outcome| value(&outcome.summary)).collect();
        if values.iter().any(Option::is_some) {
            rows.push(MetricValues { name, values, show });
        }
    };
    let first = &outcomes[0].summary;
    row("energy, busy".to_owned(), joules, &|summary| Some(summary.energy.as_ref()?.busy_uj));
    for (place, domain) in first.energy.iter().flat_map(|energy| energy.domains.iter().enumerate()) {
        let name = format!("  {}", cpus_named(&domain.cpus));
        row(name, joules, &|summary| Some(summary.energy.as_ref()?.domains.get(place)?.busy_uj));
    }
    row("energy, idle".to_owned(), joules, &|summary| summary.energy.as_ref()?.idle_uj);
    row("CPU time".to_owned(), time, &|summary| Some(summary.totals.busy_ns));
    row("waiting".to_owned(), time, &|summary| Some(summary.totals.wait_ns));
    for family in first.families.iter().take(MAX_FAMILIES) {
        let of = |summary: &RunSummary| summary.families.iter().find(|other| other.name == family.name).cloned();
        let latency = |summary: &RunSummary, what: fn(&LatencySummary) -> u64| Some(what(&of(summary)?.wake_to_run?));
        row(format!("{}: wake to run p50", family.name), time, &|summary| latency(summary, |latency| latency.p50_ns));
        row(format!("{}: p99", family.name), time, &|summary| latency(summary, |latency| latency.p99_ns));
        row(format!("{}: max", family.name), time, &|summary| latency(summary, |latency| latency.max_ns));
        row(format!("{}: queued p99", family.name), time, &|summary| Some(of(summary)?.wakeup_latency?.p99_ns));
        let missed = |family: &FamilySummary| family.timers.as_ref().map(|timers| timers.missed);
        row(format!("{}: fairness", family.name), index, &|summary| of(summary)?.fairness_ppm);
        row(format!("{}: timers missed", family.name), count, &|summary| missed(&of(summary)?));
        for cpus in cpu_kinds(family) {
            row(format!("{}: on {}", family.name, cpus_named(cpus)), millionths, &|summary| {
                let residency = of(summary)?.residency?;
                let whole: u64 = residency.points.iter().map(|point| point.ns).sum();
                Some((u128::from(residency.on(cpus)) * 1_000_000 / u128::from(whole.max(1))) as u64)
            });
        }
    }
    row("fairness".to_owned(), index, &|summary| summary.totals.fairness_ppm);
    row("migrations".to_owned(), count, &|summary| Some(summary.totals.migrations));
    row("switches".to_owned(), count, &|summary| Some(summary.totals.switches));
    row("CPUs scanned".to_owned(), hundredths, &|summary| {
        let selection = &summary.selection;
        (has_decisions(summary) && selection.wakeups > 0).then(|| 100 * selection.cpus_scanned / selection.wakeups)
    });
    row("nohz kicks".to_owned(), count, &|summary| has_decisions(summary).then_some(summary.balance.kicks));
    rows
}

/// Whether a run has decisions; a compiled-kernel engine has none.
fn has_decisions(summary: &RunSummary) -> bool {
    summary.engine.is_none()
}

/// The kinds of CPUs, where there are several capacities.
fn cpu_kinds(family: &FamilySummary) -> Vec<&[u32]> {
    let kinds = family.residency.as_ref().map(kinds).unwrap_or_default();
    let differ = kinds.iter().any(|(_, capacity)| *capacity != kinds[0].1);
    kinds.into_iter().filter(|_| differ).map(|(cpus, _)| cpus).collect()
}

fn joules(uj: u64) -> String {
    format!("{:.3} J", uj as f64 / 1e6)
}

/// Formats Jain's fairness index, which is given in millionths, from 0 to 1.
fn index(ppm: u64) -> String {
    format!("{:.4}", ppm as f64 / 1e6)
}

fn hundredths(number: u64) -> String {
    format!("{:.2}", number as f64 / 100.0)
}

fn count(number: u64) -> String {
    number.to_string()
}

fn millionths(part: u64) -> String {
    format!("{}%", percent(part, 1_000_000))
}
