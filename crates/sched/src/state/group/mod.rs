// SPDX-License-Identifier: GPL-2.0-or-later
//! Task groups: what the `cpu` controller calls a cgroup.
//!
//! Models `sched_create_group()`, `sched_online_group()` and the fair part of `struct task_group` (6.1). A group has on
//! each CPU a cfs_rq for its members and an entity that stands for them on the parent's cfs_rq.

pub mod bandwidth;
pub(crate) mod pool;

use crate::state::State;
use crate::state::group::bandwidth::CfsBandwidth;
use crate::state::task::{SchedClass, Uclamp};
use crate::types::ids::{CfsRqId, CpuId, EntityId, GroupId, TaskId};
use crate::types::weight::NICE_0_LOAD;

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

impl State {
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

    /// Whether a cfs_rq or a group above it is throttled.
    pub(crate) fn is_throttled_hierarchy(&self, id: CfsRqId) -> bool {
        self.cfs_rqs[id.index()].throttle_count > 0
    }

    /// Whether a task cannot run, however many CPUs idle, since its group or one above has used up its quota where the task is.
    pub fn waits_for_quota(&self, task: TaskId) -> bool {
        let p = self.task(task);
        p.class == SchedClass::Fair && self.is_throttled_hierarchy(self.cfs_rq_of_group(p.group, p.cpu))
    }
}
