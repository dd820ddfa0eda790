// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs that end in different stable states: those of one arm, and those of different arms.
//!
//! Under load, a benchmark can have more than one stable state: pairs of netperf that share a CPU, and pairs whose
//! ends move at each wake-up. The start of a run decides which one it reaches. A mean of such runs describes none of
//! them. Rules:
//! 1. The values of the runs are sorted and divided at their largest gap. There must be eight runs, and two in each state:
//!    one run is no state, and a few values of a continuous distribution often have a wide gap.
//! 2. The runs are in two states if that gap is at least a quarter of the lower state's mean and at least three times
//!    the range within either state.
//!
//! Pairs of netperf report their state themselves: arms are in different states if their shares of transactions on one CPU
//! differ by at least 25 points.

use super::comparison::{Comparison, MetricRow};
use super::metrics::MetricDirection;
use schemars::JsonSchema;
use serde::Serialize;

/// Smallest number of runs that can be divided.
const MIN_RUNS: usize = 8;
/// Smallest number of runs in a state.
const MIN_RUNS_OF_STATE: usize = 2;
/// Smallest gap relative to the lower state's mean.
const MIN_GAP: f64 = 0.25;
/// Smallest gap relative to the range within a state.
const MIN_SEPARATION: f64 = 3.0;
/// Name of the metric that shows the state of pairs: a share.
const PAIR_METRIC: &str = "on one CPU";
/// Smallest difference between the shares of two states.
const MIN_SHARE_DIFFERENCE: f64 = 0.25;

/// Runs of an arm in one of two states.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct RunState {
    pub nr_runs: usize,
    pub mean: f64,
}

/// Two states of an arm's runs.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitRuns {
    /// Index of the arm.
    pub arm: usize,
    /// Name and unit of the metric whose values end apart.
    pub metric: (String, String),
    /// Runs with the lower and with the higher values.
    pub states: [RunState; 2],
}

/// States in which pairs of netperf end in each arm.
#[derive(Clone, Debug, PartialEq)]
pub struct PairEnds {
    /// Share of transactions on one CPU in each arm.
    pub shares: Vec<f64>,
    /// Whether arms end in different states.
    pub are_apart: bool,
}

impl Comparison {
    /// Returns the states in which pairs end, if the runs have pairs.
    pub fn pair_ends(&self) -> Option<PairEnds> {
        let row = self.rows.iter().find(|row| row.metric.name == PAIR_METRIC)?;
        let shares: Vec<f64> = row.arms.iter().map(|arm| arm.value).collect();
        let lowest = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = shares.iter().copied().fold(0.0, f64::max);
        Some(PairEnds { shares, are_apart: highest - lowest >= MIN_SHARE_DIFFERENCE })
    }

    /// Returns the arms whose runs end in two states, each with the first rate that shows it.
    pub fn split_runs(&self) -> Vec<SplitRuns> {
        let nr_arms = self.identical.len() + 1;
        let is_rate = |row: &&MetricRow| row.metric.better == MetricDirection::More && row.metric.unit == "/s";
        let split = |arm: usize| {
            self.rows.iter().filter(is_rate).find_map(|row| {
                let metric = (row.metric.name.clone(), row.metric.unit.clone());
                states_of(&row.arms[arm].runs).map(|states| SplitRuns { arm, metric, states })
            })
        };
        (0..nr_arms).filter_map(split).collect()
    }
}

/// Returns the two states of runs with these values, if they have two.
fn states_of(values: &[f64]) -> Option<[RunState; 2]> {
    if values.len() < MIN_RUNS {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let gap = |index: &usize| sorted[*index] - sorted[*index - 1];
    let cuts = MIN_RUNS_OF_STATE..=sorted.len() - MIN_RUNS_OF_STATE;
    let cut = cuts.max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    let (low, high) = sorted.split_at(cut);
    let range = |state: &[f64]| state[state.len() - 1] - state[0];
    let mean = |state: &[f64]| state.iter().sum::<f64>() / state.len() as f64;
    let inside = range(low).max(range(high));
    let is_split = gap(&cut) > 0.0 && gap(&cut) >= MIN_GAP * mean(low) && gap(&cut) >= MIN_SEPARATION * inside;
    is_split.then(|| [low, high].map(|state| RunState { nr_runs: state.len(), mean: mean(state) }))
}

#[cfg(test)]
mod tests {
    use super::super::Observation;
    use super::super::comparison::{ComparisonRules, compare};
    use super::super::metrics::{Metric, MetricDirection};
    use super::states_of;

    /// Returns the state of pairs in two arms with these shares of transactions on one CPU.
    fn are_apart(shares: [f64; 2]) -> Option<bool> {
        let metric = |name: &str| Metric {
            name: name.to_owned(),
            unit: String::new(),
            better: MetricDirection::Neither,
            ..Metric::default()
        };
        let run = |share: f64| Observation {
            digest: share.to_string(),
            metrics: vec![(metric("on one CPU"), share)],
            measured_s: None,
            ..Observation::default()
        };
        compare(&[shares.map(run).to_vec()], ComparisonRules::default()).pair_ends().map(|ends| ends.are_apart)
    }

    #[test]
    fn arms_end_apart_if_their_pairs_do() {
        assert_eq!(are_apart([0.02, 0.99]), Some(true));
        assert_eq!(are_apart([0.99, 0.75]), Some(false));
        let none = compare(&[Vec::new()], ComparisonRules::default());
        assert_eq!(none.pair_ends(), None);
    }

    #[test]
    fn runs_with_a_wide_gap_have_two_states() {
        let states = states_of(&[8.6, 3.6, 8.5, 3.5, 8.4, 8.5, 8.5, 8.5]).expect("they end apart");
        assert_eq!(states.map(|state| state.nr_runs), [2, 6]);
        assert!((states[1].mean - 8.5).abs() < 1e-9);
        assert_eq!(states_of(&[8.6, 3.6, 8.5, 3.5, 8.4, 8.5, 8.5]), None, "too few runs");
        assert_eq!(states_of(&[8.6, 3.6, 8.5, 8.6, 8.4, 8.5, 8.5, 8.5]), None, "one run is no state");
    }

    #[test]
    fn runs_of_a_continuous_distribution_are_rarely_in_two_states() {
        // Values between 1 and 2, by a linear congruential generator.
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            1.0 + (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let nr_split = (0..2000).filter(|_| states_of(&std::array::from_fn::<f64, 8, _>(|_| draw())).is_some()).count();
        assert!(nr_split <= 20, "{nr_split} of 2000");
    }

    #[test]
    fn runs_that_only_scatter_have_one_state() {
        for values in [&[1.0, 2.0][..], &[1.0, 1.2, 1.1], &[1.0, 2.0, 3.0, 4.0], &[0.0, 0.0, 0.0]] {
            assert_eq!(states_of(values), None, "{values:?}");
        }
    }
}
