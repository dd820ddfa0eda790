// SPDX-License-Identifier: GPL-2.0-or-later
//! Task groups: what the `cpu` controller calls a cgroup.
//!
//! Models `sched_create_group()`, `sched_online_group()` and the fair part of `struct task_group` (6.1). A group has on
//! each CPU a cfs_rq for its members and an entity that stands for them on the parent's cfs_rq.

pub mod bandwidth;
#[cfg(test)]
mod golden_tests;
pub mod shares;
mod uclamp;

use crate::ctx::Ctx;
use crate::entity::{Owner, SchedEntity};
use crate::group::bandwidth::CfsBandwidth;
use crate::ids::{CfsRqId, CpuId, EntityId, GroupId};
use crate::rq::cfs_rq::CfsRq;
use crate::sched::Sched;
use crate::task::Uclamp;
use crate::weight::NICE_0_LOAD;

/// The kernel's `struct task_group`.
#[derive(Clone, Debug)]
pub struct TaskGroup {
    /// The group above; none for the root group.
    pub parent: Option<GroupId>,
    /// `cpu.shares` at full resolution.
    pub shares: u64,
    /// Whether it is idle (`cpu.idle`).
    pub is_idle: bool,
    /// What somebody asked it to allow: `cpu.uclamp.min` and `.max`; none: anything.
    pub uclamp_req: Option<Uclamp>,
    /// What it allows the clamps of its tasks to be, with what the groups above allow; none: anything.
    pub uclamp: Option<Uclamp>,
    /// Sum of the load of its cfs_rqs, as of their last contributions.
    pub load_avg: i64,
    /// The newest group below.
    pub first_child: Option<GroupId>,
    /// The next older group with the same parent.
    pub next_sibling: Option<GroupId>,
    /// Quota.
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

impl Sched {
    /// Creates a task group with 1024 shares. Executed on the CPU of the context.
    pub fn create_group(&mut self, ctx: &mut Ctx<'_>, parent: GroupId) -> GroupId {
        let group = GroupId::from_index(self.groups.len());
        let next_sibling = self.groups[parent.index()].first_child.replace(group);
        let uclamp = self.first_clamps.groups.or_else(|| self.groups[parent.index()].uclamp.map(Uclamp::below));
        self.groups.push(TaskGroup { next_sibling, uclamp, ..TaskGroup::new(Some(parent)) });
        for cpu in self.cpu_ids() {
            let cfs_rq = CfsRqId::from_index(self.cfs_rqs.len());
            let parent_cfs_rq = self.cfs_rq_of_group(parent, cpu);
            let parent_entity = self.cfs_rqs[parent_cfs_rq.index()].entity;
            let entity = EntityId::from_index(self.entities.len());
            let mut se = SchedEntity::new(Owner::Group(cfs_rq), parent_cfs_rq);
            se.parent = parent_entity;
            se.depth = parent_entity.map_or(0, |parent| self.entities[parent.index()].depth + 1);
            self.entities.push(se);
            let mut queue = CfsRq::new(cpu, group);
            queue.entity = Some(entity);
            self.cfs_rqs.push(queue);
        }
        for cpu in self.cpu_ids() {
            self.release_rq_locks();
            self.update_rq_clock(ctx, cpu);
            let entity = self.group_entity(group, cpu).expect("every group but the root has entities");
            self.attach_entity_cfs_rq(ctx, entity);
            self.sync_throttle(group, cpu);
        }
        group
    }

    /// The cfs_rq of a group on a CPU.
    #[inline]
    pub(crate) fn cfs_rq_of_group(&self, group: GroupId, cpu: CpuId) -> CfsRqId {
        CfsRqId::from_index(group.index() * self.rqs.len() + cpu.index())
    }

    /// The entity of a group on a CPU; the root group has none.
    #[inline]
    pub(crate) fn group_entity(&self, group: GroupId, cpu: CpuId) -> Option<EntityId> {
        self.cfs_rqs[self.cfs_rq_of_group(group, cpu).index()].entity
    }
}
