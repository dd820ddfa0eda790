// SPDX-License-Identifier: GPL-2.0-or-later
//! Timers of deadline tasks: the next period, and the zero-lag time.
//!
//! Models `dl_check_constrained_dl()` and `start_dl_timer()` (6.1). The arithmetic of budgets and deadlines is in
//! [`crate::state::deadline::entity`].

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::deadline::DlEntity;
use crate::state::rq::Rqs;
use crate::state::timers::Timer;
use crate::types::ids::{CpuId, TaskId};

impl State {
    /// Throttles a task with a deadline before the end of its period that wakes up between the two. It waits
    /// for the next period.
    pub(crate) fn check_constrained_dl(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        let dl = &self.tasks[task].dl;
        if dl.inherited.is_some() || !dl.is_constrained(self.rqs[cpu].clock) || !self.start_dl_timer(ctx, task) {
            return;
        }
        let dl = &mut self.tasks[task].dl;
        dl.is_throttled = true;
        dl.runtime = dl.runtime.min(0);
        self.has_throttled = true;
    }

    /// Starts the replenishment timer for the task's next period, or for the end of a server's wait. Returns false if
    /// that time has passed.
    ///
    /// A timer is started even if the time passed less than 1 us ago.
    pub(crate) fn start_dl_timer(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        const TOO_LATE_NS: i64 = -1000;
        let p = &self.tasks[task];
        let at = if p.dl.server.is_armed { p.dl.latest_start() } else { p.dl.next_period() };
        let wait = at.wrapping_sub(self.rqs[p.cpu].clock);
        let timer_cpu = p.dl.dl_timer_cpu;
        if wait as i64 <= TOO_LATE_NS {
            return false;
        }
        if !self.rqs[timer_cpu].timers.is_queued(Timer::DlTask(task)) {
            let at = ctx.now.0.wrapping_add(wait);
            self.start_timer(ctx, Timer::DlTask(task), at);
        }
        true
    }
}

impl DlEntity {
    /// Cancels the replenishment timer of a task.
    pub(crate) fn cancel_dl_timer(&self, ctx: &mut Ctx<'_>, rqs: &mut Rqs, task: TaskId) {
        rqs[self.dl_timer_cpu].timers.cancel(ctx, self.dl_timer_cpu, Timer::DlTask(task));
    }

    /// Cancels the inactive timer of a task.
    pub(crate) fn cancel_inactive_timer(&self, ctx: &mut Ctx<'_>, rqs: &mut Rqs, task: TaskId) {
        rqs[self.inactive_timer_cpu].timers.cancel(ctx, self.inactive_timer_cpu, Timer::DlInactive(task));
    }

    /// Whether the inactive timer of a task is armed, or its function runs.
    pub(crate) fn is_inactive_timer_active(&self, rqs: &Rqs, task: TaskId) -> bool {
        rqs[self.inactive_timer_cpu].timers.is_active(Timer::DlInactive(task))
    }

    /// Stops the inactive timer of a task that becomes active again or moves to another CPU.
    pub(crate) fn clear_non_contending(&mut self, ctx: &mut Ctx<'_>, rqs: &mut Rqs, task: TaskId) {
        self.is_non_contending = false;
        self.cancel_inactive_timer(ctx, rqs, task);
    }
}
