// SPDX-License-Identifier: GPL-2.0-or-later
//! Experiments: repeated runs of arms in pairs that share a seed, and statistical tests of their differences.
//!
//! [`metrics`] extracts numbers from the JSON result of a run. [`comparison`] compares arms, with the changes of
//! [`intervals`], the test of [`rank`] and the minimum detectable effect of [`power`]; [`report`] has its sentences. [`bisect`] finds the switches among many that
//! cause a difference. An implementation of [`Arms`] defines how an arm is run.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests advance machines by hand"))]

pub mod bisect;
pub mod charts;
pub mod comparison;
pub mod document;
pub mod intervals;
mod judge;
pub mod metrics;
pub mod parameter;
pub mod pool;
pub mod power;
pub mod rank;
pub mod report;
pub mod states;
pub mod statistics;
#[cfg(test)]
mod tests;
pub mod toml_error;
pub mod work;

use comparison::{ChangeVerdict, Comparison, ComparisonRules, compare};
use metrics::Metric;
use std::collections::BTreeSet;
use work::FamilyAmount;

/// Result of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// Digest over all events of the run.
    pub digest: String,
    /// Values of the run's metrics.
    pub metrics: Vec<(Metric, f64)>,
    /// Names of metrics whose values are lower bounds, because they are those of waits that have not ended.
    pub open: BTreeSet<String>,
    /// Work of the task families, without kernel threads; empty for a benchmark.
    pub work: Vec<FamilyAmount>,
    /// Length of the measured time in seconds, if it does not depend on what happens in the run.
    pub measured_s: Option<f64>,
}

impl Observation {
    /// Returns the value of a metric by name.
    pub fn of(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|(metric, _)| metric.name == name).map(|(_, value)| *value)
    }
}

/// Arms of an experiment.
pub trait Arms: Sync {
    /// Error of a failed run.
    type Error: Send;

    /// Number of arms, including the first one that all others are compared with.
    fn nr_arms(&self) -> usize;

    /// Runs an arm with a seed. Returns `None` for a run that was stopped before its end.
    ///
    /// # Errors
    /// If the arm cannot be run.
    fn run(&self, arm: usize, seed: u64) -> Result<Option<Observation>, Self::Error>;
}

/// Results of repetitions, each with one run of every arm.
pub type Repetitions = Vec<Vec<Observation>>;

/// Runs every arm with each of the seeds, on all cores. Stops as soon as `has_more` returns false or a run is
/// stopped, and returns the complete repetitions up to the first incomplete one.
///
/// # Errors
/// The error of the first failing run, in the order of seeds and arms.
pub fn repeat<A: Arms>(
    arms: &A,
    seeds: std::ops::Range<u64>,
    has_more: &(dyn Fn() -> bool + Sync),
) -> Result<Repetitions, A::Error> {
    let number = arms.nr_arms();
    let jobs: Vec<(u64, usize)> = seeds.flat_map(|seed| (0..number).map(move |arm| (seed, arm))).collect();
    let run = |(seed, arm): (u64, usize)| if has_more() { arms.run(arm, seed) } else { Ok(None) };
    let runs = pool::all(jobs, run)?;
    let whole = runs.chunks(number).map_while(|runs| runs.iter().cloned().collect::<Option<Vec<_>>>());
    Ok(whole.collect())
}

/// Number of repetitions before the first interim analysis of [`until_found`].
const FIRST_CHECK: u64 = 10;
/// Largest number of repetitions of an experiment.
const MAX_REPETITIONS: u64 = 10_000;

/// Result of an experiment with [`until_found`].
#[derive(Clone, Debug)]
pub struct ExperimentResult {
    /// Comparison at the last interim analysis.
    pub comparison: Comparison,
    /// Number of interim analyses.
    pub nr_checks: u32,
    /// Whether the experiment ended because `has_more` returned false.
    pub is_out_of_time: bool,
}

/// Repeats runs until the result for each metric is settled or there is no more time.
///
/// A metric is settled if a difference was found, or if the minimum detectable effect is at most the one that
/// the rules ask for. Repeated testing finds a difference at some point even where there is none. Each
/// interim analysis therefore uses half of the remaining significance level: the first one half, the second a
/// quarter, so that together they never exceed the whole level.
///
/// # Errors
/// The error of the first failing run.
pub fn until_found<A: Arms>(
    arms: &A,
    first_seed: u64,
    rules: ComparisonRules,
    has_more: &(dyn Fn() -> bool + Sync),
) -> Result<Option<ExperimentResult>, A::Error> {
    let mut repetitions = Vec::new();
    let (mut nr_checks, mut aim) = (0, FIRST_CHECK);
    loop {
        let from = first_seed + repetitions.len() as u64;
        let wanted = aim - repetitions.len() as u64;
        let more = repeat(arms, from..from + wanted, has_more)?;
        let is_out_of_time = (more.len() as u64) < wanted;
        repetitions.extend(more);
        if repetitions.is_empty() {
            return Ok(None);
        }
        nr_checks += 1;
        let level = rules.level / f64::from(2_u32.saturating_pow(nr_checks));
        let comparison = compare(&repetitions, ComparisonRules { level, ..rules });
        if is_out_of_time || aim >= MAX_REPETITIONS || is_settled(&comparison) {
            return Ok(Some(ExperimentResult { comparison, nr_checks, is_out_of_time }));
        }
        aim *= 2;
    }
}

/// Whether more repetitions would not change the result.
fn is_settled(comparison: &Comparison) -> bool {
    // A deterministic arm gives the same repetition every time.
    if comparison.distinct < 2 {
        return true;
    }
    comparison.rows.iter().flat_map(|row| &row.changes).all(|change| match change.verdict {
        ChangeVerdict::TooFew => false,
        ChangeVerdict::NotFound => change.could_show_percent.is_some_and(|least| least <= comparison.detect_percent),
        _ => true,
    })
}
