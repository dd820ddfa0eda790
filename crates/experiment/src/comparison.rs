// SPDX-License-Identifier: GPL-2.0-or-later
//! Comparison of arms: for each metric the value of each arm, the differences from the first arm, and their
//! significance.
//!
//! Rules:
//! 1. A repetition in which every arm has the same digest and metrics as in an earlier one is a duplicate: it
//!    is left out and counted.
//! 2. A metric is compared if every run has it; of others the values are listed. If the arms' runs have different
//!    lengths, metrics that add up over a run are compared per second. If the arms did different amounts of work,
//!    energy, CPU time and waits are compared at equal work ([`super::work`]).
//! 3. A change is the median of the pairs' changes, or the change of the arms' means. [`super::intervals`] has
//!    the intervals of both.
//! 4. Only metrics with a better direction are tested, with the signed rank test of the pairs. A metric that is
//!    equal in all pairs needs no test. Holm's correction covers all tests of the comparison. [`super::judge`]
//!    derives the verdicts.
//! 5. If so few repetitions cannot give a significant result in so many tests, the verdict is "too few
//!    repetitions" instead of "no difference found".
//! 6. A verdict of better or worse needs a significant test and an interval on the side to which the ranks go.
//! 7. Each tested metric has its minimum detectable effect, corrected as for the smallest of all p-values.
//! 8. A difference matters from a percentage on, and from an amount that follows from the metric's unit. A
//!    significant one below that, and one whose whole interval is below it, is "no difference that matters".
//! 9. The value of a wait that has not ended is a lower bound. It is larger than an ended one below it; beside a
//!    larger ended one, or one that has not ended either, it is a tie.

use super::intervals::{IntervalMethod, change_of_pairs};
use super::judge::judge;
use super::metrics::{Metric, MetricDirection};
use super::rank::enough;
use super::work::{self, WorkChange};
use super::{Observation, power};
use crate::statistics::{Statistic, middle_of};
use schemars::JsonSchema;
use serde::Serialize;

/// Parameters of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparisonRules {
    /// Statistic that combines the runs of an arm, and whose change is reported: median or mean.
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
        Self { statistic: Statistic::Median, level: 0.05, detect_percent: 1.0, matters_percent: 1.0 }
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
    /// The difference is too small to matter: a significant one, or one whose mean and confidence interval do not
    /// matter.
    Negligible,
    /// The difference is not significant, or its confidence interval has changes in both directions.
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
    /// Whether the value is a lower bound, because it is that of a wait that has not ended.
    pub is_lower_bound: bool,
    /// Whether the value of each run is a lower bound; empty if none is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lower_bounds: Vec<bool>,
}

impl ArmFigure {
    /// Whether the value of a run is a lower bound.
    pub(super) fn is_open(&self, run: usize) -> bool {
        self.lower_bounds.get(run).copied().unwrap_or(false)
    }

    /// Returns the standard deviation in percent of the value; 0 if the value is 0.
    pub fn deviation_percent(&self) -> f64 {
        if self.value == 0.0 { 0.0 } else { 100.0 * self.deviation / self.value.abs() }
    }
}

/// Change of a metric from the first arm to another one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricChange {
    /// Median of the pairs' differences, or difference of the means.
    pub difference: f64,
    /// Bounds of the 95 % confidence interval of the difference, by the method in `interval_method`. Null for
    /// fewer than six repetitions, of which no order statistics have that confidence; with means for fewer than
    /// three.
    pub interval: Option<[f64; 2]>,
    /// Median of the pairs' differences in percent of the first arm, or difference of the means in percent; null
    /// if a run of the first arm is not greater than 0.
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
    /// Whether the change rests on waits that have not ended, so that it is a lower bound.
    pub rests_on_open_waits: bool,
    /// Verdict on the difference.
    pub verdict: ChangeVerdict,
}

/// Metric that some runs lack.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PartialRow {
    /// Name, unit and direction of the metric.
    #[serde(flatten)]
    pub metric: Metric,
    /// Value in each arm; null if not all of its runs have it.
    pub arms: Vec<Option<ArmFigure>>,
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

impl MetricRow {
    /// Returns the change of an arm in percent; positive is better. Without a percentage of the pairs it is that
    /// of the arms' values.
    pub fn gain_percent(&self, arm: usize) -> f64 {
        match self.changes[arm - 1].percent {
            Some(percent) => self.directed(percent),
            None => self.gain_between(self.arms[0].value, self.arms[arm].value),
        }
    }

    /// Returns the change between two values in percent; positive is better.
    pub fn gain_between(&self, before: f64, after: f64) -> f64 {
        self.directed(if before == 0.0 { 0.0 } else { 100.0 * (after / before - 1.0) })
    }

