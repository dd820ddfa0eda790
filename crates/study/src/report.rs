// SPDX-License-Identifier: GPL-2.0-or-later
//! Report of a study: tables with simulated and published values, and a verdict with its reason for each row.

mod judge;

pub use judge::RowVerdict;

use crate::definition::{ChangeAs, FigureValue, RowDefinition, StudyDefinition, TableDefinition};
use crate::evidence::Evidence;
use fairlab_experiment::charts::Chart;
use fairlab_experiment::statistics::{Statistic, interval, interval_of_pairs};
use judge::judge;
use serde::Serialize;

/// Version of the JSON form of a [`StudyReport`].
pub const SCHEMA: &str = "study/1";

/// Row of a report's table.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ReportRow {
    /// Measured case, such as a benchmark with its number of threads.
    pub label: String,
    /// Name of the arm that was run.
    pub arm: String,
    /// Name of the measured quantity.
    pub metric: String,
    /// Unit of the value.
    pub unit: String,
    /// Simulated value, or a text in its place.
    pub value: FigureValue,
    /// Half the range over the seeds, in the unit; 0 for one deterministic run.
    pub spread: f64,
    /// Bounds of the 95 % confidence interval; absent for fewer than three runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Published value, if there is one.
    pub published: Option<FigureValue>,
    /// Published standard deviation, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_spread: Option<f64>,
    /// Kind of evidence that a verdict on this row gives for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Result of the comparison with the published value.
    pub verdict: RowVerdict,
    /// Reason for the verdict, or a remark.
    pub reason: String,
}

/// Table of a report.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ReportTable {
    /// Short name of the table.
    pub name: String,
    /// Title of the table.
    #[serde(skip)]
    pub title: String,
    /// Rows of the table.
    pub rows: Vec<ReportRow>,
}

/// Results of a study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct StudyReport {
    /// Version of this JSON form: `study/1`.
    pub schema: &'static str,
    /// Name of the study.
    pub study: String,
    /// Name of the engine, if it is not the built-in scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Title of the study.
    #[serde(skip)]
    pub title: String,
    /// Source of the published values.
    #[serde(skip)]
    pub source: String,
    /// Notes on the method: machine, length of runs, seeds, costs.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// Filled tables, in the order of the data.
    pub tables: Vec<ReportTable>,
    /// Output of benchmarks in their native format: pairs of a heading and a text.
    pub outputs: Vec<(String, String)>,
    /// Charts of the tables and runs.
    #[serde(skip)]
    pub pictures: Vec<Chart>,
}

impl StudyReport {
    /// Creates a report without tables.
    pub(crate) fn of(study: &StudyDefinition) -> Self {
        Self {
            schema: SCHEMA,
            study: study.name.clone(),
            title: study.title.clone(),
            source: study.source.clone(),
            ..Self::default()
        }
    }
}

/// Simulated value of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredFigure {
    /// Value or text for the row.
    pub value: FigureValue,
    /// Half the range over the seeds.
    pub spread: f64,
    /// Bounds of the 95 % confidence interval; `None` for fewer than three runs.
    pub interval: Option<[f64; 2]>,
    /// Value of each run, if there are several.
    pub runs: Vec<f64>,
    /// Remark for the row; empty if the comparison alone is the reason.
    pub remark: String,
}

impl MeasuredFigure {
    /// Returns the value of a single run.
    pub fn number(value: f64) -> Self {
        Self::only(FigureValue::Number(value))
    }

    /// Returns a text in place of a value.
    pub fn text(text: &str) -> Self {
        Self::only(FigureValue::Text(text.to_owned()))
    }

    /// Returns a value that does not come from several runs.
    pub fn only(value: FigureValue) -> Self {
        Self { value, spread: 0.0, interval: None, runs: Vec::new(), remark: String::new() }
    }

    /// Returns the mean of several runs, and half their range.
    ///
    /// # Panics
    /// If `values` is empty.
    pub fn mean_of_runs(values: Vec<f64>) -> Self {
        Self::from_runs(Statistic::Mean, &values)
    }

    /// Returns the median of several runs, and half their range; for values that rare events change greatly.
    /// Of an even number of runs it is the lower one of the two in the middle.
    ///
    /// # Panics
    /// If `values` is empty.
    pub fn median_of_runs(values: Vec<f64>) -> Self {
        Self::from_runs(Statistic::Median, &values)
    }

    /// Combines runs that differ only in their seeds: their mean, or the result of the only run. If one of
    /// them is a text, the result is that of the first run.
    ///
    /// # Panics
    /// If `runs` is empty.
    pub fn over_seeds(runs: Vec<Self>) -> Self {
        let values: Option<Vec<f64>> = runs.iter().map(|run| run.value.number()).collect();
        let nr_runs = runs.len();
        let first = runs.into_iter().next().expect("there is a run");
        match values {
            Some(values) if nr_runs > 1 => Self::mean_of_runs(values).with_remark(first.remark),
            _ => first,
        }
    }

