// SPDX-License-Identifier: GPL-2.0-or-later
//! Comparison of arms: for each metric the value of each arm, the differences from the first arm, and their
//! significance.
//!
//! Rules:
//! 1. A repetition in which every arm has the same digest and metrics as in an earlier one is a duplicate: it
//!    is left out and counted.
//! 2. A metric is compared if every run has it. If the arms' runs have different lengths, metrics that add up
//!    over a run are compared per second.
//! 3. A difference is that of the arms' means or medians. Its interval comes from repetitions that are drawn
//!    in pairs.
//! 4. Only metrics with a better direction are tested, with the signed rank test of the pairs. Holm's
//!    correction covers all tests of the comparison.
//! 5. If so few repetitions cannot give a significant result in so many tests, the verdict is "too few
//!    repetitions" instead of "no difference found".
//! 6. Each tested metric has its minimum detectable effect, corrected as for the smallest of all p-values.
//! 7. A difference matters from a percentage on, and from an amount that follows from the metric's unit. A
//!    significant one below that, and one whose whole interval is below it, is "no difference that matters".

use super::Observation;
use super::metrics::{Metric, MetricDirection};
use super::power;
use super::rank::{SignedRank, enough, holm, signed_rank};
use crate::statistics::{Statistic, interval_of_pairs, widened_interval_of_pairs};
use schemars::JsonSchema;
use serde::Serialize;

/// Parameters of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparisonRules {
    /// Statistic that combines the runs of an arm: mean or median.
    pub statistic: Statistic,
    /// Significance level: the accepted probability of finding a difference where there is none.
    pub level: f64,
    /// Difference in percent for which [`MetricChange::needed`] gives the number of repetitions.
    pub detect_percent: f64,
    /// Smallest difference that matters, in percent of the larger of both arms' values.
    pub matters_percent: f64,
}

impl Default for ComparisonRules {
    fn default() -> Self {
        Self { statistic: Statistic::Mean, level: 0.05, detect_percent: 1.0, matters_percent: 1.0 }
    }
}

/// Verdict on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeVerdict {
    /// The difference is significant, matters, and is an improvement.
    Better,
    /// The difference is significant, matters, and is a regression.
    Worse,
    /// The difference is too small to matter: a significant one, or one whose confidence interval has no
    /// difference that matters.
    Negligible,
    /// The difference is not significant.
    NotFound,
    /// So few repetitions cannot give a significant result in so many tests.
    TooFew,
    /// All runs are event for event the same in both arms, and the metric has the same values.
    Identical,
    /// Only one distinct repetition exists, so that the variation of the metric is unknown.
    Untested,
    /// Neither direction of the metric is better.
    Unjudged,
}

impl std::fmt::Display for ChangeVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Negligible => "no difference that matters",
            Self::NotFound => "no difference found",
            Self::TooFew => "too few repetitions",
            Self::Identical => "identical",
            Self::Untested => "untested",
            Self::Unjudged => "-",
        })
    }
}

/// Value of a metric in one arm.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ArmFigure {
    /// Mean or median of the runs.
    pub value: f64,
    /// Standard deviation of the runs.
    pub deviation: f64,
    /// Values of the runs, by repetition.
    pub runs: Vec<f64>,
}

/// Change of a metric from the first arm to another one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricChange {
    /// Difference of the means or medians.
    pub difference: f64,
    /// Bounds of the 95 % confidence interval of the difference; null for fewer than three repetitions.
    pub interval: Option<[f64; 2]>,
    /// Difference in percent of the first arm; null if a run of that arm is not greater than 0.
    pub percent: Option<f64>,
    /// Bounds of the 95 % confidence interval of the percentage.
    pub percent_interval: Option<[f64; 2]>,
    /// p-value of the signed rank test; null for a metric that is not tested.
    pub p: Option<f64>,
    /// p-value after Holm's correction for all tests of the comparison.
    pub p_corrected: Option<f64>,
    /// Minimum detectable effect of this number of repetitions, in percent of the first arm.
    pub could_show_percent: Option<f64>,
    /// Number of repetitions needed to detect a difference of `detect_percent`.
    pub needed: Option<usize>,
    /// Verdict on the difference.
    pub verdict: ChangeVerdict,
}

