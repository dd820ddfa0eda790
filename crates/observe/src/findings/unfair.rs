// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks that get much less than their weights entitle them to, beside others that want as much.
//!
//! In each window of time those tasks are compared that never slept in it, that may use the same CPUs, and that are in one group: what
//! they had in sum is divided among them by their weights, none getting more than a whole CPU. Who had less than half of its part, and
//! missed a fifth of the window, was treated unfairly. Time on any CPU counts alike.

use super::{ByFamily, Finding, Severity, moment};
use crate::explain::Question;
use fairlab_machine::sim::Machine;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::{GroupId, TaskId};
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;
use fairlab_sched::weight::LoadWeight;
use std::collections::BTreeMap;

/// Shares even out over some ticks and balancing passes, so that shorter times say nothing.
const WINDOW: Nanos = Nanos::from_millis(200);

/// A task in the present window.
#[derive(Clone, Copy, Debug)]
struct TaskShare {
    /// Its run time when the window began.
    before: i64,
    has_slept: bool,
}

/// What a task got, and what its weight entitles it to.
#[derive(Clone, Copy, Debug)]
struct WorstShare {
    task: usize,
    got: Nanos,
    due: Nanos,
    at: Nanos,
}

/// A task that wanted a CPU all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AlwaysRunnableTask {
    task: usize,
    family: usize,
    weight: u64,
    got: u64,
}

/// Shares of tasks.
#[derive(Debug, Default)]
pub(super) struct Shares {
    since: Option<Nanos>,
    tasks: BTreeMap<TaskId, TaskShare>,
    found: ByFamily<WorstShare>,
}

impl Shares {
    /// A task sleeps.
    pub(super) fn on_sleep(&mut self, task: TaskId) {
        if let Some(share) = self.tasks.get_mut(&task) {
            share.has_slept = true;
        }
    }

    /// Looks whether a window is over. `tasks` are those that there are: id, place, family.
    pub(super) fn sample(&mut self, machine: &Machine, tasks: impl Iterator<Item = (TaskId, usize, usize)>) {
        let now = machine.now();
        let since = *self.since.get_or_insert(now);
        let length = now - since;
        if length < WINDOW && !self.tasks.is_empty() {
            return;
        }
        let tasks: Vec<(TaskId, usize, usize)> = tasks.collect();
        let mut sets: BTreeMap<GroupId, Vec<(CpuMask, Vec<AlwaysRunnableTask>)>> = BTreeMap::new();
        for &(id, place, family) in &tasks {
            let (task, host) = (machine.sched().task(id), &machine.tasks()[place]);
            let Some(share) = self.tasks.get(&id).filter(|share| !share.has_slept && !host.dead) else { continue };
            if !matches!(task.policy, Policy::Normal | Policy::Batch) {
                continue;
            }
            let got = u64::try_from(host.runtime_ns - share.before).unwrap_or(0);
            let hungry = AlwaysRunnableTask { task: place, family, weight: LoadWeight::of_nice(task.nice).weight, got };
            let of_group = sets.entry(task.group).or_default();
            match of_group.iter_mut().find(|(mask, _)| *mask == task.cpus_allowed) {
                Some((_, set)) => set.push(hungry),
                None => of_group.push((task.cpus_allowed.clone(), vec![hungry])),
            }
        }
        for (_, set) in sets.values().flatten() {
            for (hungry, due) in set.iter().zip(fair_shares(set, length.0)) {
                if hungry.got * 2 < due && (due - hungry.got) * 5 > length.0 {
                    let worst = WorstShare { task: hungry.task, got: Nanos(hungry.got), due: Nanos(due), at: now };
                    self.found.entry(hungry.family).or_default().add(Nanos(due - hungry.got), worst);
                }
            }
        }
        let share = |&(id, place, _): &(TaskId, usize, usize)| {
            (id, TaskShare { before: machine.tasks()[place].runtime_ns, has_slept: false })
        };
        self.tasks = tasks.iter().map(share).collect();
        self.since = Some(now);
    }

    pub(super) fn findings(&self, machine: &Machine, families: &[String]) -> Vec<Finding> {
        let found = self.found.iter().filter_map(|(&family, tally)| {
            let (time, worst) = tally.worst.as_ref()?;
            let name = &machine.tasks()[worst.task].name;
            Some(Finding {
                rule: "unfair-share",
                severity: Severity::Medium,
                sentence: format!(
                    "{} got less than half of what their weights entitle them to, {} times in a window of {WINDOW}; at the worst {name} had {} of {}",
                    families[family], tally.count, worst.got, worst.due
                ),
                count: tally.count,
                total_ns: tally.total.0,
                worst_ns: time.0,
                at_ns: moment(worst.at).saturating_sub(1),
                question: Question::Task(name.clone()),
            })
        });
        found.collect()
    }
}

/// The fair part of each task in what all of them got: by weight, and at the most the whole time.
fn fair_shares(set: &[AlwaysRunnableTask], length: u64) -> Vec<u64> {
    let mut due = vec![None; set.len()];
    loop {
        let open = || (0..set.len()).filter(|&place| due[place].is_none());
        let given: u64 = due.iter().flatten().sum();
        let left = set.iter().map(|hungry| hungry.got).sum::<u64>().saturating_sub(given);
        let weight: u64 = open().map(|place| set[place].weight).sum::<u64>().max(1);
        let part = |place: usize| (u128::from(left) * u128::from(set[place].weight) / u128::from(weight)) as u64;
        // Who is entitled to more than a CPU has one; the others share what is left.
        match open().find(|&place| part(place) > length) {
            Some(place) => due[place] = Some(length),
            None => return (0..set.len()).map(|place| due[place].unwrap_or_else(|| part(place))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_weights_and_nobody_has_more_than_a_cpu() {
        let hungry = |weight, got| AlwaysRunnableTask { task: 0, family: 0, weight, got };
        assert_eq!(fair_shares(&[hungry(1024, 150), hungry(1024, 50)], 100), [100, 100]);
        assert_eq!(fair_shares(&[hungry(3072, 100), hungry(1024, 20)], 100), [90, 30]);
        assert_eq!(fair_shares(&[hungry(9000, 100), hungry(1000, 30), hungry(1000, 70)], 100), [100, 50, 50]);
    }
}
