// SPDX-License-Identifier: GPL-2.0-or-later
//! Virtual times of EEVDF (since 6.6): of an entity, and of the queue that it is on.
//!
//! Virtual times are in ns of a task with nice value 0. The kernel compares them by their difference, so they are
//! signed here.

use crate::types::ids::{CpuId, TaskId};

/// Moment at which the virtual times of a task are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LagMoment {
    /// The task became runnable.
    Wakeup,
    /// A CPU switched away from the task.
    SwitchFrom,
    /// A CPU switched to the task.
    SwitchTo,
}

/// Virtual times of a fair entity (`struct sched_entity`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityLag {
    /// CPU of the queue that the entity is on, or was on.
    pub cpu: CpuId,
    /// Task of the entity; `None` for a group's entity.
    pub task: Option<TaskId>,
    /// Number of groups above the entity, without the root group.
    pub depth: u32,
    /// Whether the entity is queued.
    pub on_rq: bool,
    /// Whether the entity sleeps and is still queued (`sched_delayed`).
    pub is_delayed: bool,
    /// Whether `deadline` is relative to `vruntime` (`rel_deadline`).
    pub has_relative_deadline: bool,
    /// Whether the slice is the task's own (`custom_slice`).
    pub has_custom_slice: bool,
    /// Weight at full resolution.
    pub weight: u64,
    /// Virtual runtime.
    pub vruntime: i64,
    /// Virtual deadline.
    pub deadline: i64,
    /// Lag of an entity that is not running. While an entity runs, the kernel keeps here the deadline with which
    /// it was picked.
    pub vlag: i64,
    /// Slice in ns.
    pub slice: u64,
}

/// Virtual time of a queue (`struct cfs_rq`) with the sums that it follows from. The running entity is not in the
/// sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLag {
    /// CPU of the queue.
    pub cpu: CpuId,
    /// Depth of the entities on the queue.
    pub depth: u32,
    /// Number of entities on the queue (`nr_running`; since 6.15 `nr_queued`).
    pub nr_queued: u32,
    /// Number of tasks on the queue and below it (`h_nr_queued`).
    pub h_nr_queued: u32,
    /// Number of these tasks that do not sleep (`h_nr_runnable`).
    pub h_nr_runnable: u32,
    /// Origin of the sums (`zero_vruntime`).
    pub zero_vruntime: i64,
    /// Sum of the entities' virtual runtimes from the origin, each times its weight (`avg_vruntime`).
    pub sum_w_vruntime: i64,
    /// Sum of the entities' weights (`avg_load`).
    pub sum_weight: u64,
    /// Average virtual runtime, rounded down: an entity is eligible if it has not run beyond it.
    pub avg_vruntime: i64,
}

/// Virtual times of a cfs_rq, as `print_cfs_rq()` (6.12.117) prints them. Those of the waiting entities are `None` if
/// none waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualTimesSnapshot {
    /// Earliest deadline of the waiting entities.
    pub first_deadline: Option<u64>,
    /// Smallest virtual runtime of the waiting entities.
    pub min_vruntime: Option<u64>,
    /// Origin of the sums of virtual runtimes.
    pub zero_vruntime: u64,
    /// Average virtual runtime of all entities, the running one included.
    pub avg_vruntime: u64,
    /// Virtual runtime of the waiting entity with the latest deadline.
    pub last_vruntime: Option<u64>,
}
