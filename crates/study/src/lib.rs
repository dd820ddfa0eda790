// SPDX-License-Identifier: GPL-2.0-or-later
//! Studies: published measurements of scheduler changes, simulated, with an honest verdict for each row.
//!
//! A study's data (arms, published tables) are in `studies/*.toml`; how its figures are simulated is in a module here.

mod balance_redo_limit;
mod blocked_averages_rate_limit;
pub mod definition;
pub mod kernels;
mod nohz_misfit_kicks;
mod pelt_time_scaling;
pub mod pictures;
pub mod report;
mod run;
mod sensitivity;
mod sis_util;
pub mod switches;
mod window;

use definition::{DefinitionError, StudyDefinition};
use report::Report;

/// How a study is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Shorter runs: a first impression.
    pub quick: bool,
}

/// Told how far a study is: a step that is done, and the fraction of all of them.
pub trait Progress: Sync {
    /// A step is done.
    fn done(&self, step: &str, fraction: f64);
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn done(&self, _step: &str, _fraction: f64) {}
}

/// Why a study could not be run.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// There is no such study.
    #[error("there is no study `{0}`; there are {1}")]
    Unknown(String, String),
    /// Its data are malformed.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// A machine could not be made.
    #[error(transparent)]
    Setup(#[from] fairlab_machine::engine::SetupError),
    /// A run could not go on.
    #[error(transparent)]
    Run(#[from] fairlab_machine::engine::RunError),
    /// A run did not show what was to be measured.
    #[error("{0}")]
    Measurement(String),
}

type Body = fn(&StudyDefinition, Options, &dyn Progress) -> Result<Report, StudyError>;

/// The studies: name, data, and how it is run.
const STUDIES: &[(&str, &str, Body)] = &[
    ("pelt-time-scaling", include_str!("../../../studies/pelt-time-scaling.toml"), pelt_time_scaling::run),
    ("sis-util", include_str!("../../../studies/sis-util.toml"), sis_util::run),
    (
        "blocked-averages-rate-limit",
        include_str!("../../../studies/blocked-averages-rate-limit.toml"),
        blocked_averages_rate_limit::run,
    ),
    ("balance-redo-limit", include_str!("../../../studies/balance-redo-limit.toml"), balance_redo_limit::run),
    ("nohz-misfit-kicks", include_str!("../../../studies/nohz-misfit-kicks.toml"), nohz_misfit_kicks::run),
];

/// All studies.
///
/// # Errors
/// If the data of one are malformed.
pub fn list() -> Result<Vec<StudyDefinition>, DefinitionError> {
    STUDIES.iter().map(|(name, text, _)| StudyDefinition::parse(name, text)).collect()
}

/// Runs a study.
///
/// # Errors
/// If there is none of that name, or a run fails.
pub fn run(name: &str, options: Options, progress: &dyn Progress) -> Result<Report, StudyError> {
    let study = STUDIES.iter().find(|(known, ..)| *known == name);
    let Some((name, text, body)) = study else {
        let names: Vec<&str> = STUDIES.iter().map(|(name, ..)| *name).collect();
        return Err(StudyError::Unknown(name.to_owned(), names.join(", ")));
    };
    body(&StudyDefinition::parse(name, text)?, options, progress)
}
