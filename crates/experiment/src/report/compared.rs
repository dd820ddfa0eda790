// SPDX-License-Identifier: GPL-2.0-or-later
//! A comparison as a page shows it: the report with its sentences, and a table for each arm.

use super::ComparisonReport;
use super::notes::{Note, Statement};
use super::values::{change_text, spread_text, verdict_word};
use super::verdict::{ArmVerdict, OtherMetrics};
use crate::comparison::MetricRow;
use serde::Serialize;

/// Comparison of arms, with its sentences and tables.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize)]
pub struct ComparedArms {
    #[serde(flatten)]
    pub report: ComparisonReport,
    pub title: String,
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
    /// Other metrics.
    pub other_rows: Vec<RowTexts>,
}

/// Cells of a metric, as `fairlab compare` prints them, and the numbers of a chart.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize)]
pub struct RowTexts {
    pub metric: String,
    /// Values of the first arm and of the second one, with the standard deviation of the runs in percent.
    pub values: [String; 2],
    /// Change in percent, with its interval.
    pub change: String,
    pub verdict: &'static str,
    /// Value of the second arm as a factor of the first arm's; absent if the first arm has none.
    pub factor: Option<f64>,
    /// Bounds of the 95 % confidence interval of the factor.
    pub factor_interval: Option<[f64; 2]>,
    /// p-value after correction for all tests of the comparison.
    pub p_corrected: Option<f64>,
    /// Minimum detectable effect of this number of repetitions, in percent of the first arm.
    pub could_show_percent: Option<f64>,
}

impl From<ComparisonReport> for ComparedArms {
    fn from(report: ComparisonReport) -> Self {
        let tables = (1..report.arms.len()).map(|arm| ArmTable::new(&report, arm)).collect();
        Self { title: report.title(), verdicts: report.verdicts(), notes: report.statements(), tables, report }
    }
}

impl ArmTable {
    fn new(report: &ComparisonReport, arm: usize) -> Self {
        let (mut rows, others) = report.rows_of(arm);
        let size = |row: &MetricRow| row.changes[arm - 1].percent.map_or(0.0, f64::abs);
        rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
        let sentence = if others.is_empty() { String::new() } else { OtherMetrics::new(&others, arm).to_string() };
        let [rows, other_rows] =
            [rows, others].map(|rows| rows.into_iter().map(|row| RowTexts::new(row, arm)).collect());
        Self { rows, others: sentence, other_rows }
    }
}

impl RowTexts {
    fn new(row: &MetricRow, arm: usize) -> Self {
        let change = &row.changes[arm - 1];
        let factor = |percent: f64| 1.0 + percent / 100.0;
        Self {
            metric: row.metric.name.clone(),
            values: [0, arm].map(|arm| spread_text(row, &row.arms[arm])),
            change: change_text(row, change),
            verdict: verdict_word(change.verdict),
            factor: change.percent.map(factor),
            factor_interval: change.percent_interval.map(|bounds| bounds.map(factor)),
            p_corrected: change.p_corrected,
            could_show_percent: change.could_show_percent,
        }
    }
}
