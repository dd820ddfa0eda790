// SPDX-License-Identifier: GPL-2.0-or-later
//! What a CPU would be like without a task that is to go somewhere else.
//!
//! Models `cpu_runnable_without()`, `cpu_util_without()`, `cpu_util_next()` (without a destination),
//! `task_running_on_cpu()` and `idle_cpu_without()` (6.1).

use crate::state::State;
use crate::types::features::Feature;
use crate::types::ids::{CpuId, TaskId};

impl State {
    /// Whether the averages of a CPU contain those of a task.
    pub(crate) fn counts_on_cpu(&self, cpu: CpuId, task: TaskId) -> bool {
        self.tasks[task.index()].cpu == cpu && self.task_avg(task).last_update_time != 0
    }

    /// Runnable average of a CPU without a task.
    pub(crate) fn cpu_runnable_without(&self, cpu: CpuId, task: TaskId) -> u64 {
        let own = if self.counts_on_cpu(cpu, task) { self.task_avg(task).runnable_avg } else { 0 };
        self.cpu_runnable(cpu).saturating_sub(own)
    }

    /// Utilisation of a CPU without a task.
    ///
    /// What is remembered of the task's utilisation counts on the CPU only while the task is queued or runs.
    pub(crate) fn cpu_util_without(&self, cpu: CpuId, task: TaskId) -> u64 {
        if !self.counts_on_cpu(cpu, task) {
            return self.cpu_util_cfs(cpu);
        }
        let (sum, own) = (&self.cfs_rqs[cpu.index()].avg, self.task_avg(task));
        let mut util = sum.util_avg.saturating_sub(own.util_avg);
        if self.features.has(Feature::UtilEst) {
            let p = &self.tasks[task.index()];
            let own = if p.is_queued() || p.on_cpu { own.util_est.estimate() } else { 0 };
            util = util.max(u64::from(sum.util_est.enqueued).saturating_sub(own));
        }
        util.min(self.rqs[cpu.index()].cpu_capacity_orig)
    }

    /// 1 if a task is among the runnable ones of a CPU, otherwise 0.
    pub(crate) fn task_running_on_cpu(&self, cpu: CpuId, task: TaskId) -> u32 {
        u32::from(self.counts_on_cpu(cpu, task) && self.tasks[task.index()].is_queued())
    }

    /// Whether nothing but a task occupies a CPU, and nothing is about to. That nothing else waits there is not asked.
    pub(crate) fn idle_cpu_without(&self, cpu: CpuId, task: TaskId) -> bool {
        let rq = &self.rqs[cpu.index()];
        (rq.is_idle_task_running() || rq.curr == task) && !rq.ttwu_pending
    }
}
