// SPDX-License-Identifier: GPL-2.0-or-later
//! The fair runqueue of a group on one CPU: the kernel's `struct cfs_rq`.

use crate::state::rq::leaf::LeafLinks;
use crate::state::rq::timeline::Timeline;
use crate::types::ids::{CpuId, EntityId, GroupId};
use crate::types::pelt::SchedAvg;
use crate::types::weight::LoadWeight;

/// Averages of entities that left while the cfs_rq's lock was not held; they are subtracted at its next update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovedAverages {
    /// How many entities left.
    pub nr: u32,
    /// Sum of their `load_avg`.
    pub load_avg: u64,
    /// Sum of their `runnable_avg`.
    pub runnable_avg: u64,
    /// Sum of their `util_avg`.
    pub util_avg: u64,
}

/// The kernel's `struct cfs_rq`.
#[derive(Clone, Debug)]
pub struct CfsRq {
    /// Its CPU.
    pub cpu: CpuId,
    /// Its group.
    pub group: GroupId,
    /// The entity that stands for it on its parent; none for a root cfs_rq.
    pub entity: Option<EntityId>,
    /// Sum of the weights of queued and running entities.
    pub load: LoadWeight,
    /// Number of entities, queued and running.
    pub nr_running: u32,
    /// Number of tasks below.
    pub h_nr_running: u32,
    /// Number of entities that are idle (SCHED_IDLE, or an idle group's).
    pub idle_nr_running: u32,
    /// Number of tasks below that count as idle.
    pub idle_h_nr_running: u32,
    /// Whether its group is idle (`cpu.idle`).
    pub is_idle: bool,
    /// Virtual time that it has reached; never goes back.
    pub min_vruntime: u64,
    /// Waiting entities.
    pub timeline: Timeline,
    /// The running entity. It is not in the timeline.
    pub curr: Option<EntityId>,
    /// Whom to run next if that is not too unfair.
    pub next: Option<EntityId>,
    /// Who was preempted last by a wake-up, and should go on if that is not too unfair.
    pub last: Option<EntityId>,
    /// Who gave way and should not be next.
    pub skip: Option<EntityId>,
    /// Averages.
    pub avg: SchedAvg,
    /// Averages that are to be subtracted.
    pub removed: RemovedAverages,
    /// Its `load_avg` as counted in the group's sum.
    pub tg_load_avg_contrib: u64,
    /// Whether averages have changed that the parent has to hear of.
    pub propagate: bool,
    /// Change of runnable load that the parent has to hear of.
    pub prop_runnable_sum: i64,
    /// Load of this cfs_rq as a part of the CPU's, for load balancing.
    pub h_load: u64,
    /// When `h_load` was computed last, in jiffies.
    pub last_h_load_update: u64,
    /// Whether it is in the list of its CPU's cfs_rqs that have load.
    pub on_list: bool,
    /// Its place there.
    pub leaf: LeafLinks,
    /// Whether its group has a quota.
    pub runtime_enabled: bool,
    /// What is left of the runtime that it has drawn from its group's pool, in ns.
    pub runtime_remaining: i64,
    /// Whether it has used that up and could not draw any more.
    pub throttled: bool,
    /// When it was throttled last, in ns of the runqueue's clock.
    pub throttled_clock: u64,
    /// How many of its group and the groups above are throttled here.
    pub throttle_count: u32,
    /// The clock of load tracking when it was throttled.
    pub throttled_clock_pelt: u64,
    /// How long the clock of load tracking stood still in sum.
    pub throttled_clock_pelt_time: u64,
    /// That sum when the cfs_rq last became empty; the largest number if it was throttled then.
    pub throttled_pelt_idle: u64,
}

impl CfsRq {
    /// An empty cfs_rq. Virtual time starts shortly before it wraps.
    pub fn new(cpu: CpuId, group: GroupId) -> Self {
        Self {
            cpu,
            group,
            entity: None,
            load: LoadWeight::default(),
            nr_running: 0,
            h_nr_running: 0,
            idle_nr_running: 0,
            idle_h_nr_running: 0,
            is_idle: false,
            min_vruntime: (1u64 << 20).wrapping_neg(),
            timeline: Timeline::default(),
            curr: None,
            next: None,
            last: None,
            skip: None,
            avg: SchedAvg::default(),
            removed: RemovedAverages::default(),
            tg_load_avg_contrib: 0,
            propagate: false,
            prop_runnable_sum: 0,
            h_load: 0,
            last_h_load_update: 0,
            on_list: false,
            leaf: LeafLinks::default(),
            runtime_enabled: false,
            runtime_remaining: 0,
            throttled: false,
            throttled_clock: 0,
            throttle_count: 0,
            throttled_clock_pelt: 0,
            throttled_clock_pelt_time: 0,
            throttled_pelt_idle: 0,
        }
    }

    /// Whether only idle entities are runnable here, and at least one: `sched_idle_cfs_rq()`.
    #[inline]
    pub fn has_only_idle(&self) -> bool {
        self.nr_running > 0 && self.nr_running == self.idle_nr_running
    }
}
