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
    /// Adds the bandwidth of a task that becomes active to that in use on its CPU.
    pub(crate) fn add_running_bw(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        let dl = &self.tasks[task].dl;
        if !dl.is_special {
            self.rqs[cpu].dl.add_running_bw(dl.dl_bw);
            self.cpufreq_update_util(ctx, cpu);
        }
    }

    /// Subtracts the bandwidth of a task that is no longer active from that in use on its CPU.
    pub(crate) fn sub_running_bw(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        let dl = &self.tasks[task].dl;
        if !dl.is_special {
            self.rqs[cpu].dl.sub_running_bw(dl.dl_bw);
            self.cpufreq_update_util(ctx, cpu);
        }
    }

    /// Marks a task as active when it wakes up on a CPU.
    ///
    /// A task that came from another CPU (`flags.migrated`) brings its bandwidth with it. For a task that is
    /// still active only the timer is stopped.
    pub(crate) fn task_contending(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, flags: EnqueueFlags) {
        let dl = &mut self.tasks[task].dl;
        if dl.dl_runtime == 0 {
            return;
        }
        if flags.migrated {
            self.rqs[cpu].dl.add_rq_bw(dl.dl_bw);
        }
        if dl.is_non_contending {
            dl.clear_non_contending(ctx, &mut self.rqs, task);
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
        if zero_lag_after >= 0 && !p.dl.is_inactive_timer_active(&self.rqs, task) {
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
        let dl = &mut self.tasks[task].dl;
        if state == TaskState::Dead {
            self.rqs[cpu].dl.sub_rq_bw(dl.dl_bw);
        }
        if !is_deadline || state == TaskState::Dead {
            self.dl_root.release_admitted(dl, &self.hotplug.active);
        }
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
            self.tasks[task].dl.clear_non_contending(ctx, &mut self.rqs, task);
        }
        self.rqs[cpu].dl.sub_rq_bw(self.tasks[task].dl.dl_bw);
    }
}
