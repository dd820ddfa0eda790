// SPDX-License-Identifier: GPL-2.0-or-later
//! Bisection of the switches that cause a difference: delta debugging over sets of switches.
//!
//! A set "fails" if it has more than half of the difference between the two ends; repeated runs decide this.
//!
//! Rules:
//! 1. Both ends are run with the same seeds. While the signed rank test of their pairs is not significant, the
//!    repetitions are doubled, up to a limit. All tests together keep the level: each uses an equal share. If
//!    there is no significant difference, or none that matters, the search ends.
//! 2. A set of switches has the difference if its runs lie beyond the midpoint between the ends, seed by
//!    seed. It starts with the seeds of the ends. While the signed rank test of that is not significant, the
//!    repetitions are doubled, up to the limit. A set that is undecided at the limit does not have the
//!    difference.
//! 3. Zeller's ddmin tests subsets, then their complements, with ever finer subsets. The final set has the
//!    difference, and loses it without any one of its switches. If two switches only matter together, both
//!    remain.

use super::power::{deviation, smallest};
use super::rank::{attainable, signed_rank};
use crate::pool;
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Switches that have the value of the far end, by index in ascending order.
pub type SwitchSet = Vec<usize>;

/// Switches that can be set individually.
pub trait Switches: Sync {
    /// Error of a failed run.
    type Error: Send;

    /// Number of switches, whose indices are below it.
    fn nr_switches(&self) -> usize;

    /// Returns the metric of a run in which the switches of `set`, in ascending order, have the value of the
    /// far end.
    ///
    /// # Errors
    /// If the run fails, or has no such metric.
    fn run(&self, set: &[usize], seed: u64) -> Result<f64, Self::Error>;
}

/// Parameters of the search.
#[derive(Clone, Copy, Debug)]
pub struct BisectOptions {
    /// Initial number of repetitions of each set.
    pub runs: u64,
    /// Largest number of repetitions of each set.
    pub most_runs: u64,
    /// First seed of the repetitions, which all sets share.
    pub first_seed: u64,
    /// Significance level: the accepted probability of finding a difference between ends where there is none.
    pub level: f64,
    /// Smallest difference between the ends that matters, in percent of the larger of both means.
    pub matters_percent: f64,
}

impl Default for BisectOptions {
    fn default() -> Self {
        Self { runs: 10, most_runs: 80, first_seed: 1, level: 0.01, matters_percent: 1.0 }
    }
}

impl BisectOptions {
    /// Returns the significance level of each test of the ends. First tests with too few pairs to be significant
    /// have no share.
    fn level_per_test(&self) -> f64 {
        let sizes = std::iter::successors(Some(self.runs), |&runs| {
            (runs < self.most_runs).then(|| (runs * 2).min(self.most_runs))
        });
        let sizes: Vec<u64> = sizes.collect();
        let share = |tests: usize| self.level / tests as f64;
        let can_find = |&tests: &usize| attainable(sizes[sizes.len() - tests] as usize, share(tests)).is_some();
        share((1..=sizes.len()).rev().find(can_find).unwrap_or(1))
    }
}

/// Effect of a set of switches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwitchEffect {
    /// Indices of the switches.
    pub set: SwitchSet,
    /// Mean of the runs with this set.
    pub mean: f64,
    /// Fraction of the difference between the ends: 0 at the near end, 1 at the far end.
    pub part: f64,
    /// Number of runs with this set.
    pub runs: u64,
}

/// Result of the search.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Culprits {
    /// Means at the near and the far end.
    pub ends: [f64; 2],
    /// p-value of the signed rank test of the ends; `None` if all repetitions are equal.
    pub p: Option<f64>,
    /// Whether the difference between the ends is significant, but too small to matter.
    pub is_negligible: bool,
    /// Minimum detectable difference of the ends' repetitions, in the metric's unit.
    pub could_show: Option<f64>,
    /// Smallest set that has the difference; `None` if there is no difference.
    pub found: Option<SwitchEffect>,
    /// Effect of each switch of that set alone, if it has several.
    pub alone: Vec<SwitchEffect>,
    /// Effects of all switches but one, for each switch of that set.
    pub without: Vec<SwitchEffect>,
    /// Effect of all switches outside of that set.
    pub rest: Option<SwitchEffect>,
    /// Tested sets in order, and whether each has the difference; `None` if that stayed undecided.
    pub asked: Vec<(SwitchSet, Option<bool>)>,
    /// Total number of runs.
    pub runs: usize,
}

/// Runs of the search by set and seed; no run is executed twice.
struct BisectRuns<'a, S: Switches> {
    switches: &'a S,
    search: BisectOptions,
    /// Number of runs of each end, with which sets begin.
    runs_of_ends: Cell<u64>,
    known: RefCell<BTreeMap<SwitchSet, Vec<f64>>>,
    asked: RefCell<Vec<(SwitchSet, Option<bool>)>>,
    progress: &'a (dyn Fn(&[usize], u64) + Sync),
}

