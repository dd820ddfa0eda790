// SPDX-License-Identifier: GPL-2.0-or-later
//! Slices that end by a high-resolution timer instead of the tick (feature HRTICK).
//!
//! Models `hrtick_start()`, `hrtick_clear()`, `hrtick_start_fair()` and `hrtick_update()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::task::SchedClass;
use crate::state::timers::Timer;
use crate::types::features::Feature;
use crate::types::ids::{CfsRqId, CpuId, TaskId};

/// Minimum duration of the slice timer.
const MIN_HRTICK_NS: u64 = 10_000;

impl State {
    /// Cancels the slice timer.
    pub(crate) fn hrtick_clear(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        self.cancel_timer(ctx, cpu, Timer::Hrtick);
    }

    /// Starts the slice timer; for another CPU by a call on that CPU.
    pub(crate) fn hrtick_start(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, delay_ns: u64) {
        let at = ctx.now.0 + delay_ns.max(MIN_HRTICK_NS);
        self.rqs[cpu].hrtick_time = at;
        if cpu == ctx.cpu {
            self.hrtick_restart(ctx, cpu);
        } else {
            self.call_hrtick_start(ctx, cpu);
        }
    }

    /// Starts the slice timer of the executing CPU.
    pub(crate) fn hrtick_restart(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let at = self.rqs[cpu].hrtick_time;
        self.start_timer(ctx, Timer::Hrtick, at);
    }

    /// Starts the slice timer for the rest of a task's slice. Models `hrtick_start_fair()` (6.1).
    pub(crate) fn hrtick_start_fair(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        if self.cfs_rqs[CfsRqId::root(cpu)].h_nr_running <= 1 {
            return;
        }
        let se = self.tasks[task].se;
        let cfs_rq = self.entities[se].cfs_rq;
        let is_eevdf = self.rules.fair_is_eevdf;
        let slice = if is_eevdf { self.entities[se].slice } else { self.sched_slice(cfs_rq, se) };
        let entity = &self.entities[se];
        let ran = entity.sum_exec_runtime - entity.prev_sum_exec_runtime;
        match slice.checked_sub(ran) {
            Some(rest) => self.hrtick_start(ctx, cpu, rest),
            None if self.rqs[cpu].curr == task => self.resched_curr(ctx, cpu),
            None => {}
        }
    }

    /// Updates the slice timer after the number of runnable tasks has changed. Models `hrtick_update()`
    /// (6.1).
    pub(crate) fn hrtick_update(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let curr = self.rqs[cpu].curr;
        if !self.features.has(Feature::Hrtick) || self.tasks[curr].class != SchedClass::Fair {
            return;
        }
        let cfs_rq = self.entities[self.tasks[curr].se].cfs_rq;
        if self.rules.fair_is_eevdf || self.cfs_rqs[cfs_rq].nr_running < self.tunables.nr_latency {
            self.hrtick_start_fair(ctx, cpu, curr);
        }
    }
}

#[cfg(test)]
mod tests;
