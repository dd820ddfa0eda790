// SPDX-License-Identifier: GPL-2.0-or-later
//! The running entity of a cfs_rq in 6.1: charging its time, starting and stopping it.
//!
//! Models `update_curr()`, `update_min_vruntime()`, `set_next_entity()`, `put_prev_entity()` and their callers of the
//! class (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::entity::vruntime_before;
use crate::state::fair_tree::FairTree;
use crate::state::rq::cfs_rq::CfsRq;
use crate::track::pelt::attach::UpdateLoad;
use crate::types::ids::{CfsRqId, EntityId};

impl CfsRq {
    /// Advances `min_vruntime` to the smallest virtual runtime on the cfs_rq; it never decreases. `running` is that of
    /// the running entity, if that is on the runqueue.
    #[inline]
    fn advance_min_vruntime(&mut self, running: Option<u64>) {
        let least = match (running, self.timeline.first_vruntime()) {
            (Some(running), Some(waiting)) if vruntime_before(waiting, running) => waiting,
            (Some(running), _) => running,
            (None, Some(waiting)) => waiting,
            (None, None) => return,
        };
        if vruntime_before(self.min_vruntime, least) {
            self.min_vruntime = least;
        }
    }
}

impl State {
    /// Charges the running entity for the time since the last charge.
    pub(super) fn update_curr_cfs(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId) {
        let queue = &mut self.fair.cfs_rqs[id];
        let Some(curr) = queue.curr else { return };
        let se = &mut self.fair.entities[curr];
        let Some(delta) = se.charge(self.rqs[queue.cpu].clock_task) else { return };
        queue.advance_min_vruntime(se.on_rq.then_some(se.vruntime));
        if let Some(task) = se.task() {
            ctx.report_runtime(task, delta);
        }
        self.account_cfs_rq_runtime(ctx, id, delta);
    }

    /// Makes an entity the running one of its cfs_rq.
    #[inline(never)]
    pub(in crate::classes::fair) fn set_next_entity_cfs(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId, se: EntityId) {
        self.fair.clear_buddies(cfs_rq, se);
        if self.fair.entities[se].on_rq {
            self.fair.remove_from_timeline_cfs(cfs_rq, se);
            self.update_load_avg(ctx, cfs_rq, se, UpdateLoad::TG);
        }
        let cpu = self.fair.cfs_rqs[cfs_rq].cpu;
        self.fair.start_entity(&self.rqs[cpu], cfs_rq, se);
    }

    /// Stops the running entity of a cfs_rq. It waits again if it is still runnable. A cfs_rq without runtime
    /// is throttled here.
    #[inline(never)]
    pub(in crate::classes::fair) fn put_prev_entity_cfs(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId, prev: EntityId) {
        let on_rq = self.fair.entities[prev].on_rq;
        if on_rq {
            self.update_curr_cfs(ctx, cfs_rq);
        }
        self.check_cfs_rq_runtime(ctx, cfs_rq);
        if on_rq {
            self.fair.insert_into_timeline_cfs(cfs_rq, prev);
            self.update_load_avg(ctx, cfs_rq, prev, UpdateLoad::PLAIN);
        }
        self.fair.cfs_rqs[cfs_rq].curr = None;
    }
}

impl FairTree {
    /// Advances `min_vruntime` after an entity has left.
    pub(super) fn update_min_vruntime(&mut self, id: CfsRqId) {
        let queue = &mut self.cfs_rqs[id];
        let running = queue.curr.map(|curr| &self.entities[curr]).filter(|curr| curr.on_rq).map(|curr| curr.vruntime);
        queue.advance_min_vruntime(running);
    }

    /// Adds a waiting entity to the timeline of its cfs_rq, by virtual runtime.
    #[inline]
    pub(crate) fn insert_into_timeline_cfs(&mut self, cfs_rq: CfsRqId, se: EntityId) {
        let vruntime = self.entities[se].vruntime;
        self.cfs_rqs[cfs_rq].timeline.insert(vruntime, se);
    }

    /// Removes a waiting entity from the timeline of its cfs_rq.
    #[inline]
    pub(super) fn remove_from_timeline_cfs(&mut self, cfs_rq: CfsRqId, se: EntityId) {
        let vruntime = self.entities[se].vruntime;
        self.cfs_rqs[cfs_rq].timeline.remove(vruntime, se);
    }
}
