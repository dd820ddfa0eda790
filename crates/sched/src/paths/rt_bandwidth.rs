// SPDX-License-Identifier: GPL-2.0-or-later
//! Period timer of the real-time runtime limit; it serves all CPUs.
//!
//! Models `sched_rt_period_timer()` and `do_sched_rt_period_timer()` (6.1). The limit is in
//! [`crate::classes::rt::bandwidth`].

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::timers::{Timer, forward};
use crate::types::features::Feature;

impl Sched {
    /// Handles the expiry of the period timer. The timer continues while there is real-time work or used
    /// runtime to replenish.
    pub(crate) fn sched_rt_period_timer(&mut self, ctx: &mut Ctx<'_>) {
        let period = self.tunables.rt_period_ns().max(self.timer_resolution_ns);
        let nr_periods = forward(&mut self.rt_root.bandwidth.expires, ctx.now.0, period);
        if nr_periods > 0 && !self.do_sched_rt_period_timer(ctx, nr_periods) {
            self.rt_root.bandwidth.active = false;
            return;
        }
        let at = self.rt_root.bandwidth.expires;
        self.start_timer(ctx, Timer::RtPeriod, at);
    }

    /// Replenishes each online CPU with the runtime of `nr_periods` periods. Returns whether any CPU still
    /// needs the timer.
    pub(crate) fn do_sched_rt_period_timer(&mut self, ctx: &mut Ctx<'_>, nr_periods: u64) -> bool {
        let (mut is_needed, mut is_throttled) = (false, false);
        for cpu in self.cpu_ids() {
            if !self.hotplug.online.contains(cpu) {
                continue;
            }
            if !self.features.has(Feature::RtRuntimeShare) {
                self.rqs[cpu].rt.reset_borrowed();
            }
            let rt = &self.rqs[cpu].rt;
            if rt.rt_time() == 0 && rt.nr_running() == 0 {
                continue;
            }
            let _rq = self.rq_lock_clocked(ctx, cpu);
            let may_run = self.end_rt_period(cpu, nr_periods);
            self.report_rt_throttling(ctx, cpu);
            let rt = &self.rqs[cpu].rt;
            is_needed |= rt.rt_time() > 0 || rt.nr_running() > 0;
            is_throttled |= rt.throttled();
            if may_run && rt.nr_running() > 0 {
                self.enqueue_top_rt_rq(ctx, cpu);
                self.resched_curr(ctx, cpu);
            }
        }
        // Without a limit the timer runs only while a CPU is still throttled.
        is_needed && (is_throttled || self.tunables.rt_runtime_us >= 0)
    }
}
