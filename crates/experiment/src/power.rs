// SPDX-License-Identifier: GPL-2.0-or-later
//! Statistical power: the minimum detectable effect of a number of repetitions, and the number that a given
//! effect needs.
//!
//! An effect is detectable if the test finds it in four of five experiments. Its size follows from the
//! standard deviation of the pairs' differences, as for Student's t test. The rank test needs pi/3 times as
//! many pairs for the same effect.
//!
//! A verdict on medians also needs an interval without 0. For that, the number of pairs that go the other way
//! must be small, which has a binomial distribution. Both are exact or nearly exact for normal differences. With
//! heavy tails the standard deviation overstates the effect: smaller ones are found, too.

use super::rank::attainable;
use crate::statistics::order_of_bounds;
use statrs::distribution::{Beta, ChiSquared, ContinuousCDF, Normal, StudentsT};
use std::f64::consts::PI;

/// Probability of finding a difference of the minimum detectable size.
pub const POWER: f64 = 0.8;
/// Order of the norm that combines the effects of two conditions; simulated experiments in `tests` check it.
const JOINT_NORM: i32 = 10;
/// Largest number of repetitions that [`needed`] returns.
const MAX_RUNS: usize = 1_000_000;

/// Rule that decides whether an experiment finds an effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectTest {
    /// Significance level of the signed rank test.
    pub level: f64,
    /// Probability with which the interval of the median may miss it, if that interval must exclude 0, too.
    pub interval_outside: Option<f64>,
}

impl EffectTest {
    /// Returns the minimum detectable difference, in standard deviations of the pairs' differences; `None` if so
    /// few pairs cannot give a result.
    pub fn smallest(self, pairs: usize) -> Option<f64> {
        let by_ranks = smallest(pairs, self.level)?;
        let Some(outside) = self.interval_outside else { return Some(by_ranks) };
        let by_interval = smallest_of_interval(pairs, outside)?;
        // The larger effect decides. If both are nearly equal, either condition can fail without the other, and both
        // together need up to 7 % more; this norm has that property.
        Some((by_ranks.powi(JOINT_NORM) + by_interval.powi(JOINT_NORM)).powf(1.0 / f64::from(JOINT_NORM)))
    }

    /// Returns the number of repetitions that can detect a difference, given in standard deviations of the pairs'
    /// differences; `None` above one million.
    pub fn needed(self, difference: f64) -> Option<usize> {
        let shows = |pairs: usize| self.smallest(pairs).is_some_and(|least| least <= difference);
        let mut most = 2;
        while !shows(most) {
            most *= 2;
            if most > MAX_RUNS {
                return None;
            }
        }
        let mut least = most / 2;
        while most - least > 1 {
            let middle = least.midpoint(most);
            if shows(middle) { most = middle } else { least = middle }
        }
        Some(most)
    }
}

/// Returns the minimum detectable difference of the signed rank test, in standard deviations of the pairs'
/// differences; `None` if so few pairs cannot give any significant result at this level.
pub fn smallest(pairs: usize, level: f64) -> Option<f64> {
    let level = attainable(pairs, level)?;
    let freedom = pairs.saturating_sub(1) as f64;
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let away = student.inverse_cdf(1.0 - level / 2.0) + student.inverse_cdf(POWER);
    Some(away * (PI / 3.0 / pairs as f64).sqrt())
}

/// Returns the difference for which the interval of the median excludes 0 in four of five experiments, in
/// standard deviations of the pairs' differences; `None` if so few pairs have no interval.
fn smallest_of_interval(pairs: usize, outside: f64) -> Option<f64> {
    let order = order_of_bounds(pairs, outside)?;
    // Fewer than `order` pairs may go the other way. The share of such pairs for which that has the probability
    // POWER is a quantile of the beta distribution.
    let beta = Beta::new(order as f64, (pairs - order + 1) as f64).expect("both shapes are positive");
    Some(-Normal::standard().inverse_cdf(beta.inverse_cdf(1.0 - POWER)))
}

/// Returns an upper estimate of a standard deviation, which the true one exceeds in one of five cases. Plans
/// use it, because a deviation that was estimated too low would lead to too few repetitions.
pub fn cautious(deviation: f64, pairs: usize) -> f64 {
    let freedom = pairs.saturating_sub(1).max(1) as f64;
    let chi_squared = ChiSquared::new(freedom).expect("there is a degree of freedom");
    deviation * (freedom / chi_squared.inverse_cdf(1.0 - POWER)).sqrt()
}

/// Returns the sample standard deviation; 0 for fewer than two values.
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pairs_show_nothing_and_more_show_less() {
        assert_eq!(smallest(5, 0.05), None);
        assert!(smallest(6, 0.05) > smallest(20, 0.05));
        // For many pairs the result is (1.96 + 0.84) times the square root of pi/3n.
        let many = smallest(1000, 0.05).expect("so many show something");
        assert!((many - 2.8016 * (PI / 3000.0).sqrt()).abs() < 0.001, "{many}");
    }

    #[test]
    fn what_is_needed_shows_it_and_one_less_does_not() {
        for interval_outside in [None, Some(0.05)] {
            let test = EffectTest { level: 0.05, interval_outside };
            for difference in [0.2, 0.5, 1.0, 3.0] {
                let pairs = test.needed(difference).expect("there is such a number");
                assert!(test.smallest(pairs).is_some_and(|least| least <= difference), "{difference}: {pairs}");
                assert!(test.smallest(pairs - 1).is_none_or(|least| least > difference), "{difference}: {pairs}");
            }
            assert_eq!(test.needed(1e-9), None);
        }
    }

    #[test]
    fn an_interval_of_six_pairs_excludes_zero_if_all_go_one_way() {
        // Six of six: each has the probability of the sixth root of 0.8.
        let least = smallest_of_interval(6, 0.05).expect("six pairs have an interval");
        assert!((Normal::standard().cdf(least).powi(6) - POWER).abs() < 1e-6, "{least}");
        assert_eq!(smallest_of_interval(5, 0.05), None);
    }

    #[test]
    fn deviations_are_those_of_samples() {
        assert_eq!(deviation(&[2.0, 4.0]), 2.0_f64.sqrt());
        assert_eq!(deviation(&[7.0]), 0.0);
        assert!(cautious(1.0, 10) > 1.2 && cautious(1.0, 1000) < 1.03);
    }
}
