// SPDX-License-Identifier: GPL-2.0-or-later
//! Estimated utilisation (UTIL_EST): the utilisation of a task before it slept, which its decayed `util_avg`
//! no longer shows.
//!
//! Models `util_est_update()`, `_task_util_est()` and the sums of a runqueue (6.1 and 6.12).

use crate::state::State;
use crate::types::features::Feature;
use crate::types::ids::{CfsRqId, CpuId, EntityId, TaskId};

impl State {
    /// Adds the estimate of a task's entity to the sum of its runqueue. Models `util_est_enqueue()`.
    #[inline(always)]
    pub(crate) fn util_est_enqueue(&mut self, cpu: CpuId, se: EntityId) {
        if self.features.has(Feature::UtilEst) {
            let estimate = self.fair.entities[se].avg.util_est.estimate() as u32;
            let root = CfsRqId::root(cpu);
            self.lb_cache.mark_dirty(cpu);
            let sum = &mut self.fair.cfs_rqs[root].avg.util_est.enqueued;
            *sum = sum.wrapping_add(estimate);
        }
    }

    /// Subtracts the estimate of a task's entity from the sum of its runqueue. Models `util_est_dequeue()`.
    #[inline(always)]
    pub(crate) fn util_est_dequeue(&mut self, cpu: CpuId, se: EntityId) {
        if self.features.has(Feature::UtilEst) {
            let estimate = self.fair.entities[se].avg.util_est.estimate() as u32;
            let root = CfsRqId::root(cpu);
            self.lb_cache.mark_dirty(cpu);
            let sum = &mut self.fair.cfs_rqs[root].avg.util_est.enqueued;
            *sum = sum.saturating_sub(estimate);
        }
    }

    /// Updates the estimate of a task that goes to sleep. Models `util_est_update()`.
    #[inline(always)]
    pub(crate) fn util_est_update(&mut self, cpu: CpuId, se: EntityId, task_sleep: bool) {
        if !self.features.has(Feature::UtilEst) || !task_sleep {
            return;
        }
        let fast_up = self.features.has(Feature::UtilEstFastup);
        let capacity = self.rqs[cpu].cpu_capacity_orig;
        let avg = &mut self.fair.entities[se].avg;
        if self.rules.has_one_util_estimate {
            avg.util_est.sample_average(avg.util_avg, avg.runnable_avg, capacity);
        } else {
            avg.util_est.sample(avg.util_avg, fast_up, capacity);
        }
    }

    /// Utilisation of a task, the larger of tracked and estimated: `task_util_est()`.
    pub(crate) fn task_util_est(&self, task: TaskId) -> u64 {
        let avg = self.task_avg(task);
        avg.util_avg.max(avg.util_est.estimate())
    }
}