impl<S: Switches> BisectRuns<'_, S> {
    /// Returns the metric of `runs` runs of each set, and executes those that are missing.
    fn runs(&self, sets: &[SwitchSet], runs: u64) -> Result<Vec<Vec<f64>>, S::Error> {
        let mut jobs = Vec::new();
        for set in sets {
            let done = self.known.borrow().get(set).map_or(0, Vec::len) as u64;
            jobs.extend((done..runs.max(done)).map(|number| (set.clone(), self.search.first_seed + number)));
        }
        let run = |(set, seed): (SwitchSet, u64)| {
            let value = self.switches.run(&set, seed)?;
            (self.progress)(&set, seed);
            Ok((set, value))
        };
        for (set, value) in pool::all(jobs, run)? {
            self.known.borrow_mut().entry(set).or_default().push(value);
        }
        let known = self.known.borrow();
        Ok(sets.iter().map(|set| known[set][..runs as usize].to_vec()).collect())
    }

    fn all(&self) -> SwitchSet {
        (0..self.switches.nr_switches()).collect()
    }

    /// Whether a set has more than half of the difference.
    fn try_switches(&self, set: &SwitchSet) -> Result<bool, S::Error> {
        let mut runs = self.runs_of_ends.get();
        let answer = loop {
            let values = self.runs(&[SwitchSet::new(), self.all(), set.clone()], runs)?;
            let [near, far, here] = values.as_slice() else { unreachable!("three sets were asked for") };
            let beyond: Vec<f64> = (0..here.len())
                .map(|place| (here[place] - near[place].midpoint(far[place])) * (far[place] - near[place]).signum())
                .collect();
            let mean = beyond.iter().sum::<f64>() / beyond.len() as f64;
            if signed_rank(&beyond).p <= self.search.level || are_alike(&[near, far, here]) {
                break Some(mean > 0.0);
            }
            if runs >= self.search.most_runs {
                break None;
            }
            runs = (runs * 2).min(self.search.most_runs);
        };
        self.asked.borrow_mut().push((set.clone(), answer));
        Ok(answer == Some(true))
    }

    fn effect(&self, set: SwitchSet, ends: [f64; 2]) -> Result<SwitchEffect, S::Error> {
        let values = self.runs(std::slice::from_ref(&set), self.runs_of_ends.get())?.remove(0);
        let mean = mean(&values);
        Ok(SwitchEffect { set, mean, part: (mean - ends[0]) / (ends[1] - ends[0]), runs: values.len() as u64 })
    }
}

/// Whether the runs of each arm are all equal, so that more of them would not differ.
fn are_alike(arms: &[&Vec<f64>]) -> bool {
    arms.iter().all(|runs| runs.iter().all(|run| *run == runs[0]))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Finds the smallest set of switches that causes the difference. `on_run` is called after each run.
///
/// # Errors
/// The error of the first failing run.
pub fn find<S: Switches>(
    switches: &S,
    search: BisectOptions,
    on_run: &(dyn Fn(&[usize], u64) + Sync),
) -> Result<Culprits, S::Error> {
    let bisection = BisectRuns {
        switches,
        search,
        runs_of_ends: Cell::new(search.runs),
        known: RefCell::default(),
        asked: RefCell::default(),
        progress: on_run,
    };
    let (mut runs, level) = (search.runs, search.level_per_test());
    let (near, far, p) = loop {
        let mut values = bisection.runs(&[SwitchSet::new(), bisection.all()], runs)?;
        let (far, near) = (values.pop().unwrap_or_default(), values.pop().unwrap_or_default());
        let differences: Vec<f64> = far.iter().zip(&near).map(|(far, near)| far - near).collect();
        let p = (!are_alike(&[&near, &far])).then(|| signed_rank(&differences).p);
        if p.is_none_or(|p| p <= level) || runs >= search.most_runs {
            break (near, far, p);
        }
        runs = (runs * 2).min(search.most_runs);
    };
    bisection.runs_of_ends.set(runs);
    let ends = [mean(&near), mean(&far)];
    let least = search.matters_percent / 100.0 * ends[0].abs().max(ends[1].abs());
    let is_significant = ends[0] != ends[1] && p.is_none_or(|p| p <= level);
    let matters = (ends[1] - ends[0]).abs() >= least;
    let differences: Vec<f64> = far.iter().zip(&near).map(|(far, near)| far - near).collect();
    let could_show = smallest(differences.len(), level).map(|least| least * deviation(&differences));
    let is_negligible = is_significant && !matters;
    let mut culprits = Culprits { ends, p, is_negligible, could_show, ..Culprits::default() };
    if is_significant && matters {
        let set = minimal(&bisection)?;
        if set.len() > 1 {
            culprits.alone = set.iter().map(|&one| bisection.effect(vec![one], ends)).collect::<Result<_, _>>()?;
        }
        let but =
            |left: &dyn Fn(&usize) -> bool| bisection.all().into_iter().filter(|one| left(one)).collect::<SwitchSet>();
        let without = set.iter().map(|gone| bisection.effect(but(&|one| one != gone), ends));
        culprits.without = without.collect::<Result<_, _>>()?;
        culprits.rest = Some(bisection.effect(but(&|one| !set.contains(one)), ends)?);
        culprits.found = Some(bisection.effect(set, ends)?);
    }
    culprits.asked = bisection.asked.take();
    culprits.runs = bisection.known.borrow().values().map(Vec::len).sum();
    Ok(culprits)
}

/// Reduces the set of all switches with the ddmin algorithm.
fn minimal<S: Switches>(bisection: &BisectRuns<'_, S>) -> Result<SwitchSet, S::Error> {
    let mut current = bisection.all();
    let mut parts = 2;
    'smaller: while current.len() > 1 {
        let size = current.len().div_ceil(parts);
        let chunks: Vec<SwitchSet> = current.chunks(size).map(<[usize]>::to_vec).collect();
        for chunk in &chunks {
            if bisection.try_switches(chunk)? {
                (current, parts) = (chunk.clone(), 2);
                continue 'smaller;
            }
        }
        // With two subsets, the complement of one is the other.
        for chunk in chunks.iter().filter(|_| chunks.len() > 2) {
            let left: SwitchSet = current.iter().copied().filter(|one| !chunk.contains(one)).collect();
            if bisection.try_switches(&left)? {
                (current, parts) = (left, (parts - 1).max(2));
                continue 'smaller;
            }
        }
        if chunks.len() >= current.len() {
            break;
        }
        parts = (parts * 2).min(current.len());
    }
    Ok(current)
}