    fn directed(&self, percent: f64) -> f64 {
        // Adding 0 removes the sign of a negative zero.
        (if self.metric.better == MetricDirection::Less { -percent } else { percent }) + 0.0
    }
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
    /// Statistic that combines the runs of an arm, and whose change is reported.
    pub statistic: Statistic,
    /// Method of the confidence intervals, which follows from the statistic.
    pub interval_method: IntervalMethod,
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
    /// Task families that did different amounts of work than in the first arm, for each arm but the first.
    pub work_changes: Vec<Vec<WorkChange>>,
    /// Metrics that every run has.
    pub rows: Vec<MetricRow>,
    /// Metrics that some runs lack.
    pub partial: Vec<PartialRow>,
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
    let is_same = |arm: usize| distinct.iter().all(|runs| runs[arm].is_same_run(&runs[0]));
    let identical: Vec<bool> = (1..arms).map(is_same).collect();
    let nr_distinct = distinct.len();
    let mut amounts = work::references(&distinct);
    let work_changes = work::changes(&mut amounts, &distinct, rules);
    let metrics = work::without_other_amounts(metrics_of(&distinct), &amounts);
    let equal_work: Vec<Vec<Observation>>;
    let (distinct, metrics) = if work_changes.iter().any(|changes| !changes.is_empty()) {
        let of_runs = |runs: &&Vec<Observation>| runs.iter().map(|run| run.at_equal_work(&amounts)).collect();
        equal_work = distinct.iter().map(of_runs).collect();
        let distinct: Vec<&Vec<Observation>> = equal_work.iter().collect();
        let runs = || distinct.iter().flat_map(|runs| runs.iter());
        // Parts that no family has, such as energy on a machine whose CPUs do not differ, have no rows; nor has throttled
        // time where nothing is throttled.
        let is_known = |metric: &Metric| metrics.iter().any(|known| known.name == metric.name);
        let is_any = |metric: &Metric| runs().any(|run| run.of(&metric.name).is_some_and(|value| value != 0.0));
        let all = work::with_equal_work(&metrics, &amounts).into_iter();
        let kept = all.filter(|metric| is_known(metric) || is_any(metric)).collect();
        (distinct, kept)
    } else {
        (distinct, metrics)
    };
    let is_whole = |metric: &Metric| {
        distinct.iter().flat_map(|runs: &&Vec<Observation>| runs.iter()).all(|run| run.of(&metric.name).is_some())
    };
    let (whole, partial): (Vec<Metric>, Vec<Metric>) = metrics.into_iter().partition(is_whole);
    let partial = partial.into_iter().map(|metric| PartialRow {
        arms: (0..arms).map(|arm| figure(&distinct, &metric, arm, rules.statistic)).collect(),
        metric,
    });
    let partial = partial.collect();
    let mut rows: Vec<MetricRow> =
        whole.into_iter().map(|metric| row(&distinct, metric, &identical, rules.statistic)).collect();
    judge(&mut rows, &distinct, rules);
    let tests = rows.iter().flat_map(|row| &row.changes).filter(|change| change.p.is_some()).count();
    Comparison {
        repetitions: repetitions.len(),
        distinct: nr_distinct,
        tests,
        enough: enough(tests, rules.level),
        statistic: rules.statistic,
        interval_method: IntervalMethod::from_statistic(rules.statistic),
        level: rules.level,
        detect_percent: rules.detect_percent,
        matters_percent: rules.matters_percent,
        identical,
        is_per_second,
        work_changes,
        rows,
        partial,
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
    /// Whether two runs have the same events, and equal values of the metrics that both have. A compiled kernel lacks
    /// some.
    fn is_same_run(&self, other: &Self) -> bool {
        let is_equal = |(metric, value): &(Metric, f64)| other.of(&metric.name).is_none_or(|own| own == *value);
        self.digest == other.digest && self.metrics.iter().all(is_equal)
    }

    /// Returns the run with metrics per second in the place of those that add up over a run.
    fn per_second(&self) -> Self {
        let seconds = self.measured_s.filter(|seconds| *seconds > 0.0).unwrap_or(1.0);
        let scale = |(metric, value): &(Metric, f64)| {
            if !metric.is_sum {
                return (metric.clone(), *value);
            }
            (Metric { unit: format!("{}/s", metric.unit), is_sum: false, ..metric.clone() }, value / seconds)
        };
        let mut work = self.work.clone();
        for family in &mut work {
            family.amounts = family.amounts.iter().map(scale).collect();
            family.parts.values_mut().for_each(|part| *part /= seconds);
        }
        Self { metrics: self.metrics.iter().map(scale).collect(), work, ..self.clone() }
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

pub(super) fn row(
    repetitions: &[&Vec<Observation>],
    metric: Metric,
    identical: &[bool],
    statistic: Statistic,
) -> MetricRow {
    let figure = |arm: usize| figure(repetitions, &metric, arm, statistic).expect("every run has it");
    let arms: Vec<ArmFigure> = (0..=identical.len()).map(figure).collect();
    let changes = arms[1..].iter().map(|arm| change_of_pairs(&arms[0], arm, statistic)).collect();
    MetricRow { metric, arms, changes }
}

/// Returns the value of a metric in an arm; `None` if not all of its runs have it.
fn figure(repetitions: &[&Vec<Observation>], metric: &Metric, arm: usize, statistic: Statistic) -> Option<ArmFigure> {
    let runs: Vec<f64> = repetitions.iter().map(|runs| runs[arm].of(&metric.name)).collect::<Option<_>>()?;
    // The change is the median of pairs, whose two middle ones are averaged; so are those of the runs.
    let value = if statistic == Statistic::Median { middle_of(&runs) } else { statistic.of(&runs) };
    let mut lower_bounds: Vec<bool> = repetitions.iter().map(|runs| runs[arm].open.contains(&metric.name)).collect();
    let nr_open = lower_bounds.iter().filter(|is_open| **is_open).count();
    // A mean rests on every run, a median on those from the middle upwards.
    let is_above = |(run, is_open): (&f64, &bool)| *is_open && *run >= value;
    let has_open_middle = runs.iter().zip(&lower_bounds).any(is_above) && 2 * nr_open >= runs.len();
    let is_lower_bound = if statistic == Statistic::Median { has_open_middle } else { nr_open > 0 };
    if nr_open == 0 {
        lower_bounds.clear();
    }
    Some(ArmFigure { value, deviation: power::deviation(&runs), runs, is_lower_bound, lower_bounds })
}
