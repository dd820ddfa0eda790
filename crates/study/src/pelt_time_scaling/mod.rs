// SPDX-License-Identifier: GPL-2.0-or-later
//! The study `pelt-time-scaling`: what became of load tracking when it began to scale time instead of contributions.
//!
//! [`response`]: how fast utilisation rises. [`ramp`]: how fast schedutil gets to the highest frequency. [`ranges`]: between which
//! values the utilisation of periodic tasks moves. What the change saves in `perf bench sched pipe` and hackbench is data.

mod ramp;
mod ranges;
mod response;

use crate::definition::StudyDefinition;
use crate::report::StudyReport;
use crate::table_schema::TableSchema;
use crate::{ProgressReporter, StudyError, StudyOptions};

/// The tables.
pub(crate) const TABLES: &[TableSchema] = &[
    TableSchema::read(
        "response",
        |_, label| response::parse_label(label).is_some(),
        &["util_avg 972, full capacity", "util_avg 972, half capacity"],
    ),
    TableSchema::one_of("ramp", &["always-running task"]),
];

/// Runs the part of the study that is code: its tables have one CPU, whose kernel code is free, and one form.
pub(crate) fn run(
    study: &StudyDefinition,
    _choices: &StudyOptions,
    progress: &dyn ProgressReporter,
) -> Result<StudyReport, StudyError> {
    let tables = vec![response::table(study)?, ramp::table(study)?, ranges::table(study)?];
    progress.done("response times", 1.0);
    Ok(StudyReport { tables, ..StudyReport::of(study) })
}
