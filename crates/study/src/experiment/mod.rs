// SPDX-License-Identifier: GPL-2.0-or-later
//! Experiments: arms that are run again and again, in pairs that share a seed, and what may be said of their differences.
//!
//! [`metrics`] takes numbers from what a run tells; [`comparison`] sets arms beside each other, with the test of [`rank`] and what it could
//! have found ([`power`]); [`bisect`] finds out which of many switches makes a difference. How an arm is run is the affair of whoever
//! implements [`Arms`].

pub mod bisect;
pub mod comparison;
pub mod metrics;
pub mod page;
pub mod power;
pub mod rank;
#[cfg(test)]
mod tests;

use crate::pool;
use comparison::{ChangeVerdict, Comparison, ComparisonRules, compare};
use metrics::Metric;

/// What a run told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// The hash over all that it did.
    pub digest: String,
    /// Its metrics.
    pub metrics: Vec<(Metric, f64)>,
}

impl Observation {
    /// The value of a metric.
    pub fn of(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|(metric, _)| metric.name == name).map(|(_, value)| *value)
    }
}

/// Arms that can be run.
pub trait Arms: Sync {
    /// Why a run failed.
    type Error: Send;

    /// How many there are.
    fn nr_arms(&self) -> usize;

    /// Runs an arm with a seed. Nothing is told of a run that was stopped before its end.
    ///
    /// # Errors
    /// If it cannot be run.
    fn run(&self, arm: usize, seed: u64) -> Result<Option<Observation>, Self::Error>;
}

/// Repetitions, each with one run of every arm.
pub type Repetitions = Vec<Vec<Observation>>;

/// Runs every arm with each of these seeds, all cores at once. Stops where `has_more` says no or a run is stopped, and gives the repetitions
/// that were finished before the first one that was not.
///
/// # Errors
/// That of the first run, by seed and arm, which fails.
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

/// Repetitions of the first look of an experiment that goes on until something is found.
const FIRST_CHECK: u64 = 10;
/// An experiment has no more repetitions than this.
const MAX_REPETITIONS: u64 = 10_000;

/// What came of an experiment that went on until something was found.
#[derive(Clone, Debug)]
pub struct ExperimentResult {
    /// The comparison at the last look.
    pub comparison: Comparison,
    /// How often results were looked at.
    pub looks: u32,
    /// Whether it ended because there was no more time.
    pub is_out_of_time: bool,
}

/// Repeats until of each metric a difference was found, or could have been found had it been as large as the one that was asked about; or
/// until there is no more time.
///
/// Who looks again and again finds something in the end, even where there is nothing. So each look has half of what is left of the level:
/// the first one half of it, the next a quarter, and all together no more than the whole.
///
/// # Errors
/// That of the first run which fails.
pub fn until_found<A: Arms>(
    arms: &A,
    first_seed: u64,
    rules: ComparisonRules,
    has_more: &(dyn Fn() -> bool + Sync),
) -> Result<Option<ExperimentResult>, A::Error> {
    let mut repetitions = Vec::new();
    let (mut looks, mut aim) = (0, FIRST_CHECK);
    loop {
        let from = first_seed + repetitions.len() as u64;
        let wanted = aim - repetitions.len() as u64;
        let more = repeat(arms, from..from + wanted, has_more)?;
        let is_out_of_time = (more.len() as u64) < wanted;
        repetitions.extend(more);
        if repetitions.is_empty() {
            return Ok(None);
        }
        looks += 1;
        let level = rules.level / f64::from(2_u32.saturating_pow(looks));
        let comparison = compare(&repetitions, ComparisonRules { level, ..rules });
        if is_out_of_time || aim >= MAX_REPETITIONS || is_settled(&comparison) {
            return Ok(Some(ExperimentResult { comparison, looks, is_out_of_time }));
        }
        aim *= 2;
    }
}

/// Whether more repetitions would tell nothing new.
fn is_settled(comparison: &Comparison) -> bool {
    // Repetitions that are always the same remain so.
    if comparison.distinct < 2 {
        return true;
    }
    comparison.rows.iter().flat_map(|row| &row.changes).all(|change| match change.verdict {
        ChangeVerdict::TooFew => false,
        ChangeVerdict::NotFound => change.could_show_percent.is_some_and(|least| least <= comparison.detect_percent),
        _ => true,
    })
}
