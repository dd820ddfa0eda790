// SPDX-License-Identifier: GPL-2.0-or-later
//! Summaries of task families in the results of a run, and their sums.

use crate::each_field;
use crate::latency::LatencySummary;
use crate::residency::FamilyResidency;
use crate::slack::SlackSummary;
use fairlab_sched::probe::RuntimeLimit;
use fairlab_sched::units::Capacity;
use serde::{Deserialize, Serialize};

/// Longest wait of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LongestWait {
    /// Length in nanoseconds; if the wait had not ended, the time that it had lasted.
    pub ns: u64,
    /// Whether the wait had not ended, so that its length is a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_open: bool,
}

impl LongestWait {
    /// Keeps the longer one of two waits; of two equal ones the open one.
    #[inline]
    pub(crate) fn keep_longest(&mut self, ns: u64, is_open: bool) {
        if ns > self.ns || (ns == self.ns && is_open) {
            *self = Self { ns, is_open };
        }
    }
}

/// Limit whose runtime tasks waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// Quota of a task group (`cpu.max`).
    #[default]
    Quota,
    /// Runtime of all real-time tasks of a CPU (`sched_rt_runtime_us`).
    RealTime,
    /// Runtime of a deadline task (`sched_runtime`).
    Deadline,
}

/// Waits of a family for the runtime of one limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RuntimeWaits {
    /// Kind of the limit.
    pub limit: LimitKind,
    /// Group with the quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Time in which tasks waited, in nanoseconds.
    pub ns: u64,
    /// Longest of the waits.
    pub longest: LongestWait,
}

impl RuntimeWaits {
    /// Returns an entry without waits for a limit. `groups` are the names of the task groups below the root.
    pub fn of(limit: RuntimeLimit, groups: &[String]) -> Self {
        let (limit, group) = match limit {
            RuntimeLimit::Quota(group) => {
                (LimitKind::Quota, group.index().checked_sub(1).and_then(|index| groups.get(index)).cloned())
            }
            RuntimeLimit::RealTime => (LimitKind::RealTime, None),
            RuntimeLimit::Deadline => (LimitKind::Deadline, None),
        };
        Self { limit, group, ..Self::default() }
    }

    /// Describes what the tasks waited for: `the quota of g`.
    pub fn description(&self) -> String {
        match (self.limit, &self.group) {
            (LimitKind::Quota, Some(group)) => format!("the quota of {group}"),
            (LimitKind::Quota, None) => "a quota".to_owned(),
            (LimitKind::RealTime, _) => "runtime of real-time tasks".to_owned(),
            (LimitKind::Deadline, _) => "runtime of the deadline task itself".to_owned(),
        }
    }
}

/// Work that the tasks of a family have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FamilyWork {
    /// Number of completed loops of rt-app; absent for tasks without loops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loops: Option<u64>,
    /// Number of activations: times that a task blocked or exited.
    pub activations: u64,
    /// CPU time that the work takes on the fastest CPU at its highest frequency, in nanoseconds.
    pub full_speed_ns: u64,
}

