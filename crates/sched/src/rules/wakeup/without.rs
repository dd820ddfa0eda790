// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of a CPU without the contribution of a task that will be placed elsewhere.
//!
//! Models `cpu_runnable_without()`, `cpu_util_without()`, `cpu_util_next()` (without a destination),
//! `task_running_on_cpu()` and `idle_cpu_without()` (6.1).

use crate::state::fair_tree::FairTree;
use crate::state::rq::Rq;
use crate::state::task::Task;
use crate::types::features::{Feature, FeatureSet};
use crate::types::ids::{CpuId, TaskId};

impl FairTree {
    /// Whether the averages of a CPU contain those of a task.
    pub(crate) fn counts_on_cpu(&self, cpu: CpuId, p: &Task) -> bool {
        p.cpu == cpu && self.entities[p.se].avg.last_update_time != 0
    }

    /// Returns 1 if a task is among the runnable tasks of a CPU, otherwise 0.
    pub(crate) fn task_running_on_cpu(&self, cpu: CpuId, p: &Task) -> u32 {
        u32::from(self.counts_on_cpu(cpu, p) && p.is_queued())
    }

    /// Returns the runnable average of a CPU without a task.
    pub(crate) fn cpu_runnable_without(&self, cpu: CpuId, p: &Task) -> u64 {
        let own = if self.counts_on_cpu(cpu, p) { self.entities[p.se].avg.runnable_avg } else { 0 };
        self.root_cfs_rq(cpu).avg.runnable_avg.saturating_sub(own)
    }

    /// Returns the utilisation of a CPU without a task, at most its capacity.
    ///
    /// The task's estimated utilisation is part of the CPU's only while the task is queued or running.
    pub(crate) fn cpu_util_without(&self, features: FeatureSet, rq: &Rq, p: &Task) -> u64 {
        if !self.counts_on_cpu(rq.cpu, p) {
            return self.cpu_util_cfs(features, rq);
        }
        let (sum, own) = (&self.root_cfs_rq(rq.cpu).avg, &self.entities[p.se].avg);
        let mut util = sum.util_avg.saturating_sub(own.util_avg);
        if features.has(Feature::UtilEst) {
            let own = if p.is_queued() || p.on_cpu { own.util_est.estimate() } else { 0 };
            util = util.max(u64::from(sum.util_est.enqueued).saturating_sub(own));
        }
        util.min(rq.cpu_capacity_orig)
    }
}

impl Rq {
    /// Whether no other task than this one runs on a CPU or is about to be enqueued there. Other waiting
    /// tasks are not checked.
    pub(crate) fn idle_cpu_without(&self, task: TaskId) -> bool {
        (self.is_idle_task_running() || self.curr == task) && !self.ttwu_pending
    }
}
