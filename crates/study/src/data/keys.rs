// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[picture]]` and `[robustness]` in a study's file.

use super::span::TimeSpan;
use serde::{Deserialize, Serialize};

/// Name of the table with the variations of `[robustness]`.
pub(crate) const ROBUSTNESS_TABLE: &str = "robustness";

/// Definition of a chart in a study's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartDefinition {
    /// Short name; the file name is the study's name and this one.
    pub name: String,
    /// Title of the chart.
    pub title: String,
    /// Kind of chart, which determines the other keys.
    pub kind: ChartKind,
    /// Table whose rows are drawn; not used by histograms.
    pub table: Option<String>,
    /// Arms to draw; by default all of the table, or all of the study for a histogram.
    #[serde(default)]
    pub arms: Vec<String>,
    /// Whether each arm has its own chart with the published values, instead of one chart for all arms.
    #[serde(default)]
    pub split: bool,
    /// Label of the horizontal axis. The x value of a line's point is the first number in the row's label.
    #[serde(default)]
    pub x: String,
    /// Run of a histogram.
    pub run: Option<String>,
    /// Path of a histogram's pairs of value and count in the run's result.
    pub path: Option<String>,
}

/// Kind of chart: bars, lines or a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChartKind {
    /// One bar for each row.
    Bars,
    /// One line for each arm.
    Lines,
    /// One bar for each value of a histogram.
    Histogram,
    /// Distribution of the runs of each row: a bar for each of ten ranges.
    Runs,
}

/// Settings of the variations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RobustnessDefinition {
    /// Tables whose verdicts count; by default all tables of data that have published rows.
    #[serde(default)]
    pub tables: Vec<String>,
    /// Largest number of seeds of each case.
    pub seeds: Option<u64>,
    /// Whether runs use their `quick` settings.
    #[serde(default)]
    pub quick: bool,
    /// Length of each run that has one.
    pub span: Option<TimeSpan>,
    /// Number of other sets of seeds.
    #[serde(default)]
    pub other_seeds: u64,
    /// Whether to run with half and with twice the length.
    #[serde(default)]
    pub spans: bool,
    /// Number of permutations of simultaneous events.
    #[serde(default)]
    pub perturb: u64,
}
