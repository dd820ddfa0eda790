// SPDX-License-Identifier: GPL-2.0-or-later
//! Preemption by wake-ups, and yielding, in 6.1.
//!
//! Models `check_preempt_wakeup()`, `wakeup_preempt_entity()`, the last and the skip buddy and `yield_task_fair()` (6.1).
//! Leaves out `yield_to()`, which only hypervisors call.

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::fair_tree::FairTree;
use crate::state::lock::RqGuard;
use crate::state::task::Policy;
use crate::types::features::Feature;
use crate::types::ids::{CpuId, EntityId, TaskId};
use crate::types::weight::calc_delta_fair;

/// Comparison of a woken entity with the running one by virtual runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum VruntimeLead {
    /// The woken entity's virtual runtime is not smaller: no reason to preempt.
    Behind,
    /// The woken entity's virtual runtime is smaller, by at most the wake-up granularity.
    Within,
    /// The woken entity's virtual runtime is smaller by more than the wake-up granularity.
    Beyond,
}

impl State {
    /// Decides whether a fair task that has become runnable preempts the running fair task.
    ///
    /// Rules, in order:
    /// 1. A task does not preempt itself, and does not preempt if its group is throttled.
    /// 2. NEXT_BUDDY: with many tasks the woken task is marked as next buddy, unless it was forked.
    /// 3. If rescheduling is due anyway, nothing more happens.
    /// 4. A task of normal policy preempts a SCHED_IDLE task.
    /// 5. SCHED_BATCH and SCHED_IDLE tasks do not preempt, and without WAKEUP_PREEMPTION no task does.
    /// 6. Where the branches of both tasks diverge in the group tree, a non-idle entity preempts an idle one,
    ///    but not the reverse.
    /// 7. Otherwise the lead must exceed the granularity; the woken task is then marked as next buddy.
    ///
    /// A preempted task is marked as last buddy (LAST_BUDDY, with many tasks), so that it continues after a
    /// short interruption.
    pub(in crate::classes::fair) fn check_preempt_wakeup_cfs(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        task: TaskId,
        is_fork: bool,
    ) {
        let curr_task = self.rqs[cpu].curr;
        if curr_task == task {
            return;
        }
        let (mut curr, mut woken) = (self.tasks[curr_task].se, self.tasks[task].se);
        if self.fair.cfs_rqs[self.fair.entities[woken].cfs_rq].throttle_count > 0 {
            return;
        }
        let cfs_rq = self.fair.entities[curr].cfs_rq;
        let is_crowded = self.fair.cfs_rqs[cfs_rq].nr_running >= self.tunables.nr_latency;
        let is_next_marked = self.features.has(Feature::NextBuddy) && is_crowded && !is_fork;
        if is_next_marked {
            self.fair.set_next_buddy(&self.tasks, woken);
        }
        if self.rqs[cpu].need_resched {
            return;
        }
        let woken_policy = self.tasks[task].policy;
        let over_idle_policy = self.tasks[curr_task].has_idle_policy() && woken_policy != Policy::Idle;
        if !over_idle_policy {
            if woken_policy != Policy::Normal || !self.features.has(Feature::WakeupPreemption) {
                return;
            }
            (curr, woken) = self.fair.find_matching_se(curr, woken);
            match (self.fair.se_is_idle(&self.tasks, curr), self.fair.se_is_idle(&self.tasks, woken)) {
                (true, false) => {}
                (false, true) => return,
                _ => {
                    let common = self.fair.entities[curr].cfs_rq;
                    self.update_curr_cfs(ctx, common);
                    if self.fair.wakeup_preempt_entity(curr, woken, self.tunables.wakeup_granularity_ns)
                        != VruntimeLead::Beyond
                    {
                        return;
                    }
                    if !is_next_marked {
                        self.fair.set_next_buddy(&self.tasks, woken);
                    }
                }
            }
        }
        self.resched_curr(ctx, cpu);
        let curr_entity = &self.fair.entities[curr];
        if curr_entity.on_rq && is_crowded && curr_entity.task().is_some() && self.features.has(Feature::LastBuddy) {
            self.fair.mark_upwards(&self.tasks, curr, |cfs_rq| &mut cfs_rq.last);
        }
    }

    /// Lets the running task yield: it is skipped at the next pick. Models `yield_task_fair()` (6.1).
    pub(in crate::classes::fair) fn yield_task_cfs(&mut self, ctx: &mut Ctx<'_>, guard: &RqGuard) {
        let cpu = guard.cpu();
        let rq = &self.rqs[cpu];
        if rq.nr_running == 1 {
            return;
        }
        let curr = &self.tasks[rq.curr];
        let (se, is_batch) = (curr.se, curr.policy == Policy::Batch);
        let cfs_rq = self.fair.entities[se].cfs_rq;
        self.fair.clear_buddies(cfs_rq, se);
        if !is_batch {
            self.update_rq_clock(ctx, guard);
            self.update_curr_cfs(ctx, cfs_rq);
            self.rqs[cpu].skip_clock_update();
        }
        self.fair.set_skip_buddy(se);
    }
}

impl FairTree {
    fn set_skip_buddy(&mut self, se: EntityId) {
        let mut entity = Some(se);
        while let Some(se) = entity {
            let (cfs_rq, parent) = self.place_of(se);
            self.cfs_rqs[cfs_rq].skip = Some(se);
            entity = parent;
        }
    }

    /// Compares two entities of one cfs_rq: by how much is `se` ahead, relative to its wake-up granularity?
    pub(crate) fn wakeup_preempt_entity(&mut self, curr: EntityId, se: EntityId, granularity_ns: u64) -> VruntimeLead {
        let curr_vruntime = self.entities[curr].vruntime;
        let se = &mut self.entities[se];
        let lead = curr_vruntime.wrapping_sub(se.vruntime) as i64;
        if lead <= 0 {
            VruntimeLead::Behind
        } else if lead > calc_delta_fair(granularity_ns, &mut se.load) as i64 {
            VruntimeLead::Beyond
        } else {
            VruntimeLead::Within
        }
    }
}

#[cfg(test)]
mod tests;
