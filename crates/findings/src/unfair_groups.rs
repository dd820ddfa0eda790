// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `unfair-group`: task groups that get much less CPU time than their weights entitle them to.
//!
//! Within a window, the rule compares groups with one parent that always had a runnable fair task, if the runnable tasks
//! of all of them have one affinity. Their total CPU time is divided by weight (`cpu.weight`), with at most one whole
//! CPU for each task. The thresholds are those of `unfair-share`. Time on any CPU counts alike.
//!
//! Not compared: groups whose weight or tasks changed in the window, and groups that were throttled or are below or
//! above one that was.

use super::evidence::Sentence;
use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{Finding, FindingContext, FindingTasks, Limits, Occurrences, Severity, moment};
use fairlab_explain::Question;
use fairlab_machine::sim::Machine;
use fairlab_measure::cgroups::group_path;
use fairlab_measure::shares::{Share, UnfairShare, WINDOW, fair_shares};
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::{GroupId, TaskId};
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Evidence of a task group that got less than half of the CPU time that its weight entitles it to.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct UnfairGroupEvidence {
    pub group: String,
    pub got_ns: u64,
    pub due_ns: u64,
    pub window_ns: u64,
}

impl Sentence for UnfairGroupEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, got_ns, due_ns, window_ns } = self;
        let (times, window) = (finding.times(), Nanos(*window_ns));
        let (got, due) = (Nanos(*got_ns), Nanos(*due_ns));
        write!(
            f,
            "group {group} got less than half of the CPU time that its weight entitles it to among its siblings, {times} in a \
             window of {window}; worst: {got} of {due}"
        )
    }
}

#[derive(Clone, Copy, Debug)]
struct WindowTask {
    group: GroupId,
    /// CPU time of the task when the window began.
    before: i64,
    has_slept: bool,
}

#[derive(Clone, Copy, Debug)]
struct WindowGroup {
    shares: u64,
    /// Throttled time of the group when the window began, in ns.
    throttled: u64,
    /// Whether the group cannot be compared.
    is_discarded: bool,
}

/// CPU time of a group in a window, with the groups below.
#[derive(Clone, Debug, Default)]
struct GroupTime {
    /// Time of tasks that were always runnable, and their number.
    hungry: u64,
    nr_hungry: u64,
    /// Time of other fair tasks.
    others: u64,
    /// One of the tasks that were always runnable, as an index of the machine's tasks.
    task: usize,
    /// Affinity of these tasks; `None` if they differ.
    allowed: Option<CpuMask>,
}

/// Groups in the current window, and unfair shares found so far.
#[derive(Debug, Default)]
pub(super) struct GroupShares {
    since: Option<Nanos>,
    /// Tasks at the start of the window; empty without groups.
    tasks: BTreeMap<TaskId, WindowTask>,
    groups: BTreeMap<GroupId, WindowGroup>,
    /// By group: the task and the share of the worst window.
    found: BTreeMap<GroupId, Occurrences<(usize, UnfairShare)>>,
}

impl Rule for GroupShares {
    const INFO: RuleInfo = RuleInfo {
        name: "unfair-group",
        condition: "in a window of 200 ms a task group got less than half of its fair share by weight among sibling groups, \
                    and missed a fifth of the window",
        severity: RuleSeverity::Fixed(Severity::Medium),
        is_for_traces: false,
    };

    fn new(_nr_cpus: usize, _limits: Limits) -> Self {
        Self::default()
    }

    #[inline]
    fn on_sleep(&mut self, task: TaskId) {
        if let Some(task) = self.tasks.get_mut(&task) {
            task.has_slept = true;
        }
    }

    /// Evaluates the window if it is over.
    fn sample(&mut self, machine: &Machine, tasks: &FindingTasks, _at: Nanos) {
        // A group can only be compared with a sibling.
        if machine.groups().len() < 2 {
            return;
        }
        let now = machine.now();
        for (&id, group) in &mut self.groups {
            let state = machine.sched().group(id);
            let bandwidth = &state.bandwidth;
            let is_throttled = bandwidth.stats.throttled_time != group.throttled || !bandwidth.throttled.is_empty();
            group.is_discarded |= is_throttled || state.shares != group.shares;
        }
        let length = now - *self.since.get_or_insert(now);
        if length < WINDOW && !self.groups.is_empty() {
            return;
        }
        self.evaluate(machine, tasks, length);
        self.since = Some(now);
        let of_task = |(id, task): (TaskId, &super::FindingTask)| {
            let group = machine.sched().task(id).group;
            (id, WindowTask { group, before: machine.tasks()[task.place].runtime_ns, has_slept: false })
        };
        self.tasks = tasks.iter().map(of_task).collect();
        let of_group = |&id: &GroupId| {
            let state = machine.sched().group(id);
            let throttled = state.bandwidth.stats.throttled_time;
            (id, WindowGroup { shares: state.shares, throttled, is_discarded: false })
        };
        self.groups = machine.groups().iter().map(of_group).collect();
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        let Some(machine) = about.machine else { return Vec::new() };
        let found = self.found.iter().filter_map(|(&group, found)| {
            let (time, (task, worst)) = found.worst.as_ref()?;
            let evidence = UnfairGroupEvidence {
                group: group_path(machine, group),
                got_ns: worst.got.0,
                due_ns: worst.due.0,
                window_ns: WINDOW.0,
            };
            Some(Finding {
                count: found.count,
                total_ns: found.total.0,
                worst_ns: time.0,
                at_ns: moment(worst.at).saturating_sub(1),
                last_ns: moment(found.last),
                ..Self::INFO.finding(evidence, Question::Task((about.name)(*task)))
            })
        });
        found.collect()
    }
}

