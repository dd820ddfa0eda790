// SPDX-License-Identifier: GPL-2.0-or-later
//! How calls and the longest `schedule()` depend on the number of inactive groups, on frequency, and on HZ.

use super::experiment::{Case, Found};
use super::{GROUPS, HZ, Job, run_all};
use crate::definition::{RowDefinition, StudyDefinition, TableDefinition, VerdictRule};
use crate::report::{Measured, Table};
use crate::{Options, Progress, StudyError};

/// Numbers of groups.
const NUMBERS: [u32; 6] = [0, 40, 80, 160, 320, 640];
/// Places of frequencies, from the lowest on, that both kinds of CPU have.
const PLACES: [usize; 5] = [0, 2, 4, 6, 9];
/// Their values on the small CPUs, in MHz.
const MHZ: [u32; 5] = [300, 768, 1248, 1516, 1804];

/// A question: its name and title, and the cases with their labels.
struct Axis {
    name: &'static str,
    title: &'static str,
    cases: Vec<(String, Case)>,
}

fn axes() -> [Axis; 3] {
    let case = Case { hz: HZ, groups: GROUPS, fixed: None, seed: 0 };
    let groups = NUMBERS.map(|groups| (format!("{groups} groups"), Case { groups, ..case }));
    let frequencies =
        std::iter::zip(PLACES, MHZ).map(|(place, mhz)| (format!("{mhz} MHz"), Case { fixed: Some(place), ..case }));
    let rates = [250, 1000].map(|hz| (format!("HZ {hz}"), Case { hz, ..case }));
    [
        Axis { name: "groups", title: "By the number of inactive groups", cases: groups.into() },
        Axis {
            name: "frequency",
            title: "By frequency, which stays (of the small CPUs; the big ones have theirs of the same place)",
            cases: frequencies.collect(),
        },
        Axis { name: "hz", title: "By ticks a second", cases: rates.into() },
    ]
}

/// What is told of each case, with its unit.
const FIGURES: [(&str, &str); 4] = [
    ("longest schedule()", "us"),
    ("calls for tickless CPUs", "1/s"),
    ("schbench 50.0th", "us"),
    ("schbench 99.0th", "us"),
];

fn figure(found: &Found, which: usize) -> f64 {
    match which {
        0 => found.longest.0 as f64 / 1000.0,
        1 => found.calls_per_s,
        2 => super::percentile(found, "50.0th"),
        _ => super::percentile(found, "99.0th"),
    }
}

pub(super) fn tables(
    study: &StudyDefinition,
    options: Options,
    progress: &dyn Progress,
) -> Result<Vec<Table>, StudyError> {
    let seeds = if options.quick { 3 } else { 11 };
    axes()
        .into_iter()
        .enumerate()
        .map(|(place, axis)| {
            let begun = 0.6 + 0.4 * place as f64 / 3.0;
            let mut rows: Vec<(String, String)> = Vec::new();
            let mut jobs: Vec<Job> = Vec::new();
            for (label, case) in &axis.cases {
                for arm in &study.arms {
                    rows.push((label.clone(), arm.name.clone()));
                    jobs.extend((0..seeds).map(|seed| (arm.name.clone(), Case { seed, ..*case })));
                }
            }
            let nr_jobs = jobs.len() as f64;
            let found =
                run_all(study, &jobs, &|done| progress.done(axis.name, begun + 0.4 / 3.0 * done as f64 / nr_jobs))?;
            Ok(table(&axis, &rows, &found, seeds as usize))
        })
        .collect()
}

fn table(axis: &Axis, rows: &[(String, String)], found: &[Found], seeds: usize) -> Table {
    let mut table = Table { name: axis.name.to_owned(), title: axis.title.to_owned(), rows: Vec::new() };
    for (which, (metric, unit)) in FIGURES.into_iter().enumerate() {
        let definition = TableDefinition {
            name: axis.name.to_owned(),
            title: axis.title.to_owned(),
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            verdict: VerdictRule::default(),
            rows: Vec::new(),
        };
        for ((label, arm), found) in rows.iter().zip(found.chunks(seeds)) {
            let row =
                RowDefinition { label: format!("{metric}, {label}"), arm: arm.clone(), published: None, verdict: None };
            let measured = Measured::median_of_runs(found.iter().map(|found| figure(found, which)).collect());
            table.rows.push(crate::report::Row::new(&definition, &row, measured));
        }
    }
    table
}
