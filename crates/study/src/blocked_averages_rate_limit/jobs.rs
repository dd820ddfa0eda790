// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs of the study's cases.

use super::experiment::{ExperimentCase, ExperimentRun, MachineChange};
use crate::definition::StudyDefinition;
use crate::error::StudyError;
use fairlab_experiment::pool;

/// Tick frequency of the device, as in its machine file. Another table uses 250.
pub(super) const HZ: u64 = 1000;
/// Number of inactive groups, calibrated so that one newly-idle load balance visits as many cfs_rqs as
/// published.
pub(super) const GROUPS: u32 = 32;

/// Run to execute: the name of its arm, and its case.
pub(super) type Job = (String, ExperimentCase);

/// Executes runs in parallel, and returns their results in order. `on_run` is called after each run.
pub(super) fn run_all(
    study: &StudyDefinition,
    jobs: &[Job],
    on_run: impl Fn() + Sync,
) -> Result<Vec<ExperimentRun>, StudyError> {
    pool::all(jobs.iter().collect(), |(arm, case)| {
        let found = case.run(study.arm(arm))?;
        on_run();
        Ok(found)
    })
}

/// Returns the default case with a seed.
pub(super) const fn usual(seed: u64) -> ExperimentCase {
    ExperimentCase { hz: HZ, groups: GROUPS, fixed: None, change: MachineChange::None, set: &[], seed }
}

/// Returns a percentile by its label, such as `99.5th`, in microseconds.
pub(super) fn percentile(found: &ExperimentRun, label: &str) -> f64 {
    let percentiles = &found.schbench.percentiles;
    let row = percentiles.iter().find(|row| format!("{:.1}th", row.percent) == label);
    f64::from(row.unwrap_or_else(|| panic!("schbench has no percentile {label}")).value)
}
