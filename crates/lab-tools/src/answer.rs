// SPDX-License-Identifier: GPL-2.0-or-later
//! Answers to a page.

use crate::files::OpenedFile;
use fairlab_experiment::comparison::MetricRow;
use fairlab_experiment::report::ComparisonReport;
use fairlab_experiment::report::notes::{Note, Statement};
use fairlab_experiment::report::values::{change_text, spread_text, verdict_word};
use fairlab_experiment::report::verdict::{ArmVerdict, OtherMetrics};
use fairlab_workload::message::Message;
use serde::Serialize;

/// Answer to a request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolAnswer {
    /// The run was added.
    Added {},
    /// Comparison of all runs that were added.
    Compared(Box<ComparedArms>),
    /// The file, as a workload or as a machine.
    Opened(OpenedFile),
    /// The request could not be answered.
    Error(Message),
}

/// Comparison of arms, with its sentences and tables.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize)]
pub struct ComparedArms {
    #[serde(flatten)]
    pub report: ComparisonReport,
    /// Verdict on each arm but the first.
    pub verdicts: Vec<Statement<ArmVerdict>>,
    pub notes: Vec<Statement<Note>>,
    /// Table of each arm but the first.
    pub tables: Vec<ArmTable>,
}

/// Table of an arm beside the first one.
#[derive(Debug, Serialize)]
pub struct ArmTable {
    /// Metrics that differ, the most changed first.
    pub rows: Vec<RowTexts>,
    /// Sentence about all other metrics; empty if there are none.
    pub others: String,
}

/// Cells of a metric, as `fairlab compare` prints them.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize)]
pub struct RowTexts {
    pub metric: String,
    /// Values of the first arm and of the second one, with the standard deviation of the runs in percent.
    pub values: [String; 2],
    /// Change in percent, with its interval.
    pub change: String,
    pub verdict: &'static str,
}

impl From<ComparisonReport> for ComparedArms {
    fn from(report: ComparisonReport) -> Self {
        let tables = (1..report.arms.len()).map(|arm| ArmTable::new(&report, arm)).collect();
        Self { verdicts: report.verdicts(), notes: report.statements(), tables, report }
    }
}

impl ArmTable {
    fn new(report: &ComparisonReport, arm: usize) -> Self {
        let (mut rows, others) = report.rows_of(arm);
        let size = |row: &MetricRow| row.changes[arm - 1].percent.map_or(0.0, f64::abs);
        rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
        let others = if others.is_empty() { String::new() } else { OtherMetrics::new(&others, arm).to_string() };
        Self { rows: rows.into_iter().map(|row| RowTexts::new(row, arm)).collect(), others }
    }
}

impl RowTexts {
    fn new(row: &MetricRow, arm: usize) -> Self {
        let change = &row.changes[arm - 1];
        Self {
            metric: row.metric.name.clone(),
            values: [0, arm].map(|arm| spread_text(row, &row.arms[arm])),
            change: change_text(row, change),
            verdict: verdict_word(change.verdict),
        }
    }
}
