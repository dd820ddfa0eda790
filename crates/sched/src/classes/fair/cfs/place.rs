// SPDX-License-Identifier: GPL-2.0-or-later
//! Placement of an entity on the timeline of a cfs_rq in 6.1.
//!
//! Models `place_entity()`, `entity_is_long_sleeper()` and `task_fork_fair()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::entity::vruntime_before;
use crate::state::lock::RqGuard;
use crate::types::features::Feature;
use crate::types::ids::{CfsRqId, EntityId, TaskId};
use crate::types::weight::{NICE_0_LOAD, scale_load_down};

/// Sleep duration from which virtual times may no longer be comparable: half of the number range, divided by
/// the weight of nice 0.
const LONG_SLEEP_NS: u64 = (1 << 63) / scale_load_down(NICE_0_LOAD);

/// Reason for a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// The entity is new.
    Initial,
    /// The entity has slept.
    Wakeup,
}

impl State {
    /// Places an entity relative to the cfs_rq's `min_vruntime`.
    ///
    /// Rules, in order:
    /// 1. A new entity starts one virtual slice behind (START_DEBIT).
    /// 2. An entity that slept gets a credit: the latency, or the minimal granularity if it is idle; half of
    ///    it with GENTLE_FAIR_SLEEPERS.
    /// 3. Virtual runtime never decreases, unless the entity slept so long that the comparison is
    ///    meaningless.
    pub(crate) fn place_entity_cfs(&mut self, cfs_rq: CfsRqId, se: EntityId, why: Placement) {
        let Self { fair, tasks, tunables, features, .. } = self;
        let queue = &fair.cfs_rqs[cfs_rq];
        let (now, mut vruntime) = (self.rqs[queue.cpu].clock_task, queue.min_vruntime);
        match why {
            Placement::Initial if features.has(Feature::StartDebit) => {
                vruntime = vruntime.wrapping_add(fair.sched_vslice(tasks, *features, tunables, cfs_rq, se));
            }
            Placement::Initial => {}
            Placement::Wakeup => {
                let is_idle = fair.se_is_idle(tasks, se);
                let credit = if is_idle { tunables.min_granularity_ns } else { tunables.latency_ns };
                let is_gentle = features.has(Feature::GentleFairSleepers);
                vruntime = vruntime.wrapping_sub(if is_gentle { credit / 2 } else { credit });
            }
        }
        let se = &mut fair.entities[se];
        let is_long_sleeper = se.exec_start != 0 && now.saturating_sub(se.exec_start) > LONG_SLEEP_NS;
        if is_long_sleeper || vruntime_before(se.vruntime, vruntime) {
            se.vruntime = vruntime;
        }
    }

    /// Places a forked task beside its parent, which runs on the CPU. Models `task_fork_fair()` (6.1).
    ///
    /// The child starts at the parent's virtual runtime. If children run first and the parent is ahead, both
    /// swap. The result is relative to `min_vruntime` until the child is enqueued.
    pub(crate) fn task_fork_fair(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, child: TaskId) {
        let cpu = rq.cpu();
        self.update_rq_clock(ctx, rq);
        let parent_task = self.rqs[cpu].curr;
        // The cfs_rq of the parent's group, even if the parent belongs to another class.
        let cfs_rq = self.fair.entities[self.tasks[parent_task].se].cfs_rq;
        let se = self.tasks[child].se;
        let parent = self.fair.cfs_rqs[cfs_rq].curr;
        if let Some(parent) = parent {
            self.update_curr_cfs(ctx, cfs_rq);
            self.fair.entities[se].vruntime = self.fair.entities[parent].vruntime;
        }
        self.place_entity_cfs(cfs_rq, se, Placement::Initial);
        if let Some(parent) = parent.filter(|_| self.tunables.child_runs_first) {
            let (first, second) = (self.fair.entities[parent].vruntime, self.fair.entities[se].vruntime);
            if vruntime_before(first, second) {
                self.fair.entities[parent].vruntime = second;
                self.fair.entities[se].vruntime = first;
                self.resched_curr(ctx, cpu);
            }
        }
        self.fair.entities[se].make_vruntime_relative(self.fair.cfs_rqs[cfs_rq].min_vruntime);
    }
}
