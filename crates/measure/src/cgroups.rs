// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU time and bandwidth statistics of cgroups, as in `cpu.stat`.

use crate::families::GroupTime;
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Machine;
use fairlab_machine::snapshot::BandwidthSnapshot;
use fairlab_sched::ids::GroupId;
use fairlab_sched::state::group::bandwidth::BandwidthStats;
use fairlab_workload::workload::GroupSpec;
use serde::{Deserialize, Serialize};

/// Cgroup with its CPU time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CgroupSummary {
    /// Path of the cgroup, or its name in a scenario.
    pub name: String,
    /// CPU time in nanoseconds of its tasks, with those of the cgroups below (`usage_usec`).
    pub usage_ns: u64,
    /// CPU time beside the time to which its weight entitles it; absent if it never competed with another cgroup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entitlement: Option<CgroupEntitlement>,
    /// Quota with its counters; absent if the cgroup never had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<CgroupBandwidth>,
}

/// CPU time of a cgroup's fair tasks while other cgroups of its parent had runnable tasks for the same CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CgroupEntitlement {
    /// CPU time in nanoseconds.
    pub got_ns: u64,
    /// CPU time to which its weight (`cpu.weight`) entitles it, in nanoseconds: its part of the time of all these cgroups,
    /// and at most the time for which its tasks ran or waited for a CPU, in each 200 ms.
    pub due_ns: u64,
}

/// Quota of a cgroup (`cpu.max`), with its counters of `cpu.stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CgroupBandwidth {
    /// Quota per period at the end of the run, in nanoseconds; absent if there is no limit any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_ns: Option<u64>,
    /// Length of a period, in nanoseconds.
    pub period_ns: u64,
    /// CPU time of its fair tasks while it had a quota, in nanoseconds. A quota does not limit other tasks.
    pub used_ns: u64,
    /// Quota of all periods in which it had one, in nanoseconds; of a part of a period, as large a part.
    pub available_ns: u64,
    /// Number of periods that passed while the cgroup had runnable tasks (`nr_periods`).
    pub nr_periods: u64,
    /// Number of periods at whose end it was throttled on some CPU (`nr_throttled`).
    pub nr_throttled: u64,
    /// Throttled time in nanoseconds, summed over CPUs (`throttled_usec`). As in the kernel, throttling that
    /// has not ended is not included.
    pub throttled_ns: u64,
    /// Number of periods in which it used runtime saved by bursts (`nr_bursts`).
    pub nr_bursts: u64,
    /// Saved runtime that it used, in nanoseconds (`burst_usec`).
    pub burst_ns: u64,
}

/// Returns the current bandwidth counters of all task groups of the workload.
pub(crate) fn counters(machine: &Machine<impl Engine>) -> Vec<BandwidthStats> {
    let of = |group: usize| machine.sched().bandwidth_snapshot(id_of(group)).unwrap_or_default().stats;
    (0..machine.workload().groups.len()).map(of).collect()
}

/// Returns the scheduler's ID of a group of the workload; the root group has the first one.
fn id_of(place: usize) -> GroupId {
    GroupId(u32::try_from(place).expect("a workload has few groups") + 1)
}

/// Returns the cgroups with their CPU times, and with their counters since `before`.
pub(crate) fn of(machine: &Machine<impl Engine>, before: &[BandwidthStats], times: &[GroupTime]) -> Vec<CgroupSummary> {
    let of_group = |(place, (group, time)): (usize, (&GroupSpec, &GroupTime))| {
        let before = before.get(place).copied().unwrap_or_default();
        let snapshot = machine.sched().bandwidth_snapshot(id_of(place));
        CgroupSummary {
            name: group.name.clone(),
            usage_ns: time.usage,
            entitlement: (time.compared + time.entitled > 0)
                .then_some(CgroupEntitlement { got_ns: time.compared, due_ns: time.entitled }),
            bandwidth: snapshot.and_then(|snapshot| bandwidth_of(&snapshot, before, time)),
        }
    };
    machine.workload().groups.iter().zip(times).enumerate().map(of_group).collect()
}

/// Returns the bandwidth of a cgroup; `None` if it has no quota and had none.
fn bandwidth_of(snapshot: &BandwidthSnapshot, before: BandwidthStats, time: &GroupTime) -> Option<CgroupBandwidth> {
    let BandwidthSnapshot { quota, period, stats: now, .. } = *snapshot;
    (quota.is_some() || now != before || time.available > 0).then(|| CgroupBandwidth {
        quota_ns: quota.map(|quota| quota.0),
        period_ns: period.0,
        used_ns: time.limited,
        available_ns: time.available,
        nr_periods: now.nr_periods - before.nr_periods,
        nr_throttled: now.nr_throttled - before.nr_throttled,
        throttled_ns: now.throttled_time - before.throttled_time,
        nr_bursts: now.nr_burst - before.nr_burst,
        burst_ns: now.burst_time - before.burst_time,
    })
}

/// Returns the path of a task group: `cgroup_path()`. Group names of rt-app are absolute paths already.
pub fn group_path(machine: &Machine, group: GroupId) -> String {
    let groups = &machine.workload().groups;
    let mut path = String::new();
    let mut at = machine.groups().iter().position(|&own| own == group);
    while let Some(place) = at {
        let name = &groups[place].name;
        path.insert_str(0, name);
        if name.starts_with('/') {
            break;
        }
        path.insert(0, '/');
        at = groups[place].parent;
    }
    if path.is_empty() { "/".to_owned() } else { path }
}
