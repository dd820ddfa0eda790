// SPDX-License-Identifier: GPL-2.0-or-later
//! What became of quotas: `cpu.stat` of cgroups.

use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Machine;
use fairlab_sched::ids::GroupId;
use fairlab_sched::state::group::bandwidth::BandwidthStats;
use serde::{Deserialize, Serialize};

/// A cgroup that has or had a quota (`cpu.max`), and what its `cpu.stat` tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CgroupSummary {
    /// Its path, or its name in a scenario.
    pub name: String,
    /// Its quota in each period at the end of the run; none if it has no limit any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_ns: Option<u64>,
    /// Its period.
    pub period_ns: u64,
    /// Periods that passed while it had something to run (`nr_periods`).
    pub nr_periods: u64,
    /// How many of them ended with it throttled on some CPU (`nr_throttled`).
    pub nr_throttled: u64,
    /// For how long it was throttled, summed over CPUs (`throttled_usec`). What has not ended yet does not count, as in the kernel.
    pub throttled_ns: u64,
    /// In how many periods it used saved-up runtime (`nr_bursts`).
    pub nr_bursts: u64,
    /// How much of it (`burst_usec`).
    pub burst_ns: u64,
}

/// The counters of all groups of the workload, as they are now; nothing if the engine does not tell.
pub(crate) fn counters(machine: &Machine<impl Engine>) -> Vec<BandwidthStats> {
    let Some(sched) = machine.sched().as_sched() else { return Vec::new() };
    let of = |group: usize| sched.group(id_of(group)).bandwidth.stats;
    (0..machine.workload().groups.len()).map(of).collect()
}

/// The group with this place in the workload. The root group is the first one of the scheduler.
fn id_of(place: usize) -> GroupId {
    GroupId(u32::try_from(place).expect("a workload has few groups") + 1)
}

/// The groups that have or had a quota, with what was counted since `before`.
pub(crate) fn of(machine: &Machine<impl Engine>, before: &[BandwidthStats]) -> Vec<CgroupSummary> {
    let Some(sched) = machine.sched().as_sched() else { return Vec::new() };
    let groups = machine.workload().groups.iter().enumerate().zip(counters(machine));
    groups
        .filter_map(|((place, group), now)| {
            let (quota, period, _) = sched.group(id_of(place)).bandwidth.limits.parts();
            let before = before.get(place).copied().unwrap_or_default();
            (quota.is_some() || now.nr_periods > before.nr_periods).then(|| CgroupSummary {
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