    /// Returns a statistic of several runs, half their range, and the interval of the statistic.
    ///
    /// # Panics
    /// If `values` is empty, unless the statistic is the sum or count.
    pub fn from_runs(statistic: Statistic, values: &[f64]) -> Self {
        Self {
            value: FigureValue::Number(statistic.of(values)),
            spread: half_range(values),
            interval: interval(values, |drawn| statistic.of(drawn)),
            runs: values.to_vec(),
            remark: String::new(),
        }
    }

    /// Returns the change of a statistic from one arm to another whose runs have the same seeds, half the
    /// range of the changes per seed, and the interval of the change.
    ///
    /// # Panics
    /// If there are no runs, or the arms have different numbers of runs.
    pub fn change_of_runs(statistic: Statistic, told_as: ChangeAs, before: &[f64], after: &[f64]) -> Self {
        let change = |before: &[f64], after: &[f64]| told_as.of(statistic.of(before), statistic.of(after));
        let by_seed: Vec<f64> = before.iter().zip(after).map(|(&before, &after)| told_as.of(before, after)).collect();
        Self {
            value: FigureValue::Number(change(before, after)),
            spread: half_range(&by_seed),
            interval: interval_of_pairs(before, after, change),
            runs: by_seed,
            remark: String::new(),
        }
    }

    /// Replaces the remark of the value.
    pub fn with_remark(mut self, remark: impl Into<String>) -> Self {
        self.remark = remark.into();
        self
    }
}

fn half_range(values: &[f64]) -> f64 {
    (Statistic::Max.of(values) - Statistic::Min.of(values)) / 2.0
}

impl ReportRow {
    /// Creates a row from its published values and the measured one.
    pub fn new(table: &TableDefinition, row: &RowDefinition, measured: MeasuredFigure) -> Self {
        let (verdict, comparison) =
            judge(row.verdict.unwrap_or(table.verdict), &measured.value, &measured.runs, row.published.as_ref());
        let reason = match (measured.remark.is_empty(), verdict) {
            (true, _) => comparison,
            (false, RowVerdict::NotPublished) => measured.remark,
            (false, _) => format!("{comparison}; {}", measured.remark),
        };
        Self {
            label: row.label.clone(),
            arm: row.arm.clone(),
            metric: table.metric.clone(),
            unit: table.unit.clone(),
            value: measured.value,
            spread: measured.spread,
            interval: measured.interval,
            published: row.published.clone(),
            published_spread: row.spread,
            evidence: row.evidence.clone(),
            verdict,
            reason,
        }
    }
}

