// SPDX-License-Identifier: GPL-2.0-or-later
//! Limit of real-time runtime: by default 950 ms in each second on each CPU, so that other tasks do not
//! starve.
//!
//! Models `sched_rt_runtime_exceeded()`, `do_start_rt_bandwidth()`, `do_sched_rt_period_timer()` and
//! `do_balance_runtime()` (6.1). One timer serves all CPUs; it is active only while there is real-time work.

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::timers::{Timer, forward};
use crate::types::features::Feature;
use crate::types::ids::CpuId;

impl State {
    /// Whether the runtime of real-time tasks is limited at all. 6.12 has no such limit; its fair servers take its place.
    pub(crate) fn limits_rt_runtime(&self) -> bool {
        !self.rules.lifts_rt_throttling && self.tunables.rt_runtime_us >= 0
    }

    /// Starts the period timer if there is a limit and the timer is not active (`start_rt_bandwidth()`).
    pub(crate) fn start_rt_bandwidth(&mut self, ctx: &mut Ctx<'_>) {
        if self.limits_rt_runtime() {
            self.do_start_rt_bandwidth(ctx);
        }
    }

    /// Starts the period timer on the executing CPU. If its last period is over, it expires as soon as
    /// possible.
    fn do_start_rt_bandwidth(&mut self, ctx: &mut Ctx<'_>) {
        let resolution = self.hrtimer_resolution();
        let bandwidth = &mut self.rt_root.bandwidth;
        if !core::mem::replace(&mut bandwidth.active, true) {
            forward(&mut bandwidth.expires, ctx.now.0, resolution);
            let at = bandwidth.expires;
            self.start_timer(ctx, Timer::RtPeriod, at);
        }
    }

    /// Runtime of the real-time tasks of a CPU in each period, in ns; `u64::MAX` without a limit.
    pub(crate) fn rt_runtime(&self, cpu: CpuId) -> u64 {
        let own = self.tunables.rt_runtime_us * 1000;
        if own < 0 || self.rqs[cpu].rt.unlimited {
            return u64::MAX;
        }
        (own + self.rqs[cpu].rt.borrowed).max(0) as u64
    }

    pub(crate) fn rt_period(&self) -> u64 {
        self.tunables.rt_period_us * 1000
    }

    /// Charges the real-time tasks of a CPU. They stop if their runtime is exhausted.
    pub(crate) fn account_rt_runtime(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, delta: u64) {
        if !self.limits_rt_runtime() {
            return;
        }
        self.rqs[cpu].rt.rt_time += delta;
        if self.sched_rt_runtime_exceeded(cpu) {
            self.report_rt_throttling(ctx, cpu);
            self.resched_curr(ctx, cpu);
            self.do_start_rt_bandwidth(ctx);
        }
    }

    /// Returns whether the runtime of a CPU is exhausted, and throttles its real-time tasks then.
    ///
    /// Rules, in order:
    /// 1. Throttled tasks stay throttled until the period ends.
    /// 2. A runtime of at least the period is no limit. Otherwise runtime of other CPUs may be borrowed first
    ///    (RT_RUNTIME_SHARE).
    /// 3. A limit of 0 throttles no task.
    fn sched_rt_runtime_exceeded(&mut self, cpu: CpuId) -> bool {
        if self.rqs[cpu].rt.throttled {
            return true;
        }
        if self.rt_runtime(cpu) >= self.rt_period() {
            return false;
        }
        self.balance_runtime(cpu);
        let runtime = self.rt_runtime(cpu);
        let rt = &mut self.rqs[cpu].rt;
        if rt.rt_time <= runtime {
            return false;
        }
        if self.tunables.rt_runtime_us == 0 {
            rt.rt_time = 0;
            return false;
        }
        rt.throttled = true;
        let nr = rt.nr_running;
        self.dequeue_top_rt_rq(cpu, nr);
        true
    }

    /// With RT_RUNTIME_SHARE, borrows a share of the unused runtime of each other CPU.
    fn balance_runtime(&mut self, cpu: CpuId) {
        if !self.features.has(Feature::RtRuntimeShare) || self.rqs[cpu].rt.rt_time <= self.rt_runtime(cpu) {
            return;
        }
        let (period, nr_cpus) = (self.rt_period(), self.domains.root.span.weight() as u64);
        for other in self.cpu_ids() {
            let is_lender = other != cpu && self.domains.root.span.contains(other);
            if !is_lender || self.rqs[other].rt.unlimited {
                continue;
            }
            let unused = self.rt_runtime(other).saturating_sub(self.rqs[other].rt.rt_time);
            let part = (unused / nr_cpus).min(period - self.rt_runtime(cpu));
            self.rqs[other].rt.borrowed -= part as i64;
            self.rqs[cpu].rt.borrowed += part as i64;
            if unused > 0 && self.rt_runtime(cpu) == period {
                return;
            }
        }
    }

    /// Refills the runtime of a CPU for this number of periods. Returns whether the CPU's tasks must be
    /// checked: they were throttled and no longer are, or had not run yet.
    pub(crate) fn end_rt_period(&mut self, cpu: CpuId, nr_periods: u64) -> bool {
        if self.rqs[cpu].rt.rt_time == 0 {
            return !self.rqs[cpu].rt.throttled;
        }
        if self.rqs[cpu].rt.throttled {
            self.balance_runtime(cpu);
        }
        let runtime = self.rt_runtime(cpu);
        let rq = &mut self.rqs[cpu];
        rq.rt.rt_time -= rq.rt.rt_time.min(nr_periods.saturating_mul(runtime));
        if !rq.rt.throttled || rq.rt.rt_time >= runtime {
            return false;
        }
        rq.rt.throttled = false;
        if rq.rt.nr_running > 0 && rq.curr == rq.idle {
            // The clock must be updated when the idle task is preempted.
            rq.clock_skip_requested = false;
        }
        true
    }

    /// Whether runtime is left or will be refilled. Deadline tasks charge their time only then
    /// (`sched_rt_bandwidth_account()`).
    pub(crate) fn sched_rt_bandwidth_account(&self, cpu: CpuId) -> bool {
        self.rt_root.bandwidth.active || (self.rqs[cpu].rt.rt_time as i64) < self.tunables.rt_runtime_us * 1000
    }
}
