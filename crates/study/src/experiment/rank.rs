// SPDX-License-Identifier: GPL-2.0-or-later
//! Wilcoxon's signed rank test of pairs, and Holm's correction for the number of tests.
//!
//! The test asks whether differences of pairs lie around zero. It needs no distribution of its own for that, only that differences are
//! as likely up as down if there is nothing; with two arms that are the same, and pairs that share a seed, that is so.

use statrs::distribution::{ContinuousCDF, Normal};

/// Up to so many pairs, all ways in which signs can fall are counted; with more the normal distribution is near enough.
const MAX_COUNTED: usize = 60;

/// What the test says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// How likely ranks as far apart as these are if there is no difference (two-sided).
    pub p: f64,
    /// Whether the greater part of the ranks goes up.
    pub goes_up: bool,
}

/// Tests differences of pairs. Those of zero say nothing and are left out; equal ones share their ranks.
pub fn signed_rank(differences: &[f64]) -> SignedRank {
    let mut sizes: Vec<(f64, bool)> = Vec::with_capacity(differences.len());
    sizes.extend(differences.iter().filter(|one| **one != 0.0).map(|one| (one.abs(), *one > 0.0)));
    sizes.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut doubled = Vec::with_capacity(sizes.len());
    for equal in sizes.chunk_by(|one, other| one.0 == other.0) {
        // Places count from 1: those from `first` to `last` share their mean, of which twice is a whole number.
        let (first, last) = (doubled.len() + 1, doubled.len() + equal.len());
        doubled.extend(equal.iter().map(|_| first + last));
    }
    let up: usize = doubled.iter().zip(&sizes).filter(|(_, (_, is_up))| *is_up).map(|(rank, _)| rank).sum();
    let total: usize = doubled.iter().sum();
    let least = up.min(total - up);
    let tail = if doubled.len() <= MAX_COUNTED { counted(&doubled, least) } else { approximated(&doubled, least) };
    SignedRank { p: (2.0 * tail).min(1.0), goes_up: up > total - up }
}

/// Which part of all ways in which signs can fall has a sum of no more than this, by counting them.
fn counted(doubled: &[usize], least: usize) -> f64 {
    let parts = sums(doubled);
    parts[..=least].iter().sum()
}

/// What part of all ways in which signs can fall gives each sum.
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
    // A rank is half of a doubled one, so that half a rank, by which a step is smoothed, is one.
    let away = (least as f64 + 1.0 - mean) / (squares / 4.0).sqrt();
    Normal::standard().cdf(away.min(0.0))
}

/// The greatest probability that the test can give without being greater than this; `None` if so few pairs cannot give any.
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

/// The least number of pairs that can show a difference in so many tests at this level: if all of them go one way, the test gives
/// twice the part that one way of signs is of all, and Holm's correction takes the least of probabilities as often as there are tests.
pub fn enough(tests: usize, level: f64) -> usize {
    let is_enough = |pairs: &usize| tests.max(1) as f64 * 2.0 * 0.5_f64.powi(*pairs as i32) <= level;
    (2..MAX_COUNTED).find(is_enough).unwrap_or(MAX_COUNTED)
}

/// Holm's correction: what each probability amounts to beside the others. The least counts as often as there are tests, the next once
/// less, and none becomes less than the one before.
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
        // Of five pairs that all go up there are two of 32 ways as extreme; of six, two of 64.
        assert_eq!(signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0]).p, 2.0 / 32.0);
        assert_eq!(signed_rank(&[-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]).p, 2.0 / 64.0);
        // The smallest goes the other way: a sum of 1, which one more way has besides the sum of 0.
        assert_eq!(signed_rank(&[-1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).p, 4.0 / 64.0);
        assert_eq!(signed_rank(&[]).p, 1.0);
        assert_eq!(signed_rank(&[0.0, 0.0]).p, 1.0);
    }

    #[test]
    fn a_published_example_comes_out() {
        // Wilcoxon's own: heights of cross- and self-fertilised plants, differences in eighths of an inch, W = 24 of 120.
        let plants = [49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0];
        assert!((signed_rank(&plants).p - 0.041_26).abs() < 1e-5, "{}", signed_rank(&plants).p);
    }

    #[test]
    fn equal_differences_share_their_ranks() {
        // Ranks 1.5, 1.5, 3: sums are 0, 1.5 (twice), 3 (twice), 4.5 (twice), 6; at most 1.5 have three of eight.
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
