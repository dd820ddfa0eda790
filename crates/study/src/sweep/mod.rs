// SPDX-License-Identifier: GPL-2.0-or-later
//! Sweeps: many points of a space of settings, each run once, into a store that survives everything.
//!
//! [`plan`] makes points of a file; [`store`] keeps them with their results; [`run`] runs what is not done yet; [`export`] writes results
//! for other programs. What a setting means, and how a point is run, is the affair of whoever implements [`PointRunner`].

pub mod export;
pub mod plan;
pub mod run;
pub mod store;
#[cfg(test)]
mod tests;

use plan::SweepPoint;
use serde::{Deserialize, Serialize};

/// What the run of a point told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// The hash over all that it did.
    pub digest: String,
    /// Names and values of metrics, in their order.
    pub metrics: Vec<(String, f64)>,
}

/// Runs points.
pub trait PointRunner: Sync {
    /// Everything on which the result of a point depends beside its settings and the seed: what is run, on what, for how long. Files count
    /// by their contents.
    ///
    /// # Errors
    /// If the point cannot be run; with the way out.
    fn inputs(&self, point: &SweepPoint) -> Result<String, String>;

    /// Runs it, and gives what it told or why it could not be run; nothing if somebody stopped it before its end.
    fn run(&self, point: &SweepPoint) -> Option<Result<PointResult, String>>;
}
