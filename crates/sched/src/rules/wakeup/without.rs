// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of a CPU without the contribution of a task that will be placed elsewhere.
//!
//! Models `cpu_runnable_without()`, `cpu_util_without()`, `cpu_util_next()` (without a destination),
//! `task_running_on_cpu()` and `idle_cpu_without()` (6.1).

use crate::state::State;
use crate::state::rq::Rq;
use crate::types::features::Feature;
use crate::types::ids::{CfsRqId, CpuId, TaskId};

impl State {
    /// Whether the averages of a CPU contain those of a task.
    pub(crate) fn counts_on_cpu(&self, cpu: CpuId, task: TaskId) -> bool {
        self.tasks[task].cpu == cpu && self.task_avg(task).last_update_time != 0
    }

    /// Returns the runnable average of a CPU without a task.
    pub(crate) fn cpu_runnable_without(&self, cpu: CpuId, task: TaskId) -> u64 {
        let own = if self.counts_on_cpu(cpu, task) { self.task_avg(task).runnable_avg } else { 0 };
        self.fair.root_cfs_rq(cpu).avg.runnable_avg.saturating_sub(own)
    }

    /// Returns the utilisation of a CPU without a task, at most its capacity.
    ///
    /// The task's estimated utilisation is part of the CPU's only while the task is queued or running.
    pub(crate) fn cpu_util_without(&self, cpu: CpuId, task: TaskId) -> u64 {
        if !self.counts_on_cpu(cpu, task) {
            return self.cpu_util_cfs(cpu);
        }
        let (sum, own) = (&self.fair.cfs_rqs[CfsRqId::root(cpu)].avg, self.task_avg(task));
        let mut util = sum.util_avg.saturating_sub(own.util_avg);
        if self.features.has(Feature::UtilEst) {
            let p = &self.tasks[task];
            let own = if p.is_queued() || p.on_cpu { own.util_est.estimate() } else { 0 };
            util = util.max(u64::from(sum.util_est.enqueued).saturating_sub(own));
        }
        util.min(self.rqs[cpu].cpu_capacity_orig)
    }

    /// Returns 1 if a task is among the runnable tasks of a CPU, otherwise 0.
    pub(crate) fn task_running_on_cpu(&self, cpu: CpuId, task: TaskId) -> u32 {
        u32::from(self.counts_on_cpu(cpu, task) && self.tasks[task].is_queued())
    }
}

impl Rq {
    /// Whether no other task than this one runs on a CPU or is about to be enqueued there. Other waiting
    /// tasks are not checked.
    pub(crate) fn idle_cpu_without(&self, task: TaskId) -> bool {
        (self.is_idle_task_running() || self.curr == task) && !self.ttwu_pending
    }
}