/// Metric with its values and changes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricRow {
    /// Name, unit and direction of the metric.
    #[serde(flatten)]
    pub metric: Metric,
    /// Value in each arm.
    pub arms: Vec<ArmFigure>,
    /// Change of each arm but the first, from the first.
    pub changes: Vec<MetricChange>,
}

/// Comparison of all arms with the first one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Number of repetitions of each arm.
    pub repetitions: usize,
    /// Number of repetitions without duplicates.
    pub distinct: usize,
    /// Number of significance tests, for which p-values are corrected.
    pub tests: usize,
    /// Smallest number of distinct repetitions with which any difference can be significant in so many tests.
    pub enough: usize,
    /// Statistic that combines the runs of an arm.
    pub statistic: Statistic,
    /// Significance level of the tests.
    pub level: f64,
    /// Difference in percent that `needed` refers to.
    pub detect_percent: f64,
    /// Smallest difference that matters, in percent of the larger of both arms' values.
    pub matters_percent: f64,
    /// Whether all runs of an arm have the events and metrics of those of the first arm, for each arm but the
    /// first.
    pub identical: Vec<bool>,
    /// Whether the arms' runs have different lengths, so that metrics that add up over a run are per second.
    pub is_per_second: bool,
    /// Metrics that every run has.
    pub rows: Vec<MetricRow>,
    /// Names of metrics that some runs lack.
    pub partial: Vec<String>,
}

/// Compares arms. Each repetition has one run of every arm.
///
/// # Panics
/// If there is no repetition, or one does not have a run of every arm.
pub fn compare(repetitions: &[Vec<Observation>], rules: ComparisonRules) -> Comparison {
    let arms = repetitions[0].len();
    assert!(repetitions.iter().all(|runs| runs.len() == arms), "each repetition has all arms");
    let is_per_second = have_unequal_lengths(repetitions);
    let scaled: Vec<Vec<Observation>>;
    let repetitions = if is_per_second {
        scaled = repetitions.iter().map(|runs| runs.iter().map(Observation::per_second).collect()).collect();
        &scaled[..]
    } else {
        repetitions
    };
    let mut distinct: Vec<&Vec<Observation>> = Vec::new();
    for runs in repetitions {
        if !distinct.contains(&runs) {
            distinct.push(runs);
        }
    }
    let is_same = |arm: usize| distinct.iter().all(|runs| runs[arm] == runs[0]);
    let identical: Vec<bool> = (1..arms).map(is_same).collect();
    let (whole, partial): (Vec<Metric>, Vec<Metric>) = metrics_of(&distinct)
        .into_iter()
        .partition(|metric| distinct.iter().flat_map(|runs| runs.iter()).all(|run| run.of(&metric.name).is_some()));
    let mut rows: Vec<MetricRow> =
        whole.into_iter().map(|metric| row(&distinct, metric, &identical, rules.statistic)).collect();
    judge(&mut rows, &distinct, rules);
    let tests = rows.iter().flat_map(|row| &row.changes).filter(|change| change.p.is_some()).count();
    Comparison {
        repetitions: repetitions.len(),
        distinct: distinct.len(),
        tests,
        enough: enough(tests, rules.level),
        statistic: rules.statistic,
        level: rules.level,
        detect_percent: rules.detect_percent,
        matters_percent: rules.matters_percent,
        identical,
        is_per_second,
        rows,
        partial: partial.into_iter().map(|metric| metric.name).collect(),
    }
}

