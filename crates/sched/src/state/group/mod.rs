// SPDX-License-Identifier: GPL-2.0-or-later
//! Task groups: cgroups of the `cpu` controller.
//!
//! Models `sched_create_group()`, `sched_online_group()` and the fair part of `struct task_group` (6.1). A
//! group has on each CPU a cfs_rq for its members and an entity that represents them on the parent's cfs_rq.

pub mod bandwidth;
pub(crate) mod pool;

use crate::state::fair_tree::FairTree;
use crate::state::group::bandwidth::CfsBandwidth;
use crate::state::task::Uclamp;
use crate::types::ids::{CfsRqId, CpuId, EntityId, GroupId};
use crate::types::weight::NICE_0_LOAD;

/// Task group: the kernel's `struct task_group`.
#[derive(Clone, Debug)]
pub struct TaskGroup {
    /// Group above; none for the root group.
    pub parent: Option<GroupId>,
    /// `cpu.shares` at full resolution.
    pub shares: u64,
    /// Whether the group is idle (`cpu.idle`).
    pub is_idle: bool,
    /// Requested limits of the members' clamps: `cpu.uclamp.min` and `cpu.uclamp.max`; none if unlimited.
    pub uclamp_req: Option<Uclamp>,
    /// Effective limits of the members' clamps, with those of the groups above; none if unlimited.
    pub uclamp: Option<Uclamp>,
    /// Sum of the load of the group's cfs_rqs, as of their last contributions.
    pub load_avg: i64,
    /// Newest group below this one.
    pub first_child: Option<GroupId>,
    /// Next older group with the same parent.
    pub next_sibling: Option<GroupId>,
    /// Quota and the pool of runtime.
    pub bandwidth: CfsBandwidth,
}

impl TaskGroup {
    pub(crate) fn new(parent: Option<GroupId>) -> Self {
        Self {
            parent,
            shares: NICE_0_LOAD,
            is_idle: false,
            uclamp_req: None,
            uclamp: None,
            load_avg: 0,
            first_child: None,
            next_sibling: None,
            bandwidth: CfsBandwidth::new(),
        }
    }
}

impl FairTree {
    /// cfs_rq of a group on a CPU.
    #[inline]
    pub(crate) fn cfs_rq_of_group(&self, group: GroupId, cpu: CpuId) -> CfsRqId {
        CfsRqId::from_index(group.index() * self.nr_cpus + cpu.index())
    }

    /// cfs_rq, parent and depth of an entity that belongs to a group on a CPU.
    pub(crate) fn place_in_group(&self, group: GroupId, cpu: CpuId) -> (CfsRqId, Option<EntityId>, u32) {
        let cfs_rq = self.cfs_rq_of_group(group, cpu);
        let parent = self.cfs_rqs[cfs_rq].entity;
        (cfs_rq, parent, parent.map_or(0, |parent| self.entities[parent].depth + 1))
    }

    /// Entity of a group on a CPU; the root group has none.
    #[inline]
    pub(crate) fn group_entity(&self, group: GroupId, cpu: CpuId) -> Option<EntityId> {
        self.cfs_rqs[self.cfs_rq_of_group(group, cpu)].entity
    }
}
