// SPDX-License-Identifier: GPL-2.0-or-later
//! Code of the study `blocked-averages-rate-limit`: how often the blocked load of tickless CPUs is updated,
//! and the cost of that.
//!
//! [`experiment`] runs schbench with inactive groups on the machine `sc7180`. [`scaling`] varies the number
//! of groups, the frequencies, HZ, costs and kernels.

mod experiment;
mod jobs;
mod scaling;

use crate::definition::{ChangeAs, RowDefinition, StudyDefinition};
use crate::error::StudyError;
use crate::options::StudyOptions;
use crate::progress::{ProgressReporter, ProgressSum};
use crate::report::{MeasuredFigure, ReportTable, StudyReport};
use crate::table_schema::TableSchema;
use experiment::ExperimentRun;
use fairlab_experiment::pool;
use fairlab_experiment::statistics::Statistic;
use jobs::{GROUPS, HZ, Job, percentile, run_all, usual};
use std::collections::BTreeMap;

/// 99th percentile of schbench as published before the change, in microseconds.
const PUBLISHED_99TH_US: f64 = 12_656.0;

/// Schemas of the tables that the code fills.
pub(crate) const TABLES: &[TableSchema] = &[
    TableSchema::one_of("calls", &["all CPUs", "CPU with most", "cfs_rqs visited"]),
    TableSchema::one_of("newidle", &["calls"]),
    TableSchema::one_of("visits", &["visits"]),
    TableSchema::one_of("schedule", &["longest schedule()"]),
    TableSchema::one_of(
        "schbench",
        &["50.0th", "75.0th", "90.0th", "95.0th", "99.0th", "99.5th", "99.9th", "min", "max"],
    ),
    TableSchema::one_of("effect", &["50.0th", "75.0th", "90.0th", "95.0th", "99.0th", "99.5th", "99.9th", "max"]),
    TableSchema::one_of("samples", &["samples"]),
    TableSchema::one_of("placing", &["slow", "slow, chosen otherwise", "chosen by energy"]),
    TableSchema::one_of("runs", &["three or more", "one or more", "99.0th as published before"]),
];

/// Fills the tables that have published values.
fn fill(study: &StudyDefinition, by_arm: &BTreeMap<&str, Vec<ExperimentRun>>) -> Vec<ReportTable> {
    let published = ["calls", "newidle", "visits", "schedule", "schbench", "samples", "placing", "runs"];
    let mut tables: Vec<ReportTable> = published
        .map(|name| ReportTable::fill(study.table(name), |row| measured(&by_arm[row.arm.as_str()], name, row)))
        .into();
    tables.insert(5, ReportTable::fill(study.table("effect"), |row| effect(by_arm, row)));
    tables
}

/// Fills all tables of the study.
pub(crate) fn run(
    study: &StudyDefinition,
    choices: &StudyOptions,
    progress: &dyn ProgressReporter,
) -> Result<StudyReport, StudyError> {
    let options = choices.options;
    let seeds = choices.seeds.unwrap_or(if options.quick { 11 } else { 101 });
    let jobs: Vec<Job> =
        study.arms.iter().flat_map(|arm| (0..seeds).map(move |seed| (arm.name.clone(), usual(seed)))).collect();
    let tally = ProgressSum::new(progress);
    let (found, scaling) = pool::both(
        || run_all(study, &jobs, || tally.add("schbench", 0.4 / jobs.len() as f64)),
        || scaling::tables(study, choices, &tally),
    )?;
    let mut by_arm: BTreeMap<&str, Vec<ExperimentRun>> = BTreeMap::new();
    for ((arm, _), found) in jobs.iter().zip(found) {
        by_arm.entry(arm).or_default().push(found);
    }
    let mut tables = fill(study, &by_arm);
    tables.extend(scaling);
    let pictures = scaling::pictures(study, &tables);
    let outputs = by_arm.iter().rev().map(|(arm, found)| (format!("schbench, {arm}, seed 0"), found[0].page.clone()));
    Ok(StudyReport { notes: notes(seeds), tables, outputs: outputs.collect(), pictures, ..StudyReport::of(study) })
}

