// SPDX-License-Identifier: GPL-2.0-or-later
//! Dependence of the number of calls, the longest `schedule()` and slow samples on the number of inactive
//! groups, the frequency, HZ, the costs of kernel code, the energy model, and changes of later kernels.

use super::experiment::{ExperimentCase, ExperimentRun, MachineChange};
use super::jobs::{Job, percentile, run_all, usual};
use crate::definition::{RowDefinition, StudyDefinition, TableDefinition};
use crate::error::StudyError;
use crate::options::StudyOptions;
use crate::progress::ProgressSum;
use crate::report::{MeasuredFigure, ReportTable};
use fairlab_experiment::charts::{Chart, lines};
use fairlab_experiment::pool;

/// Numbers of inactive groups.
const NUMBERS: [u32; 6] = [0, 25, 50, 100, 200, 400];
/// Indices of frequencies, from the lowest, that both kinds of CPU have.
const PLACES: [usize; 5] = [0, 2, 4, 6, 9];
/// Frequencies of the small CPUs at these indices, in MHz.
const MHZ: [u32; 5] = [300, 768, 1248, 1516, 1804];

/// Changes of the costs of kernel code.
const PRICES: [(&str, MachineChange); 3] = [
    ("as they are", MachineChange::None),
    ("visits free", MachineChange::BlockedFree),
    ("all free", MachineChange::AllFree),
];
/// Kernels: 5.4, and 5.4 with some of the later changes.
const KERNELS: [(&str, &[(&str, i64)]); 5] = [
    ("5.4", &[]),
    ("no energy margin", &[("energy_margin", 0)]),
    ("energy of 6.1", &[("energy_margin", 0), ("energy_sum", 0), ("energy_mw", 0), ("energy_inefficient", 0)]),
    ("wakelist of 6.0", &[("wakelist_far", 0)]),
    (
        "both of 6.1",
        &[("energy_margin", 0), ("energy_sum", 0), ("energy_mw", 0), ("energy_inefficient", 0), ("wakelist_far", 0)],
    ),
];
/// Energy models: none, and coefficients as in the device tree of 6.1, 137 and 480 instead of 100 and 405.
const POWERS: [(&str, MachineChange); 5] = [
    ("as they are", MachineChange::None),
    ("none", MachineChange::NoPowers),
    ("as in 6.1", MachineChange::Powers(1.37, 480.0 / 405.0)),
    ("big 20 % less", MachineChange::Powers(1.0, 0.8)),
    ("big 20 % more", MachineChange::Powers(1.0, 1.2)),
];

/// Varied setting: the table's name and title, and the cases with their labels.
struct Axis {
    name: &'static str,
    title: &'static str,
    cases: Vec<(String, ExperimentCase)>,
}

fn axes() -> [Axis; 6] {
    let case = usual(0);
    let changed = |(label, change): (&str, MachineChange)| (label.to_owned(), ExperimentCase { change, ..case });
    let groups = NUMBERS.map(|groups| (format!("{groups} groups"), ExperimentCase { groups, ..case }));
    let frequencies = std::iter::zip(PLACES, MHZ)
        .map(|(place, mhz)| (format!("{mhz} MHz"), ExperimentCase { fixed: Some(place), ..case }));
    let rates = [250, 1000].map(|hz| (format!("HZ {hz}"), ExperimentCase { hz, ..case }));
    [
        Axis {
            name: "groups",
            title: "By the number of inactive groups: longest schedule(), calls for tickless CPUs, latencies, samples of 10 ms or more",
            cases: groups.into(),
        },
        Axis {
            name: "frequency",
            title: "By frequency, which stays (of the small CPUs; the big ones have theirs of the same place)",
            cases: frequencies.collect(),
        },
        Axis { name: "hz", title: "By ticks a second", cases: rates.into() },
        Axis {
            name: "kernel time",
            title: "By what kernel code costs: is it newly-idle work that makes workers wait?",
            cases: PRICES.map(changed).into(),
        },
        Axis {
            name: "powers",
            title: "By the energy model: its coefficients have changed since",
            cases: POWERS.map(changed).into(),
        },
        Axis {
            name: "kernels",
            title: "By what 5.4 did not have yet: how energy is estimated, and who enqueues a task on an idle CPU",
            cases: KERNELS.map(|(label, set)| (label.to_owned(), ExperimentCase { set, ..case })).into(),
        },
    ]
}

