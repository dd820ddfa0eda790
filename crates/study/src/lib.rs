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
mod built_in;
pub mod data;
pub mod definition;
mod error;
pub mod evidence;
pub mod evidence_counts;
mod external;
mod headline;
mod headline_run;
pub mod html;
pub mod loaded;
mod options;
mod pelt_time_scaling;
mod progress;
mod read;
pub mod report;
mod run;
pub mod sensitivity;
mod sis_util;
mod table_schema;
pub mod template;
mod window;

pub use built_in::{list, names};
pub use data::execute::PreparedCase;
pub use error::StudyError;
pub use external::ExternalRunner;
pub use options::{StudyLength, StudyOptions};
pub use progress::{NoProgress, ProgressReporter};