/// Returns the change of a latency between the arms, in pairs of runs with the same seed.
fn effect(by_arm: &BTreeMap<&str, Vec<ExperimentRun>>, row: &RowDefinition) -> MeasuredFigure {
    let of_arm = |arm: &str| by_arm[arm].iter().map(|found| latency(found, &row.label)).collect::<Vec<f64>>();
    MeasuredFigure::change_of_runs(Statistic::Median, ChangeAs::Percent, &of_arm("before"), &of_arm("after"))
}

/// Returns the value of a row: the median over the seeds.
fn measured(found: &[ExperimentRun], table: &str, row: &RowDefinition) -> MeasuredFigure {
    if table == "runs" {
        let counts = |found: &&ExperimentRun| match row.label.as_str() {
            "three or more" => found.placing.slow() >= 3.0,
            "one or more" => found.placing.slow() >= 1.0,
            _ => percentile(found, "99.0th") >= PUBLISHED_99TH_US,
        };
        let nr_runs = found.iter().filter(counts).count();
        return MeasuredFigure::number((100.0 * nr_runs as f64 / found.len() as f64).round());
    }
    let figure = |found: &ExperimentRun| match (table, row.label.as_str()) {
        ("calls", "all CPUs") => found.calls_per_s,
        ("calls", "CPU with most") => found.calls_of_one_per_s,
        ("calls", _) => found.visits_per_s,
        ("newidle", _) => found.newidle_per_s,
        ("visits", _) => found.longest_visits as f64,
        ("schedule", _) => found.longest.0 as f64 / 1000.0,
        ("samples", _) => found.schbench.samples as f64,
        ("placing", "slow") => found.placing.slow(),
        ("placing", "slow, chosen otherwise") => found.placing.slow_otherwise(),
        ("placing", _) => found.placing.by_energy(),
        (_, label) => latency(found, label),
    };
    let measured = MeasuredFigure::median_of_runs(found.iter().map(figure).collect());
    match (table, row.arm.as_str()) {
        ("visits", "before") => measured.with_remark("the number of inactive groups is calibrated against this row"),
        ("calls", "before") if row.label == "all CPUs" => {
            measured.with_remark("how often services wake up is calibrated against this row")
        }
        ("calls", "after") if row.label == "all CPUs" => measured.with_remark(
            "the limit is one for each runqueue; what is published says what it allows, not what was counted in sum",
        ),
        ("schbench", "before") => match row.label.as_str() {
            "50.0th" => measured.with_remark("the small CPUs' exit latencies are calibrated against this row"),
            "90.0th" => measured
                .with_remark("the big CPUs' exit latencies and the services' work are calibrated against this row"),
            "75.0th" => {
                measured.with_remark("published is a latency of the big CPUs, which here have one sample of eight")
            }
            "99.0th" | "99.5th" | "99.9th" | "max" => {
                measured.with_remark("workers wait for a slice in few runs (table runs), and so not in the median one")
            }
            _ => measured,
        },
        ("placing", "before") if row.label == "slow" => {
            measured.with_remark("workers wait for a slice in few runs (table runs), and so not in the median one")
        }
        _ => measured,
    }
}

/// Returns the latency of a row by its label, in microseconds.
fn latency(found: &ExperimentRun, label: &str) -> f64 {
    match label {
        "min" => f64::from(found.schbench.min_us),
        "max" => f64::from(found.schbench.max_us),
        percent => percentile(found, percent),
    }
}

fn notes(seeds: u64) -> Vec<String> {
    vec![
        format!(
            "Machine sc7180 with its prices, schedutil, {HZ} ticks a second; schbench's form of 2020, all of its 5 s measured, {seeds} \
             seeds. Figures are medians over the seeds, spreads half the range."
        ),
        format!(
            "{GROUPS} inactive groups: in each one a task wakes up every 95 to 285 ms and runs for 100 us at full capacity; for more \
             than half a second after that its cfs_rq stays in its CPU's list of those with load."
        ),
    ]
}