impl Comparison {
    /// Whether some metric has a better direction.
    pub fn is_judged(&self) -> bool {
        self.rows.iter().any(|row| row.metric.better != MetricDirection::Neither)
    }

    /// Whether so few repetitions cannot give a significant result in so many tests.
    pub const fn is_too_few(&self) -> bool {
        self.tests > 0 && self.distinct < self.enough
    }
}

/// Whether the runs have measured times that do not depend on what happens in them, and these differ.
fn have_unequal_lengths(repetitions: &[Vec<Observation>]) -> bool {
    let lengths = repetitions.iter().flatten().map(|run| run.measured_s);
    lengths.collect::<Option<Vec<f64>>>().is_some_and(|lengths| lengths.windows(2).any(|pair| pair[0] != pair[1]))
}

impl Observation {
    /// Returns the run with metrics per second in the place of those that add up over a run.
    fn per_second(&self) -> Self {
        let seconds = self.measured_s.filter(|seconds| *seconds > 0.0).unwrap_or(1.0);
        let scale = |(metric, value): &(Metric, f64)| {
            if !metric.is_sum {
                return (metric.clone(), *value);
            }
            (Metric { unit: format!("{}/s", metric.unit), is_sum: false, ..metric.clone() }, value / seconds)
        };
        Self { metrics: self.metrics.iter().map(scale).collect(), ..self.clone() }
    }
}

/// Returns all metrics of all runs, in the order of their first occurrence.
fn metrics_of(repetitions: &[&Vec<Observation>]) -> Vec<Metric> {
    let mut all: Vec<Metric> = Vec::new();
    for (metric, _) in repetitions.iter().flat_map(|runs| runs.iter()).flat_map(|run| &run.metrics) {
        if all.iter().all(|known| known.name != metric.name) {
            all.push(metric.clone());
        }
    }
    all
}

fn row(repetitions: &[&Vec<Observation>], metric: Metric, identical: &[bool], statistic: Statistic) -> MetricRow {
    let figure = |arm: usize| {
        let of = |runs: &&Vec<Observation>| runs[arm].of(&metric.name).expect("every run has it");
        let runs: Vec<f64> = repetitions.iter().map(of).collect();
        ArmFigure { value: statistic.of(&runs), deviation: power::deviation(&runs), runs }
    };
    let arms: Vec<ArmFigure> = (0..=identical.len()).map(figure).collect();
    let changes = arms[1..].iter().map(|arm| change(&arms[0].runs, &arm.runs, statistic)).collect();
    MetricRow { metric, arms, changes }
}

/// Returns the change between two arms' runs, without test results.
fn change(before: &[f64], after: &[f64], statistic: Statistic) -> MetricChange {
    let of = |values: &[f64]| statistic.of(values);
    let percent = |before: &[f64], after: &[f64]| 100.0 * (of(after) / of(before) - 1.0);
    // Percentile intervals of means are too narrow for few runs; those of medians are wide enough.
    let interval = |of_both: &dyn Fn(&[f64], &[f64]) -> f64| match statistic {
        Statistic::Mean => widened_interval_of_pairs(before, after, of_both),
        _ => interval_of_pairs(before, after, of_both),
    };
    let has_percent = before.iter().all(|value| *value > 0.0);
    MetricChange {
        difference: of(after) - of(before),
        interval: interval(&|before, after| of(after) - of(before)),
        percent: has_percent.then(|| percent(before, after)),
        percent_interval: if has_percent { interval(&percent) } else { None },
        p: None,
        p_corrected: None,
        could_show_percent: None,
        needed: None,
        verdict: ChangeVerdict::Unjudged,
    }
}

/// Returns the smallest difference of a metric that matters, in its unit.
fn least_that_matters(row: &MetricRow, arm: usize, percent: f64) -> f64 {
    let larger = row.arms[0].value.abs().max(row.arms[arm + 1].value.abs());
    (percent / 100.0 * larger).max(resolution(&row.metric.unit))
}

