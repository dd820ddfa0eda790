// SPDX-License-Identifier: GPL-2.0-or-later
//! Verdicts of a comparison: tests of all metrics, their correction, and what follows from it.
//!
//! The signed rank test decides whether the arms differ at all: for equal arms its level holds exactly. With
//! changes that are not symmetric it can be significant although as many pairs go up as down. A verdict of better
//! or worse therefore also needs an interval on the side to which the ranks go, so that verdict and interval never
//! contradict each other.
//!
//! Pairs without any change can put a bound of the interval at 0. If all others go one way, that is still a
//! direction, and the mean of the pairs decides whether it matters.

use super::Observation;
use super::comparison::{ChangeVerdict, ComparisonRules, MetricRow};
use super::intervals::decisive_interval;
use super::metrics::MetricDirection;
use super::power::{self, EffectTest};
use super::rank::{SignedRank, enough, holm, signed_rank};
use crate::statistics::Statistic;

/// Tests all rows with a direction, corrects the p-values for all tests together, and sets the verdicts.
pub(super) fn judge(rows: &mut [MetricRow], distinct: &[&Vec<Observation>], rules: ComparisonRules) {
    let repetitions = distinct.len();
    let tested = select_tests(rows, distinct);
    let ranks: Vec<SignedRank> =
        tested.iter().map(|&(place, arm)| signed_rank(&differences(&rows[place], arm))).collect();
    let probabilities: Vec<f64> = ranks.iter().map(|rank| rank.p).collect();
    let corrected = holm(&probabilities);
    let can_find = repetitions >= enough(tested.len(), rules.level);
    let test = EffectTest {
        level: rules.level / tested.len().max(1) as f64,
        interval_outside: (rules.statistic != Statistic::Mean).then(|| rules.level.max(super::intervals::OUTSIDE)),
    };
    for (which, &(place, arm)) in tested.iter().enumerate() {
        let row = &rows[place];
        let (first, deviation) = (row.arms[0].value, power::deviation(&differences(row, arm)));
        let is_significant = corrected[which] <= rules.level;
        let side = if is_significant { interval_side(row, arm, ranks[which], rules) } else { None };
        let verdict = match side {
            Some(side) if is_negligible(row, arm, side, rules.matters_percent) => ChangeVerdict::Negligible,
            Some(_) if ranks[which].goes_up == (row.metric.better == MetricDirection::More) => ChangeVerdict::Better,
            Some(_) => ChangeVerdict::Worse,
            None if !can_find => ChangeVerdict::TooFew,
            None if has_small_interval(row, arm, rules.matters_percent)
                && is_mean_small(row, arm, rules.matters_percent) =>
            {
                ChangeVerdict::Negligible
            }
            None => ChangeVerdict::NotFound,
        };
        let change = &mut rows[place].changes[arm];
        change.verdict = verdict;
        (change.p, change.p_corrected) = (Some(probabilities[which]), Some(corrected[which]));
        if first > 0.0 && change.percent.is_some() {
            change.could_show_percent = test.smallest(repetitions).map(|least| 100.0 * least * deviation / first);
            let cautious = power::cautious(deviation, repetitions);
            change.needed = test.needed(rules.detect_percent / 100.0 * first / cautious);
        }
    }
}

/// Sets the verdicts of changes that need no test, and returns the others, as indices of row and change.
fn select_tests(rows: &mut [MetricRow], distinct: &[&Vec<Observation>]) -> Vec<(usize, usize)> {
    let has_same_events = |arm: usize| distinct.iter().all(|runs| runs[arm].digest == runs[0].digest);
    let same_events: Vec<bool> = (0..distinct[0].len()).map(has_same_events).collect();
    let mut tested = Vec::new();
    for (place, row) in rows.iter_mut().enumerate() {
        for (arm, change) in row.changes.iter_mut().enumerate() {
            let has_same_values = row.arms[arm + 1].runs == row.arms[0].runs;
            change.verdict = match row.metric.better {
                _ if same_events[arm + 1] && has_same_values => ChangeVerdict::Identical,
                MetricDirection::Neither => ChangeVerdict::Unjudged,
                _ if !row.metric.is_tested => ChangeVerdict::Unjudged,
                _ if distinct.len() < 2 => ChangeVerdict::Untested,
                // Whatever the signs, such differences have one rank sum.
                _ if has_same_values => ChangeVerdict::Negligible,
                _ => {
                    tested.push((place, arm));
                    ChangeVerdict::NotFound
                }
            };
        }
    }
    tested
}

/// Returns the differences of the pairs. A lower bound below an ended value, or beside another lower bound, is a tie.
fn differences(row: &MetricRow, arm: usize) -> Vec<f64> {
    let (first, other) = (&row.arms[0], &row.arms[arm + 1]);
    let pairs = other.runs.iter().zip(&first.runs).enumerate();
    let difference = |(run, (after, before)): (usize, (&f64, &f64))| {
        let is_tie = match (first.is_open(run), other.is_open(run)) {
            (false, false) => false,
            (true, true) => true,
            (true, false) => before <= after,
            (false, true) => after <= before,
        };
        if is_tie { 0.0 } else { after - before }
    };
    pairs.map(difference).collect()
}

