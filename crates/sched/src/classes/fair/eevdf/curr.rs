// SPDX-License-Identifier: GPL-2.0-or-later
//! The running entity of a cfs_rq under EEVDF: charging its time, starting and stopping it.
//!
//! Models `update_curr()`, `set_next_entity()`, `put_prev_entity()` and their callers of the class (6.12.117).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::entity::vruntime_before;
use crate::state::fair_tree::FairTree;
use crate::track::pelt::attach::UpdateLoad;
use crate::types::ids::{CfsRqId, EntityId};

impl State {
    /// Charges the running entity for the time since the last charge. The CPU reschedules if the slice of that entity has
    /// ended, or was preempted.
    pub(super) fn update_curr_eevdf(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId) {
        let queue = &self.fair.cfs_rqs[id];
        let (Some(curr), cpu) = (queue.curr, queue.cpu) else { return };
        let se = &mut self.fair.entities[curr];
        let Some(delta) = se.charge(self.rqs[cpu].clock_task) else { return };
        let (task, has_ended) = (se.task(), !vruntime_before(se.vruntime, se.deadline));
        if has_ended {
            self.fair.renew_deadline(id, curr, self.tunables.base_slice_ns);
        }
        if let Some(task) = task {
            ctx.report_runtime(task, delta);
            self.dl_server_update(ctx, cpu, delta);
        }
        self.account_cfs_rq_runtime(ctx, id, delta);
        if self.fair.cfs_rqs[id].nr_running != 1 && (has_ended || self.fair.did_preempt_short(self.features, id, curr))
        {
            self.resched_curr(ctx, cpu);
            self.fair.clear_buddies(id, curr);
        }
    }

    /// Makes an entity the running one of its cfs_rq. Its slice is protected.
    #[inline(never)]
    pub(in crate::classes::fair) fn set_next_entity_eevdf(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId, se: EntityId) {
        self.fair.clear_buddies(cfs_rq, se);
        if self.fair.entities[se].on_rq {
            self.fair.remove_from_timeline_eevdf(cfs_rq, se);
            self.update_load_avg(ctx, cfs_rq, se, UpdateLoad::TG);
            self.fair.entities[se].set_protect_slice();
        }
        let cpu = self.fair.cfs_rqs[cfs_rq].cpu;
        self.fair.start_entity(&self.rqs[cpu], cfs_rq, se);
    }

    /// Stops the running entity of a cfs_rq. It waits again if it is still runnable. A cfs_rq without runtime is throttled
    /// here.
    #[inline(never)]
    pub(in crate::classes::fair) fn put_prev_entity_eevdf(
        &mut self,
        ctx: &mut Ctx<'_>,
        cfs_rq: CfsRqId,
        prev: EntityId,
    ) {
        let on_rq = self.fair.entities[prev].on_rq;
        if on_rq {
            self.update_curr_eevdf(ctx, cfs_rq);
        }
        self.check_cfs_rq_runtime(ctx, cfs_rq);
        if on_rq {
            self.fair.insert_into_timeline_eevdf(cfs_rq, prev);
            self.update_load_avg(ctx, cfs_rq, prev, UpdateLoad::PLAIN);
        }
        self.fair.cfs_rqs[cfs_rq].curr = None;
    }
}

impl FairTree {
    /// Adds a waiting entity to the timeline, by deadline, and to the virtual time and the slices of its cfs_rq.
    #[inline(never)]
    pub(crate) fn insert_into_timeline_eevdf(&mut self, cfs_rq: CfsRqId, se: EntityId) {
        let (entity, queue) = (&mut self.entities[se], &mut self.cfs_rqs[cfs_rq]);
        queue.virtual_time.add(entity.vruntime, entity.weight() as i64);
        queue.timeline.insert(entity.deadline, se);
        queue.insert_slice(entity);
    }

    /// Removes a waiting entity from timeline, virtual time and slices of its cfs_rq.
    #[inline(never)]
    pub(super) fn remove_from_timeline_eevdf(&mut self, cfs_rq: CfsRqId, se: EntityId) {
        let (entity, queue) = (&mut self.entities[se], &mut self.cfs_rqs[cfs_rq]);
        queue.timeline.remove(entity.deadline, se);
        queue.remove_slice(entity);
        queue.virtual_time.sub(entity.vruntime, entity.weight() as i64);
    }
}
