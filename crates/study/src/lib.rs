// SPDX-License-Identifier: GPL-2.0-or-later
//! Studies: published measurements of scheduler changes, simulated, with an honest verdict for each row.
//!
//! A study's data (arms, published tables) are in `studies/*.toml`; how its figures are simulated is in a module here.

mod balance_redo_limit;
mod blocked_averages_rate_limit;
pub mod definition;
pub mod evidence;
mod forms;
pub mod kernels;
mod nohz_misfit_kicks;
mod pelt_time_scaling;
pub mod pictures;
pub mod pool;
pub mod report;
mod run;
mod sensitivity;
mod sis_util;
pub mod switches;
mod tally;
mod window;

use definition::{DefinitionError, StudyDefinition};
use forms::TableForm;
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

/// A study: its data, and the code that fills its tables.
struct Study {
    name: &'static str,
    data: &'static str,
    forms: &'static [TableForm],
    body: Body,
}

const STUDIES: &[Study] = &[
    Study {
        name: "pelt-time-scaling",
        data: include_str!("../../../studies/pelt-time-scaling.toml"),
        forms: pelt_time_scaling::TABLES,
        body: pelt_time_scaling::run,
    },
    Study {
        name: "sis-util",
        data: include_str!("../../../studies/sis-util.toml"),
        forms: sis_util::TABLES,
        body: sis_util::run,
    },
    Study {
        name: "blocked-averages-rate-limit",
        data: include_str!("../../../studies/blocked-averages-rate-limit.toml"),
        forms: blocked_averages_rate_limit::TABLES,
        body: blocked_averages_rate_limit::run,
    },
    Study {
        name: "balance-redo-limit",
        data: include_str!("../../../studies/balance-redo-limit.toml"),
        forms: balance_redo_limit::TABLES,
        body: balance_redo_limit::run,
    },
    Study {
        name: "nohz-misfit-kicks",
        data: include_str!("../../../studies/nohz-misfit-kicks.toml"),
        forms: nohz_misfit_kicks::TABLES,
        body: nohz_misfit_kicks::run,
    },
];

impl Study {
    /// Reads its data, and checks that its code knows all that they name.
    fn read(&self) -> Result<StudyDefinition, DefinitionError> {
        let definition = StudyDefinition::parse(self.name, self.data)?;
        forms::check(&definition, self.forms)?;
        Ok(definition)
    }
}

/// All studies.
///
/// # Errors
/// If the data of one are malformed.
pub fn list() -> Result<Vec<StudyDefinition>, DefinitionError> {
    STUDIES.iter().map(Study::read).collect()
}

/// Runs a study.
///
/// # Errors
/// If there is none of that name, or a run fails.
pub fn run(name: &str, options: Options, progress: &dyn Progress) -> Result<Report, StudyError> {
    let Some(study) = STUDIES.iter().find(|known| known.name == name) else {
        let names: Vec<&str> = STUDIES.iter().map(|study| study.name).collect();
        return Err(StudyError::Unknown(name.to_owned(), names.join(", ")));
    };
    (study.body)(&study.read()?, options, progress)
}
