// SPDX-License-Identifier: GPL-2.0-or-later
//! Scheduling entities, which a cfs_rq orders by virtual runtime: tasks and task groups.

use crate::state::fair_tree::FairTree;
use crate::state::rq::slice_tree::{NO_SLOT, Slot};
use crate::types::ids::{CfsRqId, EntityId, TaskId};
use crate::types::pelt::SchedAvg;
use crate::types::units::Nanos;
use crate::types::weight::{LoadWeight, NICE_0_LOAD, scale_load_down};
use core::ops::RangeInclusive;

/// Task or group that an entity represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntityOwner {
    /// The entity represents one task.
    Task(TaskId),
    /// The entity represents a group on one CPU, with the tasks of this cfs_rq.
    Group(CfsRqId),
}

/// Slices that a task may have, in ns (6.12).
pub const SLICE_RANGE_NS: RangeInclusive<u64> = 100_000..=100_000_000;

/// Scheduling entity: the kernel's `struct sched_entity`.
#[derive(Clone, Debug)]
pub struct SchedEntity {
    /// Task or group that the entity represents.
    pub owner: EntityOwner,
    /// cfs_rq on which the entity is queued, or will be.
    pub cfs_rq: CfsRqId,
    /// Entity of the group that contains this one; none at the top.
    pub parent: Option<EntityId>,
    /// Number of groups above the entity.
    pub depth: u32,
    /// Weight, with its cached inverse.
    pub load: LoadWeight,
    /// Virtual runtime, in ns of a nice-0 task. Wraps; relative to `min_vruntime` while the entity is between
    /// two runqueues.
    pub vruntime: u64,
    /// Virtual deadline (6.12); relative to `vruntime` with `has_relative_deadline`.
    pub deadline: u64,
    /// Lag when the entity left its cfs_rq; while it runs, the deadline with which it was picked (6.12).
    pub vlag: i64,
    /// Slice, in ns (6.12).
    pub slice: u64,
    /// Position in the slice tree of the cfs_rq (6.12).
    pub slice_slot: Slot,
    /// Whether the slice is the task's own, and not the kernel's base slice (6.12).
    pub has_custom_slice: bool,
    /// Whether the entity left its cfs_rq without sleeping, so that its deadline counts from where it is placed (6.12).
    pub has_relative_deadline: bool,
    /// Whether the entity is still queued although nothing below it is runnable, until it has used up its negative lag
    /// (`sched_delayed`, 6.12).
    pub is_delayed: bool,
    /// Time up to which the current run is accounted, in ns of the task clock.
    pub exec_start: u64,
    /// CPU time used so far, in ns.
    pub sum_exec_runtime: u64,
    /// `sum_exec_runtime` when the entity was picked last, in ns.
    pub prev_sum_exec_runtime: u64,
    /// Whether the entity is queued or running.
    pub on_rq: bool,
    /// Number of runnable tasks: of a task's entity 1 while it is queued and not delayed, of a group's those below, as of
    /// the last update.
    pub runnable_weight: u64,
    /// Averages of load, runnable time and utilisation (PELT).
    pub avg: SchedAvg,
}

impl SchedEntity {
    /// Creates an entity that was never queued, with the weight of nice 0.
    pub fn new(owner: EntityOwner, cfs_rq: CfsRqId) -> Self {
        Self {
            owner,
            cfs_rq,
            parent: None,
            depth: 0,
            load: LoadWeight::new(NICE_0_LOAD),
            vruntime: 0,
            deadline: 0,
            vlag: 0,
            slice: 0,
            slice_slot: NO_SLOT,
            has_custom_slice: false,
            has_relative_deadline: false,
            is_delayed: false,
            exec_start: 0,
            sum_exec_runtime: 0,
            prev_sum_exec_runtime: 0,
            on_rq: false,
            runnable_weight: 0,
            avg: SchedAvg::default(),
        }
    }

    /// Sets a slice of the task's own, within the kernel's limits (`__setparam_fair()`, 6.12).
    pub fn set_custom_slice(&mut self, slice: Nanos) {
        self.has_custom_slice = true;
        self.slice = slice.0.clamp(*SLICE_RANGE_NS.start(), *SLICE_RANGE_NS.end());
    }

    /// Task of the entity, unless it represents a group.
    #[inline]
    pub fn task(&self) -> Option<TaskId> {
        match self.owner {
            EntityOwner::Task(task) => Some(task),
            EntityOwner::Group(_) => None,
        }
    }

    /// cfs_rq of the entity's group, if it represents one: `group_cfs_rq()`.
    #[inline]
    pub fn my_q(&self) -> Option<CfsRqId> {
        match self.owner {
            EntityOwner::Task(_) => None,
            EntityOwner::Group(cfs_rq) => Some(cfs_rq),
        }
    }

    /// Weight without the extra bits of resolution: `se_weight()`.
    #[inline]
    pub fn weight(&self) -> u64 {
        scale_load_down(self.load.weight)
    }

    /// Contribution of the entity to its cfs_rq's sum of load.
    #[inline]
    pub(crate) fn weighted_load_sum(&self) -> u64 {
        self.weight().wrapping_mul(self.avg.load_sum)
    }

    /// Sets whether the entity is queued.
    #[inline]
    pub fn set_on_rq(&mut self, on_rq: bool) {
        self.on_rq = on_rq;
        if self.task().is_some() {
            self.runnable_weight = u64::from(on_rq && !self.is_delayed);
        }
    }

    /// Number of runnable tasks that the entity represents: `se_runnable()`.
    #[inline]
    pub fn runnable(&self) -> u64 {
        self.runnable_weight
    }

    /// Makes the virtual runtime relative to that of the cfs_rq that the entity leaves (6.1).
    #[inline]
    pub(crate) const fn make_vruntime_relative(&mut self, min_vruntime: u64) {
        self.vruntime = self.vruntime.wrapping_sub(min_vruntime);
    }

    /// Makes the virtual runtime absolute on the cfs_rq that the entity joins (6.1).
    #[inline]
    pub(crate) const fn make_vruntime_absolute(&mut self, min_vruntime: u64) {
        self.vruntime = self.vruntime.wrapping_add(min_vruntime);
    }

    /// Whether the entity comes before another one on a cfs_rq: `entity_before()`.
    #[inline]
    pub fn is_before(&self, other: &Self) -> bool {
        vruntime_before(self.vruntime, other.vruntime)
    }
}

/// Whether virtual time `a` lies before `b`, although both wrap.
#[inline]
pub const fn vruntime_before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

impl FairTree {
    /// cfs_rq of an entity, and the entity above it.
    #[inline]
    pub(crate) fn place_of(&self, se: EntityId) -> (CfsRqId, Option<EntityId>) {
        let se = &self.entities[se];
        (se.cfs_rq, se.parent)
    }
}
