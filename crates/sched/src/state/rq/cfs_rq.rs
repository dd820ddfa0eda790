// SPDX-License-Identifier: GPL-2.0-or-later
//! The fair runqueue of a group on one CPU: the kernel's `struct cfs_rq`.

use crate::state::rq::leaf::LeafLinks;
use crate::state::rq::slice_tree::SliceTree;
use crate::state::rq::timeline::Timeline;
use crate::state::rq::virtual_time::VirtualTime;
use crate::types::getters::getters;
use crate::types::ids::{CpuId, EntityId, GroupId};
use crate::types::pelt::SchedAvg;
use crate::types::weight::LoadWeight;

/// Averages of entities that left while the cfs_rq's lock was not held. The next update of the cfs_rq
/// subtracts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovedAverages {
    /// Number of entities that left.
    pub nr: u32,
    /// Sum of their `load_avg`.
    pub load_avg: u64,
    /// Sum of their `runnable_avg`.
    pub runnable_avg: u64,
    /// Sum of their `util_avg`.
    pub util_avg: u64,
}

/// Fair runqueue of a group on one CPU: the kernel's `struct cfs_rq`.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct CfsRq {
    pub cpu: CpuId,
    pub group: GroupId,
    /// Entity that represents the cfs_rq on its parent; none for a root cfs_rq.
    pub entity: Option<EntityId>,
    /// Sum of the weights of queued and running entities.
    pub load: LoadWeight,
    /// Number of entities, queued or running.
    pub nr_running: u32,
    /// Number of runnable tasks in this group and the groups below.
    pub h_nr_running: u32,
    /// Those of them that are runnable; in 6.12 others wait for their delayed dequeue.
    pub h_nr_runnable: u32,
    /// Number of entities that are idle (SCHED_IDLE, or of an idle group).
    pub idle_nr_running: u32,
    /// Number of runnable tasks in this group and below that count as idle.
    pub idle_h_nr_running: u32,
    /// Whether the group is idle (`cpu.idle`).
    pub is_idle: bool,
    /// Virtual time that the cfs_rq has reached, in ns of a nice-0 task; never decreases.
    pub min_vruntime: u64,
    /// Virtual time of EEVDF (6.12).
    pub virtual_time: VirtualTime,
    /// Waiting entities, ordered by virtual runtime; in 6.12 by virtual deadline.
    pub timeline: Timeline,
    /// Shortest slice of the waiting entities (6.12).
    pub slice_tree: SliceTree,
    /// Running entity, which is not in the timeline.
    pub curr: Option<EntityId>,
    /// Entity to run next if that is not too unfair (next buddy).
    pub next: Option<EntityId>,
    /// Entity that a wake-up preempted last, and that should continue if that is not too unfair (last buddy).
    pub last: Option<EntityId>,
    /// Entity that yielded and should not run next (skip buddy).
    pub skip: Option<EntityId>,
    /// Averages of load, runnable time and utilisation (PELT).
    pub avg: SchedAvg,
    /// Averages that the next update subtracts.
    pub removed: RemovedAverages,
    /// Contribution of the cfs_rq to its group's `load_avg`.
    pub tg_load_avg_contrib: u64,
    /// Time of the last update of that contribution, in ns of the CPU's clock.
    pub last_update_tg_load_avg: u64,
    /// Whether averages have changed that still have to be propagated to the parent.
    pub propagate: bool,
    /// Change of runnable load that still has to be propagated to the parent.
    pub prop_runnable_sum: i64,
    /// Load of the cfs_rq as a share of the CPU's load, for load balancing.
    pub h_load: u64,
    /// Time at which `h_load` was computed last, in jiffies.
    pub last_h_load_update: u64,
    /// Whether the cfs_rq is in the list of its CPU's cfs_rqs that have load.
    pub(in crate::state::rq) on_list: bool,
    /// Neighbours in that list.
    pub(in crate::state::rq) leaf: LeafLinks,
    /// Whether the group has a quota.
    pub runtime_enabled: bool,
    /// Runtime that is left of the time drawn from the group's pool, in ns.
    pub runtime_remaining: i64,
    /// Whether the runtime is used up and no more could be drawn.
    pub throttled: bool,
    /// Time from which the throttled time of the cfs_rq counts, in ns of the runqueue's clock. In 6.12 it does not while
    /// the cfs_rq has had no entity.
    pub throttled_clock: Option<u64>,
    /// Number of throttled groups among this group and those above it, on this CPU.
    pub throttle_count: u32,
    /// Clock of load tracking at the time when the cfs_rq was throttled, in ns.
    pub throttled_clock_pelt: u64,
    /// Total time for which the clock of load tracking stood still, in ns.
    pub throttled_clock_pelt_time: u64,
    /// `throttled_clock_pelt_time` when the cfs_rq last became empty; `u64::MAX` if it was throttled then.
    pub throttled_pelt_idle: u64,
}

impl CfsRq {
    /// Creates an empty cfs_rq. Virtual time starts shortly before it wraps.
    pub fn new(cpu: CpuId, group: GroupId) -> Self {
        Self {
            cpu,
            group,
            entity: None,
            load: LoadWeight::default(),
            nr_running: 0,
            h_nr_running: 0,
            h_nr_runnable: 0,
            idle_nr_running: 0,
            idle_h_nr_running: 0,
            is_idle: false,
            min_vruntime: (1u64 << 20).wrapping_neg(),
            virtual_time: VirtualTime::default(),
            timeline: Timeline::default(),
            slice_tree: SliceTree::default(),
            curr: None,
            next: None,
            last: None,
            skip: None,
            avg: SchedAvg::default(),
            removed: RemovedAverages::default(),
            tg_load_avg_contrib: 0,
            last_update_tg_load_avg: 0,
            propagate: false,
            prop_runnable_sum: 0,
            h_load: 0,
            last_h_load_update: 0,
            on_list: false,
            leaf: LeafLinks::default(),
            runtime_enabled: false,
            runtime_remaining: 0,
            throttled: false,
            throttled_clock: None,
            throttle_count: 0,
            throttled_clock_pelt: 0,
            throttled_clock_pelt_time: 0,
            throttled_pelt_idle: 0,
        }
    }

    /// Creates an empty cfs_rq whose timeline, which may grow and never shrinks, has room for a number of entities.
    pub(crate) fn with_capacity(cpu: CpuId, group: GroupId, nr_entities: usize, has_slice_tree: bool) -> Self {
        let slice_tree = if has_slice_tree { SliceTree::with_capacity(nr_entities) } else { SliceTree::default() };
        Self { timeline: Timeline::with_capacity(nr_entities), slice_tree, ..Self::new(cpu, group) }
    }

    getters!(on_list: bool);

    /// Whether the cfs_rq or a group above it is throttled.
    #[inline]
    pub(crate) const fn is_throttled_hierarchy(&self) -> bool {
        self.throttle_count > 0
    }

    /// Whether there are runnable entities and all of them are idle: `sched_idle_cfs_rq()`.
    #[inline]
    pub fn has_only_idle(&self) -> bool {
        self.nr_running > 0 && self.nr_running == self.idle_nr_running
    }
}
