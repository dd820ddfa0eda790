// SPDX-License-Identifier: GPL-2.0-or-later
//! Preemption by wake-ups and by the end of a slice, and yielding, under EEVDF.
//!
//! Models `check_preempt_wakeup_fair()`, `do_preempt_short()`, `did_preempt_short()` and `yield_task_fair()` (6.12.117).

use crate::interface::ctx::Ctx;
use crate::interface::eevdf::{PickRule, PreemptRule};
use crate::state::State;
use crate::state::entity::vruntime_before;
use crate::state::fair_tree::FairTree;
use crate::state::lock::RqGuard;
use crate::state::task::Policy;
use crate::types::features::{Feature, FeatureSet};
use crate::types::ids::{CfsRqId, CpuId, EntityId, TaskId};

impl State {
    /// Decides whether a fair task that has become runnable preempts the running fair task.
    ///
    /// Rules, in order:
    /// 1. A task does not preempt itself, and does not preempt if its group is throttled.
    /// 2. NEXT_BUDDY: the woken task is marked as next buddy, unless it was forked.
    /// 3. If rescheduling is due anyway, or without WAKEUP_PREEMPTION, nothing more happens.
    /// 4. Where the branches of both tasks diverge in the group tree, a non-idle entity preempts an idle one, but not the
    ///    reverse.
    /// 5. SCHED_BATCH and SCHED_IDLE tasks do not preempt.
    /// 6. PREEMPT_SHORT: an eligible entity with a shorter slice ends the protection of the running one's slice.
    /// 7. The task preempts if it is the one to pick now.
    #[inline(never)]
    pub(in crate::classes::fair) fn check_preempt_wakeup_eevdf(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        task: TaskId,
        is_fork: bool,
    ) {
        if self.rqs[cpu].curr == task {
            return;
        }
        let rule = self.wakeup_preemption(ctx, cpu, task, is_fork);
        if ctx.wants_lags {
            self.fair.report_preemption(ctx, &self.rqs[cpu], &self.tasks, task, rule);
        }
        if rule.is_preemption() {
            self.resched_curr(ctx, cpu);
        }
    }

    fn wakeup_preemption(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, is_fork: bool) -> PreemptRule {
        let curr_task = self.rqs[cpu].curr;
        let (curr, woken) = (self.tasks[curr_task].se, self.tasks[task].se);
        if self.fair.cfs_rqs[self.fair.entities[woken].cfs_rq].throttle_count > 0 {
            return PreemptRule::GroupThrottled;
        }
        if self.features.has(Feature::NextBuddy) && !is_fork && !self.fair.entities[woken].is_delayed {
            self.fair.set_next_buddy(&self.tasks, woken);
        }
        if self.rqs[cpu].need_resched {
            return PreemptRule::AlreadyDue;
        }
        if !self.features.has(Feature::WakeupPreemption) {
            return PreemptRule::FeatureOff;
        }
        let (curr, woken) = self.fair.find_matching_se(curr, woken);
        match (self.fair.se_is_idle(&self.tasks, curr), self.fair.se_is_idle(&self.tasks, woken)) {
            (true, false) => {
                self.fair.entities[curr].cancel_protect_slice();
                return PreemptRule::OverIdle;
            }
            (false, true) => return PreemptRule::UnderIdle,
            _ => {}
        }
        if self.tasks[task].policy != Policy::Normal {
            return PreemptRule::BatchPolicy;
        }
        let cfs_rq = self.fair.entities[curr].cfs_rq;
        self.update_curr_eevdf(ctx, cfs_rq);
        let is_shorter = self.fair.do_preempt_short(self.features, cfs_rq, woken, curr);
        if is_shorter {
            self.fair.entities[curr].cancel_protect_slice();
        }
        match self.fair.pick_eevdf(self.features, cfs_rq) {
            Some((picked, _)) if picked == woken && is_shorter => PreemptRule::ShortSlice,
            Some((picked, _)) if picked == woken => PreemptRule::ToBePicked,
            Some((_, PickRule::SliceProtected)) => PreemptRule::SliceProtected,
            _ => PreemptRule::NotPicked,
        }
    }

    /// Lets the running task yield: an eligible one gives up the rest of its slice.
    #[inline(never)]
    pub(in crate::classes::fair) fn yield_task_eevdf(&mut self, ctx: &mut Ctx<'_>, guard: &RqGuard) {
        let cpu = guard.cpu();
        if self.rqs[cpu].nr_running == 1 {
            return;
        }
        let se = self.tasks[self.rqs[cpu].curr].se;
        let cfs_rq = self.fair.entities[se].cfs_rq;
        self.fair.clear_buddies(cfs_rq, se);
        self.update_rq_clock(ctx, guard);
        self.update_curr_eevdf(ctx, cfs_rq);
        self.rqs[cpu].skip_clock_update();
        if self.fair.entity_eligible(cfs_rq, se) {
            let entity = &mut self.fair.entities[se];
            entity.vruntime = entity.deadline;
            self.fair.renew_deadline(cfs_rq, se, self.tunables.base_slice_ns);
        }
    }
}

impl FairTree {
    /// Whether a woken entity has a shorter slice than the running one, is eligible, and comes before it.
    fn do_preempt_short(&self, features: FeatureSet, cfs_rq: CfsRqId, woken: EntityId, curr: EntityId) -> bool {
        let (woken_se, curr_se) = (&self.entities[woken], &self.entities[curr]);
        features.has(Feature::PreemptShort)
            && woken_se.slice < curr_se.slice
            && self.entity_eligible(cfs_rq, woken)
            && (vruntime_before(woken_se.deadline, curr_se.deadline) || !self.entity_eligible(cfs_rq, curr))
    }

    /// Whether the running entity has lost the protection of its slice and is no longer eligible.
    pub(super) fn did_preempt_short(&self, features: FeatureSet, cfs_rq: CfsRqId, curr: EntityId) -> bool {
        features.has(Feature::PreemptShort)
            && !self.entities[curr].is_slice_protected()
            && !self.entity_eligible(cfs_rq, curr)
    }
}
