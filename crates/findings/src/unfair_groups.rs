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
use super::{Finding, FindingContext, FindingTasks, Occurrences, Severity, moment};
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
    /// Number of its sleeps before.
    sleeps: u64,
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
            (id, WindowTask { group, before: machine.tasks()[task.place].runtime_ns, sleeps: task.nr_sleeps })
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
            let (_, (task, worst)) = found.worst.as_ref()?;
            let evidence = UnfairGroupEvidence {
                group: group_path(machine, group),
                got_ns: worst.got.0,
                due_ns: worst.due.0,
                window_ns: WINDOW.0,
            };
            Some(Finding {
                at_ns: moment(worst.at).saturating_sub(1),
                ..found.in_finding(Self::INFO.finding(evidence, Question::Task((about.name)(*task))))
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
            let is_hungry = start.is_some_and(|start| start.sleeps == task.nr_sleeps)
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
    use crate::Limits;
    use crate::tests::{find, found, machine, of, sentence};

    #[test]
    fn an_unfair_group_is_printed_with_the_time_that_was_due_in_the_worst_window() {
        let (group, got_ns, due_ns, window_ns) = ("/g".to_owned(), 1_000_000, 4_000_000, 200_000_000);
        assert_eq!(
            sentence(UnfairGroupEvidence { group, got_ns, due_ns, window_ns }),
            "group /g got less than half of the CPU time that its weight entitles it to among its siblings, 2 times in a window of \
             200ms; worst: 1ms of 4ms"
        );
    }

    /// Returns a scenario in which `crowded` groups, each with one task, begin on CPU 0, and two groups have a CPU each.
    /// All may use all CPUs, but load balancing moves none of their tasks if `nr_migrate` is 0.
    fn crowd(crowded: usize, group_options: &str, nr_migrate: u32) -> String {
        let mut text = "cpus 3\nend 900ms\n".to_owned();
        for index in 0..crowded + 2 {
            let cpu = (index + 1).saturating_sub(crowded);
            let options = if index == 0 { group_options } else { "" };
            text.push_str(&format!("group g{index} {options}\n"));
            text.push_str(&format!("task t{index} group=g{index} cpu={cpu} mask={cpu}-{cpu} run 10s\n"));
        }
        (0..crowded + 2).for_each(|index| text.push_str(&format!("affinity 1ms t{index} 0-2\n")));
        if nr_migrate == 0 { text + "tune nr_migrate 0\n" } else { text }
    }

    #[test]
    fn groups_that_get_less_than_half_of_their_share_are_found() {
        let findings = found(&crowd(5, "", 0));
        let unfair: Vec<&Finding> = findings.iter().filter(|finding| finding.rule == "unfair-group").collect();
        assert_eq!(unfair.len(), 5, "{findings:?}");
        let finding = unfair[0];
        assert!(finding.sentence.contains("40ms of 85.7") && finding.count == 4, "{}", finding.sentence);
        assert!(of(&found(&crowd(5, "", 1)), "unfair-group").is_none(), "balancing makes it fair");
    }

    #[test]
    fn groups_get_shares_by_their_present_weight_and_not_more_than_a_cpu_for_each_task() {
        let one_cpu = |options: &str, changes: &str| {
            found(&format!(
                "cpus 1\nend 900ms\ngroup a {options}\ngroup b\ntask a group=a n=3 cpu=0 run 10s\ntask b group=b cpu=0 run 10s\n\
                 {changes}"
            ))
        };
        assert!(of(&one_cpu("shares=64", ""), "unfair-group").is_none(), "a light group gets little");
        let changed = one_cpu("", "shares 150ms a 64\nshares 450ms a 1024\n");
        assert!(of(&changed, "unfair-group").is_none(), "{changed:?}");
        let two = "cpus 2\nend 900ms\ngroup a\ngroup b shares=4096\ntask a group=a n=8 cpu=0 run 10s\ntask b group=b cpu=1 run 10s\n";
        assert!(of(&found(two), "unfair-group").is_none(), "one task cannot use more than one CPU");
    }

    #[test]
    fn a_group_whose_tasks_slept_or_came_late_could_not_have_used_the_window() {
        // The tasks of `a` run for a sixth of the time, but no longer than they need.
        let text = "cpus 1\nend 900ms\ngroup a\ngroup b\ntask a group=a cpu=0 run 10ms sleep 90ms\n\
                    task late group=a cpu=0 start=790ms run 10s\ntask b group=b cpu=0 run 10s\n";
        assert!(of(&found(text), "unfair-group").is_none(), "{:?}", found(text));
    }

    #[test]
    fn time_of_tasks_that_sleep_counts_for_their_group() {
        let text = "cpus 1\nend 900ms\ngroup a\ngroup b\ntask hog group=a cpu=0 nice=10 run 10s\n\
                    task most group=a cpu=0 nice=-10 run 30ms sleep 4ms\ntask b group=b cpu=0 run 10s\n";
        let mut machine = machine(text);
        let limits = Limits::of(&machine);
        let (findings, summary) = find(&mut machine, limits);
        let families = summary.families;
        assert!(
            families[0].run_ns * 5 < families[1].run_ns,
            "most time of the group is that of the other task: {families:?}"
        );
        assert!(of(&findings, "unfair-group").is_none(), "{findings:?}");
    }

    #[test]
    fn a_throttled_group_is_not_unfair_and_does_not_exceed_its_quota() {
        let findings = found(&crowd(5, "quota=5ms period=50ms", 0));
        let names: Vec<&str> = findings.iter().map(|finding| finding.rule).collect();
        assert!(names.contains(&"throttled") && !names.contains(&"quota-exceeded"), "{findings:?}");
        let unfair: Vec<&Finding> = findings.iter().filter(|finding| finding.rule == "unfair-group").collect();
        assert!(unfair.iter().all(|finding| !finding.sentence.contains("group /g0")), "{unfair:?}");
    }
}