impl GroupShares {
    /// Returns a group and those above it, without the root group.
    fn with_parents(machine: &Machine, group: GroupId) -> impl Iterator<Item = GroupId> {
        let parent = |&group: &GroupId| machine.sched().group(group).parent;
        std::iter::successors(Some(group), parent).filter(move |&group| machine.sched().group(group).parent.is_some())
    }

    fn discard(&mut self, machine: &Machine, group: GroupId) {
        for group in Self::with_parents(machine, group) {
            if let Some(group) = self.groups.get_mut(&group) {
                group.is_discarded = true;
            }
        }
    }

    /// Compares the sibling groups of a window.
    fn evaluate(&mut self, machine: &Machine, tasks: &FindingTasks, length: Nanos) {
        let mut times: BTreeMap<GroupId, GroupTime> = BTreeMap::new();
        for (id, task) in tasks.iter() {
            let (state, host) = (machine.sched().task(id), &machine.tasks()[task.place]);
            let start = self.tasks.get(&id).copied();
            if let Some(start) = start.filter(|start| start.group != state.group) {
                self.discard(machine, start.group);
                self.discard(machine, state.group);
            }
            if !matches!(state.policy, Policy::Normal | Policy::Batch | Policy::Idle) {
                continue;
            }
            let got = u64::try_from(host.runtime_ns - start.map_or(0, |start| start.before)).unwrap_or(0);
            let is_hungry = start.is_some_and(|start| !start.has_slept)
                && task.activity.state().is_runnable()
                && state.policy != Policy::Idle;
            for group in Self::with_parents(machine, state.group) {
                let time = times.entry(group).or_default();
                if !is_hungry {
                    time.others += got;
                    continue;
                }
                if time.nr_hungry == 0 {
                    (time.task, time.allowed) = (task.place, Some(state.cpus_allowed.clone()));
                } else if time.allowed.as_ref() != Some(&state.cpus_allowed) {
                    time.allowed = None;
                }
                time.hungry += got;
                time.nr_hungry += 1;
            }
        }
        // What happens to a throttled group affects those above and below.
        let throttled: Vec<GroupId> =
            self.groups.iter().filter(|(_, group)| group.is_discarded).map(|(&id, _)| id).collect();
        throttled.iter().for_each(|&group| self.discard(machine, group));
        let is_below = |group: GroupId| Self::with_parents(machine, group).any(|above| throttled.contains(&above));
        let mut siblings: BTreeMap<GroupId, Vec<(GroupId, GroupTime)>> = BTreeMap::new();
        for (group, time) in times {
            let is_comparable = self.groups.get(&group).is_some_and(|group| !group.is_discarded) && !is_below(group);
            let parent = machine.sched().group(group).parent;
            if let Some(parent) = parent.filter(|_| is_comparable && time.allowed.is_some()) {
                siblings.entry(parent).or_default().push((group, time));
            }
        }
        for mut set in siblings.into_values() {
            while let Some(mask) = set.first().and_then(|(_, time)| time.allowed.clone()) {
                let (equal, rest): (Vec<_>, Vec<_>) =
                    set.into_iter().partition(|(_, time)| time.allowed.as_ref() == Some(&mask));
                self.compare(machine, &equal, mask.iter().count() as u64, length);
                set = rest;
            }
        }
    }

    /// Compares sibling groups whose tasks may use the same `nr_cpus` CPUs.
    fn compare(&mut self, machine: &Machine, set: &[(GroupId, GroupTime)], nr_cpus: u64, length: Nanos) {
        let share = |(group, time): &(GroupId, GroupTime)| Share {
            weight: self.groups[group].shares,
            got: time.hungry + time.others,
            most: time.nr_hungry.min(nr_cpus) * length.0 + time.others,
        };
        let shares: Vec<Share> = set.iter().map(share).collect();
        for (((group, time), share), due) in set.iter().zip(&shares).zip(fair_shares(&shares)) {
            if let Some(unfair) = UnfairShare::from_window(share.got, due, length, machine.now()) {
                self.found.entry(*group).or_default().add(machine.now(), unfair.missed(), (time.task, unfair));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sentence;

    #[test]
    fn an_unfair_group_is_printed_with_the_time_that_was_due_in_the_worst_window() {
        let (group, got_ns, due_ns, window_ns) = ("/g".to_owned(), 1_000_000, 4_000_000, 200_000_000);
        assert_eq!(
            sentence(UnfairGroupEvidence { group, got_ns, due_ns, window_ns }),
            "group /g got less than half of the CPU time that its weight entitles it to among its siblings, 2 times in a window of \
             200ms; worst: 1ms of 4ms"
        );
    }
}
