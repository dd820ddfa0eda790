// SPDX-License-Identifier: GPL-2.0-or-later
//! Wilcoxon's signed rank test of pairs, and Holm's correction for multiple tests.
//!
//! The null hypothesis is that the differences of pairs are symmetric around zero. The test assumes no other
//! property of their distribution. Pairs of equal arms that share a seed fulfil the hypothesis.

use statrs::distribution::{ContinuousCDF, Normal};

/// Largest number of pairs whose sign combinations are counted exactly; for more pairs the normal
/// approximation is accurate enough.
const MAX_COUNTED: usize = 60;

/// Result of the signed rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// Two-sided p-value: the probability of ranks at least as far apart without a difference.
    pub p: f64,
    /// Whether the sum of the positive ranks is the greater one.
    pub goes_up: bool,
}

/// Tests the differences of pairs. Differences of zero are left out, and equal differences share their ranks.
pub fn signed_rank(differences: &[f64]) -> SignedRank {
    let mut sizes: Vec<(f64, bool)> = Vec::with_capacity(differences.len());
    sizes.extend(differences.iter().filter(|one| **one != 0.0).map(|one| (one.abs(), *one > 0.0)));
    sizes.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut doubled = Vec::with_capacity(sizes.len());
    for equal in sizes.chunk_by(|one, other| one.0 == other.0) {
        // Ranks count from 1. Those from `first` to `last` share their mean; twice the mean is an integer.
        let (first, last) = (doubled.len() + 1, doubled.len() + equal.len());
        doubled.extend(equal.iter().map(|_| first + last));
    }
    let up: usize = doubled.iter().zip(&sizes).filter(|(_, (_, is_up))| *is_up).map(|(rank, _)| rank).sum();
    let total: usize = doubled.iter().sum();
    let least = up.min(total - up);
    let tail = if doubled.len() <= MAX_COUNTED { counted(&doubled, least) } else { approximated(&doubled, least) };
    SignedRank { p: (2.0 * tail).min(1.0), goes_up: up > total - up }
}

/// Returns the exact probability of a rank sum of at most `least`, by counting sign combinations.
fn counted(doubled: &[usize], least: usize) -> f64 {
    let parts = sums(doubled);
    parts[..=least].iter().sum()
}

/// Returns the probability of each rank sum over all sign combinations.
fn sums(doubled: &[usize]) -> Vec<f64> {
    let mut parts = vec![0.0; doubled.iter().sum::<usize>() + 1];
    parts[0] = 1.0;
    let mut reached = 0;
    for &rank in doubled {
        for sum in (0..=reached).rev() {
            let half = parts[sum] / 2.0;
            parts[sum] = half;
            parts[sum + rank] += half;
        }
        reached += rank;
    }
    parts
}

fn approximated(doubled: &[usize], least: usize) -> f64 {
    let squares: f64 = doubled.iter().map(|&rank| (rank as f64).powi(2)).sum();
    let mean = doubled.iter().sum::<usize>() as f64 / 2.0;
    // The continuity correction is half a rank, and 1 in doubled ranks.
    let away = (least as f64 + 1.0 - mean) / (squares / 4.0).sqrt();
    Normal::standard().cdf(away.min(0.0))
}

/// Returns the largest p-value up to `level` that the test can give; `None` if so few pairs cannot give any.
pub fn attainable(pairs: usize, level: f64) -> Option<f64> {
    if pairs > MAX_COUNTED {
        return Some(level);
    }
    let doubled: Vec<usize> = (1..=pairs).map(|rank| 2 * rank).collect();
    let mut tail = 0.0;
    let mut reached = None;
    for part in sums(&doubled) {
        tail += part;
        if 2.0 * tail > level {
            break;
        }
        reached = Some(2.0 * tail);
    }
    reached
}

/// Returns the smallest number of pairs with which one of `tests` tests can be significant at this level.
///
/// If all pairs differ in the same direction, the p-value is twice the probability of one sign combination.
/// Holm's correction multiplies the smallest p-value by the number of tests.
pub fn enough(tests: usize, level: f64) -> usize {
    let is_enough = |pairs: &usize| tests.max(1) as f64 * 2.0 * 0.5_f64.powi(*pairs as i32) <= level;
    (2..MAX_COUNTED).find(is_enough).unwrap_or(MAX_COUNTED)
}

/// Applies Holm's correction: the smallest p-value is multiplied by the number of tests, the next by one
/// less, and so on. No corrected value is less than the one before it.
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&one, &other| probabilities[one].total_cmp(&probabilities[other]));
    let mut corrected = vec![1.0; probabilities.len()];
    let mut before = 0.0_f64;
    for (place, &index) in order.iter().enumerate() {
        let times = (probabilities.len() - place) as f64;
        before = before.max((probabilities[index] * times).min(1.0));
        corrected[index] = before;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pairs_are_counted_exactly() {
        // Five pairs in the same direction: two of 32 combinations are as extreme. Six pairs: two of 64.
        assert_eq!(signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0]).p, 2.0 / 32.0);
        assert_eq!(signed_rank(&[-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]).p, 2.0 / 64.0);
        // The smallest difference has the other sign: the rank sum 1 has one combination in addition to that
        // of the sum 0.
        assert_eq!(signed_rank(&[-1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).p, 4.0 / 64.0);
        assert_eq!(signed_rank(&[]).p, 1.0);
        assert_eq!(signed_rank(&[0.0, 0.0]).p, 1.0);
    }

    #[test]
    fn a_published_example_comes_out() {
        // Wilcoxon's own example: heights of cross- and self-fertilised plants, differences in eighths of an
        // inch, W = 24 of 120.
        let plants = [49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0];
        assert!((signed_rank(&plants).p - 0.041_26).abs() < 1e-5, "{}", signed_rank(&plants).p);
    }

    #[test]
    fn equal_differences_share_their_ranks() {
        // Ranks 1.5, 1.5, 3: the sums are 0, 1.5 (twice), 3 (twice), 4.5 (twice), 6; three of eight are at
        // most 1.5.
        assert_eq!(signed_rank(&[-1.0, 1.0, 2.0]).p, 6.0 / 8.0);
    }

    #[test]
    fn the_normal_distribution_is_near_what_is_counted_and_errs_to_the_careful_side() {
        let doubled: Vec<usize> = (1..=MAX_COUNTED).map(|rank| 2 * rank).collect();
        for least in [1000, 1200, 1400, 1700] {
            let (exact, near) = (counted(&doubled, least), approximated(&doubled, least));
            assert!((exact - near).abs() < 0.002 && near > exact * 0.99, "{least}: {exact} {near}");
        }
    }

    #[test]
    fn what_so_few_pairs_can_give_is_known() {
        assert_eq!(attainable(5, 0.05), None);
        assert_eq!(attainable(6, 0.05), Some(2.0 / 64.0));
        assert_eq!(attainable(10, 0.05), Some(0.048_828_125));
        assert_eq!(attainable(100, 0.05), Some(0.05));
    }

    #[test]
    fn the_fewest_pairs_that_show_anything_are_those_whose_best_outcome_is_found() {
        for tests in [1, 2, 3, 48, 500] {
            let pairs = enough(tests, 0.05);
            let best = |pairs: usize| holm(&vec![signed_rank(&vec![1.0; pairs]).p; tests])[0];
            assert!(best(pairs) <= 0.05 && best(pairs - 1) > 0.05, "{tests}: {pairs}");
        }
        assert_eq!((enough(1, 0.05), enough(48, 0.05), enough(0, 0.05)), (6, 11, 6));
    }

    #[test]
    fn corrections_count_the_tests_and_keep_the_order() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.9, 0.6]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
