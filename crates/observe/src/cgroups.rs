// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU bandwidth statistics of cgroups, as in `cpu.stat`.

use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Machine;
use fairlab_machine::snapshot::BandwidthSnapshot;
use fairlab_sched::ids::GroupId;
use fairlab_sched::state::group::bandwidth::BandwidthStats;
use serde::{Deserialize, Serialize};

/// Cgroup that has or had a quota (`cpu.max`), with its `cpu.stat` counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CgroupSummary {
    /// Path of the cgroup, or its name in a scenario.
    pub name: String,
    /// Quota per period at the end of the run, in nanoseconds; absent if there is no limit any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_ns: Option<u64>,
    /// Length of a period, in nanoseconds.
    pub period_ns: u64,
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

/// Returns the cgroups that have or had a quota, with their counters since `before`.
pub(crate) fn of(machine: &Machine<impl Engine>, before: &[BandwidthStats]) -> Vec<CgroupSummary> {
    let groups = machine.workload().groups.iter().enumerate();
    groups
        .filter_map(|(place, group)| {
            let BandwidthSnapshot { quota, period, stats: now, .. } =
                machine.sched().bandwidth_snapshot(id_of(place))?;
            let before = before.get(place).copied().unwrap_or_default();
            (quota.is_some() || now != before).then(|| CgroupSummary {
                name: group.name.clone(),
                quota_ns: quota.map(|quota| quota.0),
                period_ns: period.0,
                nr_periods: now.nr_periods - before.nr_periods,
                nr_throttled: now.nr_throttled - before.nr_throttled,
                throttled_ns: now.throttled_time - before.throttled_time,
                nr_bursts: now.nr_burst - before.nr_burst,
                burst_ns: now.burst_time - before.burst_time,
            })
        })
        .collect()
}

/// Returns the path of a task group: `cgroup_path()`. Group names of rt-app are absolute paths already.
pub(crate) fn group_path(machine: &Machine, group: GroupId) -> String {
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
