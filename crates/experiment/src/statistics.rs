// SPDX-License-Identifier: GPL-2.0-or-later
//! Statistics of several runs, and their bootstrap confidence intervals.
//!
//! Intervals are percentile intervals: runs are resampled with replacement, the statistic is computed for
//! each draw, and the interval spans the middle 95 % of the results. All draws use one fixed seed, so that
//! equal runs give equal intervals. For a change between two arms, runs of the same seed are drawn as a pair:
//! their workloads start alike, and common effects cancel out of the change.
//!
//! Draws of few runs spread less than the runs do, so percentile intervals are too narrow. Comparisons of means
//! therefore widen them with Student's t distribution for the number of runs. Studies, whose tables are
//! recorded, do not.
//!
//! Comparisons of medians use [`median_interval`], which needs no draws and no assumption on the distribution.

use fairlab_workload::message::Message;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};
use std::fmt;

/// Number of bootstrap draws for each interval.
pub const NR_DRAWS: usize = 2000;
const SEED: u64 = 0x0066_6169_726c_6162;
/// Fewer runs get no interval: two values have only three different draws.
const MIN_RUNS: usize = 3;
/// Fraction of the draws beyond each end of an interval.
const OUTSIDE: f64 = 0.025;

/// Function that reduces several values to one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum Statistic {
    /// Sum of the values; 0 without values.
    Sum,
    /// Arithmetic mean of the values.
    Mean,
    /// Median; of an even number of values, the lower one of the two in the middle.
    Median,
    /// Smallest of the values.
    Min,
    /// Largest of the values.
    Max,
    /// Number of values, whatever they are.
    Count,
    /// Smallest value that at least this percentage of the values does not exceed (nearest rank), from 0 to
    /// 100.
    Percentile(f64),
}

impl Statistic {
    /// Computes the statistic.
    ///
    /// # Panics
    /// If `values` is empty, except for [`Self::Sum`] and [`Self::Count`].
    pub fn of(self, values: &[f64]) -> f64 {
        let sum = || values.iter().sum::<f64>();
        let ranked = |part: f64| {
            assert!(!values.is_empty(), "a figure comes from at least one value");
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            let rank = (part * sorted.len() as f64).ceil() as usize;
            sorted[rank.clamp(1, sorted.len()) - 1]
        };
        match self {
            Self::Sum => sum(),
            Self::Mean => {
                assert!(!values.is_empty(), "a figure comes from at least one value");
                sum() / values.len() as f64
            }
            Self::Median => ranked(0.5),
            Self::Min => ranked(0.0),
            Self::Max => ranked(1.0),
            Self::Count => values.len() as f64,
            Self::Percentile(percent) => ranked(percent / 100.0),
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sum => f.write_str("sum"),
            Self::Mean => f.write_str("mean"),
            Self::Median => f.write_str("median"),
            Self::Min => f.write_str("min"),
            Self::Max => f.write_str("max"),
            Self::Count => f.write_str("count"),
            Self::Percentile(percent) => write!(f, "p{percent}"),
        }
    }
}

impl From<Statistic> for String {
    fn from(statistic: Statistic) -> Self {
        statistic.to_string()
    }
}

impl TryFrom<String> for Statistic {
    type Error = Message;

    fn try_from(text: String) -> Result<Self, Message> {
        let plain = [Self::Sum, Self::Mean, Self::Median, Self::Min, Self::Max, Self::Count];
        if let Some(statistic) = plain.into_iter().find(|statistic| statistic.to_string() == text) {
            return Ok(statistic);
        }
        let percent = text.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok());
        percent.filter(|percent| (0.0..=100.0).contains(percent)).map(Self::Percentile).ok_or_else(|| {
            Message::new(format!("`{text}` is not a statistic"))
                .with_help("use sum, mean, median, min, max, count, or a percentile such as p90 or p99.9")
        })
    }
}

/// Returns the 95 % interval of a statistic of runs, or `None` for fewer than three runs.
pub fn interval(values: &[f64], statistic: impl Fn(&[f64]) -> f64) -> Option<[f64; 2]> {
    let mut drawn = vec![0.0; values.len()];
    middle(values.len(), OUTSIDE, |places| {
        for (value, &place) in drawn.iter_mut().zip(places) {
            *value = values[place];
        }
        statistic(&drawn)
    })
}