/// Returns the amount in a unit below which no difference matters, whatever its percentage: 100 ns of a time,
/// one event of a count, 1 uJ of an energy.
fn resolution(unit: &str) -> f64 {
    match unit {
        "ns" => 100.0,
        "us" => 0.1,
        "ms" => 1e-4,
        "s" => 1e-7,
        "" | "uJ" => 1.0,
        _ => 0.0,
    }
}

/// Tests all rows with a direction, corrects the p-values for all tests together, and sets the verdicts.
fn judge(rows: &mut [MetricRow], distinct: &[&Vec<Observation>], rules: ComparisonRules) {
    let repetitions = distinct.len();
    let has_same_events = |arm: usize| distinct.iter().all(|runs| runs[arm].digest == runs[0].digest);
    let same_events: Vec<bool> = (0..distinct[0].len()).map(has_same_events).collect();
    let mut tested = Vec::new();
    for (place, row) in rows.iter_mut().enumerate() {
        for (arm, change) in row.changes.iter_mut().enumerate() {
            let has_same_values = row.arms[arm + 1].runs == row.arms[0].runs;
            let verdict = match row.metric.better {
                _ if same_events[arm + 1] && has_same_values => ChangeVerdict::Identical,
                MetricDirection::Neither => ChangeVerdict::Unjudged,
                _ if repetitions < 2 => ChangeVerdict::Untested,
                _ => {
                    tested.push((place, arm));
                    ChangeVerdict::NotFound
                }
            };
            change.verdict = verdict;
        }
    }
    let differences = |row: &MetricRow, arm: usize| -> Vec<f64> {
        let pairs = row.arms[arm + 1].runs.iter().zip(&row.arms[0].runs);
        pairs.map(|(after, before)| after - before).collect()
    };
    let ranks: Vec<SignedRank> =
        tested.iter().map(|&(place, arm)| signed_rank(&differences(&rows[place], arm))).collect();
    let probabilities: Vec<f64> = ranks.iter().map(|rank| rank.p).collect();
    let corrected = holm(&probabilities);
    let can_find = repetitions >= enough(tested.len(), rules.level);
    let strictest = rules.level / tested.len().max(1) as f64;
    for (which, &(place, arm)) in tested.iter().enumerate() {
        let row = &rows[place];
        let (first, deviation) = (row.arms[0].value, power::deviation(&differences(row, arm)));
        let better = row.metric.better;
        let least = least_that_matters(row, arm, rules.matters_percent);
        let mean_difference = Statistic::Mean.of(&differences(row, arm));
        let change = &mut rows[place].changes[arm];
        (change.p, change.p_corrected) = (Some(probabilities[which]), Some(corrected[which]));
        if corrected[which] <= rules.level {
            // The direction comes from the ranks, which are what is significant. Medians can be equal where
            // most pairs differ, and a few runs can reverse a mean.
            let is_good = ranks[which].goes_up == (better == MetricDirection::More);
            // A mean of the pairs can matter where the medians are equal.
            let size = change.difference.abs().max(mean_difference.abs());
            change.verdict = match size < least {
                true => ChangeVerdict::Negligible,
                false if is_good => ChangeVerdict::Better,
                false => ChangeVerdict::Worse,
            };
        } else if !can_find {
            change.verdict = ChangeVerdict::TooFew;
        } else if change.interval.is_some_and(|bounds| bounds.iter().all(|bound| bound.abs() < least)) {
            change.verdict = ChangeVerdict::Negligible;
        }
        if first > 0.0 && change.percent.is_some() {
            let least = power::smallest(repetitions, strictest);
            change.could_show_percent = least.map(|least| 100.0 * least * deviation / first);
            let cautious = power::cautious(deviation, repetitions);
            let aim = rules.detect_percent / 100.0 * first / cautious;
            change.needed = power::needed(aim, strictest);
        }
    }
}
