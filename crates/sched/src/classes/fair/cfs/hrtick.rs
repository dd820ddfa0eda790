// SPDX-License-Identifier: GPL-2.0-or-later
//! Slice timer of a running fair task in 6.1.
//!
//! Models `hrtick_start_fair()` and `hrtick_update()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::types::ids::{CfsRqId, CpuId, TaskId};

impl State {
    /// Starts the slice timer for the rest of a task's slice, if other tasks are runnable.
    pub(super) fn hrtick_start_cfs(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        if self.fair.cfs_rqs[CfsRqId::root(cpu)].h_nr_running > 1 {
            let se = self.tasks[task].se;
            let cfs_rq = self.fair.entities[se].cfs_rq;
            let slice = self.fair.sched_slice(&self.tasks, self.features, &self.tunables, cfs_rq, se);
            self.hrtick_start_slice(ctx, cpu, task, slice);
        }
    }

    /// Updates the slice timer after the number of runnable tasks has changed. Among many tasks the slice does not depend
    /// on their number.
    pub(super) fn hrtick_update_cfs(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let Some(curr) = self.rqs[cpu].hrtick_task(self.features, &self.tasks) else { return };
        let cfs_rq = self.fair.entities[self.tasks[curr].se].cfs_rq;
        if self.fair.cfs_rqs[cfs_rq].nr_running < self.tunables.nr_latency {
            self.hrtick_start_cfs(ctx, cpu, curr);
        }
    }
}
