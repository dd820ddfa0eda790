// SPDX-License-Identifier: GPL-2.0-or-later
//! State of a task in the deadline class, and the arithmetic of budgets.
//!
//! Models `struct sched_dl_entity`, `to_ratio()`, `dl_entity_overflow()`, `update_dl_revised_wakeup()`,
//! `setup_new_dl_entity()`, `replenish_dl_entity()`, `update_dl_entity()`, `dl_next_period()` and
//! `__dl_clear_params()` (6.1), and `dl_server_update_idle_time()` (6.12). Times wrap and are compared by their difference.

use crate::types::ids::CpuId;
use crate::types::units::{Capacity, SCHED_CAPACITY_SHIFT};

/// Fixed-point shift of bandwidths: the bandwidth of a whole CPU is 1 << 20.
pub const BW_SHIFT: u32 = 20;
/// Number of low bits that are dropped from times before they are multiplied.
const DL_SCALE: u32 = 10;

/// Whether time `a` lies before `b`, although both wrap: `dl_time_before()`.
#[inline]
pub const fn time_before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

/// Returns the runtime as a share of the period, in units of 2^-20: `to_ratio()`.
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

/// State that only the entity of a fair server has (6.12).
///
/// A fair server starts with the first fair task of its CPU. While fair tasks run it consumes its budget, and its
/// period begins again before the budget is due. A server whose tasks have starved is queued when the rest of its
/// period is just long enough for the rest of its budget; its CPU then picks a fair task on its behalf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerState {
    /// Whether the entity is a server (`dl_server`), which it becomes when it starts for the first time.
    pub is_server: bool,
    /// Whether the server was started and not stopped since (`dl_server_active`).
    pub is_active: bool,
    /// Whether the server waits until its tasks starve (`dl_defer`).
    pub defers: bool,
    /// Whether its tasks have starved, so that it does not wait again (`dl_defer_running`).
    pub is_running: bool,
    /// Whether the timer is for the end of the wait (`dl_defer_armed`) and not for the next period.
    pub is_armed: bool,
}

/// State of a task in the deadline class, or of a fair server. The parameters remain for a while after the task has
/// left the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlEntity {
    /// Budget in each period, in ns; 0 if the task has no parameters.
    pub dl_runtime: u64,
    /// Deadline relative to the start of a period, in ns.
    pub dl_deadline: u64,
    /// Length of a period, in ns.
    pub dl_period: u64,
    /// `dl_runtime / dl_period`, in units of 2^-20.
    pub dl_bw: u64,
    /// `dl_runtime / dl_deadline`, in units of 2^-20.
    pub dl_density: u64,
    /// Remaining budget, in ns; negative if it was overrun.
    pub runtime: i64,
    /// Absolute deadline, in ns of the runqueue's clock.
    pub deadline: u64,
    /// Whether the budget is used up, so that the task waits for its next period.
    pub is_throttled: bool,
    /// Parameters of the task that waits for this one, if it inherits them.
    pub(crate) inherited: Option<DlParameters>,
    /// Whether the task is a governor's thread, which has no budget and preempts any running task:
    /// `dl_entity_is_special()`.
    ///
    /// Deadlines alone still decide which deadline task runs next.
    pub is_special: bool,
    /// Whether the task reclaims unused bandwidth of other tasks (SCHED_FLAG_RECLAIM).
    pub reclaims: bool,
    /// Whether the next deadline policy of the task has SCHED_FLAG_RECLAIM.
    pub(crate) next_reclaims: bool,
    /// Whether the task has yielded the rest of its budget.
    pub has_yielded: bool,
    /// Whether the task sleeps while its bandwidth counts as in use, until its inactive timer expires.
    pub is_non_contending: bool,
    /// Whether the task is in the queue of its CPU. The running task is.
    pub is_queued: bool,
    /// Whether the task is in the list of tasks that may be moved.
    pub is_pushable: bool,
    /// State of a fair server.
    pub server: ServerState,
    /// CPU that started the replenishment timer last.
    pub(crate) dl_timer_cpu: CpuId,
    /// CPU that started the inactive timer last.
    pub(crate) inactive_timer_cpu: CpuId,
}

