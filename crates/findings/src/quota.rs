// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `quota-exceeded`: task groups that used more CPU time than their quota.
//!
//! The rule compares the CPU time of a group's fair tasks, with those of the groups below, with the quota at the rate
//! of one per period, in each part of the run. The kernel allows this much beyond that rate
//! ([`allowed_beyond_rate`]), and only what exceeds it is reported:
//!
//! 1. A pool that is full when the part begins, of quota and burst, and the next refill, up to a period later.
//! 2. On each CPU, a slice that was drawn from the pool before (`sched_cfs_bandwidth_slice_us`).
//! 3. On each CPU, the time until the tick that finds the runtime used up. It is owed, and the next refill pays it.
//!
//! The sum is an upper bound. Endless tasks on eight CPUs with a quota of 40 ms, the worst of the tests, used 63 ms beyond
//! the rate, of 152 ms. Real-time and deadline tasks do not use a quota.

use super::evidence::Sentence;
use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{Finding, FindingContext, FindingTasks, Severity, moment};
use fairlab_explain::Question;
use fairlab_machine::sim::Machine;
use fairlab_measure::cgroups::group_path;
use fairlab_sched::ids::{GroupId, TaskId};
use fairlab_sched::state::group::bandwidth::Bandwidth;
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Evidence of a task group that used more CPU time than its quota allows.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct QuotaExceededEvidence {
    /// Path of the group.
    pub group: String,
}

impl Sentence for QuotaExceededEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (group, times, worst) = (&self.group, finding.times_and_total(), finding.worst());
        write!(
            f,
            "group {group} used more CPU time than its quota allows {times}; worst: {worst} beyond quota, burst and slices"
        )
    }
}

/// CPU time that a group has used beyond the rate of its quota.
#[derive(Clone, Copy, Debug)]
struct GroupUsage {
    limits: Bandwidth,
    /// Time up to which usage is counted.
    until: Nanos,
    /// CPU time beyond the rate in the part of the run in which it is largest, in ns.
    beyond: u64,
    /// Largest excess in the current episode, in ns, with its time and a task that ran.
    excess: Option<(Nanos, Nanos, usize)>,
}

impl GroupUsage {
    const fn new(limits: Bandwidth, now: Nanos) -> Self {
        Self { limits, until: now, beyond: 0, excess: None }
    }

    /// Counts CPU time of a group since the last call: each period ends with a refill.
    fn add(&mut self, used: u64, now: Nanos) {
        let Some(quota) = self.limits.quota() else { return };
        let time = now.saturating_since(self.until).0;
        let refilled = u128::from(quota.0) * u128::from(time) / u128::from(self.limits.period().0.max(1));
        self.beyond = (self.beyond + used).saturating_sub(u64::try_from(refilled).unwrap_or(u64::MAX));
        self.until = now;
    }
}

/// Returns the CPU time in ns that the kernel lets a group use beyond the rate of its quota.
fn allowed_beyond_rate(limits: Bandwidth, nr_cpus: u64, slice: Nanos, tick: Nanos) -> u64 {
    let quota = limits.quota().map_or(0, |quota| quota.0);
    2 * quota + limits.burst().0 + nr_cpus * (slice.0 + tick.0)
}

/// Excess of a group: number of episodes, total, and the worst with its time and a task.
#[derive(Clone, Copy, Debug, Default)]
struct QuotaExcess {
    /// Time of the last worst moment.
    last: Nanos,
    count: u64,
    total: Nanos,
    worst: Option<(Nanos, Nanos, usize)>,
}

impl QuotaExcess {
    fn add(&mut self, episode: (Nanos, Nanos, usize)) {
        self.last = self.last.max(episode.1);
        self.count += 1;
        self.total += episode.0;
        if self.worst.is_none_or(|(worst, ..)| episode.0 > worst) {
            self.worst = Some(episode);
        }
    }
}

/// CPU time of groups with a quota.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    /// CPU time and group of each task at the last sample; empty while no group has a quota.
    tasks: BTreeMap<TaskId, (GroupId, i64)>,
    groups: BTreeMap<GroupId, GroupUsage>,
    found: BTreeMap<GroupId, QuotaExcess>,
}

