// SPDX-License-Identifier: GPL-2.0-or-later
//! Studies: simulations of published measurements of scheduler changes, with a verdict for each published
//! row.
//!
//! A study is data: arms, published tables, and the way each metric is obtained ([`data`]). What the data
//! format cannot express is in the module of the study's name in this crate; it fills the tables whose rows
//! name no metric.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests advance machines by hand"))]

mod arms;
mod blocked_averages_rate_limit;
pub mod data;
pub mod definition;
pub mod evidence;
pub mod headline;
pub mod html;
pub mod loaded;
mod pelt_time_scaling;
mod progress_sum;
mod read;
pub mod report;
mod run;
pub mod sensitivity;
mod sis_util;
mod table_schema;
pub mod template;
mod window;

pub use data::execute::PreparedCase;

use definition::StudyDefinition;
use fairlab_machine::sim::{RunError, SetupError};
use fairlab_run::settings::Settings;
use fairlab_workload::message::Message;
use report::StudyReport;
use std::fmt;
use table_schema::TableSchema;

/// Length of a study's runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct StudyLength {
    /// Use shorter runs, for a first impression.
    pub quick: bool,
}

/// Options of one execution of a study; unset ones keep the values of the study's data.
#[derive(Clone, Debug, Default)]
pub struct StudyOptions {
    /// Normal or shortened runs.
    pub options: StudyLength,
    /// Number of seeds of each run.
    pub seeds: Option<u64>,
    /// Settings of all runs: the machine (except for arms that name their own), the simulated time of each run
    /// that has a length, and what `fairlab study run` has options for.
    pub settings: Settings,
    /// Names of the tables to fill; empty for all.
    pub tables: Vec<String>,
    /// Names, or beginnings of names, of the rows to fill; empty for all.
    pub rows: Vec<String>,
}

impl StudyOptions {
    /// Returns the note of a report about a permutation of simultaneous events.
    fn perturb_note(&self) -> Option<String> {
        self.settings.perturb.map(|number| format!("Simultaneous events are permuted (--perturb {number})."))
    }

    /// Whether a table is selected by [`Self::tables`].
    pub fn wants(&self, table: &str) -> bool {
        self.tables.is_empty() || self.tables.iter().any(|name| name == table)
    }

    /// Whether a row is selected by [`Self::rows`].
    pub fn wants_row(&self, label: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|begin| label.starts_with(begin.as_str()))
    }
}

/// Receiver of a study's progress: each completed step, and the completed fraction of all steps.
pub trait ProgressReporter: Sync {
    /// Reports that `step` is complete, and that `fraction` (0 to 1) of the study is.
    fn done(&self, step: &str, fraction: f64);
}

/// Progress reporter that ignores all steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl ProgressReporter for NoProgress {
    fn done(&self, _step: &str, _fraction: f64) {}
}

/// Reason why a study could not be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StudyError {
    /// Wrong input: the study does not exist, its data are malformed, or the options do not apply to it.
    #[error("{0}")]
    Input(Message),
    /// A machine could not be set up, or a run stopped with an error.
    #[error("{0}")]
    Run(Message),
    /// A run did not produce the event or value to measure.
    #[error("{0}")]
    Measurement(Message),
}

impl StudyError {
    /// Returns the error of options that do not apply to the study of this name.
    pub fn rejected_options(study: &str, text: impl fmt::Display, help: impl Into<String>) -> Self {
        Self::Input(Message::new(format!("study {study}: {text}")).with_help(help))
    }

    /// Returns the error of a value that a run does not have.
    pub(crate) fn measurement(text: impl Into<String>) -> Self {
        Self::Measurement(Message::new(text))
    }
}

impl From<Message> for StudyError {
    /// Returns the error of malformed data.
    fn from(message: Message) -> Self {
        Self::Input(message)
    }
}

impl From<StudyError> for Message {
    fn from(error: StudyError) -> Self {
        match error {
            StudyError::Input(message) | StudyError::Run(message) | StudyError::Measurement(message) => message,
        }
    }
}

impl From<SetupError> for StudyError {
    fn from(error: SetupError) -> Self {
        Self::Run(error.into())
    }
}

impl From<RunError> for StudyError {
    fn from(error: RunError) -> Self {
        Self::Run(error.into())
    }
}

/// Runs a study's cases on another scheduler than the built-in one, for example on a compiled-kernel engine,
/// for which this crate has no code.
pub trait ExternalRunner: Sync {
    /// Name of the scheduler, as results show it.
    fn name(&self) -> String;

    /// Runs one case under an arm with a seed, and returns a result of the form of [`PreparedCase::run`].
    ///
    /// # Errors
    /// If the case cannot be run.
    fn run(&self, case: &str, arm: &str, seed: u64) -> Result<serde_json::Value, StudyError>;
}

type StudyBody = fn(&StudyDefinition, &StudyOptions, &dyn ProgressReporter) -> Result<StudyReport, StudyError>;

/// Study that is part of fairlab: its data, and the code that fills the tables whose rows name no metric.
#[derive(Clone, Copy)]
struct BuiltInStudy {
    name: &'static str,
    data: &'static str,
    forms: &'static [TableSchema],
    body: Option<StudyBody>,
    /// Options of runs that the code in `body` does not support.
    refused: &'static [&'static str],
}

const STUDIES: &[BuiltInStudy] = &[
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
    fn file(&self) -> String {
        format!("studies/{}.toml", self.name)
    }

    /// Parses the study's data, and checks that its code knows every table, row and arm that they name.
    fn read(&self) -> Result<StudyDefinition, Message> {
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