impl DlEntity {
    /// Creates the state of a task without parameters.
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
            next_reclaims: false,
            has_yielded: false,
            is_non_contending: false,
            is_queued: false,
            is_pushable: false,
            server: ServerState {
                is_server: false,
                is_active: false,
                defers: false,
                is_running: false,
                is_armed: false,
            },
            dl_timer_cpu: cpu,
            inactive_timer_cpu: cpu,
        }
    }

    /// Sets the parameters; budget and deadline stay: `__setparam_dl()`.
    ///
    /// The parameters of a governor's thread are placeholders: its bandwidth is in no sum.
    pub(crate) fn set_parameters(&mut self, runtime_ns: u64, deadline_ns: u64, period_ns: u64) {
        self.dl_runtime = runtime_ns;
        self.dl_deadline = deadline_ns;
        self.dl_period = period_ns;
        self.dl_bw = if self.is_special { 0 } else { to_ratio(period_ns, runtime_ns) };
        self.dl_density = to_ratio(deadline_ns, runtime_ns);
    }

    /// Clears the parameters; budget and deadline stay.
    pub(crate) fn clear_parameters(&mut self) {
        self.set_parameters(0, 0, 0);
        self.inherited = None;
        self.is_throttled = false;
        self.has_yielded = false;
        self.is_non_contending = false;
    }

    /// Parameters in effect: the inherited ones, or the task's own (`pi_of()`).
    pub(crate) fn effective(&self) -> DlParameters {
        let own = DlParameters { runtime: self.dl_runtime, deadline: self.dl_deadline, period: self.dl_period };
        self.inherited.unwrap_or(own)
    }

    /// Whether the relative deadline equals the period.
    pub(crate) fn is_implicit(&self) -> bool {
        self.dl_deadline == self.dl_period
    }

    /// Start of the next period, in ns.
    pub(crate) fn next_period(&self) -> u64 {
        self.deadline.wrapping_sub(self.dl_deadline).wrapping_add(self.dl_period)
    }

    /// Remaining budget, in ns.
    pub(crate) fn remaining(&self) -> u64 {
        self.runtime.max(0) as u64
    }

    /// Whether the budget is used up.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.runtime <= 0
    }

    /// Whether the task preempts another one, as a governor's thread or by its deadline:
    /// `dl_entity_preempt()`.
    pub(crate) fn preempts(&self, other: &Self) -> bool {
        self.is_special || time_before(self.deadline, other.deadline)
    }

    /// Starts a period with a whole budget and a deadline relative to `now`: `replenish_dl_new_period()`. A server
    /// whose tasks have not starved waits again.
    pub(crate) fn start_new_period(&mut self, now: u64) {
        self.renew(now);
        if self.server.defers && !self.server.is_running {
            self.defer();
        }
    }

    /// Begins a new period for a task that enters the class, or returns after a change, with a deadline in the past.
    /// A throttled task waits for its replenishment instead.
    pub(crate) fn setup_new(&mut self, now: u64) {
        if !self.is_throttled {
            self.start_new_period(now);
        }
    }

    /// Replenishes the budget of a throttled task.
    ///
    /// Rules, in order:
    /// 1. A task that has yielded loses the rest of its budget.
    /// 2. A budget and a period are added until the budget is positive.
    /// 3. If the deadline is still in the past, a new period begins now.
    /// 4. A server whose tasks have not starved waits for the latest time at which it can still use the budget.
    pub(crate) fn replenish(&mut self, now: u64) {
        if self.dl_deadline == 0 || (self.server.is_armed && self.overflows(now)) {
            self.renew(now);
        }
        if self.has_yielded && self.runtime > 0 {
            self.runtime = 0;
        }
        let own = self.effective();
        assert!(own.runtime > 0 || self.runtime > 0, "a task is replenished but has no parameters: {self:?}");
        while self.runtime <= 0 {
            self.deadline = self.deadline.wrapping_add(own.period);
            self.runtime += own.runtime as i64;
        }
        if time_before(self.deadline, now) {
            self.start_new_period(now);
        }
        self.has_yielded = false;
        self.is_throttled = false;
        let has_waited = core::mem::take(&mut self.server.is_armed);
        if !has_waited && self.server.defers && !self.server.is_running && time_before(now, self.latest_start()) {
            self.defer();
        }
    }

    /// Updates budget and deadline of a task that wakes up. It keeps both if it can still meet the deadline.
    ///
    /// Rules, in order:
    /// 1. If the deadline has passed, a new period begins.
    /// 2. If the remaining budget exceeds the task's density until the deadline: with a deadline before the
    ///    end of the period, and for a server whose tasks have starved, the budget is reduced (revised wake-up
    ///    rule); otherwise a new period begins.
    /// 3. A server whose tasks have not starved waits.
    pub(crate) fn update(&mut self, now: u64) {
        let is_late = time_before(self.deadline, now);
        if is_late || self.overflows(now) {
            let keeps_deadline = !self.is_implicit() || (self.server.defers && self.server.is_running);
            if keeps_deadline && !is_late && self.inherited.is_none() {
                return self.cut_to_laxity(now);
            }
            self.server.is_running = false;
            self.start_new_period(now);
        } else if self.server.is_server && self.server.defers && !self.server.is_running {
            self.defer();
        }
    }

    /// Whether the task wakes up between its deadline and the end of its period.
    pub(crate) fn is_constrained(&self, now: u64) -> bool {
        time_before(self.deadline, now) && time_before(now, self.next_period())
    }

    /// Charges a fair server for idle time, in which fair tasks could have run. `exec_start` is the time up to which the
    /// running task is accounted.
    #[cold]
    #[inline(never)]
    pub(crate) fn charge_idle_time(&mut self, now: u64, exec_start: &mut u64) {
        let delta = now.wrapping_sub(*exec_start) as i64;
        if !self.server.defers || self.runtime < 0 || delta < 0 {
            return;
        }
        self.runtime -= delta;
        if self.runtime < 0 {
            self.server.is_running = false;
            self.runtime = 0;
        }
        *exec_start = now;
    }

    /// Sets a whole budget and a deadline relative to `now`.
    pub(crate) fn renew(&mut self, now: u64) {
        let own = self.effective();
        self.deadline = now.wrapping_add(own.deadline);
        self.runtime = own.runtime as i64;
    }

    /// Lets a server wait until its tasks have starved.
    pub(crate) fn defer(&mut self) {
        self.is_throttled = true;
        self.server.is_armed = true;
    }

    /// Ends the wait of a server or its throttling.
    pub(crate) fn end_wait(&mut self) {
        self.is_throttled = false;
        self.server.is_armed = false;
    }

    /// Latest time at which a server that waits can still use its budget before its deadline.
    pub(crate) fn latest_start(&self) -> u64 {
        self.deadline.wrapping_sub(self.runtime as u64)
    }

    /// Whether the remaining budget exceeds what the density allows for the time until the deadline:
    /// `dl_entity_overflow()`.
    pub(crate) fn overflows(&self, now: u64) -> bool {
        let own = self.effective();
        let scaled = |value: u64| value >> DL_SCALE;
        let left = scaled(own.deadline).wrapping_mul((self.runtime >> DL_SCALE) as u64);
        let right = scaled(self.deadline.wrapping_sub(now)).wrapping_mul(scaled(own.runtime));
        time_before(right, left)
    }

    /// Cuts the budget to what the density allows until the deadline: `update_dl_revised_wakeup()`.
    pub(crate) fn cut_to_laxity(&mut self, now: u64) {
        let laxity = self.deadline.wrapping_sub(now);
        self.runtime = (self.dl_density.wrapping_mul(laxity) >> BW_SHIFT) as i64;
    }

    /// Returns the time from `now` until the bandwidth of a sleeping task is free again, in ns; negative if
    /// that time has passed.
    ///
    /// At the zero-lag time the budget would be used up if the task ran at its bandwidth.
    pub(crate) fn zero_lag_after(&self, now: u64) -> i64 {
        let rest = self.runtime.wrapping_mul(self.dl_period as i64) / self.dl_runtime as i64;
        (self.deadline as i64).wrapping_sub(rest).wrapping_sub(now as i64)
    }

    /// Whether a CPU is fast enough for the task's density: `dl_task_fits_capacity()`.
    pub(crate) fn fits_capacity(&self, capacity: Capacity) -> bool {
        capacity >= self.dl_density >> (BW_SHIFT - SCHED_CAPACITY_SHIFT)
    }
}
