// SPDX-License-Identifier: GPL-2.0-or-later
//! Estimated utilisation: what a task used before it slept, which its decayed `util_avg` has forgotten.
//!
//! Models `util_est_update()`, `_task_util_est()` and the sums of a runqueue (6.1).

use crate::features::Feature;
use crate::ids::{CpuId, TaskId};
use crate::sched::Sched;
use crate::units::Capacity;

/// Set in [`UtilEst::enqueued`] until `util_avg` is refreshed: the kernel's `UTIL_AVG_UNCHANGED`.
pub const UTIL_AVG_UNCHANGED: u32 = 0x8000_0000;
/// The moving average gives its newest sample a weight of one in four.
const EWMA_WEIGHT_SHIFT: u32 = 2;
/// Differences below one percent of full capacity change nothing.
const MARGIN: i64 = 1024 / 100;

/// Remembered utilisation of a task, or (only `enqueued`) the sum over the tasks of a runqueue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UtilEst {
    /// Utilisation when it went to sleep last, with [`UTIL_AVG_UNCHANGED`].
    pub enqueued: u32,
    /// Moving average of that.
    pub ewma: u32,
}

impl UtilEst {
    /// The estimate: the larger of the last sample and the average.
    #[inline]
    pub fn estimate(self) -> u64 {
        u64::from(self.ewma.max(self.enqueued & !UTIL_AVG_UNCHANGED))
    }

    /// Takes a sample when a task goes to sleep.
    ///
    /// Models `util_est_update()`. Rules, in order:
    /// 1. Nothing to learn if `util_avg` was not refreshed since the last sample.
    /// 2. With `fast_up` an increase is taken over at once.
    /// 3. An average that is within the margin stays; the sample is only noted if it differs from the last one.
    /// 4. A sample of more than the CPU can give says nothing: it stays out.
    /// 5. Otherwise a quarter of the difference goes into the average.
    pub fn sample(&mut self, util: u64, fast_up: bool, capacity: Capacity) {
        if self.enqueued & UTIL_AVG_UNCHANGED != 0 {
            return;
        }
        let last_sample = i64::from(self.enqueued);
        let sample = util as u32;
        if fast_up && self.ewma < sample {
            *self = Self { enqueued: sample | UTIL_AVG_UNCHANGED, ewma: sample };
            return;
        }
        let diff = i64::from(sample) - i64::from(self.ewma);
        if within_margin(diff) {
            if !within_margin(last_sample - i64::from(sample)) {
                self.enqueued = sample | UTIL_AVG_UNCHANGED;
            }
            return;
        }
        if util > capacity {
            return;
        }
        self.ewma = (((i64::from(self.ewma) << EWMA_WEIGHT_SHIFT) + diff) >> EWMA_WEIGHT_SHIFT) as u32;
        self.enqueued = sample | UTIL_AVG_UNCHANGED;
    }
}

fn within_margin(diff: i64) -> bool {
    diff.abs() < MARGIN
}

impl Sched {
    /// Adds a task's estimate to its runqueue's. Models `util_est_enqueue()`.
    pub(crate) fn util_est_enqueue(&mut self, cpu: CpuId, task: TaskId) {
        if self.features.has(Feature::UtilEst) {
            let estimate = self.task_avg(task).util_est.estimate() as u32;
            let root = self.root_cfs_rq(cpu);
            let sum = &mut self.cfs_rqs[root.index()].avg.util_est.enqueued;
            *sum = sum.wrapping_add(estimate);
        }
    }

    /// Takes a task's estimate out of its runqueue's. Models `util_est_dequeue()`.
    pub(crate) fn util_est_dequeue(&mut self, cpu: CpuId, task: TaskId) {
        if self.features.has(Feature::UtilEst) {
            let estimate = self.task_avg(task).util_est.estimate() as u32;
            let root = self.root_cfs_rq(cpu);
            let sum = &mut self.cfs_rqs[root.index()].avg.util_est.enqueued;
            *sum = sum.saturating_sub(estimate);
        }
    }

    /// Lets a task that goes to sleep remember its utilisation.
    pub(crate) fn util_est_update(&mut self, cpu: CpuId, task: TaskId, task_sleep: bool) {
        if !self.features.has(Feature::UtilEst) || !task_sleep {
            return;
        }
        let fast_up = self.features.has(Feature::UtilEstFastup);
        let capacity = self.rqs[cpu.index()].cpu_capacity_orig;
        let entity = self.tasks[task.index()].se;
        let avg = &mut self.entities[entity.index()].avg;
        avg.util_est.sample(avg.util_avg, fast_up, capacity);
    }

    /// A task's utilisation, the larger of tracked and remembered: `task_util_est()`.
    pub(crate) fn task_util_est(&self, task: TaskId) -> u64 {
        let avg = self.task_avg(task);
        avg.util_avg.max(avg.util_est.estimate())
    }
}
