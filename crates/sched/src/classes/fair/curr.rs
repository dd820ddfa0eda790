// SPDX-License-Identifier: GPL-2.0-or-later
//! The running entity of a cfs_rq: charging its time, and making an entity the running one.
//!
//! Models `update_curr()`, `update_min_vruntime()`, `set_next_entity()` and `put_prev_entity()` (6.1 and 6.12).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::entity::vruntime_before;
use crate::state::rq::cfs_rq::CfsRq;
use crate::track::pelt::attach::UpdateLoad;
use crate::types::ids::{CfsRqId, EntityId, TaskId};
use crate::types::weight::calc_delta_fair;

impl CfsRq {
    /// Advances `min_vruntime`. `running` is the virtual runtime of the running entity, if that is on the
    /// runqueue.
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
    pub(crate) fn update_curr(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId) {
        let cfs_rq = &self.cfs_rqs[id];
        let Some(curr) = cfs_rq.curr else { return };
        let now = self.rqs[cfs_rq.cpu].clock_task;
        let se = &mut self.entities[curr];
        let delta = now.wrapping_sub(se.exec_start);
        if delta as i64 <= 0 {
            return;
        }
        se.exec_start = now;
        se.sum_exec_runtime += delta;
        se.vruntime = se.vruntime.wrapping_add(calc_delta_fair(delta, &mut se.load));
        let (running, task) = (se.on_rq.then_some(se.vruntime), se.task());
        if self.rules.fair_is_eevdf {
            return self.finish_charge_eevdf(ctx, id, curr, delta);
        }
        self.cfs_rqs[id].advance_min_vruntime(running);
        if let Some(task) = task {
            ctx.report_runtime(task, delta);
        }
        self.account_cfs_rq_runtime(ctx, id, delta);
    }

    /// Completes a charge in 6.12. The CPU reschedules if the slice of the running entity has ended, or was preempted.
    #[inline(never)]
    fn finish_charge_eevdf(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId, curr: EntityId, delta: u64) {
        let entity = &self.entities[curr];
        let (task, has_ended) = (entity.task(), !vruntime_before(entity.vruntime, entity.deadline));
        if has_ended {
            self.renew_deadline(id, curr);
        }
        if let Some(task) = task {
            ctx.report_runtime(task, delta);
            self.dl_server_update(ctx, self.cfs_rqs[id].cpu, delta);
        }
        self.account_cfs_rq_runtime(ctx, id, delta);
        let queue = &self.cfs_rqs[id];
        if queue.nr_running != 1 && (has_ended || self.did_preempt_short(id, curr)) {
            self.resched_curr(ctx, queue.cpu);
            self.clear_buddies(id, curr);
        }
    }

    /// Adds a waiting entity to the timeline of its cfs_rq.
    #[inline]
    pub(crate) fn insert_into_timeline(&mut self, cfs_rq: CfsRqId, se: EntityId) {
        if self.rules.sorts_by_deadline {
            self.insert_by_deadline(cfs_rq, se);
        } else {
            let vruntime = self.entities[se].vruntime;
            self.cfs_rqs[cfs_rq].timeline.insert(vruntime, se);
        }
    }

    /// Removes a waiting entity from the timeline of its cfs_rq.
    #[inline]
    pub(crate) fn remove_from_timeline(&mut self, cfs_rq: CfsRqId, se: EntityId) {
        if self.rules.sorts_by_deadline {
            self.remove_by_deadline(cfs_rq, se);
        } else {
            let vruntime = self.entities[se].vruntime;
            self.cfs_rqs[cfs_rq].timeline.remove(vruntime, se);
        }
    }

    /// Advances `min_vruntime` to the smallest virtual runtime on the cfs_rq; it never decreases.
    pub(crate) fn update_min_vruntime(&mut self, id: CfsRqId) {
        let cfs_rq = &mut self.cfs_rqs[id];
        let running = cfs_rq.curr.map(|curr| &self.entities[curr]).filter(|curr| curr.on_rq).map(|curr| curr.vruntime);
        cfs_rq.advance_min_vruntime(running);
    }

    /// Makes an entity the running one of its cfs_rq.
    pub(crate) fn set_next_entity(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId, se: EntityId) {
        self.clear_buddies(cfs_rq, se);
        if self.entities[se].on_rq {
            self.remove_from_timeline(cfs_rq, se);
            self.update_load_avg(ctx, cfs_rq, se, UpdateLoad::TG);
            if self.rules.fair_is_eevdf {
                self.entities[se].set_protect_slice();
            }
        }
        let queue = &mut self.cfs_rqs[cfs_rq];
        queue.curr = Some(se);
        let entity = &mut self.entities[se];
        entity.exec_start = self.rqs[queue.cpu].clock_task;
        entity.prev_sum_exec_runtime = entity.sum_exec_runtime;
    }

    /// Stops the running entity of a cfs_rq. It waits again if it is still runnable. A cfs_rq without runtime
    /// is throttled here.
    pub(crate) fn put_prev_entity(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId, prev: EntityId) {
        let on_rq = self.entities[prev].on_rq;
        if on_rq {
            self.update_curr(ctx, cfs_rq);
        }
        self.check_cfs_rq_runtime(ctx, cfs_rq);
        if on_rq {
            self.insert_into_timeline(cfs_rq, prev);
            self.update_load_avg(ctx, cfs_rq, prev, UpdateLoad::PLAIN);
        }
        self.cfs_rqs[cfs_rq].curr = None;
    }

    /// Makes a task and the group entities above it the running ones (`set_next_task_fair()`).
    pub(crate) fn set_next_task_fair(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        if self.tasks[task].is_queued() {
            self.move_to_newest(task);
        }
        let mut entity = Some(self.tasks[task].se);
        while let Some(se) = entity {
            let (cfs_rq, parent) = self.place_of(se);
            self.set_next_entity(ctx, cfs_rq, se);
            self.account_cfs_rq_runtime(ctx, cfs_rq, 0);
            entity = parent;
        }
    }

    /// Stops a task and the group entities above it (`put_prev_task_fair()`).
    pub(crate) fn put_prev_task_fair(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let mut entity = Some(self.tasks[task].se);
        while let Some(se) = entity {
            let (cfs_rq, parent) = self.place_of(se);
            self.put_prev_entity(ctx, cfs_rq, se);
            entity = parent;
        }
    }

    /// Moves a queued task to the newest end of its runqueue's list of fair tasks.
    pub(crate) fn move_to_newest(&mut self, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        self.rqs[cpu].cfs_tasks.move_to_newest(&mut self.tasks, task);
    }
}
