// SPDX-License-Identifier: GPL-2.0-or-later
//! The running entity of a cfs_rq: how both kernels charge its time and start it.
//!
//! Models what `update_curr()` and `set_next_entity()` have in common in 6.1 and 6.12.

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::entity::SchedEntity;
use crate::state::fair_tree::FairTree;
use crate::state::rq::Rq;
use crate::types::features::Feature;
use crate::types::ids::{CfsRqId, CpuId, EntityId, TaskId};
use crate::types::weight::calc_delta_fair;

impl SchedEntity {
    /// Charges the running entity up to `now`, in ns of the task clock. Returns the time since the last charge; `None` if
    /// that is not positive.
    #[inline]
    pub(super) fn charge(&mut self, now: u64) -> Option<u64> {
        let delta = now.wrapping_sub(self.exec_start);
        if delta as i64 <= 0 {
            return None;
        }
        self.exec_start = now;
        self.sum_exec_runtime += delta;
        self.vruntime = self.vruntime.wrapping_add(calc_delta_fair(delta, &mut self.load));
        Some(delta)
    }

    /// CPU time that the entity has used since it was picked, in ns.
    #[inline]
    pub(super) const fn ran_ns(&self) -> u64 {
        self.sum_exec_runtime - self.prev_sum_exec_runtime
    }
}

impl FairTree {
    /// Starts an entity that has left the timeline of its cfs_rq.
    #[inline]
    pub(super) fn start_entity(&mut self, rq: &Rq, cfs_rq: CfsRqId, se: EntityId) {
        self.cfs_rqs[cfs_rq].curr = Some(se);
        let entity = &mut self.entities[se];
        entity.exec_start = rq.clock_task;
        entity.prev_sum_exec_runtime = entity.sum_exec_runtime;
    }
}

impl State {
    /// Completes the pick of a task, which has become the running one; `hrtick_start` starts the timer of its slice.
    #[inline]
    pub(super) fn finish_pick(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        task: TaskId,
        hrtick_start: impl Fn(&mut Self, &mut Ctx<'_>, CpuId, TaskId),
    ) {
        self.rqs[cpu].cfs_tasks.move_to_newest(&mut self.tasks, task);
        if self.features.has(Feature::Hrtick) {
            hrtick_start(self, ctx, cpu, task);
        }
        self.update_misfit_status(ctx, cpu, Some(task));
    }

    /// Makes a task and the group entities above it the running ones (`set_next_task_fair()`), each by `set_next_entity`.
    pub(super) fn set_next_task_by(
        &mut self,
        ctx: &mut Ctx<'_>,
        task: TaskId,
        set_next_entity: impl Fn(&mut Self, &mut Ctx<'_>, CfsRqId, EntityId),
    ) {
        let p = &self.tasks[task];
        let entity = Some(p.se);
        if p.is_queued() {
            self.rqs[p.cpu].cfs_tasks.move_to_newest(&mut self.tasks, task);
        }
        self.for_each_sched_entity(ctx, entity, |state, ctx, cfs_rq, se| {
            set_next_entity(state, ctx, cfs_rq, se);
            state.account_cfs_rq_runtime(ctx, cfs_rq, 0);
        });
    }
}
