// SPDX-License-Identifier: GPL-2.0-or-later
//! Studies described entirely by TOML data: the runs, the figures to extract from them, and the tables and
//! charts to fill.
//!
//! [`runs`] expands runs into one case for each combination of parameter values. [`rows`] finds the case and
//! the figure of each row. [`measure`] runs each case once for all rows that need it, with [`execute`].
//! [`figures`] extracts numbers from a run's JSON result, with [`fairlab_measure::path`]. [`charts`] draws charts, and
//! [`robustness`] varies seeds, lengths and the order of simultaneous events.

pub mod charts;
mod check;
mod data_study;
pub(crate) mod execute;
pub mod figures;
pub mod keys;
mod measure;
pub mod robustness;
mod rows;
mod run;
pub mod runs;
pub mod span;
pub mod tasks;
pub mod workloads;

pub(crate) use data_study::{DataStudy, home_of};
pub(crate) use run::DataStudyResult;