impl ReportTable {
    /// Fills a published table with the values that `measure` returns for its rows.
    pub fn fill(table: &TableDefinition, mut measure: impl FnMut(&RowDefinition) -> MeasuredFigure) -> Self {
        let rows = table.rows.iter().map(|row| ReportRow::new(table, row, measure(row))).collect();
        Self { name: table.name.clone(), title: table.title.clone(), rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::VerdictRule;

    fn verdict(rule: VerdictRule, value: f64, published: f64) -> RowVerdict {
        judge(rule, &FigureValue::Number(value), &[], Some(&FigureValue::Number(published))).0
    }

    #[test]
    fn a_single_run_s_figure_is_judged_by_its_place_among_the_runs() {
        let rule = VerdictRule { inside_percent: Some(90.0), ..VerdictRule::default() };
        let runs: Vec<f64> = (1..=100).map(f64::from).collect();
        let judged = |published| judge(rule, &FigureValue::Number(50.0), &runs, Some(&FigureValue::Number(published)));
        assert_eq!(
            [4.5, 5.0, 95.0, 96.5].map(|published| judged(published).0),
            [RowVerdict::NotReproduced, RowVerdict::Reproduced, RowVerdict::Reproduced, RowVerdict::NotReproduced]
        );
        assert_eq!(judged(98.0).1, "of 100 runs 97 are below the published figure, 2 above");
        // With few runs, each side needs at least one; runs equal to the published value count for both
        // sides.
        let judged = |runs: &[f64], published| {
            judge(rule, &FigureValue::Number(2.0), runs, Some(&FigureValue::Number(published))).0
        };
        assert_eq!(judged(&[1.0, 2.0, 3.0], 0.9), RowVerdict::NotReproduced);
        assert_eq!(judged(&[1.0, 2.0, 3.0], 2.5), RowVerdict::Reproduced);
        assert_eq!(judged(&[2.0, 2.0, 2.0], 2.0), RowVerdict::Reproduced);
    }

    #[test]
    fn a_figure_is_reproduced_up_to_the_limit_and_not_beyond() {
        let rule = VerdictRule { within: Some(1.0), ..VerdictRule::default() };
        assert_eq!(verdict(rule, 139.0, 138.0), RowVerdict::Reproduced);
        assert_eq!(verdict(rule, 139.5, 138.0), RowVerdict::NotReproduced);
        let rule = VerdictRule { within_percent: Some(10.0), ..VerdictRule::default() };
        assert_eq!(verdict(rule, 109.0, 121.0), RowVerdict::Reproduced);
        assert_eq!(verdict(rule, 108.0, 121.0), RowVerdict::NotReproduced);
    }

    #[test]
    fn a_change_of_the_right_sign_is_direction_only_if_its_size_is_wrong() {
        let rule = VerdictRule { within: Some(1.0), sign: true, ..VerdictRule::default() };
        assert_eq!(verdict(rule, 0.3, 0.23), RowVerdict::Reproduced);
        assert_eq!(verdict(rule, -0.3, 0.23), RowVerdict::NotReproduced);
        assert_eq!(verdict(rule, -1.0, -7.47), RowVerdict::DirectionOnly);
    }

    #[test]
    fn a_factor_works_in_both_directions_and_not_across_zero() {
        let rule = VerdictRule { factor: Some(1.5), ..VerdictRule::default() };
        assert_eq!(verdict(rule, 15.0, 10.0), RowVerdict::Reproduced);
        assert_eq!(verdict(rule, 6.7, 10.0), RowVerdict::Reproduced);
        assert_eq!(verdict(rule, 15.1, 10.0), RowVerdict::NotReproduced);
        assert_eq!(verdict(rule, 6.6, 10.0), RowVerdict::NotReproduced);
        assert_eq!(verdict(rule, -10.0, 10.0), RowVerdict::NotReproduced);
        assert_eq!(verdict(rule, 0.0, 0.0), RowVerdict::Reproduced);
    }

    #[test]
    fn bounds_hold_whatever_was_published_and_all_of_them() {
        let rule = VerdictRule { at_least: Some(16.0), at_most: Some(64.0), ..VerdictRule::default() };
        assert_eq!(verdict(rule, 16.0, 32.0), RowVerdict::Reproduced);
        assert_eq!(verdict(rule, 8.0, 32.0), RowVerdict::NotReproduced);
        assert_eq!(verdict(rule, 128.0, 32.0), RowVerdict::NotReproduced);
        let rule = VerdictRule { at_least: Some(100.0), sign: true, ..VerdictRule::default() };
        assert_eq!(verdict(rule, 150.0, 197.3), RowVerdict::Reproduced);
        assert_eq!(verdict(rule, 99.0, 197.3), RowVerdict::DirectionOnly);
    }

    #[test]
    fn a_rule_without_conditions_asks_for_the_figure_itself() {
        assert_eq!(verdict(VerdictRule::default(), 108.0, 108.0), RowVerdict::Reproduced);
        assert_eq!(verdict(VerdictRule::default(), 107.0, 108.0), RowVerdict::NotReproduced);
    }

    #[test]
    fn words_must_be_the_same_words() {
        let (unreachable, number) = (FigureValue::Text("unreachable".to_owned()), FigureValue::Number(3.0));
        let rule = VerdictRule::default();
        assert_eq!(judge(rule, &unreachable, &[], Some(&unreachable)).0, RowVerdict::Reproduced);
        assert_eq!(judge(rule, &number, &[], Some(&unreachable)).0, RowVerdict::NotReproduced);
    }

    #[test]
    fn the_mean_stands_for_the_runs_and_half_their_range_for_the_spread() {
        let measured = MeasuredFigure::mean_of_runs(vec![3.0, 1.0, 5.0]);
        assert_eq!((measured.value, measured.spread), (FigureValue::Number(3.0), 2.0));
        let measured = MeasuredFigure::median_of_runs(vec![3.0, 1.0, 7.0]);
        assert_eq!((measured.value, measured.spread), (FigureValue::Number(3.0), 3.0));
        assert_eq!(MeasuredFigure::median_of_runs(vec![4.0, 2.0]).value, FigureValue::Number(2.0));
    }

    #[test]
    fn a_change_is_that_of_the_means_and_its_spread_is_over_the_seeds() {
        let measured = MeasuredFigure::change_of_runs(
            Statistic::Mean,
            ChangeAs::Percent,
            &[10.0, 20.0, 30.0],
            &[11.0, 24.0, 31.0],
        );
        assert_eq!((measured.value, measured.spread.round()), (FigureValue::Number(10.0), 8.0));
        let [low, high] = measured.interval.expect("there are three runs");
        assert!((3.0..10.0).contains(&low) && (10.0..=20.1).contains(&high), "{low} to {high}");
    }
}
