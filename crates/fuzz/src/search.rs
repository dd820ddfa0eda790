// SPDX-License-Identifier: GPL-2.0-or-later
//! Search loop: cases are drawn and run in parallel, and violations are processed in the order of seeds, so
//! that results do not depend on the number of cores.

use super::case::{CaseMachine, FuzzCase};
use super::ingredients::{self, Ingredient};
use super::minimise::minimise;
use super::{PropertyCheck, Violation, generate};
use fairlab_experiment::pool;
use fairlab_sched::series::KernelSeries;

/// Number of cases per core that are run before their violations are processed.
const BATCH: u64 = 16;

/// Parameters of a search.
#[derive(Clone, Debug)]
pub struct FuzzSearch {
    /// Seed of the first case.
    pub first_seed: u64,
    /// Largest number of cases.
    pub most_cases: u64,
    /// Number of findings that ends the search.
    pub most_findings: usize,
    /// Machine of all cases; `None` to draw a topology for each.
    pub machine: Option<CaseMachine>,
    /// Kernel whose features and tunables are drawn; `None` if none are.
    pub switches_of: Option<KernelSeries>,
    /// Ingredients that are removed from all cases.
    pub without: Vec<Ingredient>,
}

/// Finding of a search: a minimal case that violates a property.
#[derive(Clone, Debug)]
pub struct FuzzFinding {
    /// Minimal case that violates the property.
    pub case: FuzzCase,
    /// Violation by the minimal case.
    pub broken: Violation,
    /// Ingredients of the minimal case.
    pub ingredients: Vec<Ingredient>,
    /// Seed of the case that was reduced to the minimal one.
    pub seed: u64,
    /// Number of runs of the reduction.
    pub runs: u64,
    /// Number of other cases with the same violation and ingredients.
    pub others: u64,
}

/// Result of a search.
#[derive(Clone, Debug, Default)]
pub struct FuzzCounts {
    /// Number of cases that were drawn and run.
    pub cases: u64,
    /// Number of cases with at least one violation.
    pub broken: u64,
    /// Number of runs, including those of reductions.
    pub runs: u64,
    /// Findings, in the order in which they were found.
    pub found: Vec<FuzzFinding>,
}

/// Progress callback, called after each finding and each batch; an error ends the search.
type FuzzProgressFn<'a, E> = &'a mut dyn FnMut(&FuzzCounts, Option<&FuzzFinding>) -> Result<(), E>;

/// Searches until there are enough findings, no cases are left, or `has_more` returns false. `on_case` is called
/// for each finding and after each batch.
///
/// # Errors
/// If a case cannot be run, or `on_case` returns an error.
pub fn search<C: PropertyCheck>(
    check: &C,
    search: &FuzzSearch,
    has_more: &dyn Fn() -> bool,
    on_case: FuzzProgressFn<'_, C::Error>,
) -> Result<FuzzCounts, C::Error> {
    let mut tally = FuzzCounts::default();
    let batch = BATCH * pool::cores() as u64;
    while tally.cases < search.most_cases && tally.found.len() < search.most_findings && has_more() {
        let first = search.first_seed + tally.cases;
        let seeds: Vec<u64> = (first..first + batch.min(search.most_cases - tally.cases)).collect();
        let draw = |seed: u64| {
            let drawn = generate::case(seed, search.machine.as_ref(), search.switches_of);
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
                    on_case(&tally, Some(&found))?;
                    tally.found.push(found);
                }
            }
        }
        on_case(&tally, None)?;
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

/// Removes one ingredient of each known finding that the case resembles, such that the property is still
/// violated. Returns `None` if a finding has no such ingredient: the case is then another instance of it.
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
