// SPDX-License-Identifier: GPL-2.0-or-later
//! Limit of real-time runtime: by default 950 ms in each second on each CPU, so that other tasks do not
//! starve.
//!
//! Models `sched_rt_runtime_exceeded()`, `do_start_rt_bandwidth()`, `do_sched_rt_period_timer()` and
//! `do_balance_runtime()` (6.1). One timer serves all CPUs; it is active only while there is real-time work.

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::rt::rq::borrow_runtime;
use crate::state::rt::{RtBandwidth, RtRq};
use crate::state::timers::{Timer, forward};
use crate::types::features::Feature;
use crate::types::ids::CpuId;
use crate::types::kernel_rules::KernelRules;
use crate::types::tunables::Tunables;

impl State {
    /// Starts the period timer if there is a limit and the timer is not active (`start_rt_bandwidth()`).
    pub(crate) fn start_rt_bandwidth(&mut self, ctx: &mut Ctx<'_>) {
        if self.tunables.limits_rt_runtime(&self.rules) {
            self.do_start_rt_bandwidth(ctx);
        }
    }

    /// Starts the period timer on the executing CPU. If its last period is over, it expires as soon as
    /// possible.
    fn do_start_rt_bandwidth(&mut self, ctx: &mut Ctx<'_>) {
        let resolution = self.timer_resolution_ns;
        let bandwidth = &mut self.rt_root.bandwidth;
        if !core::mem::replace(&mut bandwidth.active, true) {
            forward(&mut bandwidth.expires, ctx.now.0, resolution);
            let at = bandwidth.expires;
            self.start_timer(ctx, Timer::RtPeriod, at);
        }
    }

    /// Charges the real-time tasks of a CPU. They stop if their runtime is exhausted.
    pub(crate) fn account_rt_runtime(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, delta: u64) {
        if !self.tunables.limits_rt_runtime(&self.rules) {
            return;
        }
        self.rqs[cpu].rt.charge(delta);
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
        let rt = &self.rqs[cpu].rt;
        if rt.throttled() {
            return true;
        }
        if rt.runtime(&self.tunables) >= self.tunables.rt_period_ns() {
            return false;
        }
        self.balance_runtime(cpu);
        let rq = &mut self.rqs[cpu];
        let is_exceeded = rq.rt.throttle_if_exceeded(&self.tunables);
        if is_exceeded {
            rq.dequeue_top_rt_rq(&mut self.lb_cache, rq.rt.nr_running());
        }
        is_exceeded
    }

    /// With RT_RUNTIME_SHARE, borrows runtime of other CPUs if that of the CPU is used up.
    fn balance_runtime(&mut self, cpu: CpuId) {
        let rt = &self.rqs[cpu].rt;
        if self.features.has(Feature::RtRuntimeShare) && rt.rt_time() > rt.runtime(&self.tunables) {
            borrow_runtime(&mut self.rqs, cpu, &self.domains.root.span, &self.tunables);
        }
    }

    /// Refills the runtime of a CPU for this number of periods. Returns whether the CPU's tasks must be
    /// checked: they were throttled and no longer are, or had not run yet.
    pub(crate) fn end_rt_period(&mut self, cpu: CpuId, nr_periods: u64) -> bool {
        let rt = &self.rqs[cpu].rt;
        if rt.rt_time() == 0 {
            return !rt.throttled();
        }
        if rt.throttled() {
            self.balance_runtime(cpu);
        }
        let rq = &mut self.rqs[cpu];
        let ends = rq.rt.refill(nr_periods, &self.tunables);
        if ends && rq.rt.nr_running() > 0 && rq.is_idle_task_running() {
            // The clock must be updated when the idle task is preempted.
            rq.cancel_clock_skip();
        }
        ends
    }
}

impl Tunables {
    /// Whether the runtime of real-time tasks is limited at all. 6.12 has no such limit; its fair servers take its place.
    pub(crate) fn limits_rt_runtime(&self, rules: &KernelRules) -> bool {
        !rules.lifts_rt_throttling && self.rt_runtime_us >= 0
    }
}

impl RtBandwidth {
    /// Whether runtime is left or will be refilled. Deadline tasks charge their time only then
    /// (`sched_rt_bandwidth_account()`).
    pub(crate) fn may_charge(&self, rt: &RtRq, tunables: &Tunables) -> bool {
        self.active || (rt.rt_time() as i64) < tunables.rt_runtime_us * 1000
    }
}
