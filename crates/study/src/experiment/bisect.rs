// SPDX-License-Identifier: GPL-2.0-or-later
//! Which of many switches makes a difference: delta debugging over sets of switches, where "fails" means "has more than half of the
//! difference between the two ends", and repetitions decide.
//!
//! Rules:
//! 1. Both ends are run with the same seeds; if the signed ranks of their pairs show no difference there is nothing to look for.
//! 2. A set of switches has the difference if its runs lie beyond the middle between the ends, seed by seed. As long as the signed ranks
//!    of that are undecided, repetitions are doubled, up to a limit; what is undecided then does not count as having it.
//! 3. Zeller's ddmin: parts, then what parts leave, each time finer. What is left has the difference, and has it no longer without any one
//!    of its switches. If two switches only matter together, both are left.

use super::power::{deviation, smallest};
use super::rank::signed_rank;
use crate::pool;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A set of switches that stand as at the far end.
pub type SwitchSet = Vec<usize>;

/// Switches that can be set one by one.
pub trait Switches: Sync {
    /// Why a run failed.
    type Error: Send;

    /// How many there are.
    fn nr_switches(&self) -> usize;

    /// The number that is looked at, of a run in which these switches, in ascending order, stand as at the far end.
    ///
    /// # Errors
    /// If it cannot be run, or does not tell the number.
    fn run(&self, set: &[usize], seed: u64) -> Result<f64, Self::Error>;
}

/// How it is looked.
#[derive(Clone, Copy, Debug)]
pub struct BisectOptions {
    /// Repetitions of each set to begin with.
    pub runs: u64,
    /// At most so many.
    pub most_runs: u64,
    /// The first seed.
    pub first_seed: u64,
    /// How often ranks may mislead.
    pub level: f64,
}

impl Default for BisectOptions {
    fn default() -> Self {
        Self { runs: 8, most_runs: 64, first_seed: 1, level: 0.01 }
    }
}

/// What a set of switches does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwitchEffect {
    /// The switches, by their places.
    pub set: SwitchSet,
    /// The mean of its runs.
    pub mean: f64,
    /// Which part of the difference between the ends it has: 0 at the near end, 1 at the far one.
    pub part: f64,
    /// How many runs there are of it.
    pub runs: u64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Culprits {
    /// Mean at the near end and at the far one.
    pub ends: [f64; 2],
    /// How likely ranks like those of the ends are if there is no difference; `None` if all repetitions are alike.
    pub p: Option<f64>,
    /// The smallest difference that the ends' repetitions could have shown, in the number's unit.
    pub could_show: Option<f64>,
    /// The smallest set that has the difference; none if there is no difference.
    pub found: Option<SwitchEffect>,
    /// Each of its switches alone, if there are several.
    pub alone: Vec<SwitchEffect>,
    /// All switches but one of the set, for each of them.
    pub without: Vec<SwitchEffect>,
    /// All switches but those of the set.
    pub rest: Option<SwitchEffect>,
    /// What was asked, in this order, and whether it has the difference; nothing if that stayed undecided.
    pub asked: Vec<(SwitchSet, Option<bool>)>,
    /// How many runs it took.
    pub runs: usize,
}

/// Runs by set and seed: none is made twice.
struct BisectRuns<'a, S: Switches> {
    switches: &'a S,
    search: BisectOptions,
    known: RefCell<BTreeMap<SwitchSet, Vec<f64>>>,
    asked: RefCell<Vec<(SwitchSet, Option<bool>)>>,
    progress: &'a (dyn Fn(&[usize], u64) + Sync),
}

impl<S: Switches> BisectRuns<'_, S> {
    /// So many runs of each of these sets.
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
        let mut runs = self.search.runs;
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
        let values = self.runs(std::slice::from_ref(&set), self.search.runs)?.remove(0);
        let mean = mean(&values);
        Ok(SwitchEffect { set, mean, part: (mean - ends[0]) / (ends[1] - ends[0]), runs: values.len() as u64 })
    }
}

/// Whether runs of each of these are all the same, so that more of them would be too.
fn are_alike(arms: &[&Vec<f64>]) -> bool {
    arms.iter().all(|runs| runs.iter().all(|run| *run == runs[0]))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Looks for the smallest set of switches that makes the difference. `told` hears of each run.
///
/// # Errors
/// That of the first run which fails.
pub fn find<S: Switches>(
    switches: &S,
    search: BisectOptions,
    told: &(dyn Fn(&[usize], u64) + Sync),
) -> Result<Culprits, S::Error> {
    let lab = BisectRuns { switches, search, known: RefCell::default(), asked: RefCell::default(), progress: told };
    let mut runs = search.runs;
    let (near, far, p) = loop {
        let mut values = lab.runs(&[SwitchSet::new(), lab.all()], runs)?;
        let (far, near) = (values.pop().unwrap_or_default(), values.pop().unwrap_or_default());
        let differences: Vec<f64> = far.iter().zip(&near).map(|(far, near)| far - near).collect();
        let p = (!are_alike(&[&near, &far])).then(|| signed_rank(&differences).p);
        if p.is_none_or(|p| p <= search.level) || runs >= search.most_runs {
            break (near, far, p);
        }
        runs = (runs * 2).min(search.most_runs);
    };
    let ends = [mean(&near), mean(&far)];
    let differences: Vec<f64> = far.iter().zip(&near).map(|(far, near)| far - near).collect();
    let could_show = smallest(differences.len(), search.level).map(|least| least * deviation(&differences));
    let mut culprits = Culprits {
        ends,
        p,
        could_show,
        found: None,
        alone: Vec::new(),
        without: Vec::new(),
        rest: None,
        asked: Vec::new(),
        runs: 0,
    };
    if p.map_or(ends[0] != ends[1], |p| p <= search.level) {
        let set = minimal(&lab)?;
        if set.len() > 1 {
            culprits.alone = set.iter().map(|&one| lab.effect(vec![one], ends)).collect::<Result<_, _>>()?;
        }
        let but = |left: &dyn Fn(&usize) -> bool| lab.all().into_iter().filter(|one| left(one)).collect::<SwitchSet>();
        let without = set.iter().map(|gone| lab.effect(but(&|one| one != gone), ends));
        culprits.without = without.collect::<Result<_, _>>()?;
        culprits.rest = Some(lab.effect(but(&|one| !set.contains(one)), ends)?);
        culprits.found = Some(lab.effect(set, ends)?);
    }
    culprits.asked = lab.asked.take();
    culprits.runs = lab.known.borrow().values().map(Vec::len).sum();
    Ok(culprits)
}

/// ddmin.
fn minimal<S: Switches>(lab: &BisectRuns<'_, S>) -> Result<SwitchSet, S::Error> {
    let mut current = lab.all();
    let mut parts = 2;
    'smaller: while current.len() > 1 {
        let size = current.len().div_ceil(parts);
        let chunks: Vec<SwitchSet> = current.chunks(size).map(<[usize]>::to_vec).collect();
        for chunk in &chunks {
            if lab.try_switches(chunk)? {
                (current, parts) = (chunk.clone(), 2);
                continue 'smaller;
            }
        }
        // With two parts, what one leaves is the other.
        for chunk in chunks.iter().filter(|_| chunks.len() > 2) {
            let left: SwitchSet = current.iter().copied().filter(|one| !chunk.contains(one)).collect();
            if lab.try_switches(&left)? {
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
