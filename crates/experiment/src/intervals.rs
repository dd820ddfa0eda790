// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes between two arms with their confidence intervals.
//!
//! An interval of the mean of 5 to 40 pairs does not have its stated coverage if most pairs are nearly equal and a
//! few differ widely: most samples miss the few pairs that determine the mean. The default is therefore the
//! median of the pairs' changes. Its interval between two order statistics is the inverse of the sign test, and
//! contains the median of any distribution with at least the stated probability.
//! `crates/study/examples/coverage.rs` measures both.

use super::comparison::{ArmFigure, ChangeVerdict, MetricChange};
use crate::statistics::{Statistic, median_interval, middle_of, widened_interval_of_pairs};
use schemars::JsonSchema;
use serde::Serialize;

/// Confidence level of the intervals in results, as the probability of missing the true value.
pub(super) const OUTSIDE: f64 = 0.05;

/// Smallest number of pairs with a 95 % interval of the median: of five, all go one way in 1 of 16 experiments.
pub const MIN_PAIRS_OF_INTERVAL: usize = 6;

/// Method of the confidence intervals of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalMethod {
    /// Order statistics of the pairs' changes, the inverse of the sign test. The interval contains the median
    /// change with a probability of at least 95 %, whatever the distribution.
    OrderStatistics,
    /// Bootstrap of the means, widened by Student's t distribution. The coverage is near 95 % for changes that
    /// are roughly normal, and can be below 60 % if a few pairs differ widely.
    Bootstrap,
}

impl IntervalMethod {
    /// Returns the method for a statistic.
    pub(super) const fn from_statistic(statistic: Statistic) -> Self {
        match statistic {
            Statistic::Mean => Self::Bootstrap,
            _ => Self::OrderStatistics,
        }
    }
}

/// Returns the change between two arms' runs, without test results.
pub(super) fn change_of_pairs(first: &ArmFigure, other: &ArmFigure, statistic: Statistic) -> MetricChange {
    let (before, after) = (&first.runs, &other.runs);
    let has_percent = before.iter().all(|value| *value > 0.0);
    let (difference, interval) = change_in(Scale::Unit, before, after, statistic, OUTSIDE);
    let (percent, percent_interval) = if has_percent {
        let (percent, interval) = change_in(Scale::Percent, before, after, statistic, OUTSIDE);
        (Some(percent), interval)
    } else {
        (None, None)
    };
    MetricChange {
        difference,
        interval,
        percent,
        percent_interval,
        p: None,
        p_corrected: None,
        could_show_percent: None,
        needed: None,
        rests_on_open_waits: first.is_lower_bound || other.is_lower_bound,
        verdict: ChangeVerdict::Unjudged,
    }
}

/// Returns the interval of the difference that decides a verdict at a significance level: that of 95 %, or a
/// narrower one if the level is above 5 %.
pub(super) fn decisive_interval(before: &[f64], after: &[f64], statistic: Statistic, level: f64) -> Option<[f64; 2]> {
    change_in(Scale::Unit, before, after, statistic, level.max(OUTSIDE)).1
}

/// Scale of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// Difference in the metric's unit.
    Unit,
    /// Difference in percent of the first arm.
    Percent,
}

impl Scale {
    fn change(self, before: f64, after: f64) -> f64 {
        match self {
            Self::Unit => after - before,
            Self::Percent => 100.0 * (after / before - 1.0),
        }
    }
}

fn change_in(
    scale: Scale,
    before: &[f64],
    after: &[f64],
    statistic: Statistic,
    outside: f64,
) -> (f64, Option<[f64; 2]>) {
    match IntervalMethod::from_statistic(statistic) {
        IntervalMethod::OrderStatistics => {
            let changes: Vec<f64> =
                before.iter().zip(after).map(|(before, after)| scale.change(*before, *after)).collect();
            (middle_of(&changes), median_interval(&changes, outside))
        }
        IntervalMethod::Bootstrap => {
            let of_both = |before: &[f64], after: &[f64]| scale.change(statistic.of(before), statistic.of(after));
            (of_both(before, after), widened_interval_of_pairs(before, after, outside, of_both))
        }
    }
}
