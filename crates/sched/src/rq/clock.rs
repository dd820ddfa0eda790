// SPDX-License-Identifier: GPL-2.0-or-later
//! The clocks of a runqueue.
//!
//! Models `update_rq_clock()`, `update_rq_clock_task()` and `rq_clock_skip_update()` (6.1). `clock` follows the machine's
//! clock, `clock_task` leaves out interrupts, and the clock of load tracking follows that ([`crate::pelt::clock`]).

use crate::ctx::Ctx;
use crate::features::Feature;
use crate::ids::CpuId;
use crate::sched::Sched;

impl Sched {
    /// Brings the clocks of a runqueue up to date, unless `schedule()` was told that they are.
    pub(crate) fn update_rq_clock(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        // Whoever updates the clock holds the lock and goes on to change the runqueue.
        ctx.work.touch_write(cpu);
        let rq = &mut self.rqs[cpu.index()];
        if rq.clock_skip_active {
            return;
        }
        let Some(delta) = ctx.sched_clock().checked_sub(rq.clock) else { return };
        rq.clock += delta;
        let irq_delta = (rq.irq_time - rq.prev_irq_time).min(delta);
        rq.prev_irq_time += irq_delta;
        rq.clock_task += delta - irq_delta;
        if irq_delta > 0 && self.features.has(Feature::NontaskCapacity) {
            self.update_irq_load_avg(ctx, cpu, irq_delta);
        }
        self.update_rq_clock_pelt(ctx, cpu, delta - irq_delta);
    }

    /// Says that the next `schedule()` on this CPU need not update the clock: it was done just now.
    pub(crate) fn rq_clock_skip_update(&mut self, cpu: CpuId) {
        self.rqs[cpu.index()].clock_skip_requested = true;
    }

    /// The request to skip becomes active for one `schedule()`.
    pub(crate) fn begin_clock_skip(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu.index()];
        rq.clock_skip_active = core::mem::take(&mut rq.clock_skip_requested);
    }

    /// `schedule()` is over: clocks are updated again.
    pub(crate) fn end_clock_skip(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu.index()];
        rq.clock_skip_requested = false;
        rq.clock_skip_active = false;
    }
}
