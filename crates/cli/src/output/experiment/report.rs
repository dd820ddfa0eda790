// SPDX-License-Identifier: GPL-2.0-or-later
//! Report of an experiment, for all output formats: the comparison of its arms, first differences and results.

use fairlab_experiment::report::ComparisonReport;
use fairlab_experiment::report::compared::ComparedArms;
use fairlab_experiment::report::notes::{Note, Statement};
use fairlab_experiment::report::verdict::ArmVerdict;
use fairlab_measure::summary::RunSummary;
use fairlab_report::{Page, RecordedRun};
use fairlab_run::first_difference::{FirstDifference, Parting};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

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
    /// First repetition of each arm, for a page; empty without a page, and after a signal.
    #[serde(skip)]
    pub(crate) recorded: Vec<RecordedRun>,
}

/// Comparison as a page contains it.
#[derive(Debug, Serialize)]
struct PageComparison {
    #[serde(flatten)]
    compared: ComparedArms,
    /// For each arm, the first difference of its recorded run from that of the first arm.
    differences: Vec<Option<Parting>>,
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
    /// Returns the page of the experiment: its comparison, and the recorded runs.
    pub(crate) fn page(&self) -> Page<'_> {
        let differences =
            self.first_differences.iter().map(|difference| difference.clone().map(Parting::from)).collect();
        let compared = PageComparison { compared: self.compared.clone().into(), differences };
        Page { spec: None, runs: &self.recorded, compared: Some(json!(compared)) }
    }

    /// Returns the report with its sentences.
    pub(crate) fn document(&self) -> ExperimentDocument<'_> {
        let Self { compared, .. } = self;
        ExperimentDocument { report: self, verdicts: compared.verdicts(), notes: compared.statements() }
    }
}
