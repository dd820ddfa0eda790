// SPDX-License-Identifier: GPL-2.0-or-later
//! Enqueue and dequeue of entities: what both kernels have in common.

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::entity::SchedEntity;
use crate::state::fair_tree::FairTree;
use crate::state::rq::Rq;
use crate::state::task::Tasks;
use crate::track::pelt::attach::UpdateLoad;
use crate::types::ids::{CfsRqId, EntityId};
use crate::types::work::KernelOp;

/// Reason and mode of an enqueue (`ENQUEUE_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EnqueueFlags {
    /// The task was woken.
    pub wakeup: bool,
    /// The task comes from another CPU.
    pub migrated: bool,
    /// The task was dequeued briefly for a change.
    pub restore: bool,
    /// The task returns at another position.
    pub moved: bool,
    /// The task is queued at the head of its real-time priority.
    pub head: bool,
    /// The deadline budget is replenished.
    pub replenish: bool,
    /// The task is new. Only 6.12 distinguishes this at the enqueue.
    pub initial: bool,
    /// The task was woken while its dequeue was delayed, so it is still queued (6.12).
    pub delayed: bool,
    /// The path has charged the operation already, so that its time passes before the effect is visible.
    pub is_paid: bool,
}

impl EnqueueFlags {
    /// Counts the operation, unless the path has charged it already.
    #[inline]
    pub(crate) fn charge(self, ctx: &mut Ctx<'_>) {
        ctx.op_counts.count(KernelOp::Enqueue, u64::from(!self.is_paid));
    }
}

/// Reason and mode of a dequeue (`DEQUEUE_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DequeueFlags {
    /// The task goes to sleep.
    pub sleep: bool,
    /// The task is dequeued briefly for a change.
    pub save: bool,
    /// The task will return at another position.
    pub moved: bool,
    /// The entity leaves at once even if it sleeps (6.12).
    pub special: bool,
    /// A dequeue that was delayed takes place (6.12).
    pub delayed: bool,
}

impl SchedEntity {
    /// Makes an entity that was accounted and placed a queued one.
    #[inline]
    pub(super) fn join(&mut self, flags: EnqueueFlags) {
        if flags.migrated {
            self.exec_start = 0;
        }
        self.set_on_rq(true);
    }
}

impl State {
    /// Updates the averages of an entity that leaves a cfs_rq, and detaches it if its task migrates. Its marks as buddy end.
    #[inline]
    pub(super) fn detach_entity(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId, se: EntityId) {
        let owner = self.fair.entities[se].task();
        let is_migrating = owner.is_some_and(|task| self.tasks[task].is_migrating());
        self.refresh_entity(ctx, cfs_rq, se, UpdateLoad { detach: is_migrating, ..UpdateLoad::TG });
        self.fair.clear_buddies(cfs_rq, se);
    }

    /// Puts a cfs_rq that has got its first entity on the leaf list, unless it or a group above it is throttled. Returns
    /// whether it did.
    #[inline]
    pub(super) fn try_list_cfs_rq(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId) -> bool {
        self.check_enqueue_throttle(ctx, cfs_rq);
        let queue = &self.fair.cfs_rqs[cfs_rq];
        let (cpu, may_list) = (queue.cpu, !queue.is_throttled_hierarchy());
        if may_list {
            self.fair.list_add_leaf_cfs_rq(&mut self.rqs[cpu], cfs_rq);
        }
        may_list
    }

    /// Updates the averages of an entity of a cfs_rq, and the number of runnable tasks that it represents.
    #[inline]
    pub(super) fn refresh_entity(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId, se: EntityId, how: UpdateLoad) {
        self.update_load_avg(ctx, cfs_rq, se, how);
        self.fair.se_update_runnable(se);
    }
}

impl FairTree {
    /// Records the number of runnable tasks that a group's entity represents (`se_update_runnable()`).
    pub(crate) fn se_update_runnable(&mut self, se: EntityId) {
        if let Some(below) = self.entities[se].my_q() {
            let below = &self.cfs_rqs[below];
            self.entities[se].runnable_weight = u64::from(below.h_nr_runnable);
        }
    }

    #[inline(always)]
    pub(super) fn account_entity_enqueue(&mut self, rq: &mut Rq, tasks: &mut Tasks, cfs_rq: CfsRqId, se: EntityId) {
        let is_idle = self.se_is_idle(tasks, se);
        let (queue, entity) = (&mut self.cfs_rqs[cfs_rq], &self.entities[se]);
        queue.load.add(entity.load.weight);
        queue.nr_running += 1;
        queue.idle_nr_running += u32::from(is_idle);
        if let Some(task) = entity.task() {
            rq.cfs_tasks.push_newest(tasks, task);
        }
    }

    pub(super) fn account_entity_dequeue(&mut self, rq: &mut Rq, tasks: &mut Tasks, cfs_rq: CfsRqId, se: EntityId) {
        let is_idle = self.se_is_idle(tasks, se);
        let (queue, entity) = (&mut self.cfs_rqs[cfs_rq], &self.entities[se]);
        queue.load.sub(entity.load.weight);
        queue.nr_running -= 1;
        queue.idle_nr_running -= u32::from(is_idle);
        if let Some(task) = entity.task() {
            rq.cfs_tasks.remove(tasks, task);
        }
    }
}
