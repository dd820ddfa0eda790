// SPDX-License-Identifier: GPL-2.0-or-later
//! Choice of the next fair task in 6.1: the entity with the smallest virtual runtime, or a buddy.
//!
//! Models `pick_next_entity()` and the fair part of `pick_next_task_fair()` (6.1). [`crate::paths::schedule`]
//! handles the case without a fair task (newly-idle balancing).

use crate::classes::fair::cfs::preempt::VruntimeLead;
use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::entity::EntityOwner;
use crate::state::fair_tree::FairTree;
use crate::state::lock::RqGuard;
use crate::state::task::SchedClass;
use crate::types::ids::{CfsRqId, CpuId, EntityId, TaskId};
use crate::types::work::KernelOp;

impl State {
    /// Picks the next fair task and makes it the running one. Returns `None` if there is none; the old task is then still
    /// the running one.
    pub(in crate::classes::fair) fn pick_next_task_cfs(
        &mut self,
        ctx: &mut Ctx<'_>,
        rq: &RqGuard,
        prev: TaskId,
    ) -> Option<TaskId> {
        let cpu = rq.cpu();
        if self.fair.cfs_rqs[CfsRqId::root(cpu)].nr_running == 0 {
            return None;
        }
        if self.tasks[prev].class == SchedClass::Fair {
            return self.pick_next_task_from(ctx, cpu, prev);
        }
        self.put_prev_task(ctx, rq, prev);
        Some(self.pick_first_task(ctx, cpu))
    }

    /// Picks the next fair task while a fair task is still the running one. Only the entities that differ
    /// between the two tasks change.
    ///
    /// If a group turns out to be out of runtime, the old task is put back and the pick starts again. Returns
    /// `None` if no task is left; the old task is then still the running one.
    fn pick_next_task_from(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, prev: TaskId) -> Option<TaskId> {
        let mut cfs_rq = CfsRqId::root(cpu);
        let (se, task) = loop {
            let mut curr = self.fair.cfs_rqs[cfs_rq].curr;
            if let Some(running) = curr {
                if self.fair.entities[running].on_rq {
                    self.update_curr_cfs(ctx, cfs_rq);
                } else {
                    curr = None;
                }
                if self.check_cfs_rq_runtime(ctx, cfs_rq) {
                    if self.fair.cfs_rqs[CfsRqId::root(cpu)].nr_running == 0 {
                        return None;
                    }
                    self.for_each_sched_entity(ctx, Some(self.tasks[prev].se), Self::put_prev_entity_cfs);
                    return Some(self.pick_first_task(ctx, cpu));
                }
            }
            let se = self.fair.pick_next_entity(cfs_rq, curr, self.tunables.wakeup_granularity_ns);
            match self.fair.entities[se].owner {
                EntityOwner::Group(below) => cfs_rq = below,
                EntityOwner::Task(task) => break (se, task),
            }
        };
        if task != prev {
            let old = self.tasks[prev].se;
            self.switch_branches(ctx, old, se, Self::put_prev_entity_cfs, Self::set_next_entity_cfs);
        }
        self.finish_pick(ctx, cpu, task, Self::hrtick_start_cfs);
        Some(task)
    }

    /// Picks the next fair task when no fair entity is running.
    pub(crate) fn pick_first_task(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> TaskId {
        let mut cfs_rq = CfsRqId::root(cpu);
        let task = loop {
            ctx.charge(KernelOp::GroupLevel);
            let se = self.fair.pick_next_entity(cfs_rq, None, self.tunables.wakeup_granularity_ns);
            self.set_next_entity_cfs(ctx, cfs_rq, se);
            match self.fair.entities[se].owner {
                EntityOwner::Group(below) => cfs_rq = below,
                EntityOwner::Task(task) => break task,
            }
        };
        self.finish_pick(ctx, cpu, task, Self::hrtick_start_cfs);
        task
    }
}

impl FairTree {
    /// Returns the entity with the smaller virtual runtime. On a tie that is the waiting one.
    fn earlier(&self, curr: Option<EntityId>, waiting: Option<EntityId>) -> Option<EntityId> {
        match (curr, waiting) {
            (Some(curr), Some(waiting)) => {
                let is_before = self.entities[curr].is_before(&self.entities[waiting]);
                Some(if is_before { curr } else { waiting })
            }
            (curr, waiting) => curr.or(waiting),
        }
    }

    /// Returns the next entity of a cfs_rq to run.
    ///
    /// Rules, in order:
    /// 1. The entity with the smallest virtual runtime, waiting or (`curr`) running.
    /// 2. If that entity yielded, the second, unless that would be unfair by more than the wake-up
    ///    granularity.
    /// 3. The next buddy, or else the last buddy, under the same condition.
    fn pick_next_entity(&mut self, cfs_rq: CfsRqId, curr: Option<EntityId>, granularity_ns: u64) -> EntityId {
        let queue = &self.cfs_rqs[cfs_rq];
        let first_waiting = queue.timeline.first();
        let first = self.earlier(curr, first_waiting).expect("a cfs_rq that is picked from has a runnable entity");
        let mut pick = first;
        if queue.skip == Some(first) {
            let second = if Some(first) == curr {
                first_waiting
            } else {
                let behind = queue.timeline.next(self.entities[first].vruntime, first);
                self.earlier(curr, behind)
            };
            if let Some(second) = second
                && self.wakeup_preempt_entity(second, first, granularity_ns) != VruntimeLead::Beyond
            {
                pick = second;
            }
        }
        let (next, last) = (self.cfs_rqs[cfs_rq].next, self.cfs_rqs[cfs_rq].last);
        for buddy in [next, last].into_iter().flatten() {
            if self.wakeup_preempt_entity(buddy, first, granularity_ns) != VruntimeLead::Beyond {
                return buddy;
            }
        }
        pick
    }
}
