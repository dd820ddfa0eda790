// SPDX-License-Identifier: GPL-2.0-or-later
//! Expiry of a CPU's timer: calls the function of each expired timer.
//!
//! Models `hrtimer_interrupt()` as far as the scheduler is concerned, and `hrtick()` (6.1).
//! [`crate::state::timers`] stores the timers.

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::task::SchedClass;
use crate::state::timers::Timer;
use crate::types::ids::CpuId;
use crate::types::work::KernelOp;

impl Sched {
    /// Handles the timer interrupt of the executing CPU (`hrtimer_interrupt()`).
    pub fn handle_timer(&mut self, ctx: &mut Ctx<'_>) {
        ctx.charge(KernelOp::IpiReceive);
        let cpu = ctx.cpu;
        self.rqs[cpu].timers.begin_interrupt();
        while let Some(timer) = self.rqs[cpu].timers.begin_expired(ctx.now.0) {
            ctx.charge(KernelOp::HrtimerFire);
            match timer {
                Timer::Hrtick => self.end_slice(ctx, cpu),
                Timer::RtPeriod => self.sched_rt_period_timer(ctx),
                Timer::DlTask(task) => self.dl_task_timer(ctx, task),
                Timer::DlInactive(task) => self.inactive_task_timer(ctx, task),
                Timer::CfsPeriod(group) => self.end_cfs_period(ctx, group),
                Timer::CfsSlack(group) => self.end_cfs_slack(ctx, group),
            }
            self.rqs[cpu].timers.end_expired();
        }
        if self.rqs[cpu].timers.end_interrupt() {
            self.rqs[ctx.cpu].timers.program(ctx);
        }
        self.run_softirqs(ctx);
    }

    /// Ends the slice of the running task by an extra tick (`hrtick()`).
    pub(crate) fn end_slice(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let _rq = self.rq_lock_clocked(ctx, cpu);
        let curr = self.rqs[cpu].curr;
        match self.tasks[curr].class {
            SchedClass::Fair => self.task_tick_fair(ctx, cpu, curr, true),
            SchedClass::RealTime => self.task_tick_rt(ctx, cpu, curr),
            SchedClass::Deadline => self.task_tick_dl(ctx, cpu, curr, true),
            SchedClass::Stop | SchedClass::Idle => {}
        }
    }
}
