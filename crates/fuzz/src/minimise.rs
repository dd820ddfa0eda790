// SPDX-License-Identifier: GPL-2.0-or-later
//! Reduction of a case to a local minimum that still violates its property: no step of this module can reduce
//! it further.
//!
//! Steps go from coarse to fine, and each one that keeps the violation is applied immediately. The reduction
//! ends when no step keeps it.

use super::case::{CaseMachine, CasePolicy, CaseProgram, FuzzCase, TaskSet};
use super::{PropertyCheck, Violation, ingredients};

/// Returns the smallest case that was found, its violation, and the number of runs.
///
/// # Errors
/// If a case cannot be run.
pub fn minimise<C: PropertyCheck>(
    check: &C,
    case: FuzzCase,
    broken: Violation,
) -> Result<(FuzzCase, Violation, u64), C::Error> {
    let (mut best, mut how, mut runs) = (case, broken, 0);
    'again: loop {
        for smaller in steps(&best) {
            runs += 1;
            let found = check.violations(&smaller)?.into_iter().find(|found| found.property == how.property);
            if let Some(found) = found {
                (best, how) = (smaller, found);
                continue 'again;
            }
        }
        return Ok((best, how, runs));
    }
}

/// Returns the cases that are one step smaller, the largest steps first. Each has tasks and differs from
/// `case`.
fn steps(case: &FuzzCase) -> Vec<FuzzCase> {
    let mut steps: Vec<FuzzCase> =
        ingredients::of(case).into_iter().map(|ingredient| ingredient.remove_from(case)).collect();
    let mut step = |change: &dyn Fn(&mut FuzzCase)| {
        let mut smaller = case.clone();
        change(&mut smaller);
        steps.push(smaller);
    };
    for place in 0..case.tasks.len() {
        step(&|case| {
            case.tasks.remove(place);
        });
    }
    step(&|case| case.end_ms = (case.end_ms / 2).max(100));
    for place in 0..case.tasks.len() {
        for change in OF_SETS {
            step(&|case| change(&mut case.tasks[place]));
        }
    }
    for place in 0..case.groups.len() {
        step(&|case| case.groups[place].quota_ms = None);
        step(&|case| case.groups[place].shares = 1024);
    }
    for place in 0..case.features.len() {
        step(&|case| {
            case.features.remove(place);
        });
    }
    for place in 0..case.tunables.len() {
        step(&|case| {
            case.tunables.remove(place);
        });
    }
    steps.extend((0..case.groups.len()).map(|place| case.without_group(place)));
    if let CaseMachine::Shape(shape) = &case.machine {
        let fewer = [shape.nr_cpus / 2, shape.nr_cpus.saturating_sub(shape.node), shape.nr_cpus - 1];
        steps.extend(fewer.into_iter().filter(|&nr_cpus| nr_cpus > 0).map(|nr_cpus| case.with_cpus(nr_cpus)));
    }
    steps.retain(|smaller| smaller != case && !smaller.tasks.is_empty());
    steps
}

/// Steps that make a set of tasks smaller or simpler.
const OF_SETS: &[fn(&mut TaskSet)] = &[
    |set| set.number = set.number.div_ceil(2),
    |set| set.number = (set.number - 1).max(1),
    |set| set.group = None,
    |set| set.mask = None,
    |set| set.class = CasePolicy::Normal,
    |set| set.nice = 0,
    |set| set.start_ms = 0,
    |set| set.cpu = 0,
    |set| set.mask = set.mask.map(|(_, last)| (last, last)),
    |set| {
        if let CaseProgram::Waker { run_us, sleep_us } = set.program {
            set.program = CaseProgram::Sleeper { run_us, sleep_us };
        }
    },
    |set| set.program = with_times(set.program, |time| time.div_ceil(1_000) * 1_000),
    |set| {
        let round = |time: u64| if time > 10_000 { time.div_ceil(10_000) * 10_000 } else { time };
        set.program = with_times(set.program, round);
    },
];

fn with_times(program: CaseProgram, round: fn(u64) -> u64) -> CaseProgram {
    match program {
        CaseProgram::Hog => CaseProgram::Hog,
        CaseProgram::Sleeper { run_us, sleep_us } => {
            CaseProgram::Sleeper { run_us: round(run_us), sleep_us: round(sleep_us) }
        }
        CaseProgram::Waker { run_us, sleep_us } => {
            CaseProgram::Waker { run_us: round(run_us), sleep_us: round(sleep_us) }
        }
    }
}
