// SPDX-License-Identifier: GPL-2.0-or-later
//! Slices that end by a high-resolution timer instead of the tick (feature HRTICK).
//!
//! Models `hrtick_start()`, `hrtick_clear()`, `hrtick_start_fair()` and `hrtick_update()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::task::SchedClass;
use crate::state::timers::Timer;
use crate::types::features::Feature;
use crate::types::ids::{CpuId, TaskId};

/// No slice timer runs for less than this.
const SHORTEST_NS: u64 = 10_000;

impl State {
    /// Switches the slice timer off.
    pub(crate) fn hrtick_clear(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        self.cancel_timer(ctx, cpu, Timer::Hrtick);
    }

    /// Arms the slice timer; on another CPU by a call there.
    pub(crate) fn hrtick_start(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, delay_ns: u64) {
        let at = ctx.now.0 + delay_ns.max(SHORTEST_NS);
        self.rqs[cpu.index()].hrtick_time = at;
        if cpu == ctx.cpu {
            self.hrtick_restart(ctx, cpu);
        } else {
            self.call_hrtick_start(ctx, cpu);
        }
    }

    /// Arms the slice timer of the CPU that executes this.
    pub(crate) fn hrtick_restart(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let at = self.rqs[cpu.index()].hrtick_time;
        self.start_timer(ctx, Timer::Hrtick, at);
    }

    /// Arms the slice timer for what is left of a task's slice. Models `hrtick_start_fair()`.
    pub(crate) fn hrtick_start_fair(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        if self.cfs_rqs[cpu.index()].h_nr_running <= 1 {
            return;
        }
        let se = self.tasks[task.index()].se;
        let cfs_rq = self.entities[se.index()].cfs_rq;
        let slice = self.sched_slice(cfs_rq, se);
        let entity = &self.entities[se.index()];
        let ran = entity.sum_exec_runtime - entity.prev_sum_exec_runtime;
        match slice.checked_sub(ran) {
            Some(rest) => self.hrtick_start(ctx, cpu, rest),
            None if self.rqs[cpu.index()].curr == task => self.resched_curr(ctx, cpu),
            None => {}
        }
    }

    /// Adapts the slice timer after the number of runnable tasks has changed. Models `hrtick_update()`.
    pub(crate) fn hrtick_update(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let curr = self.rqs[cpu.index()].curr;
        if !self.features.has(Feature::Hrtick) || self.tasks[curr.index()].class != SchedClass::Fair {
            return;
        }
        let cfs_rq = self.entities[self.tasks[curr.index()].se.index()].cfs_rq;
        if self.cfs_rqs[cfs_rq.index()].nr_running < self.tunables.nr_latency {
            self.hrtick_start_fair(ctx, cpu, curr);
        }
    }
}

#[cfg(test)]
mod tests;
