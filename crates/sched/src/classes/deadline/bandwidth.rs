// SPDX-License-Identifier: GPL-2.0-or-later
//! Deadline bandwidth in use on each CPU.
//!
//! Models `task_contending()`, `task_non_contending()`, `inactive_task_timer()` and the sums `this_bw` and
//! `running_bw` (6.1). `this_bw` includes all deadline tasks of the CPU, `running_bw` the active ones. A task
//! that blocks stays active until its zero-lag time, because it may wake up and continue with its old budget
//! and deadline until then.

use crate::classes::fair::enqueue::EnqueueFlags;
use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::task::{SchedClass, TaskState};
use crate::state::timers::Timer;
use crate::types::ids::{CpuId, TaskId};

impl State {
    pub(crate) fn add_running_bw(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        if self.tasks[task].dl.is_special {
            return;
        }
        self.rqs[cpu].dl.running_bw += self.tasks[task].dl.dl_bw;
        self.cpufreq_update_util(ctx, cpu);
    }

    pub(crate) fn sub_running_bw(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        if self.tasks[task].dl.is_special {
            return;
        }
        let dl_bw = self.tasks[task].dl.dl_bw;
        let dl = &mut self.rqs[cpu].dl;
        dl.running_bw = dl.running_bw.saturating_sub(dl_bw);
        self.cpufreq_update_util(ctx, cpu);
    }

    pub(crate) fn add_rq_bw(&mut self, cpu: CpuId, task: TaskId) {
        self.rqs[cpu].dl.this_bw += self.tasks[task].dl.dl_bw;
    }

    pub(crate) fn sub_rq_bw(&mut self, cpu: CpuId, task: TaskId) {
        let dl_bw = self.tasks[task].dl.dl_bw;
        let dl = &mut self.rqs[cpu].dl;
        dl.this_bw = dl.this_bw.saturating_sub(dl_bw);
    }

    /// Marks a task as active when it wakes up on a CPU.
    ///
    /// A task that came from another CPU (`flags.migrated`) brings its bandwidth with it. For a task that is
    /// still active only the timer is stopped.
    pub(crate) fn task_contending(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, flags: EnqueueFlags) {
        let dl = &self.tasks[task].dl;
        if dl.dl_runtime == 0 {
            return;
        }
        let is_non_contending = dl.is_non_contending;
        if flags.migrated {
            self.add_rq_bw(cpu, task);
        }
        if is_non_contending {
            self.clear_non_contending(ctx, task);
        } else {
            self.add_running_bw(ctx, cpu, task);
        }
    }

    /// Handles a task that blocks or leaves the class, or a fair server that stops.
    ///
    /// Rules, in order:
    /// 1. If its zero-lag time has passed (or its timer is active already), it becomes inactive at once. If
    ///    it has ended or left the class, its admitted bandwidth is released too.
    /// 2. Otherwise it stays active until the inactive timer expires at its zero-lag time.
    pub(crate) fn task_non_contending(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let p = &self.tasks[task];
        let (cpu, state, is_deadline) = (p.cpu, p.state, p.class == SchedClass::Deadline);
        let is_server = p.dl.server.is_server;
        if p.dl.dl_runtime == 0 || p.dl.is_special {
            return;
        }
        let zero_lag_after = p.dl.zero_lag_after(self.rqs[cpu].clock);
        if zero_lag_after >= 0 && !self.is_inactive_timer_active(task) {
            self.tasks[task].dl.is_non_contending = true;
            let at = ctx.now.0.wrapping_add(zero_lag_after as u64);
            self.start_timer(ctx, Timer::DlInactive(task), at);
            return;
        }
        if is_deadline || is_server {
            self.sub_running_bw(ctx, cpu, task);
        }
        if is_server {
            return;
        }
        if state == TaskState::Dead {
            self.sub_rq_bw(cpu, task);
        }
        if !is_deadline || state == TaskState::Dead {
            self.release_admitted(task);
        }
    }

    /// Stops the inactive timer of a task that becomes active again or moves to another CPU.
    pub(crate) fn clear_non_contending(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        self.tasks[task].dl.is_non_contending = false;
        self.cancel_inactive_timer(ctx, task);
    }

    pub(crate) fn cancel_inactive_timer(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let cpu = self.tasks[task].dl.inactive_timer_cpu;
        self.cancel_timer(ctx, cpu, Timer::DlInactive(task));
    }

    pub(crate) fn is_inactive_timer_active(&self, task: TaskId) -> bool {
        let cpu = self.tasks[task].dl.inactive_timer_cpu;
        self.rqs[cpu].timers.is_active(Timer::DlInactive(task))
    }

    /// Releases the admitted bandwidth of a task and clears its parameters.
    pub(crate) fn release_admitted(&mut self, task: TaskId) {
        self.sub_admitted(self.tasks[task].dl.dl_bw);
        self.tasks[task].dl.clear_parameters();
    }

    /// Moves the bandwidth of a woken task away from its previous CPU. The task does not count as active
    /// during the migration.
    pub(crate) fn migrate_task_rq_dl(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let p = &self.tasks[task];
        if p.state != TaskState::Waking {
            return;
        }
        let cpu = p.cpu;
        if p.dl.is_non_contending {
            let _rq = self.rq_lock_clocked(ctx, cpu);
            self.sub_running_bw(ctx, cpu, task);
            self.clear_non_contending(ctx, task);
        }
        self.sub_rq_bw(cpu, task);
    }
}