/// Summary of a task family.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FamilySummary {
    /// Name of the family.
    pub name: String,
    /// Whether the tasks are kernel threads, whose work is not the workload's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_kthread: bool,
    /// Number of forked tasks.
    pub tasks: u64,
    /// Time on a CPU, in nanoseconds.
    pub run_ns: u64,
    /// Time on CPUs of each capacity: pairs of capacity and nanoseconds, in ascending order.
    pub run_by_capacity: Vec<(Capacity, u64)>,
    /// Work that the tasks have done.
    #[serde(default)]
    pub work: FamilyWork,
    /// Time in which tasks waited for a CPU, in nanoseconds, without the time in which they were throttled.
    pub wait_ns: u64,
    /// Time in which runnable tasks waited for runtime of their group or class and not for a CPU, in
    /// nanoseconds.
    #[serde(default)]
    pub throttled_ns: u64,
    /// Longest wait for a CPU, after a wake-up or a preemption; absent if no task waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_wait: Option<LongestWait>,
    /// Throttled time by limit: the quota of a group, or the runtime of a class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runtime_waits: Vec<RuntimeWaits>,
    /// Jain's fairness index in millionths, over the fractions of runnable time in which the tasks had a CPU;
    /// 1000000 if all fractions are equal. Absent for a single task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness_ppm: Option<u64>,
    /// Number of wake-ups of blocked tasks, without forks.
    pub wakeups: u64,
    /// Latency from the timer's expiry, the interrupt or the waker's call until the task continues, throttled time
    /// included.
    #[serde(default)]
    pub wake_to_run: Option<LatencySummary>,
    /// Part of that latency in which the task waited for a CPU: from `sched_wakeup` to `sched_switch`, without
    /// throttled time.
    pub wakeup_latency: Option<LatencySummary>,
    /// Number of switches because a task blocked or exited.
    pub voluntary_switches: u64,
    /// Number of switches because a task was preempted or yielded.
    pub involuntary_switches: u64,
    /// Number of migrations to another CPU.
    pub migrations: u64,
    /// Periodic timers, if the tasks have any.
    pub timers: Option<TimerSummary>,
    /// Kinds of CPU and operating points on which the tasks ran; absent on machines whose CPUs are equal and
    /// have one frequency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residency: Option<FamilyResidency>,
}

impl FamilySummary {
    /// Returns the sum of several families, without latencies and timers.
    pub fn sum(name: String, families: &[Self]) -> Self {
        let mut sum = Self { name, ..Self::default() };
        for family in families {
            sum.add(family);
        }
        sum
    }

    fn add(&mut self, other: &Self) {
        if let Some(longest) = other.longest_wait {
            self.longest_wait.get_or_insert_default().keep_longest(longest.ns, longest.is_open);
        }
        if let Some(residency) = &other.residency {
            self.residency.get_or_insert_default().add(residency);
        }
        each_field!(self += other:
            tasks run_ns wait_ns throttled_ns wakeups voluntary_switches involuntary_switches migrations);
        self.work.loops = self.work.loops.into_iter().chain(other.work.loops).reduce(|one, more| one + more);
        self.work.activations += other.work.activations;
        self.work.full_speed_ns += other.work.full_speed_ns;
        if self.run_by_capacity.is_empty() {
            self.run_by_capacity = other.run_by_capacity.iter().map(|&(capacity, _)| (capacity, 0)).collect();
        }
        for ((_, sum), (_, more)) in self.run_by_capacity.iter_mut().zip(&other.run_by_capacity) {
            *sum += more;
        }
    }
}

/// Periodic timers of a family, in the terms of rt-app's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TimerSummary {
    /// Number of times that a task arrived at its timer.
    pub arrivals: u64,
    /// Number of late arrivals, at which the timer had already expired.
    pub missed: u64,
    /// Time from the arrival to the expiry (rt-app's `slack`); negative for late arrivals.
    pub slack: Option<SlackSummary>,
    /// Latency from the expiry until the task continues (rt-app's `wu_lat`).
    pub wakeup_latency: Option<LatencySummary>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_has_the_time_the_work_and_the_longest_wait_of_all_families() {
        let family = |nr: u64| FamilySummary {
            tasks: nr,
            run_ns: 10 * nr,
            run_by_capacity: vec![(512, nr), (1024, 9 * nr)],
            work: FamilyWork { loops: (nr > 1).then_some(nr), activations: 3 * nr, full_speed_ns: 5 * nr },
            longest_wait: Some(LongestWait { ns: 100 - nr, is_open: nr == 2 }),
            ..FamilySummary::default()
        };
        let sum = FamilySummary::sum("all".to_owned(), &[family(1), family(2), family(4)]);
        assert_eq!((sum.tasks, sum.run_ns, sum.run_by_capacity), (7, 70, vec![(512, 7), (1024, 63)]));
        assert_eq!(sum.work, FamilyWork { loops: Some(6), activations: 21, full_speed_ns: 35 });
        assert_eq!(sum.longest_wait, Some(LongestWait { ns: 99, is_open: false }));
    }
}
