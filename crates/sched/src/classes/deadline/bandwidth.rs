// SPDX-License-Identifier: GPL-2.0-or-later
//! How much of a CPU deadline tasks have in use.
//!
//! Models `task_contending()`, `task_non_contending()`, `inactive_task_timer()` and the sums `this_bw` and `running_bw`
//! (6.1). `this_bw` has every task of the CPU. `running_bw` has those that are active, and a task that falls asleep stays
//! active until its zero-lag time, since it may wake up and go on with its old budget and deadline until then.

use crate::classes::fair::enqueue::EnqueueFlags;
use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::task::{SchedClass, TaskState};
use crate::state::timers::Timer;
use crate::types::ids::{CpuId, TaskId};

impl State {
    pub(crate) fn add_running_bw(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        if self.tasks[task.index()].dl.is_special {
            return;
        }
        self.rqs[cpu.index()].dl.running_bw += self.tasks[task.index()].dl.dl_bw;
        self.cpufreq_update_util(ctx, cpu);
    }

    pub(crate) fn sub_running_bw(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        if self.tasks[task.index()].dl.is_special {
            return;
        }
        let dl_bw = self.tasks[task.index()].dl.dl_bw;
        let dl = &mut self.rqs[cpu.index()].dl;
        dl.running_bw = dl.running_bw.saturating_sub(dl_bw);
        self.cpufreq_update_util(ctx, cpu);
    }

    pub(crate) fn add_rq_bw(&mut self, cpu: CpuId, task: TaskId) {
        self.rqs[cpu.index()].dl.this_bw += self.tasks[task.index()].dl.dl_bw;
    }

    pub(crate) fn sub_rq_bw(&mut self, cpu: CpuId, task: TaskId) {
        let dl_bw = self.tasks[task.index()].dl.dl_bw;
        let dl = &mut self.rqs[cpu.index()].dl;
        dl.this_bw = dl.this_bw.saturating_sub(dl_bw);
    }

    /// A task becomes active: it wakes up on a CPU.
    ///
    /// If it had left another CPU (`flags.migrated`), it took its bandwidth along. A task that is still active only stops
    /// its timer.
    pub(crate) fn task_contending(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, flags: EnqueueFlags) {
        let dl = &self.tasks[task.index()].dl;
        if dl.dl_runtime == 0 {
            return;
        }
        let is_non_contending = dl.is_non_contending;
        if flags.migrated {
            self.add_rq_bw(cpu, task);
        }
        if is_non_contending {
            self.stop_being_non_contending(ctx, task);
        } else {
            self.add_running_bw(ctx, cpu, task);
        }
    }

    /// A task falls asleep or leaves the class.
    ///
    /// Rules, in order:
    /// 1. If its zero-lag time has passed (or its timer runs already), it is inactive at once; if it has ended or left the
    ///    class, its bandwidth is free for others then.
    /// 2. Otherwise it stays active until the inactive timer expires at its zero-lag time.
    pub(crate) fn task_non_contending(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let p = &self.tasks[task.index()];
        let (cpu, state, is_deadline) = (p.cpu, p.state, p.class == SchedClass::Deadline);
        if p.dl.dl_runtime == 0 || p.dl.is_special {
            return;
        }
        let zero_lag_after = p.dl.zero_lag_after(self.rqs[cpu.index()].clock);
        if zero_lag_after >= 0 && !self.is_inactive_timer_active(task) {
            self.tasks[task.index()].dl.is_non_contending = true;
            let at = ctx.now.0.wrapping_add(zero_lag_after as u64);
            self.start_timer(ctx, Timer::DlInactive(task), at);
            return;
        }
        if is_deadline {
            self.sub_running_bw(ctx, cpu, task);
        }
        if state == TaskState::Dead {
            self.sub_rq_bw(cpu, task);
        }
        if !is_deadline || state == TaskState::Dead {
            self.release_admitted(task);
        }
    }

    /// A task that slept is active again or goes to another CPU: its timer is not needed any more.
    pub(crate) fn stop_being_non_contending(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        self.tasks[task.index()].dl.is_non_contending = false;
        self.cancel_inactive_timer(ctx, task);
    }

    pub(crate) fn cancel_inactive_timer(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let cpu = self.tasks[task.index()].dl.inactive_timer_cpu;
        self.cancel_timer(ctx, cpu, Timer::DlInactive(task));
    }

    pub(crate) fn is_inactive_timer_active(&self, task: TaskId) -> bool {
        let cpu = self.tasks[task.index()].dl.inactive_timer_cpu;
        self.rqs[cpu.index()].timers.is_active(Timer::DlInactive(task))
    }

    /// What was admitted for a task is free for others, and it has no parameters any more.
    pub(crate) fn release_admitted(&mut self, task: TaskId) {
        self.sub_admitted(self.tasks[task.index()].dl.dl_bw);
        self.tasks[task.index()].dl.clear_parameters();
    }

    /// A woken task goes to another CPU: it takes its bandwidth along, and does not count as active meanwhile.
    pub(crate) fn migrate_task_rq_dl(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let p = &self.tasks[task.index()];
        if p.state != TaskState::Waking {
            return;
        }
        let cpu = p.cpu;
        if p.dl.is_non_contending {
            let _rq = self.rq_lock_clocked(ctx, cpu);
            self.sub_running_bw(ctx, cpu, task);
            self.stop_being_non_contending(ctx, task);
        }
        self.sub_rq_bw(cpu, task);
    }
}
