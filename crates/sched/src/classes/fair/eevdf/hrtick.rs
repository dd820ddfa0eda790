// SPDX-License-Identifier: GPL-2.0-or-later
//! Slice timer of a running fair task under EEVDF.
//!
//! Models `hrtick_start_fair()` and `hrtick_update()` (6.12.117).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::types::ids::{CfsRqId, CpuId, TaskId};

impl State {
    /// Starts the slice timer for the rest of a task's slice, if other tasks are runnable.
    pub(super) fn hrtick_start_eevdf(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        if self.fair.cfs_rqs[CfsRqId::root(cpu)].h_nr_running > 1 {
            let slice = self.fair.entities[self.tasks[task].se].slice;
            self.hrtick_start_slice(ctx, cpu, task, slice);
        }
    }

    /// Updates the slice timer after the number of runnable tasks has changed.
    pub(super) fn hrtick_update_eevdf(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if let Some(curr) = self.rqs[cpu].hrtick_task(self.features, &self.tasks) {
            self.hrtick_start_eevdf(ctx, cpu, curr);
        }
    }
}