/// Returns the 95 % interval of a statistic of two arms, whose runs are drawn in pairs; `None` for fewer than
/// three runs.
///
/// # Panics
/// If the arms have different numbers of runs.
pub fn interval_of_pairs(before: &[f64], after: &[f64], of_both: impl Fn(&[f64], &[f64]) -> f64) -> Option<[f64; 2]> {
    drawn_in_pairs(before, after, OUTSIDE, of_both)
}

/// Returns an interval like [`interval_of_pairs`], widened for small numbers of runs, that misses the true value
/// with the probability `outside` if the changes are normal.
///
/// The fraction beyond each end is the value of the normal distribution function at Student's quantile for n
/// - 1 degrees of freedom, multiplied by the square root of n / (n - 1), where n is the number of runs.
///
/// # Panics
/// If the arms have different numbers of runs.
pub fn widened_interval_of_pairs(
    before: &[f64],
    after: &[f64],
    outside: f64,
    of_both: impl Fn(&[f64], &[f64]) -> f64,
) -> Option<[f64; 2]> {
    let runs = before.len() as f64;
    if before.len() < MIN_RUNS {
        return None;
    }
    let student = StudentsT::new(0.0, 1.0, runs - 1.0).expect("there is more than one run");
    let normal = Normal::standard();
    let outside = normal.cdf(student.inverse_cdf(outside / 2.0) * (runs / (runs - 1.0)).sqrt());
    drawn_in_pairs(before, after, outside, of_both)
}

/// Returns the median of values; of an even number of values, the mean of the two in the middle.
///
/// # Panics
/// If there is no value.
pub fn middle_of(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() - 1) / 2].midpoint(sorted[sorted.len() / 2])
}

/// Returns an interval that misses the median of the values' distribution with a probability of at most
/// `outside`, whatever the distribution; `None` for so few values that there is no such interval.
///
/// The bounds are order statistics: the [`order_of_bounds`]-th smallest and the [`order_of_bounds`]-th largest
/// value. The interval is the inverse of the sign test.
pub fn median_interval(values: &[f64], outside: f64) -> Option<[f64; 2]> {
    let order = order_of_bounds(values.len(), outside)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some([sorted[order - 1], sorted[sorted.len() - order]])
}

/// Returns the positions of the bounds of [`median_interval`], counted from 1 from either end.
///
/// Fewer than k of n values lie on one side of the median with the probability that a coin falls on one side
/// fewer than k times in n throws. The result is the largest k for which twice that probability is at most
/// `outside`.
pub fn order_of_bounds(nr_values: usize, outside: f64) -> Option<usize> {
    let coins = Binomial::new(0.5, nr_values as u64).expect("0.5 is a probability");
    let is_rare = |order: &usize| 2.0 * coins.cdf(*order as u64 - 1) <= outside;
    (1..=nr_values / 2).rev().find(is_rare)
}

fn drawn_in_pairs(
    before: &[f64],
    after: &[f64],
    outside: f64,
    of_both: impl Fn(&[f64], &[f64]) -> f64,
) -> Option<[f64; 2]> {
    assert_eq!(before.len(), after.len(), "arms have the same seeds");
    let (mut old, mut new) = (vec![0.0; before.len()], vec![0.0; before.len()]);
    middle(before.len(), outside, |places| {
        for (slot, &place) in places.iter().enumerate() {
            (old[slot], new[slot]) = (before[place], after[place]);
        }
        of_both(&old, &new)
    })
}

