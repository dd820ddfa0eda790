// SPDX-License-Identifier: GPL-2.0-or-later
//! Choice of the next entity under EEVDF.
//!
//! Models `pick_eevdf()`, `pick_next_entity()` and `pick_next_task_fair()` (6.12.117). The kernel searches a tree whose nodes know the smallest
//! virtual runtime below them; the first eligible entity in the order of deadlines is the same one.

use crate::classes::fair::enqueue::DequeueFlags;
use crate::interface::ctx::Ctx;
use crate::interface::eevdf::PickRule;
use crate::state::State;
use crate::state::entity::{EntityOwner, vruntime_before};
use crate::state::fair_tree::FairTree;
use crate::state::lock::RqGuard;
use crate::state::task::SchedClass;
use crate::types::features::{Feature, FeatureSet};
use crate::types::ids::{CfsRqId, CpuId, EntityId, TaskId};

impl State {
    /// Picks the next fair task and makes it the running one. Returns `None` if there is none; the old task is then still
    /// the running one.
    #[inline(never)]
    pub(in crate::classes::fair) fn pick_next_task_eevdf(
        &mut self,
        ctx: &mut Ctx<'_>,
        rq: &RqGuard,
        prev: TaskId,
    ) -> Option<TaskId> {
        let cpu = rq.cpu();
        let task = self.pick_task_eevdf(ctx, cpu)?;
        if self.tasks[prev].class != SchedClass::Fair {
            self.start_fair_task(ctx, rq, prev, task);
        } else if task != prev {
            let (old, new) = (self.tasks[prev].se, self.tasks[task].se);
            self.switch_branches(ctx, old, new, Self::put_prev_entity_eevdf, Self::set_next_entity_eevdf);
            self.finish_pick(ctx, cpu, task, Self::hrtick_start_eevdf);
        }
        Some(task)
    }

    /// Stops the old task and starts a fair one, unless both are the same (`put_prev_set_next_task()`).
    pub(crate) fn start_fair_task(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, prev: TaskId, task: TaskId) {
        if task != prev {
            self.put_prev_task(ctx, rq, prev);
            self.set_next_task_by(ctx, task, Self::set_next_entity_eevdf);
            self.finish_pick(ctx, rq.cpu(), task, Self::hrtick_start_eevdf);
        }
    }

    /// Picks a fair task (`pick_task_fair()`). It starts again after a group was throttled or an entity has left.
    pub(crate) fn pick_task_eevdf(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> Option<TaskId> {
        let mut cfs_rq = CfsRqId::root(cpu);
        while self.fair.cfs_rqs[CfsRqId::root(cpu)].nr_running > 0 {
            if self.fair.cfs_rqs[cfs_rq].running_entity(&self.fair.entities).is_some() {
                self.update_curr_eevdf(ctx, cfs_rq);
            }
            let picked =
                if self.check_cfs_rq_runtime(ctx, cfs_rq) { None } else { self.pick_next_entity_eevdf(ctx, cfs_rq) };
            cfs_rq = match picked.map(|se| self.fair.entities[se].owner) {
                None => CfsRqId::root(cpu),
                Some(EntityOwner::Task(task)) => return Some(task),
                Some(EntityOwner::Group(below)) => below,
            };
        }
        None
    }

    /// Returns the next entity of a cfs_rq to run: an eligible next buddy (PICK_BUDDY), or by deadline. One whose dequeue
    /// was delayed leaves now, and the result is `None`.
    fn pick_next_entity_eevdf(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId) -> Option<EntityId> {
        let next = self.fair.cfs_rqs[cfs_rq].next.filter(|_| self.features.has(Feature::PickBuddy));
        if let Some(next) = next.filter(|&next| self.fair.entity_eligible(cfs_rq, next)) {
            self.fair.report_pick(ctx, cfs_rq, next, PickRule::NextBuddy);
            return Some(next);
        }
        let (se, rule) =
            self.fair.pick_eevdf(self.features, cfs_rq).expect("of the entities of a cfs_rq one is always eligible");
        self.fair.report_pick(ctx, cfs_rq, se, rule);
        if self.fair.entities[se].is_delayed {
            let flags = DequeueFlags { sleep: true, delayed: true, ..DequeueFlags::default() };
            self.dequeue_entities(ctx, self.fair.cfs_rqs[cfs_rq].cpu, se, flags);
            return None;
        }
        Some(se)
    }
}

impl FairTree {
    /// Returns the entity with the earliest deadline among those that are eligible, waiting or running, and the rule
    /// that decided.
    ///
    /// Rules, in order:
    /// 1. A single entity needs no comparison.
    /// 2. RUN_TO_PARITY: an eligible running entity keeps its protected slice.
    /// 3. The first eligible waiting entity, unless the running one is eligible and its deadline is earlier.
    pub(super) fn pick_eevdf(&self, features: FeatureSet, cfs_rq: CfsRqId) -> Option<(EntityId, PickRule)> {
        let queue = &self.cfs_rqs[cfs_rq];
        let running = queue.curr.filter(|curr| self.entities[*curr].on_rq);
        if queue.nr_running == 1 {
            return running.or_else(|| queue.timeline.first()).map(|se| (se, PickRule::OnlyEntity));
        }
        let eligibility = queue.eligibility(&self.entities);
        let is_eligible = |se: &EntityId| eligibility.has(self.entities[*se].vruntime);
        let running = running.filter(is_eligible);
        if let Some(curr) = running
            && features.has(Feature::RunToParity)
            && self.entities[curr].is_slice_protected()
        {
            return Some((curr, PickRule::SliceProtected));
        }
        let Some(best) = queue.timeline.iter().map(|(_, se)| se).find(is_eligible) else {
            return running.map(|se| (se, PickRule::NoneElseEligible));
        };
        let deadline = |se: EntityId| self.entities[se].deadline;
        Some(match running.filter(|&curr| vruntime_before(deadline(curr), deadline(best))) {
            Some(curr) => (curr, PickRule::RunningEarlier),
            None => (best, PickRule::EarliestDeadline),
        })
    }
}
