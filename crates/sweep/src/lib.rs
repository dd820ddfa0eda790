// SPDX-License-Identifier: GPL-2.0-or-later
//! Sweeps: one run for each of many points in a space of settings, with results in a store that survives
//! interruptions.
//!
//! [`plan`] expands a file into points. [`store`] keeps points and results. [`run`] executes the points
//! without results. [`export`] writes results for other programs. An implementation of [`PointRunner`]
//! defines the meaning of settings and the execution of a point.

pub mod export;
pub mod plan;
pub mod run;
pub mod store;
#[cfg(test)]
mod tests;

use fairlab_workload::message::Message;
use plan::SweepPoint;
use serde::{Deserialize, Serialize};

/// Result of the run of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// Digest over all events of the run.
    pub digest: String,
    /// Names and values of the metrics, in the order of the plan.
    pub metrics: Vec<(String, f64)>,
}

/// Executes the points of a sweep.
pub trait PointRunner: Sync {
    /// Returns a text with everything that the result of a point depends on except its settings and seed: the
    /// workload, the machine and the length. Files are represented by their contents.
    ///
    /// # Errors
    /// If the point cannot be run; with a remedy.
    fn inputs(&self, point: &SweepPoint) -> Result<String, Message>;

    /// Executes a point. Returns its result or the reason for a failure; `None` if it was stopped before its
    /// end.
    fn run(&self, point: &SweepPoint) -> Option<Result<PointResult, Message>>;
}
