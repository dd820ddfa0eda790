// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `unfair-share`: tasks that get much less CPU time than their weights entitle them to.
//!
//! Within a window, the rule compares fair tasks that never slept in it, have the same affinity, and are in
//! the same group. Their total run time is divided by weight, with at most one whole CPU for each. A task
//! that got less than half of its share, and missed at least a fifth of the window, was treated unfairly.
//! Time on any CPU counts alike.

use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{ByFamily, Finding, FindingContext, FindingTasks, Limits, Severity, moment};
use crate::explain::Question;
use crate::plural::counted;
use fairlab_machine::sim::Machine;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::{GroupId, TaskId};
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;
use fairlab_sched::weight::LoadWeight;
use std::collections::BTreeMap;

/// Length of a window, which covers the ticks and load-balance passes that even out shares.
const WINDOW: Nanos = Nanos::from_millis(200);

#[derive(Clone, Copy, Debug)]
struct TaskShare {
    /// Run time of the task when the window began.
    before: i64,
    has_slept: bool,
}

/// Run time that a task got, and the run time that its weight entitles it to.
#[derive(Clone, Copy, Debug)]
struct WorstShare {
    task: usize,
    got: Nanos,
    due: Nanos,
    at: Nanos,
}

/// Task that was runnable during the whole window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AlwaysRunnableTask {
    task: usize,
    family: usize,
    weight: u64,
    got: u64,
}

/// Shares of all tasks in the current window, and unfair shares found so far.
#[derive(Debug, Default)]
pub(super) struct Shares {
    since: Option<Nanos>,
    tasks: BTreeMap<TaskId, TaskShare>,
    found: ByFamily<WorstShare>,
}

impl Rule for Shares {
    const INFO: RuleInfo = RuleInfo {
        name: "unfair-share",
        condition: "in a window of 200 ms a task got less than half of its fair share by weight, and missed a fifth of \
                    the window",
        severity: RuleSeverity::Fixed(Severity::Medium),
        is_for_traces: false,
    };

    fn new(_nr_cpus: usize, _limits: Limits) -> Self {
        Self::default()
    }

    #[inline]
    fn on_sleep(&mut self, task: TaskId) {
        if let Some(share) = self.tasks.get_mut(&task) {
            share.has_slept = true;
        }
    }

    /// Evaluates the window if it is over.
    fn sample(&mut self, machine: &Machine, tasks: &FindingTasks) {
        let now = machine.now();
        let since = *self.since.get_or_insert(now);
        let length = now - since;
        if length < WINDOW && !self.tasks.is_empty() {
            return;
        }
        let tasks: Vec<(TaskId, usize, usize)> = tasks.iter().map(|(id, task)| (id, task.place, task.family)).collect();
        let mut sets: BTreeMap<GroupId, Vec<(CpuMask, Vec<AlwaysRunnableTask>)>> = BTreeMap::new();
        for &(id, place, family) in &tasks {
            let (task, host) = (machine.sched().task(id), &machine.tasks()[place]);
            let Some(share) = self.tasks.get(&id).filter(|share| !share.has_slept && !host.is_dead) else { continue };
            if !matches!(task.policy, Policy::Normal | Policy::Batch) {
                continue;
            }
            let got = u64::try_from(host.runtime_ns - share.before).unwrap_or(0);
            let hungry =
                AlwaysRunnableTask { task: place, family, weight: LoadWeight::from_nice(task.nice).weight, got };
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
                    self.found.entry(hungry.family).or_default().add(now, Nanos(due - hungry.got), worst);
                }
            }
        }
        let share = |&(id, place, _): &(TaskId, usize, usize)| {
            (id, TaskShare { before: machine.tasks()[place].runtime_ns, has_slept: false })
        };
        self.tasks = tasks.iter().map(share).collect();
        self.since = Some(now);
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        let found = self.found.iter().filter_map(|(&family, tally)| {
            let (time, worst) = tally.worst.as_ref()?;
            let name = (about.name)(worst.task);
            Some(Finding {
                rule: Self::INFO.name,
                severity: Self::INFO.severity.max(),
                sentence: format!(
                    "{} got less than half of the CPU time that their weights entitle them to, {} in a window of {WINDOW}; worst: {name} got {} of {}",
                    about.families[family],
                    counted(tally.count, "time", "times"),
                    worst.got,
                    worst.due
                ),
                count: tally.count,
                total_ns: tally.total.0,
                worst_ns: time.0,
                at_ns: moment(worst.at).saturating_sub(1),
                last_ns: moment(tally.last),
                ..Self::INFO.finding(String::new(), Question::Task(name))
            })
        });
        found.collect()
    }
}

/// Returns the fair share in ns of each task in the total run time: by weight, and at most the whole window.
fn fair_shares(set: &[AlwaysRunnableTask], length: u64) -> Vec<u64> {
    let mut due = vec![None; set.len()];
    loop {
        let open = || (0..set.len()).filter(|&place| due[place].is_none());
        let given: u64 = due.iter().flatten().sum();
        let left = set.iter().map(|hungry| hungry.got).sum::<u64>().saturating_sub(given);
        let weight: u64 = open().map(|place| set[place].weight).sum::<u64>().max(1);
        let part = |place: usize| (u128::from(left) * u128::from(set[place].weight) / u128::from(weight)) as u64;
        // A task whose share exceeds one CPU gets one CPU; the others divide the rest.
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
    fn shares_follow_weights_and_no_task_has_more_than_a_cpu() {
        let hungry = |weight, got| AlwaysRunnableTask { task: 0, family: 0, weight, got };
        assert_eq!(fair_shares(&[hungry(1024, 150), hungry(1024, 50)], 100), [100, 100]);
        assert_eq!(fair_shares(&[hungry(3072, 100), hungry(1024, 20)], 100), [90, 30]);
        assert_eq!(fair_shares(&[hungry(9000, 100), hungry(1000, 30), hungry(1000, 70)], 100), [100, 50, 50]);
    }
}
