// SPDX-License-Identifier: GPL-2.0-or-later
//! What the deadline class keeps of a task, and the arithmetic of budgets.
//!
//! Models `struct sched_dl_entity`, `to_ratio()`, `dl_entity_overflow()`, `update_dl_revised_wakeup()`,
//! `dl_next_period()` and `__dl_clear_params()` (6.1). Times wrap and are compared by their difference.

use crate::types::ids::CpuId;
use crate::types::units::{CAPACITY_SHIFT, Capacity};

/// A bandwidth of a whole CPU is 1 << 20.
pub const BW_SHIFT: u32 = 20;
/// So many low bits of times are dropped before they are multiplied.
const DL_SCALE: u32 = 10;

/// Whether one time lies before another, although both wrap: `dl_time_before()`.
#[inline]
pub const fn time_before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

/// A runtime as a part of a period, in units of 2^-20: `to_ratio()`.
pub const fn to_ratio(period_ns: u64, runtime_ns: u64) -> u64 {
    match (runtime_ns << BW_SHIFT).checked_div(period_ns) {
        Some(ratio) => ratio,
        None => 0,
    }
}

/// Runtime, relative deadline and period, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DlParameters {
    pub runtime: u64,
    pub deadline: u64,
    pub period: u64,
}

/// State of a task in the deadline class. The parameters stay for a while after it has left the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlEntity {
    /// Budget in each period, in ns; 0: the task has no parameters.
    pub dl_runtime: u64,
    /// Relative deadline, in ns.
    pub dl_deadline: u64,
    /// Period, in ns.
    pub dl_period: u64,
    /// `dl_runtime / dl_period`, in units of 2^-20.
    pub dl_bw: u64,
    /// `dl_runtime / dl_deadline`, in units of 2^-20.
    pub dl_density: u64,
    /// What is left of the budget, in ns; negative if it was overrun.
    pub runtime: i64,
    /// Absolute deadline, in ns of the runqueue's clock.
    pub deadline: u64,
    /// The budget is used up: the task waits for its next period.
    pub is_throttled: bool,
    /// Parameters of the task that waits for it, if it inherits them.
    pub(crate) inherited: Option<DlParameters>,
    /// It is a governor's thread, which has no budget and asks whoever runs to give way: `dl_entity_is_special()`. Which deadline task runs next
    /// is said by deadlines all the same.
    pub is_special: bool,
    /// It reclaims bandwidth that others do not use (SCHED_FLAG_RECLAIM).
    pub reclaims: bool,
    /// It has given the rest of its budget away.
    pub has_yielded: bool,
    /// It sleeps, but its bandwidth counts as in use until its inactive timer expires.
    pub is_non_contending: bool,
    /// It is in the queue of its CPU (the running task too).
    pub is_queued: bool,
    /// It is among those that may be moved.
    pub is_pushable: bool,
    /// Where its replenishment timer was started last.
    pub(crate) dl_timer_cpu: CpuId,
    /// Where its inactive timer was started last.
    pub(crate) inactive_timer_cpu: CpuId,
}

impl DlEntity {
    /// A task without parameters.
    pub(crate) const fn new(cpu: CpuId) -> Self {
        Self {
            dl_runtime: 0,
            dl_deadline: 0,
            dl_period: 0,
            dl_bw: 0,
            dl_density: 0,
            runtime: 0,
            deadline: 0,
            is_throttled: false,
            inherited: None,
            is_special: false,
            reclaims: false,
            has_yielded: false,
            is_non_contending: false,
            is_queued: false,
            is_pushable: false,
            dl_timer_cpu: cpu,
            inactive_timer_cpu: cpu,
        }
    }

    /// Sets the parameters; budget and deadline stay: `__setparam_dl()`. Those of a governor's thread are a pretext: it has no bandwidth in any
    /// sum.
    pub(crate) fn set_parameters(&mut self, runtime_ns: u64, deadline_ns: u64, period_ns: u64) {
        self.dl_runtime = runtime_ns;
        self.dl_deadline = deadline_ns;
        self.dl_period = period_ns;
        self.dl_bw = if self.is_special { 0 } else { to_ratio(period_ns, runtime_ns) };
        self.dl_density = to_ratio(deadline_ns, runtime_ns);
    }

    /// Forgets the parameters; budget and deadline stay.
    pub(crate) fn clear_parameters(&mut self) {
        self.set_parameters(0, 0, 0);
        self.inherited = None;
        self.is_throttled = false;
        self.has_yielded = false;
        self.is_non_contending = false;
    }

    /// The parameters that count: inherited ones, or its own (`pi_of()`).
    pub(crate) fn effective(&self) -> DlParameters {
        let own = DlParameters { runtime: self.dl_runtime, deadline: self.dl_deadline, period: self.dl_period };
        self.inherited.unwrap_or(own)
    }

    /// Whether the deadline is the end of the period.
    pub(crate) fn is_implicit(&self) -> bool {
        self.dl_deadline == self.dl_period
    }

    /// When the next period begins.
    pub(crate) fn next_period(&self) -> u64 {
        self.deadline.wrapping_sub(self.dl_deadline).wrapping_add(self.dl_period)
    }

    /// Whether the budget is used up.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.runtime <= 0
    }

    /// Whether it asks another task to give way, as a governor's thread or by its deadline: `dl_entity_preempt()`.
    // DIFFERS: a governor's thread that may be pushed to another CPU stands among the others of its CPU by its deadline; in 6.1 it comes first.
    pub(crate) fn preempts(&self, other: &Self) -> bool {
        self.is_special || time_before(self.deadline, other.deadline)
    }

    /// A whole budget, until the relative deadline from now on: `replenish_dl_new_period()`.
    pub(crate) fn start_new_period(&mut self, now: u64) {
        let own = self.effective();
        self.deadline = now.wrapping_add(own.deadline);
        self.runtime = own.runtime as i64;
    }

    /// Whether what is left of the budget is more, for the time that is left until the deadline, than the density allows.
    pub(crate) fn overflows(&self, now: u64) -> bool {
        let own = self.effective();
        let scaled = |value: u64| value >> DL_SCALE;
        let left = scaled(own.deadline).wrapping_mul((self.runtime >> DL_SCALE) as u64);
        let right = scaled(self.deadline.wrapping_sub(now)).wrapping_mul(scaled(own.runtime));
        time_before(right, left)
    }

    /// Cuts the budget to what the density allows until the deadline.
    pub(crate) fn cut_to_laxity(&mut self, now: u64) {
        let laxity = self.deadline.wrapping_sub(now);
        self.runtime = (self.dl_density.wrapping_mul(laxity) >> BW_SHIFT) as i64;
    }

    /// When, from now on, the bandwidth of a task that sleeps is free again: its budget would then be used up if it ran at
    /// its bandwidth. May lie in the past.
    pub(crate) fn zero_lag_after(&self, now: u64) -> i64 {
        let rest = self.runtime.wrapping_mul(self.dl_period as i64) / self.dl_runtime as i64;
        (self.deadline as i64).wrapping_sub(rest).wrapping_sub(now as i64)
    }

    /// Whether a CPU is fast enough for its density: `dl_task_fits_capacity()`.
    pub(crate) fn fits_capacity(&self, capacity: Capacity) -> bool {
        capacity >= self.dl_density >> (BW_SHIFT - CAPACITY_SHIFT)
    }
}
