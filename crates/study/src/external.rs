// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs of a study on another scheduler than the built-in one.

use crate::error::StudyError;

/// Runs a study's cases on another scheduler than the built-in one, for example on a compiled-kernel engine,
/// for which this crate has no code.
pub trait ExternalRunner: Sync {
    /// Name of the scheduler, as results show it.
    fn name(&self) -> String;

    /// Runs one case under an arm with a seed, and returns a result of the form of [`PreparedCase::run`](crate::PreparedCase::run).
    ///
    /// # Errors
    /// If the case cannot be run.
    fn run(&self, case: &str, arm: &str, seed: u64) -> Result<serde_json::Value, StudyError>;
}
