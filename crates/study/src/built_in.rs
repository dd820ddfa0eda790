// SPDX-License-Identifier: GPL-2.0-or-later
//! Studies that are part of fairlab.

use crate::definition::StudyDefinition;
use crate::error::StudyError;
use crate::options::StudyOptions;
use crate::progress::ProgressReporter;
use crate::report::StudyReport;
use crate::table_schema::{self, TableSchema};
use crate::{blocked_averages_rate_limit, pelt_time_scaling, sis_util};
use fairlab_workload::message::Message;

type StudyBody = fn(&StudyDefinition, &StudyOptions, &dyn ProgressReporter) -> Result<StudyReport, StudyError>;

/// Study that is part of fairlab: its data, and the code that fills the tables whose rows name no metric.
#[derive(Clone, Copy)]
pub(crate) struct BuiltInStudy {
    pub(crate) name: &'static str,
    pub(crate) data: &'static str,
    pub(crate) forms: &'static [TableSchema],
    pub(crate) body: Option<StudyBody>,
    /// Options of runs that the code in `body` does not support.
    pub(crate) refused: &'static [&'static str],
}

pub(crate) const STUDIES: &[BuiltInStudy] = &[
    BuiltInStudy {
        name: "pelt-time-scaling",
        data: include_str!("../../../studies/pelt-time-scaling.toml"),
        forms: pelt_time_scaling::TABLES,
        body: Some(pelt_time_scaling::run),
        refused: &["--seeds", "--span", "--machine"],
    },
    BuiltInStudy {
        name: "sis-util",
        data: include_str!("../../../studies/sis-util.toml"),
        forms: sis_util::TABLES,
        body: Some(sis_util::run),
        refused: &["--span", "--machine"],
    },
    BuiltInStudy {
        name: "blocked-averages-rate-limit",
        data: include_str!("../../../studies/blocked-averages-rate-limit.toml"),
        forms: blocked_averages_rate_limit::TABLES,
        body: Some(blocked_averages_rate_limit::run),
        refused: &["--span", "--machine"],
    },
    BuiltInStudy::of_data("balance-redo-limit", include_str!("../../../studies/balance-redo-limit.toml")),
    BuiltInStudy::of_data("nohz-misfit-kicks", include_str!("../../../studies/nohz-misfit-kicks.toml")),
    BuiltInStudy::of_data("wakelist-idle", include_str!("../../../studies/wakelist-idle.toml")),
    BuiltInStudy::of_data("newidle-migration-cost", include_str!("../../../studies/newidle-migration-cost.toml")),
];

impl BuiltInStudy {
    /// Creates a study that consists of data alone.
    const fn of_data(name: &'static str, data: &'static str) -> Self {
        Self { name, data, forms: &[], body: None, refused: &[] }
    }

    /// Path of the study's file, as messages show it.
    pub(crate) fn file(&self) -> String {
        format!("studies/{}.toml", self.name)
    }

    /// Parses the study's data, and checks that its code knows every table, row and arm that they name.
    pub(crate) fn read(&self) -> Result<StudyDefinition, Message> {
        let definition = StudyDefinition::parse(&self.file(), self.data)?;
        table_schema::check(&self.file(), &definition, self.forms)?;
        Ok(definition)
    }
}

/// Returns the definitions of all built-in studies.
///
/// # Errors
/// If the data of one of them are malformed.
pub fn list() -> Result<Vec<StudyDefinition>, Message> {
    STUDIES.iter().map(BuiltInStudy::read).collect()
}

/// Names of the built-in studies.
pub fn names() -> impl Iterator<Item = &'static str> {
    STUDIES.iter().map(|study| study.name)
}
