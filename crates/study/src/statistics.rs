// SPDX-License-Identifier: GPL-2.0-or-later
//! One figure from several runs, and between which values it would lie had the runs been others: bootstrap intervals.
//!
//! An interval is that of percentiles: runs are drawn anew with replacement, the statistic is computed of each draw, and the interval is
//! what the middle 95 % of the results span. The draws have one fixed seed, so that equal runs give equal intervals. Of a change, runs
//! with the same seed are drawn together: their workloads start alike, and what they have in common is no part of the change.
//!
//! Draws of few runs spread less than the runs do, so that percentiles of them are too close together. Comparisons widen them by what Student's
//! distribution asks for with so many runs; studies, whose tables are recorded, do not.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use std::fmt;

/// How often runs are drawn.
pub(crate) const DRAWS: usize = 2000;
/// The seed of all draws.
const SEED: u64 = 0x0066_6169_726c_6162;
/// Fewer runs have no interval: of two values there are three draws.
const LEAST_RUNS: usize = 3;
/// What part of the draws lies beyond each end of an interval.
const OUTSIDE: f64 = 0.025;

/// How several values become one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum Statistic {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// Their median: of an even number the lower one of the two in the middle.
    Median,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// How many there are.
    Count,
    /// The value that so many percent of them do not exceed.
    Percentile(f64),
}

impl Statistic {
    /// Of these values.
    ///
    /// # Panics
    /// If there are none, unless it is the sum or the count.
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
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let plain = [Self::Sum, Self::Mean, Self::Median, Self::Min, Self::Max, Self::Count];
        if let Some(statistic) = plain.into_iter().find(|statistic| statistic.to_string() == text) {
            return Ok(statistic);
        }
        let percent = text.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok());
        percent.filter(|percent| (0.0..=100.0).contains(percent)).map(Self::Percentile).ok_or_else(|| {
            format!("`{text}` is no way to make one value of several: sum, mean, median, min, max, count, p90, p99.9")
        })
    }
}

/// Between which values a statistic of runs lies; none of fewer than three runs.
pub fn interval(values: &[f64], statistic: impl Fn(&[f64]) -> f64) -> Option<[f64; 2]> {
    let mut drawn = vec![0.0; values.len()];
    middle(values.len(), OUTSIDE, |places| {
        for (value, &place) in drawn.iter_mut().zip(places) {
            *value = values[place];
        }
        statistic(&drawn)
    })
}

/// Between which values what is computed of two arms' runs lies, drawn in pairs.
///
/// # Panics
/// If the arms have different numbers of runs.
pub fn interval_of_pairs(before: &[f64], after: &[f64], of_both: impl Fn(&[f64], &[f64]) -> f64) -> Option<[f64; 2]> {
    drawn_in_pairs(before, after, OUTSIDE, of_both)
}

/// The same, as wide as so few runs make it necessary: the part beyond each end is that of the normal distribution beyond Student's
/// quantile with the runs' degrees of freedom, times the root of n/(n-1).
///
/// # Panics
/// If the arms have different numbers of runs.
pub fn widened_interval_of_pairs(
    before: &[f64],
    after: &[f64],
    of_both: impl Fn(&[f64], &[f64]) -> f64,
) -> Option<[f64; 2]> {
    let runs = before.len() as f64;
    if before.len() < LEAST_RUNS {
        return None;
    }
    let student = StudentsT::new(0.0, 1.0, runs - 1.0).expect("there is more than one run");
    let normal = Normal::standard();
    let outside = normal.cdf(student.inverse_cdf(OUTSIDE) * (runs / (runs - 1.0)).sqrt());
    drawn_in_pairs(before, after, outside, of_both)
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

/// The middle of what draws of places give, without this part at each end.
fn middle(runs: usize, outside: f64, mut of_draw: impl FnMut(&[usize]) -> f64) -> Option<[f64; 2]> {
    if runs < LEAST_RUNS {
        return None;
    }
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let mut places = vec![0; runs];
    let mut results: Vec<f64> = (0..DRAWS)
        .map(|_| {
            for place in &mut places {
                // The upper half of a product: every place equally often but for a part of 2^-64.
                *place = ((u128::from(random.next_u64()) * runs as u128) >> 64) as usize;
            }
            of_draw(&places)
        })
        .collect();
    results.sort_by(f64::total_cmp);
    let outside = (DRAWS as f64 * outside) as usize;
    Some([results[outside], results[DRAWS - 1 - outside]])
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
    fn statistics_are_what_their_names_say_and_other_names_are_refused() {
        let values = [5.0, 1.0, 4.0, 2.0];
        let of = |name: &str| Statistic::try_from(name.to_owned()).map(|statistic| statistic.of(&values));
        let expected = [("sum", 12.0), ("mean", 3.0), ("median", 2.0), ("min", 1.0), ("max", 5.0), ("count", 4.0)];
        for (name, value) in expected {
            assert_eq!(of(name), Ok(value), "{name}");
        }
        assert_eq!((of("p75"), of("p76"), of("p99.9")), (Ok(4.0), Ok(5.0), Ok(5.0)));
        for name in ["average", "p", "p101", "p-1", "Mean"] {
            assert!(of(name).expect_err(name).contains("median"), "{name}");
        }
        assert_eq!(Statistic::Percentile(99.9).to_string(), "p99.9");
    }
}