/// Draws positions of `runs` runs [`NR_DRAWS`] times, and returns the interval of the results without the
/// fraction `outside` at each end.
fn middle(runs: usize, outside: f64, mut of_draw: impl FnMut(&[usize]) -> f64) -> Option<[f64; 2]> {
    if runs < MIN_RUNS {
        return None;
    }
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let mut places = vec![0; runs];
    let mut results: Vec<f64> = (0..NR_DRAWS)
        .map(|_| {
            for place in &mut places {
                // The upper half of the product selects every position with equal probability, except for a
                // bias of 2^-64.
                *place = ((u128::from(random.next_u64()) * runs as u128) >> 64) as usize;
            }
            of_draw(&places)
        })
        .collect();
    results.sort_by(f64::total_cmp);
    let outside = (NR_DRAWS as f64 * outside) as usize;
    Some([results[outside], results[NR_DRAWS - 1 - outside]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_that_of_the_normal_distribution_where_that_is_known() {
        // The mean of 400 values of a uniform distribution over 0 to 1 has a standard deviation of sqrt(1/12/400) = 0.0144.
        let values: Vec<f64> = (0..400).map(|place| (f64::from(place) + 0.5) / 400.0).collect();
        let [low, high] = interval(&values, |values| Statistic::Mean.of(values)).expect("there are enough runs");
        assert!((low - (0.5 - 1.96 * 0.0144)).abs() < 0.002, "{low}");
        assert!((high - (0.5 + 1.96 * 0.0144)).abs() < 0.002, "{high}");
    }

    #[test]
    fn what_pairs_have_in_common_is_no_part_of_the_interval_of_their_change() {
        let before: Vec<f64> = (0..20).map(|place| f64::from(place) * 10.0).collect();
        let after: Vec<f64> = before.iter().map(|value| value + 3.0).collect();
        let mean = |values: &[f64]| Statistic::Mean.of(values);
        let change = |before: &[f64], after: &[f64]| mean(after) - mean(before);
        let [low, high] = interval_of_pairs(&before, &after, change).expect("there are enough runs");
        assert!((low - 3.0).abs() < 1e-9 && (high - 3.0).abs() < 1e-9, "{low} to {high}");
    }

    #[test]
    fn intervals_are_the_same_each_time_and_fewer_than_three_runs_have_none() {
        let of = |values: &[f64]| interval(values, |values| Statistic::Median.of(values));
        assert_eq!(of(&[1.0, 5.0, 9.0, 2.0]), of(&[1.0, 5.0, 9.0, 2.0]));
        assert_eq!(of(&[1.0, 5.0]), None);
        assert_eq!(of(&[4.0, 4.0, 4.0]), Some([4.0, 4.0]));
    }

    #[test]
    fn intervals_of_medians_are_those_of_published_tables() {
        // Conover, Practical Nonparametric Statistics, confidence intervals of quantiles: positions for 95 %.
        let orders =
            [(5, None), (6, Some(1)), (8, Some(1)), (9, Some(2)), (10, Some(2)), (20, Some(6)), (40, Some(14))];
        for (nr_values, order) in orders {
            assert_eq!(order_of_bounds(nr_values, 0.05), order, "{nr_values}");
        }
        let values = [9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0, 10.0];
        assert_eq!((median_interval(&values, 0.05), middle_of(&values)), (Some([2.0, 9.0]), 5.5));
        assert_eq!((median_interval(&values[..5], 0.05), middle_of(&values[..5])), (None, 7.0));
        assert_eq!(median_interval(&[4.0; 6], 0.05), Some([4.0, 4.0]));
    }

    #[test]
    fn statistics_are_what_their_names_say_and_other_names_are_refused() {
        let values = [5.0, 1.0, 4.0, 2.0];
        let of = |name: &str| Statistic::try_from(name.to_owned()).map(|statistic| statistic.of(&values));
        let expected = [("sum", 12.0), ("mean", 3.0), ("median", 2.0), ("min", 1.0), ("max", 5.0), ("count", 4.0)];
        for (name, value) in expected {
            assert_eq!(of(name), Ok(value), "{name}");
        }
        assert_eq!((of("p75"), of("p76"), of("p99.9")), (Ok(4.0), Ok(5.0), Ok(5.0)));
        for name in ["average", "p", "p101", "p-1", "Mean"] {
            assert!(of(name).expect_err(name).to_string().contains("median"), "{name}");
        }
        assert_eq!(Statistic::Percentile(99.9).to_string(), "p99.9");
    }
}
