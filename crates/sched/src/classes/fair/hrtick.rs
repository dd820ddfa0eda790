// SPDX-License-Identifier: GPL-2.0-or-later
//! Slices that end by a high-resolution timer instead of the tick (feature HRTICK).
//!
//! Models `hrtick_start()` and `hrtick_clear()`, and what both kernels have in common of `hrtick_start_fair()` and
//! `hrtick_update()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::rq::Rq;
use crate::state::task::{SchedClass, Tasks};
use crate::state::timers::Timer;
use crate::types::features::{Feature, FeatureSet};
use crate::types::ids::{CpuId, TaskId};

/// Minimum duration of the slice timer.
const MIN_HRTICK_NS: u64 = 10_000;

impl State {
    /// Starts the slice timer; for another CPU by a call on that CPU.
    pub(crate) fn hrtick_start(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, delay_ns: u64) {
        let at = ctx.now.0 + delay_ns.max(MIN_HRTICK_NS);
        self.rqs[cpu].hrtick_time = at;
        if cpu == ctx.cpu {
            self.hrtick_restart(ctx, cpu);
        } else {
            self.rqs[cpu].call_hrtick_start(ctx, self.polling_idle);
        }
    }

    /// Starts the slice timer of the executing CPU.
    pub(crate) fn hrtick_restart(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let at = self.rqs[cpu].hrtick_time;
        self.start_timer(ctx, Timer::Hrtick, at);
    }

    /// Starts the slice timer for the rest of a fair task's slice. If that is over, the CPU reschedules.
    pub(super) fn hrtick_start_slice(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, slice_ns: u64) {
        match slice_ns.checked_sub(self.fair.entities[self.tasks[task].se].ran_ns()) {
            Some(rest) => self.hrtick_start(ctx, cpu, rest),
            None if self.rqs[cpu].curr == task => self.resched_curr(ctx, cpu),
            None => {}
        }
    }
}

impl Rq {
    /// Running fair task of a CPU, if its slice ends by timer.
    #[inline]
    pub(super) fn hrtick_task(&self, features: FeatureSet, tasks: &Tasks) -> Option<TaskId> {
        (features.has(Feature::Hrtick) && tasks[self.curr].class == SchedClass::Fair).then_some(self.curr)
    }
}

#[cfg(test)]
mod tests;