#[cfg(test)]
impl Quotas {
    /// Returns the CPU time of the group that is furthest beyond the rate of its quota, in ns.
    pub(super) fn furthest(&self) -> u64 {
        self.groups.values().map(|usage| usage.beyond).max().unwrap_or(0)
    }
}

impl Rule for Quotas {
    const INFO: RuleInfo = RuleInfo {
        name: "quota-exceeded",
        condition: "a task group used more CPU time than its quota and burst, a slice and a tick on each CPU allow",
        severity: RuleSeverity::Fixed(Severity::Medium),
        is_for_traces: false,
    };

    fn sample(&mut self, machine: &Machine, tasks: &FindingTasks, _at: Nanos) {
        if machine.groups().is_empty() {
            return;
        }
        let limits_of = |group: GroupId| machine.sched().group(group).bandwidth.limits;
        let has_quota = |&&group: &&GroupId| limits_of(group).quota().is_some();
        let limited: Vec<GroupId> = machine.groups().iter().filter(has_quota).copied().collect();
        if limited.is_empty() && self.groups.is_empty() {
            return;
        }
        let now = machine.now();
        let mut used: BTreeMap<GroupId, (u64, usize)> = BTreeMap::new();
        for (id, task) in tasks.iter() {
            let (state, runtime) = (machine.sched().task(id), machine.tasks()[task.place].runtime_ns);
            let last = self.tasks.insert(id, (state.group, runtime));
            let is_fair = matches!(state.policy, Policy::Normal | Policy::Batch | Policy::Idle);
            // The time of a task that has moved is in neither group.
            let Some((_, before)) = last.filter(|&(group, _)| group == state.group && is_fair) else { continue };
            let ran = u64::try_from(runtime - before).unwrap_or(0);
            let mut group = Some(state.group).filter(|_| ran > 0);
            while let Some(id) = group {
                let (sum, of_task) = used.entry(id).or_default();
                (*sum, *of_task) = (*sum + ran, task.place);
                group = machine.sched().group(id).parent;
            }
        }
        for &group in &limited {
            let limits = limits_of(group);
            let usage = self.groups.entry(group).or_insert_with(|| GroupUsage::new(limits, now));
            if usage.limits != limits {
                let past = std::mem::replace(usage, GroupUsage::new(limits, now));
                past.excess.into_iter().for_each(|excess| self.found.entry(group).or_default().add(excess));
                continue;
            }
            let (ran, task) = used.get(&group).copied().unwrap_or_default();
            usage.add(ran, now);
            let slice = Nanos::from_micros(machine.sched().tunables().cfs_bandwidth_slice_us);
            let allowed =
                allowed_beyond_rate(limits, machine.hardware().nr_cpus() as u64, slice, machine.hardware().tick);
            let beyond = Nanos(usage.beyond.saturating_sub(allowed));
            if usage.excess.map_or(Nanos::ZERO, |(worst, ..)| worst) < beyond {
                usage.excess = Some((beyond, now, task));
            } else if usage.beyond == 0 {
                usage.excess.take().into_iter().for_each(|excess| self.found.entry(group).or_default().add(excess));
            }
        }
        self.groups.retain(|group, _| limited.contains(group));
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        let Some(machine) = about.machine else { return Vec::new() };
        for (&group, usage) in &mut self.groups {
            usage.excess.take().into_iter().for_each(|excess| self.found.entry(group).or_default().add(excess));
        }
        let found = self.found.iter().filter_map(|(&group, found)| {
            let (time, at, task) = found.worst?;
            Some(Finding {
                count: found.count,
                total_ns: found.total.0,
                worst_ns: time.0,
                at_ns: moment(at).saturating_sub(1),
                last_ns: moment(found.last),
                ..Self::INFO.finding(
                    QuotaExceededEvidence { group: group_path(machine, group) },
                    Question::Task((about.name)(task)),
                )
            })
        });
        found.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{found, machine, of, printed};
    use crate::{Findings, Limits};
    use fairlab_machine::sim::START;

    const MS: u64 = 1_000_000;

    fn limits(quota: u64, period: u64, burst: u64) -> Bandwidth {
        let ms = Nanos::from_millis;
        Bandwidth::new(Some(ms(quota)), ms(period), ms(burst)).expect("a possible quota")
    }

    #[test]
    fn usage_beyond_the_rate_is_that_of_the_worst_part_of_the_run() {
        let mut usage = GroupUsage::new(limits(20, 100, 0), Nanos::ZERO);
        usage.add(0, Nanos(1000 * MS));
        assert_eq!(usage.beyond, 0, "unused quota expires");
        usage.add(50 * MS, Nanos(1100 * MS));
        usage.add(50 * MS, Nanos(1200 * MS));
        assert_eq!(usage.beyond, 60 * MS);
        usage.add(0, Nanos(1300 * MS));
        assert_eq!(usage.beyond, 40 * MS);
    }

    #[test]
    fn the_worst_excess_is_the_first_of_equal_ones() {
        let mut found = QuotaExcess::default();
        [(3, 10), (7, 20), (7, 30), (2, 25)].iter().for_each(|&(time, at)| found.add((Nanos(time), Nanos(at), 0)));
        assert_eq!((found.count, found.total, found.last), (4, Nanos(19), Nanos(30)));
        assert_eq!(found.worst, Some((Nanos(7), Nanos(20), 0)));
    }

    #[test]
    fn a_full_pool_a_refill_a_burst_and_a_slice_and_a_tick_of_each_cpu_are_allowed() {
        let (slice, tick) = (Nanos::from_millis(5), Nanos::from_millis(4));
        assert_eq!(allowed_beyond_rate(limits(20, 100, 10), 2, slice, tick), (20 + 20 + 10 + 2 * 9) * MS);
    }

    #[test]
    fn an_exceeded_quota_is_printed_with_the_worst_excess_and_the_time_to_which_it_is_limited() {
        let quota = printed(QuotaExceededEvidence { group: "/g".to_owned() });
        let first = Finding { only_in_first_ns: Some(4_000_000), ..quota };
        assert_eq!(
            first.to_string(),
            "group /g used more CPU time than its quota allows 2 times (3ms in total); worst: 2ms beyond quota, burst and slices; \
             only in the first 4ms"
        );
    }

    #[test]
    fn what_the_kernel_allows_beyond_a_quota_is_not_reported() {
        // Slices of eight CPUs, bursts after idle time, nested quotas, changes.
        for scenario in [
            "cpus 8\nend 2s\ngroup g quota=40ms period=100ms\ntask hog group=g n=16 run 10s\n",
            "cpus 8\nend 2s\ngroup g quota=5ms period=10ms\ntask hog group=g n=16 loop run 700us sleep 300us\n",
            "cpus 4\nend 2s\ngroup g quota=20ms period=100ms burst=20ms\ntask t group=g n=4 loop run 15ms sleep 150ms\n",
            "cpus 4\nend 2s\ngroup g quota=50ms period=100ms\ngroup c parent=g quota=20ms period=50ms\ntask t group=c n=4 run 10s\n\
             quota 700ms c 10000 100000\nquota 1300ms g none 100ms\n",
        ] {
            let findings = found(scenario);
            assert!(of(&findings, "quota-exceeded").is_none(), "{scenario}: {findings:?}");
        }
    }

    #[test]
    fn usage_counts_fair_tasks_of_the_group_and_of_those_below() {
        // The quota is used within 5 ms on eight CPUs, with a slice and a tick on each of them; the rate allows 2 ms.
        let furthest = |tasks: &str| {
            let text = format!("cpus 8\nend 30ms\ngroup g quota=40ms period=100ms\ngroup below parent=g\n{tasks}\n");
            let mut machine = machine(&text);
            let mut findings = Findings::new(&machine, Limits::of(&machine));
            machine.start(&mut findings).expect("the tasks make progress");
            let mut largest = 0;
            for ms in 1..=30 {
                machine.advance(&mut findings, START + Nanos::from_millis(ms)).expect("the tasks make progress");
                findings.read_attributes(&machine);
                findings.sample(&machine, machine.now());
                largest = largest.max(findings.rules.quotas.furthest());
            }
            largest / 1_000_000
        };
        assert!((40..=65).contains(&furthest("task a n=8 group=below run 10s")));
        assert!((40..=65).contains(&furthest("task a n=4 group=below run 10s\ntask b n=4 group=g run 10s")));
        assert_eq!(furthest("task a n=8 group=g fifo=5 run 10s"), 0, "real-time tasks use no quota");
        assert_eq!(furthest("task a n=8 run 10s"), 0, "tasks of the root group");
    }
}
