// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `unfair-share`: tasks that get much less CPU time than their weights entitle them to.
//!
//! Within a window, the rule compares fair tasks that never slept in it, have the same affinity, and are in
//! the same group. Their total run time is divided by weight, with at most one whole CPU for each. A task
//! that got less than half of its share, and missed at least a fifth of the window, was treated unfairly.
//! Time on any CPU counts alike.

use super::evidence::Sentence;
use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{ByFamily, Finding, FindingContext, FindingTask, FindingTasks, Severity, moment};
use fairlab_explain::Question;
use fairlab_machine::sim::Machine;
use fairlab_measure::shares::{Share, UnfairShare, WINDOW, fair_shares};
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::{GroupId, TaskId};
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;
use fairlab_sched::weight::LoadWeight;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Evidence of tasks that got less than half of the CPU time that their weights entitle them to.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct UnfairShareEvidence {
    pub family: String,
    pub task: String,
    pub got_ns: u64,
    pub due_ns: u64,
    pub window_ns: u64,
}

impl Sentence for UnfairShareEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, task, got_ns, due_ns, window_ns } = self;
        let (times, window) = (finding.times(), Nanos(*window_ns));
        let (got, due) = (Nanos(*got_ns), Nanos(*due_ns));
        write!(
            f,
            "{family} got less than half of the CPU time that their weights entitle them to, {times} in a window of \
             {window}; worst: {task} got {got} of {due}"
        )
    }
}

#[derive(Clone, Copy, Debug)]
struct TaskShare {
    /// Run time of the task when the window began.
    before: i64,
    /// Number of its sleeps before.
    sleeps: u64,
}

/// Task that was runnable during the whole window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AlwaysRunnableTask {
    task: usize,
    family: usize,
    share: Share,
}

/// Shares of all tasks in the current window, and unfair shares found so far.
#[derive(Debug, Default)]
pub(super) struct Shares {
    since: Option<Nanos>,
    tasks: BTreeMap<TaskId, TaskShare>,
    found: ByFamily<(usize, UnfairShare)>,
}

impl Rule for Shares {
    const INFO: RuleInfo = RuleInfo {
        name: "unfair-share",
        condition: "in a window of 200 ms a task got less than half of its fair share by weight, and missed a fifth of \
                    the window",
        severity: RuleSeverity::Fixed(Severity::Medium),
        is_for_traces: false,
    };

    /// Evaluates the window if it is over.
    fn sample(&mut self, machine: &Machine, tasks: &FindingTasks, _at: Nanos) {
        let now = machine.now();
        let since = *self.since.get_or_insert(now);
        let length = now - since;
        if length < WINDOW && !self.tasks.is_empty() {
            return;
        }
        let mut sets: BTreeMap<GroupId, Vec<(CpuMask, Vec<AlwaysRunnableTask>)>> = BTreeMap::new();
        for (id, found) in tasks.iter() {
            let (task, host) = (machine.sched().task(id), &machine.tasks()[found.place]);
            let share = self.tasks.get(&id).filter(|share| share.sleeps == found.nr_sleeps && !host.is_dead);
            let Some(share) = share else { continue };
            if !matches!(task.policy, Policy::Normal | Policy::Batch) {
                continue;
            }
            let got = u64::try_from(host.runtime_ns - share.before).unwrap_or(0);
            let share = Share { weight: LoadWeight::from_nice(task.nice).weight, got, most: length.0 };
            let hungry = AlwaysRunnableTask { task: found.place, family: found.family, share };
            let of_group = sets.entry(task.group).or_default();
            match of_group.iter_mut().find(|(mask, _)| *mask == task.cpus_allowed) {
                Some((_, set)) => set.push(hungry),
                None => of_group.push((task.cpus_allowed.clone(), vec![hungry])),
            }
        }
        for (_, set) in sets.values().flatten() {
            let shares: Vec<Share> = set.iter().map(|hungry| hungry.share).collect();
            for (hungry, due) in set.iter().zip(fair_shares(&shares)) {
                if let Some(unfair) = UnfairShare::from_window(hungry.share.got, due, length, now) {
                    self.found.entry(hungry.family).or_default().add(now, unfair.missed(), (hungry.task, unfair));
                }
            }
        }
        let share = |(id, task): (TaskId, &FindingTask)| {
            (id, TaskShare { before: machine.tasks()[task.place].runtime_ns, sleeps: task.nr_sleeps })
        };
        self.tasks = tasks.iter().map(share).collect();
        self.since = Some(now);
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        let found = self.found.iter().filter_map(|(&family, tally)| {
            let (_, (task, worst)) = tally.worst.as_ref()?;
            let name = (about.name)(*task);
            let evidence = UnfairShareEvidence {
                family: about.families[family].clone(),
                task: name.clone(),
                got_ns: worst.got.0,
                due_ns: worst.due.0,
                window_ns: WINDOW.0,
            };
            Some(Finding {
                at_ns: moment(worst.at).saturating_sub(1),
                ..tally.in_finding(Self::INFO.finding(evidence, Question::Task(name)))
            })
        });
        found.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{family_and_task, found, of, sentence};

    #[test]
    fn an_unfair_share_is_printed_with_the_time_that_was_due_in_the_worst_window() {
        let (family, task) = family_and_task();
        let (got_ns, due_ns, window_ns) = (10_000_000, 50_000_000, 200_000_000);
        assert_eq!(
            sentence(UnfairShareEvidence { family, task, got_ns, due_ns, window_ns }),
            "f got less than half of the CPU time that their weights entitle them to, 2 times in a window of 200ms; worst: f0 got \
             10ms of 50ms"
        );
    }

    #[test]
    fn tasks_that_get_less_than_half_of_their_share_are_found() {
        // Nine tasks begin on one CPU, and one task on each of the others. All may use all CPUs, but load
        // balancing moves none.
        let mut crowd = "cpus 4\nend 900ms\ntask crowd n=9 cpu=0 mask=0-0 run 10s\n".to_owned();
        for (cpu, name) in [(1, "alone"), (2, "alike"), (3, "other")] {
            crowd.push_str(&format!("task {name} cpu={cpu} mask={cpu}-{cpu} run 10s\naffinity 1ms {name} 0-3\n"));
        }
        (0..9).for_each(|task| crowd.push_str(&format!("affinity 1ms crowd{task} 0-3\n")));
        let findings = found(&format!("{crowd}tune nr_migrate 0\n"));
        let finding = of(&findings, "unfair-share").unwrap_or_else(|| panic!("{findings:?}"));
        assert!(finding.sentence.starts_with("crowd got less than half"), "{}", finding.sentence);
        assert!(of(&found(&crowd), "unfair-share").is_none(), "balancing makes it fair");
    }
}
