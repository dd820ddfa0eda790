// SPDX-License-Identifier: GPL-2.0-or-later
//! New budgets and deadlines of tasks: the constant-bandwidth server.
//!
//! Models `setup_new_dl_entity()`, `replenish_dl_entity()`, `update_dl_entity()`,
//! `dl_check_constrained_dl()`, `start_dl_timer()` and `dl_task_timer()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::deadline::entity::time_before;
use crate::state::timers::Timer;
use crate::types::ids::{CpuId, TaskId};

impl State {
    /// Begins a new period for a task that enters the class, or returns after a change, with a deadline in
    /// the past. A throttled task waits for its replenishment instead.
    pub(crate) fn setup_new_dl_entity(&mut self, cpu: CpuId, task: TaskId) {
        let now = self.rqs[cpu].clock;
        let dl = &mut self.tasks[task].dl;
        if !dl.is_throttled {
            dl.start_new_period(now);
        }
    }

    /// Replenishes the budget of a throttled task.
    ///
    /// Rules, in order:
    /// 1. A task that has yielded loses the rest of its budget.
    /// 2. A budget and a period are added until the budget is positive.
    /// 3. If the deadline is still in the past, a new period begins now.
    /// 4. A server whose tasks have not starved waits for the latest time at which it can still use the budget.
    pub(crate) fn replenish_dl_entity(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        let now = self.rqs[cpu].clock;
        let dl = &mut self.tasks[task].dl;
        if dl.dl_deadline == 0 || (dl.server.is_armed && dl.overflows(now)) {
            dl.renew(now);
        }
        if dl.has_yielded && dl.runtime > 0 {
            dl.runtime = 0;
        }
        let own = dl.effective();
        assert!(own.runtime > 0 || dl.runtime > 0, "{task:?} is replenished but has no parameters");
        while dl.runtime <= 0 {
            dl.deadline = dl.deadline.wrapping_add(own.period);
            dl.runtime += own.runtime as i64;
        }
        if time_before(dl.deadline, now) {
            dl.start_new_period(now);
        }
        dl.has_yielded = false;
        dl.is_throttled = false;
        if core::mem::take(&mut dl.server.is_armed) {
            return;
        }
        if dl.server.defers && !dl.server.is_running && time_before(now, dl.latest_start()) {
            dl.defer();
            if !self.start_dl_timer(ctx, task) {
                self.cancel_dl_timer(ctx, task);
                self.tasks[task].dl.end_wait();
            }
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
    pub(crate) fn update_dl_entity(&mut self, cpu: CpuId, task: TaskId) {
        let now = self.rqs[cpu].clock;
        let dl = &mut self.tasks[task].dl;
        let is_late = time_before(dl.deadline, now);
        if is_late || dl.overflows(now) {
            let keeps_deadline = !dl.is_implicit() || (dl.server.defers && dl.server.is_running);
            if keeps_deadline && !is_late && dl.inherited.is_none() {
                return dl.cut_to_laxity(now);
            }
            dl.server.is_running = false;
            dl.start_new_period(now);
        } else if dl.server.is_server && dl.server.defers && !dl.server.is_running {
            dl.defer();
        }
    }

    /// Throttles a task with a deadline before the end of its period that wakes up between the two. It waits
    /// for the next period.
    pub(crate) fn check_constrained_dl(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        let now = self.rqs[cpu].clock;
        let dl = &self.tasks[task].dl;
        let is_between = time_before(dl.deadline, now) && time_before(now, dl.next_period());
        if !is_between || dl.inherited.is_some() || !self.start_dl_timer(ctx, task) {
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

    pub(crate) fn cancel_dl_timer(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let cpu = self.tasks[task].dl.dl_timer_cpu;
        self.cancel_timer(ctx, cpu, Timer::DlTask(task));
    }
}
