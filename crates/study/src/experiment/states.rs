// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs of an arm that end in different stable states.
//!
//! Under load, a benchmark can have more than one stable state: pairs of netperf that share a CPU, and pairs whose
//! ends move at each wake-up. The start of a run decides which one it reaches. A mean of such runs describes none of
//! them. Rules:
//! 1. The values of the runs are sorted and divided at their largest gap.
//! 2. The runs are in two states if that gap is at least a quarter of the lower state's mean and at least three times
//!    the range within either state.

use super::comparison::{Comparison, MetricRow};
use super::metrics::MetricDirection;

/// Smallest number of runs that can be divided.
const MIN_RUNS: usize = 3;
/// Smallest gap relative to the lower state's mean.
const MIN_GAP: f64 = 0.25;
/// Smallest gap relative to the range within a state.
const MIN_SEPARATION: f64 = 3.0;

/// Runs of an arm in one of two states.
#[derive(Clone, Copy, Debug, PartialEq)]
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

impl Comparison {
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
    let cut = (1..sorted.len()).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    let (low, high) = sorted.split_at(cut);
    let range = |state: &[f64]| state[state.len() - 1] - state[0];
    let mean = |state: &[f64]| state.iter().sum::<f64>() / state.len() as f64;
    let inside = range(low).max(range(high));
    let is_split = gap(&cut) > 0.0 && gap(&cut) >= MIN_GAP * mean(low) && gap(&cut) >= MIN_SEPARATION * inside;
    is_split.then(|| [low, high].map(|state| RunState { nr_runs: state.len(), mean: mean(state) }))
}

#[cfg(test)]
mod tests {
    use super::states_of;

    #[test]
    fn runs_with_a_wide_gap_have_two_states() {
        let states = states_of(&[8.6, 3.6, 8.5]).expect("they end apart");
        assert_eq!(states.map(|state| state.nr_runs), [1, 2]);
        assert!((states[1].mean - 8.55).abs() < 1e-9);
    }

    #[test]
    fn runs_that_only_scatter_have_one_state() {
        for values in [&[1.0, 2.0][..], &[1.0, 1.2, 1.1], &[1.0, 2.0, 3.0, 4.0], &[0.0, 0.0, 0.0]] {
            assert_eq!(states_of(values), None, "{values:?}");
        }
    }
}