/// Position of an interval on the side of 0 to which the ranks go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IntervalSide {
    /// Both bounds are on that side.
    Beyond,
    /// One bound is 0.
    FromZero,
}

/// Returns the position of a change's interval on the side to which the ranks go; `None` if it has values of the
/// other side, or only 0.
fn interval_side(row: &MetricRow, arm: usize, ranks: SignedRank, rules: ComparisonRules) -> Option<IntervalSide> {
    let (before, after) = (&row.arms[0].runs, &row.arms[arm + 1].runs);
    let [low, high] = decisive_interval(before, after, rules.statistic, rules.level)?;
    let (near, far) = if ranks.goes_up { (low, high) } else { (-high, -low) };
    match near {
        near if near > 0.0 => Some(IntervalSide::Beyond),
        near if near == 0.0 && far > 0.0 => Some(IntervalSide::FromZero),
        _ => None,
    }
}

/// Whether a significant change does not matter.
fn is_negligible(row: &MetricRow, arm: usize, side: IntervalSide, matters_percent: f64) -> bool {
    let is_estimate_small = is_small(row, arm, ChangePart::Estimate, matters_percent);
    let by_mean = side == IntervalSide::FromZero && !has_small_interval(row, arm, matters_percent);
    is_estimate_small && (!by_mean || is_mean_small(row, arm, matters_percent))
}

/// Whether the interval of a change has no difference that matters.
fn has_small_interval(row: &MetricRow, arm: usize, matters_percent: f64) -> bool {
    let bounds = [ChangePart::Low, ChangePart::High];
    bounds.into_iter().all(|bound| is_small(row, arm, bound, matters_percent))
}

/// Whether the difference of the arms' means does not matter. It can where less than half of the pairs differ.
fn is_mean_small(row: &MetricRow, arm: usize, matters_percent: f64) -> bool {
    let [before, after] = [0, arm + 1].map(|arm| Statistic::Mean.of(&row.arms[arm].runs));
    let least = matters_percent / 100.0 * before.abs().max(after.abs());
    (after - before).abs() < least.max(resolution(&row.metric.unit))
}

/// A change, or a bound of its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChangePart {
    Estimate,
    Low,
    High,
}

/// Whether a change is too small to matter: below the resolution of its unit, or below a percentage of the larger
/// of both arms.
fn is_small(row: &MetricRow, arm: usize, part: ChangePart, matters_percent: f64) -> bool {
    let change = &row.changes[arm];
    let bound = |interval: Option<[f64; 2]>, index: usize| interval.map(|bounds| bounds[index]);
    let (difference, percent) = match part {
        ChangePart::Estimate => (Some(change.difference), change.percent),
        ChangePart::Low => (bound(change.interval, 0), bound(change.percent_interval, 0)),
        ChangePart::High => (bound(change.interval, 1), bound(change.percent_interval, 1)),
    };
    let Some(difference) = difference else { return false };
    if difference.abs() < resolution(&row.metric.unit) {
        return true;
    }
    let larger = row.arms[0].value.abs().max(row.arms[arm + 1].value.abs());
    match percent {
        Some(percent) => percent_of_larger(percent).abs() < matters_percent,
        None => difference.abs() < matters_percent / 100.0 * larger,
    }
}

/// Returns a change in percent of the larger of both values, given in percent of the first one.
fn percent_of_larger(percent: f64) -> f64 {
    if percent > 0.0 { percent / (1.0 + percent / 100.0) } else { percent }
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

#[cfg(test)]
mod tests {
    use super::super::comparison::compare;
    use super::super::metrics::Metric;
    use super::*;

    #[test]
    fn two_repetitions_that_differ_are_tested_and_one_is_not() {
        let metric = Metric { name: "time".to_owned(), better: MetricDirection::Less, ..Metric::default() };
        let run = |value: f64| Observation {
            digest: value.to_string(),
            metrics: vec![(metric.clone(), value)],
            ..Observation::default()
        };
        let repetitions: Vec<Vec<Observation>> = [1.0, 2.0].map(|value| vec![run(value), run(10.0 * value)]).to_vec();
        let verdict = |nr: usize| {
            let comparison = compare(&repetitions[..nr], ComparisonRules::default());
            (comparison.tests, comparison.rows[0].changes[0].verdict)
        };
        assert_eq!([verdict(1), verdict(2)], [(0, ChangeVerdict::Untested), (1, ChangeVerdict::TooFew)]);
    }

    #[test]
    fn times_have_one_resolution_in_all_units() {
        let ns = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)].map(|(unit, ns)| (resolution(unit) * ns).round());
        assert_eq!(ns, [100.0; 4]);
        assert_eq!(["", "uJ", "%", "/s"].map(resolution), [1.0, 1.0, 0.0, 0.0]);
    }
}
