// SPDX-License-Identifier: GPL-2.0-or-later
//! The search: cases are drawn and run side by side, and what breaks is taken in the order of seeds, so that it does not depend on cores.

use super::case::{CaseMachine, FuzzCase};
use super::ingredients::{self, Ingredient};
use super::minimise::minimise;
use super::{PropertyCheck, Violation, generate};
use crate::pool;

/// So many cases for each core are run before what they break is looked at.
const BATCH: u64 = 16;

/// What is searched.
#[derive(Clone, Debug)]
pub struct FuzzSearch {
    /// The seed of the first case.
    pub first_seed: u64,
    /// At most so many cases.
    pub most_cases: u64,
    /// The search ends with so many findings.
    pub most_findings: usize,
    /// On this machine only.
    pub machine: Option<CaseMachine>,
    /// Features and tunables are drawn too.
    pub with_switches: bool,
    /// What cases do without.
    pub without: Vec<Ingredient>,
}

/// A finding: a smallest case.
#[derive(Clone, Debug)]
pub struct FuzzFinding {
    /// The case.
    pub case: FuzzCase,
    /// How it breaks its property.
    pub broken: Violation,
    /// What it is made of.
    pub ingredients: Vec<Ingredient>,
    /// The seed of the case that it was made of.
    pub seed: u64,
    /// How many runs it took to make it small.
    pub runs: u64,
    /// How many other cases broke the property in the same way.
    pub others: u64,
}

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct FuzzCounts {
    /// Cases that were drawn and run.
    pub cases: u64,
    /// How many of them broke something.
    pub broken: u64,
    /// All runs.
    pub runs: u64,
    /// The findings, in the order in which they were found.
    pub found: Vec<FuzzFinding>,
}

/// Who hears of each finding and of each batch, and may end the search with an error.
type FuzzProgressFn<'a, E> = &'a mut dyn FnMut(&FuzzCounts, Option<&FuzzFinding>) -> Result<(), E>;

/// Searches until there are enough findings, no cases are left, or `has_more` says no. `told` hears of each finding and of each batch.
///
/// # Errors
/// If a case could not be run.
pub fn search<C: PropertyCheck>(
    check: &C,
    search: &FuzzSearch,
    has_more: &dyn Fn() -> bool,
    told: FuzzProgressFn<'_, C::Error>,
) -> Result<FuzzCounts, C::Error> {
    let mut tally = FuzzCounts::default();
    let batch = BATCH * pool::cores() as u64;
    while tally.cases < search.most_cases && tally.found.len() < search.most_findings && has_more() {
        let first = search.first_seed + tally.cases;
        let seeds: Vec<u64> = (first..first + batch.min(search.most_cases - tally.cases)).collect();
        let draw = |seed: u64| {
            let drawn = generate::case(seed, search.machine.as_ref(), search.with_switches);
            let case = search.without.iter().fold(drawn, |case, ingredient| ingredient.remove_from(&case));
            if case.tasks.is_empty() {
                return Ok((seed, case, Vec::new()));
            }
            check.violations(&case).map(|broken| (seed, case, broken))
        };
        for (seed, case, broken) in pool::all(seeds, draw)? {
            tally.cases += 1;
            tally.runs += 1;
            tally.broken += u64::from(!broken.is_empty());
            for how in broken {
                if !has_more() || tally.found.len() >= search.most_findings {
                    break;
                }
                if let Some((case, how)) = reduce_to_new_finding(check, &case, how, &mut tally)? {
                    let (case, broken, runs) = minimise(check, case, how)?;
                    tally.runs += runs;
                    let ingredients = ingredients::of(&case);
                    if let Some(known) = find_known(&mut tally.found, &broken, &ingredients) {
                        known.others += 1;
                        continue;
                    }
                    let found = FuzzFinding { case, broken, ingredients, seed, runs, others: 0 };
                    told(&tally, Some(&found))?;
                    tally.found.push(found);
                }
            }
        }
        told(&tally, None)?;
    }
    Ok(tally)
}

fn find_known<'a>(
    found: &'a mut [FuzzFinding],
    broken: &Violation,
    ingredients: &[Ingredient],
) -> Option<&'a mut FuzzFinding> {
    found.iter_mut().find(|known| known.broken.property == broken.property && known.ingredients == ingredients)
}

/// The case, without something that each finding known so far needs, if it still breaks the property then. If it does not, it is one of these
/// findings again.
fn reduce_to_new_finding<C: PropertyCheck>(
    check: &C,
    case: &FuzzCase,
    how: Violation,
    tally: &mut FuzzCounts,
) -> Result<Option<(FuzzCase, Violation)>, C::Error> {
    let (mut case, mut how) = (case.clone(), how);
    'known: for place in 0..tally.found.len() {
        let known = &tally.found[place];
        let has = ingredients::of(&case);
        let is_like = known.broken.property == how.property && known.ingredients.iter().all(|one| has.contains(one));
        if !is_like {
            continue;
        }
        for ingredient in known.ingredients.clone() {
            let without = ingredient.remove_from(&case);
            if without.tasks.is_empty() {
                continue;
            }
            tally.runs += 1;
            if let Some(still) = check.violations(&without)?.into_iter().find(|broken| broken.property == how.property)
            {
                (case, how) = (without, still);
                continue 'known;
            }
        }
        tally.found[place].others += 1;
        return Ok(None);
    }
    Ok(Some((case, how)))
}
