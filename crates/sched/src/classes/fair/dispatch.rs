// SPDX-License-Identifier: GPL-2.0-or-later
//! The fair class as other code calls it. Each function is that of CFS ([`cfs`](super::cfs)) or that of EEVDF
//! ([`eevdf`](super::eevdf)); the suffix of its name is that of the set.
//!
//! Only here does the scheduler test which fair class a kernel has. Functions of a set call those of their own set.
//! Of the code that both sets share, throttling ([`bandwidth`](super::bandwidth)) and changes of shares
//! ([`shares`](super::shares)) call these functions.

use crate::classes::fair::enqueue::{DequeueFlags, EnqueueFlags};
use crate::interface::ctx::Ctx;
use crate::interface::lag::{EntityLag, LagMoment, QueueLag};
use crate::state::State;
use crate::state::lock::RqGuard;
use crate::state::rq::Rq;
use crate::state::rq::cfs_rq::CfsRq;
use crate::types::ids::{CfsRqId, CpuId, EntityId, TaskId};
use crate::types::kernel_rules::KernelRules;

/// Operations of the class (`fair_sched_class`).
impl State {
    /// Enqueues a fair task, and the entities above it that are not queued yet.
    #[inline]
    pub(crate) fn enqueue_task_fair(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, flags: EnqueueFlags) {
        match self.rules.fair_is_eevdf {
            false => self.enqueue_task_cfs(ctx, cpu, task, flags),
            true => self.enqueue_task_eevdf(ctx, cpu, task, flags),
        }
    }

    /// Dequeues a fair task, and the entities above it that have no other. Returns whether the task has left the runqueue: in
    /// 6.12 it may stay for a while although it sleeps.
    #[inline]
    pub(crate) fn dequeue_task_fair(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, how: DequeueFlags) -> bool {
        match self.rules.fair_is_eevdf {
            false => {
                self.dequeue_task_cfs(ctx, cpu, task, how);
                true
            }
            true => self.dequeue_task_eevdf(ctx, cpu, task, how),
        }
    }

    /// Lets the running task yield.
    #[inline]
    pub(crate) fn yield_task_fair(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard) {
        match self.rules.fair_is_eevdf {
            false => self.yield_task_cfs(ctx, rq),
            true => self.yield_task_eevdf(ctx, rq),
        }
    }

    /// Decides whether a fair task that has become runnable preempts the running fair task (`check_preempt_wakeup()`, since
    /// 6.8 `check_preempt_wakeup_fair()`).
    #[inline]
    pub(crate) fn check_preempt_wakeup(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, is_fork: bool) {
        match self.rules.fair_is_eevdf {
            false => self.check_preempt_wakeup_cfs(ctx, cpu, task, is_fork),
            true => self.check_preempt_wakeup_eevdf(ctx, cpu, task, is_fork),
        }
    }

    /// Picks the next fair task and makes it the running one. Returns `None` if there is none; the old task is then still
    /// the running one.
    #[inline]
    pub(crate) fn pick_next_task_fair(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, prev: TaskId) -> Option<TaskId> {
        match self.rules.fair_is_eevdf {
            false => self.pick_next_task_cfs(ctx, rq, prev),
            true => self.pick_next_task_eevdf(ctx, rq, prev),
        }
    }

    /// Makes a task and the group entities above it the running ones.
    #[inline]
    pub(crate) fn set_next_task_fair(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        match self.rules.fair_is_eevdf {
            false => self.set_next_task_by(ctx, task, Self::set_next_entity_cfs),
            true => self.set_next_task_by(ctx, task, Self::set_next_entity_eevdf),
        }
    }

    /// Stops a task and the group entities above it.
    #[inline]
    pub(crate) fn put_prev_task_fair(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let entity = Some(self.tasks[task].se);
        match self.rules.fair_is_eevdf {
            false => self.for_each_sched_entity(ctx, entity, Self::put_prev_entity_cfs),
            true => self.for_each_sched_entity(ctx, entity, Self::put_prev_entity_eevdf),
        }
    }

    /// Handles the tick, or the end of a slice by timer (`is_slice_end`), for the running task and the group entities
    /// above it.
    #[inline]
    pub(crate) fn task_tick_fair(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, is_slice_end: bool) {
        match self.rules.fair_is_eevdf {
            false => self.task_tick_cfs(ctx, cpu, task, is_slice_end),
            true => self.task_tick_eevdf(ctx, cpu, task, is_slice_end),
        }
    }
}

/// Operations on entities and cfs_rqs.
impl State {
    /// Changes the weight of an entity, and its load average as if it had always had that weight.
    #[inline]
    pub(crate) fn reweight_entity(&mut self, ctx: &mut Ctx<'_>, se: EntityId, weight: u64) {
        match self.rules.fair_is_eevdf {
            false => self.reweight_entity_cfs(ctx, se, weight),
            true => self.reweight_entity_eevdf(ctx, se, weight),
        }
    }

    /// Updates the weight of a group's entity to its CPU's part of the group.
    #[inline]
    pub(super) fn update_cfs_group(&mut self, ctx: &mut Ctx<'_>, se: EntityId) {
        match self.rules.fair_is_eevdf {
            false => self.update_cfs_group_cfs(ctx, se),
            true => self.update_cfs_group_eevdf(ctx, se),
        }
    }

    /// Enqueues the entity of a group.
    #[inline]
    pub(super) fn enqueue_entity(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId, se: EntityId, flags: EnqueueFlags) {
        match self.rules.fair_is_eevdf {
            false => self.enqueue_entity_cfs(ctx, cfs_rq, se, flags),
            true => self.enqueue_entity_eevdf(ctx, cfs_rq, se, flags),
        }
    }

    /// Dequeues the entity of a group.
    #[inline]
    pub(super) fn dequeue_entity(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId, se: EntityId, how: DequeueFlags) {
        match self.rules.fair_is_eevdf {
            false => self.dequeue_entity_cfs(ctx, cfs_rq, se, how),
            true => {
                self.dequeue_entity_eevdf(ctx, cfs_rq, se, how);
            }
        }
    }
}

/// Virtual times for observers and checks. CFS has none.
impl State {
    /// Reports the virtual times of a fair task and of each group above it, if an observer wants them.
    #[inline]
    pub(crate) fn report_lags(&self, ctx: &mut Ctx<'_>, task: TaskId, moment: LagMoment) {
        match self.rules.fair_is_eevdf {
            false => {}
            true => self.fair.report_lags_eevdf(ctx, &self.tasks[task], moment),
        }
    }

    /// Returns the virtual times of a task; `None` if the kernel has no lags.
    pub fn lag_snapshot(&self, task: TaskId) -> Option<EntityLag> {
        match self.rules.fair_is_eevdf {
            false => None,
            true => Some(self.fair.lag_snapshot_eevdf(&self.tasks[task])),
        }
    }

    /// Returns the virtual time of the root cfs_rq of a CPU; `None` if the kernel has no lags.
    pub fn queue_lag_snapshot(&self, cpu: CpuId) -> Option<QueueLag> {
        match self.rules.fair_is_eevdf {
            false => None,
            true => Some(self.fair.queue_lag_of(CfsRqId::root(cpu))),
        }
    }
}

impl CfsRq {
    /// Clock from which the time of a cfs_rq counts that is throttled now; `None` in 6.12 while it has no entity.
    #[inline]
    pub(super) fn throttled_clock(&self, rq: &Rq, rules: &KernelRules) -> Option<u64> {
        match rules.fair_is_eevdf {
            false => Some(rq.clock),
            true => (self.nr_running > 0).then_some(rq.clock),
        }
    }
}
