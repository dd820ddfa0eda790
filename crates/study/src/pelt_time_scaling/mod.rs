// SPDX-License-Identifier: GPL-2.0-or-later
//! The study `pelt-time-scaling`: what became of load tracking when it began to scale time instead of contributions.
//!
//! [`response`]: how fast utilisation rises. [`ramp`]: how fast schedutil gets to the highest frequency. [`ranges`]: between which
//! values the utilisation of periodic tasks moves. [`cost`]: what the change saves in `perf bench sched pipe` and hackbench.

mod cost;
mod ramp;
mod ranges;
mod response;

use crate::definition::StudyDefinition;
use crate::forms::TableForm;
use crate::pool;
use crate::report::Report;
use crate::tally::Tally;
use crate::{Options, Progress, StudyError};

/// Where a benchmark runs, as rows are called.
const LEVELS: &[&str] = &["root", "level 1", "level 2"];

/// The tables.
pub(crate) const TABLES: &[TableForm] = &[
    TableForm::read(
        "response",
        |_, label| response::parse_label(label).is_some(),
        &["util_avg 972, full capacity", "util_avg 972, half capacity"],
    ),
    TableForm::one_of("ramp", &["always-running task"]),
    TableForm::one_of("pipe", LEVELS),
    TableForm::one_of("pipe gain", LEVELS),
    TableForm::one_of("hackbench", LEVELS),
    TableForm::one_of("hackbench gain", LEVELS),
    TableForm::own("prices"),
];

/// The part of the study that tables without benchmarks take.
const PART_OF_ONE_CPU: f64 = 0.1;

/// Runs the study.
pub(crate) fn run(study: &StudyDefinition, options: Options, progress: &dyn Progress) -> Result<Report, StudyError> {
    let tally = Tally::new(progress);
    let of_one_cpu = || {
        let tables = vec![response::table(study)?, ramp::table(study)?, ranges::table(study)?];
        tally.add("response times", PART_OF_ONE_CPU);
        Ok::<_, StudyError>(tables)
    };
    let (mut tables, (cost, mut notes)) = pool::both(of_one_cpu, || cost::tables(study, options, &tally))?;
    tables.extend(cost);
    notes.insert(0, "Tables response, ramp and ranges: one deterministic run per row, kernel code free.".to_owned());
    Ok(Report {
        study: study.name.clone(),
        title: study.title.clone(),
        source: study.source.clone(),
        notes,
        tables,
        outputs: Vec::new(),
        pictures: Vec::new(),
    })
}
