// SPDX-License-Identifier: GPL-2.0-or-later
//! The tick of a running fair task in 6.1.
//!
//! Models `task_tick_fair()`, `entity_tick()` and `check_preempt_tick()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::timers::Timer;
use crate::track::pelt::attach::UpdateLoad;
use crate::types::features::Feature;
use crate::types::ids::{CfsRqId, CpuId, EntityId, TaskId};
use crate::types::work::KernelOp;

impl State {
    /// Handles the tick, or the end of a slice by timer (`is_slice_end`), for the running task and the group
    /// entities above it.
    pub(in crate::classes::fair) fn task_tick_cfs(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        task: TaskId,
        is_slice_end: bool,
    ) {
        self.for_each_sched_entity(ctx, Some(self.tasks[task].se), |state, ctx, cfs_rq, se| {
            ctx.charge(KernelOp::GroupLevel);
            state.entity_tick_cfs(ctx, cfs_rq, se, is_slice_end);
        });
        self.update_misfit_status(ctx, cpu, Some(task));
        self.check_update_overutilized_status(ctx, cpu);
    }

    fn entity_tick_cfs(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId, curr: EntityId, is_slice_end: bool) {
        self.update_curr_cfs(ctx, cfs_rq);
        self.update_load_avg(ctx, cfs_rq, curr, UpdateLoad::TG);
        self.update_cfs_group_cfs(ctx, curr);
        let queue = &self.fair.cfs_rqs[cfs_rq];
        let cpu = queue.cpu;
        if is_slice_end {
            self.resched_curr(ctx, cpu);
            return;
        }
        if !self.features.has(Feature::DoubleTick) && self.rqs[cpu].timers.is_active(Timer::Hrtick) {
            return;
        }
        if queue.nr_running > 1 {
            self.check_preempt_tick(ctx, cfs_rq, curr);
        }
    }

    /// Ends the slice of the running entity if it is over.
    ///
    /// Rules, in order:
    /// 1. If the entity has run for longer than its slice, the CPU reschedules, and the entity's buddy marks
    ///    are cleared.
    /// 2. The entity may run for the minimal granularity in any case.
    /// 3. If its virtual runtime exceeds that of the first waiting entity by more than its slice, the CPU
    ///    reschedules.
    fn check_preempt_tick(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId, curr: EntityId) {
        let slice = self.fair.sched_slice(&self.tasks, self.features, &self.tunables, cfs_rq, curr);
        let queue = &self.fair.cfs_rqs[cfs_rq];
        let cpu = queue.cpu;
        let se = &self.fair.entities[curr];
        let ran = se.ran_ns();
        if ran > slice {
            self.resched_curr(ctx, cpu);
            self.fair.clear_buddies(cfs_rq, curr);
            return;
        }
        if ran < self.tunables.min_granularity_ns {
            return;
        }
        let first = queue.timeline.first_vruntime().expect("more than one entity is runnable, so one waits");
        let ahead = se.vruntime.wrapping_sub(first) as i64;
        if ahead > slice as i64 {
            self.resched_curr(ctx, cpu);
        }
    }
}
