// SPDX-License-Identifier: GPL-2.0-or-later
//! Averages of everything that takes time from the fair class: real-time and deadline tasks, interrupts,
//! thermal pressure.
//!
//! Models `update_rt_rq_load_avg()`, `update_dl_rq_load_avg()`, `update_irq_load_avg()`,
//! `update_thermal_load_avg()`, `others_have_blocked()` and `__update_blocked_others()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::rq::Rq;
use crate::track::pelt::attach::advance;
use crate::types::pelt::{Contribution, ContributionScale, SchedAvg};
use crate::types::tunables::{PeltScaling, Tunables};
use crate::types::units::{Capacity, cap_scale};
use crate::types::work::KernelOp;

/// Contribution of a constant amount, which counts as load, as runnable and (unless it is 0) as running.
const fn constant(amount: u64) -> Contribution {
    Contribution { load: amount, runnable: amount, running: amount != 0 }
}

/// Advances the average of thermal pressure.
pub(crate) fn update_thermal(avg: &mut SchedAvg, now: u64, pressure: Capacity) -> bool {
    avg.update(now, constant(pressure), 1, None)
}

/// Advances the average of interrupt time: `running_ns` of the time up to `clock` was interrupt time, counted
/// just before `clock`.
///
/// Interrupt time is no part of the task clock, so it is scaled by frequency and capacity here: by the time,
/// or in PELT before 5.1 by the contribution.
pub(crate) fn update_irq(
    avg: &mut SchedAvg,
    clock: u64,
    running_ns: u64,
    scale: ContributionScale,
    by_time: bool,
) -> bool {
    let (running_ns, contribution) = if by_time {
        (cap_scale(cap_scale(running_ns, scale.frequency), scale.capacity), None)
    } else {
        (running_ns, Some(scale))
    };
    let before = avg.update_sum(clock.wrapping_sub(running_ns), constant(0), contribution);
    let during = avg.update_sum(clock, constant(1), contribution);
    if before || during {
        avg.refresh(1);
    }
    before || during
}

impl Rq {
    /// Advances the real-time average.
    pub(crate) fn update_rt_rq_load_avg(&mut self, ctx: &mut Ctx<'_>, tunables: &Tunables, running: bool) -> bool {
        let (now, scale) = (self.rq_clock_pelt(), self.contribution_scale(tunables));
        advance(ctx, &mut self.avg_rt, now, constant(u64::from(running)), 1, scale)
    }

    /// Advances the deadline average.
    pub(crate) fn update_dl_rq_load_avg(&mut self, ctx: &mut Ctx<'_>, tunables: &Tunables, running: bool) -> bool {
        let (now, scale) = (self.rq_clock_pelt(), self.contribution_scale(tunables));
        advance(ctx, &mut self.avg_dl, now, constant(u64::from(running)), 1, scale)
    }

    /// Advances the interrupt average to the runqueue's clock.
    pub(crate) fn update_irq_load_avg(&mut self, ctx: &mut Ctx<'_>, tunables: &Tunables, running_ns: u64) -> bool {
        ctx.charge(KernelOp::PeltUpdate);
        let by_time = tunables.pelt_scaling == PeltScaling::Time;
        let scale = ContributionScale { frequency: self.freq_capacity, capacity: self.cpu_capacity_orig };
        update_irq(&mut self.avg_irq, self.clock, running_ns, scale, by_time)
    }

    /// Advances the thermal average to the task clock, slowed by the tunable shift. Without
    /// [`State::set_thermal_tracking`](crate::state::State::set_thermal_tracking) no caller does.
    pub(crate) fn update_thermal_load_avg(&mut self, ctx: &mut Ctx<'_>, tunables: &Tunables) -> bool {
        let shift = tunables.thermal_decay_shift;
        ctx.charge(KernelOp::PeltUpdate);
        update_thermal(&mut self.avg_thermal, self.clock_task >> shift, self.thermal_pressure)
    }

    /// Whether any average of other classes, interrupts or thermal pressure is left to decay:
    /// `others_have_blocked()`.
    pub(crate) fn other_classes_have_blocked(&self) -> bool {
        self.avg_rt.util_avg > 0
            || self.avg_dl.util_avg > 0
            || self.avg_thermal.load_avg > 0
            || self.avg_irq.util_avg > 0
    }
}
