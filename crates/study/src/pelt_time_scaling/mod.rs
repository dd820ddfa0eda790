// SPDX-License-Identifier: GPL-2.0-or-later
//! Code of the study `pelt-time-scaling`: the effects of scaling time instead of contributions in load
//! tracking.
//!
//! [`response`] measures how fast utilisation rises, [`ramp`] how fast schedutil reaches the highest
//! frequency, and [`ranges`] the range of periodic tasks' utilisation. The effects on `perf bench sched pipe`
//! and hackbench are in the study's data.

mod ramp;
mod ranges;
mod response;

use crate::definition::StudyDefinition;
use crate::error::StudyError;
use crate::options::StudyOptions;
use crate::progress::ProgressReporter;
use crate::report::StudyReport;
use crate::table_schema::TableSchema;

/// Schemas of the tables that the code fills.
pub(crate) const TABLES: &[TableSchema] = &[
    TableSchema::read(
        "response",
        |_, label| response::parse_label(label).is_some(),
        &["util_avg 972, full capacity", "util_avg 972, half capacity"],
    ),
    TableSchema::one_of("ramp", &["always-running task"]),
];

/// Fills the tables of the study that need code. They use one CPU without costs of kernel code, and have no
/// quick form.
pub(crate) fn run(
    study: &StudyDefinition,
    _choices: &StudyOptions,
    progress: &dyn ProgressReporter,
) -> Result<StudyReport, StudyError> {
    let tables = vec![response::table(study)?, ramp::table(study)?, ranges::table(study)?];
    progress.done("response times", 1.0);
    Ok(StudyReport { tables, ..StudyReport::of(study) })
}
