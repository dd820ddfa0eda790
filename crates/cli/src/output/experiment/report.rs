// SPDX-License-Identifier: GPL-2.0-or-later
//! Report of an experiment, for all output formats: the comparison of its arms, first differences and results.

use fairlab_experiment::report::ComparisonReport;
use fairlab_experiment::report::notes::{Note, Statement};
use fairlab_experiment::report::verdict::ArmVerdict;
use fairlab_measure::summary::RunSummary;
use fairlab_run::first_difference::FirstDifference;
use schemars::JsonSchema;
use serde::Serialize;

/// The form of what is written as JSON.
pub(crate) const SCHEMA: &str = "experiment/3";

/// An experiment that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExperimentReport {
    /// The form of this.
    pub(crate) schema: &'static str,
    /// Comparison of the arms, with its sentences.
    #[serde(flatten)]
    pub(crate) compared: ComparisonReport,
    /// For each arm, the first moment of the first repetition at which it and the first arm run different tasks; null for the
    /// first arm, for equal runs, if one of the two has a compiled-kernel engine or a workload of its own, and after a signal.
    pub(crate) first_differences: Vec<Option<FirstDifference>>,
    /// Summary of each arm's run, if each arm ran once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) results: Vec<RunSummary>,
}

/// Experiment with its sentences, as JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExperimentDocument<'a> {
    #[serde(flatten)]
    report: &'a ExperimentReport,
    /// Verdict on each arm but the first.
    verdicts: Vec<Statement<ArmVerdict>>,
    /// Notes on the method and the runs.
    notes: Vec<Statement<Note>>,
}

impl ExperimentReport {
    /// Returns the report with its sentences.
    pub(crate) fn document(&self) -> ExperimentDocument<'_> {
        let Self { compared, .. } = self;
        ExperimentDocument { report: self, verdicts: compared.verdicts(), notes: compared.statements() }
    }
}