/// Draws the longest `schedule()` against the number of groups and against frequency.
pub(super) fn pictures(study: &StudyDefinition, tables: &[ReportTable]) -> Vec<Chart> {
    let groups = NUMBERS.map(f64::from);
    let mhz = MHZ.map(f64::from);
    [("groups", "inactive groups", &groups[..]), ("frequency", "MHz of the small CPUs", &mhz[..])]
        .into_iter()
        .filter_map(|(name, unit, places)| {
            let table = tables.iter().find(|table| table.name == name)?;
            // The rows of the first metric come first, one for each arm at each place.
            let nr_arms = study.arms.len();
            let arms: Vec<_> = study
                .arms
                .iter()
                .enumerate()
                .map(|(arm, definition)| {
                    let rows = table.rows.iter().skip(arm).step_by(nr_arms);
                    let points = places.iter().zip(rows).filter_map(|(&place, row)| Some((place, row.value.number()?)));
                    (definition.name.as_str(), points.collect())
                })
                .collect();
            let (name, title) = (format!("blocked-averages-{name}"), format!("Longest schedule(), by {unit}"));
            Some(lines(&name, &title, (unit, "us"), &arms))
        })
        .collect()
}

/// Metrics that are reported for each case, with their units.
const FIGURES: [(&str, &str); 6] =
    [("longest", "us"), ("calls", "1/s"), ("50.0th", "us"), ("99.0th", "us"), ("slow", "samples"), ("slow runs", "%")];

fn figure(found: &ExperimentRun, which: usize) -> f64 {
    match which {
        0 => found.longest.0 as f64 / 1000.0,
        1 => found.calls_per_s,
        2 => percentile(found, "50.0th"),
        3 => percentile(found, "99.0th"),
        4 => found.placing.slow(),
        _ => f64::from(found.placing.slow() >= 3.0) * 100.0,
    }
}

pub(super) fn tables(
    study: &StudyDefinition,
    choices: &StudyOptions,
    tally: &ProgressSum<'_>,
) -> Result<Vec<ReportTable>, StudyError> {
    let seeds = if choices.options.quick { 5 } else { 31 };
    let axes: Vec<Axis> = axes().into_iter().filter(|axis| choices.wants(axis.name)).collect();
    let part = 0.6 / axes.len().max(1) as f64;
    pool::all(axes, |axis| {
        let mut rows: Vec<(String, String)> = Vec::new();
        let mut jobs: Vec<Job> = Vec::new();
        for (label, case) in &axis.cases {
            for arm in &study.arms {
                rows.push((label.clone(), arm.name.clone()));
                jobs.extend((0..seeds).map(|seed| (arm.name.clone(), ExperimentCase { seed, ..*case })));
            }
        }
        let found = run_all(study, &jobs, || tally.add(axis.name, part / jobs.len() as f64))?;
        Ok(table(&axis, &rows, &found, seeds as usize))
    })
}

/// Returns the percentage of runs: a mean without its range, which has no meaning here.
fn share_of_runs(figures: Vec<f64>) -> MeasuredFigure {
    MeasuredFigure::number((figures.iter().sum::<f64>() / figures.len() as f64).round())
}

fn table(axis: &Axis, rows: &[(String, String)], found: &[ExperimentRun], seeds: usize) -> ReportTable {
    let mut table = ReportTable { name: axis.name.to_owned(), title: axis.title.to_owned(), rows: Vec::new() };
    for (which, (metric, unit)) in FIGURES.into_iter().enumerate() {
        let definition = TableDefinition {
            name: axis.name.to_owned(),
            title: axis.title.to_owned(),
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            ..TableDefinition::default()
        };
        for ((label, arm), found) in rows.iter().zip(found.chunks(seeds)) {
            let row = RowDefinition::unpublished(format!("{metric}, {label}"), arm);
            let figures = found.iter().map(|found| figure(found, which)).collect();
            let measured = if unit == "%" { share_of_runs(figures) } else { MeasuredFigure::median_of_runs(figures) };
            table.rows.push(crate::report::ReportRow::new(&definition, &row, measured));
        }
    }
    table
}
