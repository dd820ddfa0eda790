// SPDX-License-Identifier: GPL-2.0-or-later
//! The tick of a running fair task under EEVDF.
//!
//! Models `task_tick_fair()` and `entity_tick()` (6.12.117).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::track::pelt::attach::UpdateLoad;
use crate::types::ids::{CpuId, TaskId};
use crate::types::work::KernelOp;

impl State {
    /// Handles the tick, or the end of a slice by timer (`is_slice_end`), for the running task and the group entities
    /// above it. Charging the entities finds out whether a slice has ended.
    pub(in crate::classes::fair) fn task_tick_eevdf(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        task: TaskId,
        is_slice_end: bool,
    ) {
        self.for_each_sched_entity(ctx, Some(self.tasks[task].se), |state, ctx, cfs_rq, se| {
            ctx.charge(KernelOp::GroupLevel);
            state.update_curr_eevdf(ctx, cfs_rq);
            state.update_load_avg(ctx, cfs_rq, se, UpdateLoad::TG);
            state.update_cfs_group_eevdf(ctx, se);
            if is_slice_end {
                state.resched_curr(ctx, cpu);
            }
        });
        self.update_misfit_status(ctx, cpu, Some(task));
        self.check_update_overutilized_status(ctx, cpu);
    }
}
