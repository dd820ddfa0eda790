// SPDX-License-Identifier: GPL-2.0-or-later
//! Studies: published measurements of scheduler changes, simulated, with an honest verdict for each row.
//!
//! A study is data: arms, published tables, and how figures are obtained ([`data`]). What data cannot say yet is in a module of the
//! study's name here: it fills the tables for which the data name no figure.

mod arms;
mod blocked_averages_rate_limit;
pub mod data;
pub mod definition;
pub mod evidence;
pub mod experiment;
mod forms;
pub mod fuzz;
pub mod html;
pub mod kernels;
pub mod loaded;
mod pelt_time_scaling;
pub mod pictures;
pub mod pool;
mod read;
pub mod report;
mod run;
mod sensitivity;
mod sis_util;
pub mod statistics;
pub mod sweep;
pub mod switches;
mod tally;
pub mod template;
mod window;

pub use data::execute::Begun;

use definition::{DefinitionError, StudyDefinition};
use fairlab_sched::units::Nanos;
use forms::TableForm;
use report::Report;

/// How a study is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Shorter runs: a first impression.
    pub quick: bool,
}

/// How a study is run, as whoever runs it wants it: what is not said is as in the data.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// Which form.
    pub options: Options,
    /// How many seeds each run has.
    pub seeds: Option<u64>,
    /// Length of each run that has one.
    pub span: Option<Nanos>,
    /// What happens at one instant is permuted, another way for each number.
    pub perturb: Option<u64>,
    /// The machine of all runs, unless an arm has its own.
    pub machine: Option<String>,
    /// Only these tables; all if none is named.
    pub tables: Vec<String>,
    /// Only rows that are called so, or whose names begin so; all if none is named.
    pub rows: Vec<String>,
}

impl Choices {
    /// Whether a table is to be filled.
    pub fn wants(&self, table: &str) -> bool {
        self.tables.is_empty() || self.tables.iter().any(|name| name == table)
    }

    /// Whether a row is to be filled.
    pub fn wants_row(&self, label: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|begin| label.starts_with(begin.as_str()))
    }
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
    /// Its file cannot be read.
    #[error(
        "{0}: cannot be read: {1}\nhelp: give the name of a study (see `fairlab study list`) or the path of a study's file"
    )]
    Unreadable(String, std::io::Error),
    /// It cannot be run as it was asked for.
    #[error("study {0}: {1}\nhelp: {2}")]
    Refused(String, String, String),
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

/// Who runs in the place of the built-in scheduler: a study has no engines itself.
pub trait Elsewhere: Sync {
    /// What it is called, where figures stand.
    fn name(&self) -> String;

    /// What a run of a case under an arm with a seed tells: what [`Begun::run`] gives.
    ///
    /// # Errors
    /// If it cannot be run.
    fn run(&self, case: &str, arm: &str, seed: u64) -> Result<serde_json::Value, StudyError>;
}

type Body = fn(&StudyDefinition, &Choices, &dyn Progress) -> Result<Report, StudyError>;

/// A study that comes with the program: its data, and the code that fills the tables for which they name no figure.
#[derive(Clone, Copy)]
struct Study {
    name: &'static str,
    data: &'static str,
    forms: &'static [TableForm],
    body: Option<Body>,
    /// The code heeds `--seeds`.
    has_seeds: bool,
}

const STUDIES: &[Study] = &[
    Study {
        name: "pelt-time-scaling",
        data: include_str!("../../../studies/pelt-time-scaling.toml"),
        forms: pelt_time_scaling::TABLES,
        body: Some(pelt_time_scaling::run),
        has_seeds: false,
    },
    Study {
        name: "sis-util",
        data: include_str!("../../../studies/sis-util.toml"),
        forms: sis_util::TABLES,
        body: Some(sis_util::run),
        has_seeds: true,
    },
    Study {
        name: "blocked-averages-rate-limit",
        data: include_str!("../../../studies/blocked-averages-rate-limit.toml"),
        forms: blocked_averages_rate_limit::TABLES,
        body: Some(blocked_averages_rate_limit::run),
        has_seeds: false,
    },
    Study::of_data("balance-redo-limit", include_str!("../../../studies/balance-redo-limit.toml")),
    Study::of_data("nohz-misfit-kicks", include_str!("../../../studies/nohz-misfit-kicks.toml")),
    Study::of_data("wakelist-idle", include_str!("../../../studies/wakelist-idle.toml")),
    Study::of_data("newidle-migration-cost", include_str!("../../../studies/newidle-migration-cost.toml")),
];

impl Study {
    /// A study of data alone.
    const fn of_data(name: &'static str, data: &'static str) -> Self {
        Self { name, data, forms: &[], body: None, has_seeds: true }
    }

    /// The name of its file.
    fn file(&self) -> String {
        format!("studies/{}.toml", self.name)
    }

    /// Reads its data, and checks that its code knows all that they name.
    fn read(&self) -> Result<StudyDefinition, DefinitionError> {
        let definition = StudyDefinition::parse(&self.file(), self.data)?;
        forms::check(&self.file(), &definition, self.forms)?;
        Ok(definition)
    }
}

/// All studies that come with the program.
///
/// # Errors
/// If the data of one are malformed.
pub fn list() -> Result<Vec<StudyDefinition>, DefinitionError> {
    STUDIES.iter().map(Study::read).collect()
}

/// The names of the studies that come with fairlab.
pub fn names() -> impl Iterator<Item = &'static str> {
    STUDIES.iter().map(|study| study.name)
}
