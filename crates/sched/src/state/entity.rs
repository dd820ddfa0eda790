// SPDX-License-Identifier: GPL-2.0-or-later
//! Scheduling entities: what a cfs_rq orders by virtual runtime, a task or a whole group.

use crate::state::State;
use crate::types::ids::{CfsRqId, EntityId, TaskId};
use crate::types::pelt::SchedAvg;
use crate::types::weight::{LoadWeight, NICE_0_LOAD, scale_load_down};

/// What an entity stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A task.
    Task(TaskId),
    /// A group on one CPU: the tasks of this cfs_rq.
    Group(CfsRqId),
}

/// The kernel's `struct sched_entity`.
#[derive(Clone, Debug)]
pub struct SchedEntity {
    /// What it stands for.
    pub owner: Owner,
    /// The cfs_rq on which it is (to be) queued.
    pub cfs_rq: CfsRqId,
    /// The entity of the group in which it is; none at the top.
    pub parent: Option<EntityId>,
    /// Number of groups above it.
    pub depth: u32,
    /// Weight.
    pub load: LoadWeight,
    /// Virtual runtime, in ns of a nice-0 task. Wraps; relative to `min_vruntime` while it is between two runqueues.
    pub vruntime: u64,
    /// When its current run was last accounted, in ns of the task clock.
    pub exec_start: u64,
    /// Time that it ran, in ns.
    pub sum_exec_runtime: u64,
    /// The same when it was picked last.
    pub prev_sum_exec_runtime: u64,
    /// Whether it is queued or running.
    pub on_rq: bool,
    /// Of a group: number of runnable tasks below, as of the last update.
    pub runnable_weight: u64,
    /// Averages.
    pub avg: SchedAvg,
}

impl SchedEntity {
    /// An entity that was never queued, with the weight of nice 0.
    pub fn new(owner: Owner, cfs_rq: CfsRqId) -> Self {
        Self {
            owner,
            cfs_rq,
            parent: None,
            depth: 0,
            load: LoadWeight::new(NICE_0_LOAD),
            vruntime: 0,
            exec_start: 0,
            sum_exec_runtime: 0,
            prev_sum_exec_runtime: 0,
            on_rq: false,
            runnable_weight: 0,
            avg: SchedAvg::default(),
        }
    }

    /// Its task, unless it stands for a group.
    #[inline]
    pub fn task(&self) -> Option<TaskId> {
        match self.owner {
            Owner::Task(task) => Some(task),
            Owner::Group(_) => None,
        }
    }

    /// The cfs_rq of its group, if it stands for one: `group_cfs_rq()`.
    #[inline]
    pub fn my_q(&self) -> Option<CfsRqId> {
        match self.owner {
            Owner::Task(_) => None,
            Owner::Group(cfs_rq) => Some(cfs_rq),
        }
    }

    /// Weight without extra bits: `se_weight()`.
    #[inline]
    pub fn weight(&self) -> u64 {
        scale_load_down(self.load.weight)
    }

    /// What it adds to its cfs_rq's sum of load.
    #[inline]
    pub(crate) fn weighted_load_sum(&self) -> u64 {
        self.weight().wrapping_mul(self.avg.load_sum)
    }

    /// Number of runnable tasks that it stands for: `se_runnable()`.
    #[inline]
    pub fn runnable(&self) -> u64 {
        match self.owner {
            Owner::Task(_) => u64::from(self.on_rq),
            Owner::Group(_) => self.runnable_weight,
        }
    }

    /// Whether it comes before another one on a cfs_rq: `entity_before()`.
    #[inline]
    pub fn is_before(&self, other: &Self) -> bool {
        vruntime_before(self.vruntime, other.vruntime)
    }
}

/// Whether one virtual time lies before another, although both wrap.
#[inline]
pub const fn vruntime_before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

impl State {
    /// The cfs_rq of an entity, and the entity above it.
    #[inline]
    pub(crate) fn place_of(&self, se: EntityId) -> (CfsRqId, Option<EntityId>) {
        let se = &self.entities[se.index()];
        (se.cfs_rq, se.parent)
    }
}
