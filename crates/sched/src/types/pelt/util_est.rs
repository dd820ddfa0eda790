// SPDX-License-Identifier: GPL-2.0-or-later
//! Estimated utilisation: the utilisation of a task before it slept, which its decayed `util_avg` no longer
//! has.
//!
//! Models `util_est_update()` and `_task_util_est()` (6.1 and 6.12). Since 6.8 there is one value, the moving average:
//! here `enqueued`, and `ewma` stays 0.

use crate::types::units::Capacity;

/// Bit of [`UtilEst::enqueued`] that is set until `util_avg` is updated (`UTIL_AVG_UNCHANGED`).
pub const UTIL_AVG_UNCHANGED: u32 = 0x8000_0000;

/// Weight of the newest sample in the moving average: 1/4, as a shift.
pub(crate) const EWMA_WEIGHT_SHIFT: u32 = 2;

/// Difference below which the average stays: one percent of full capacity.
pub(crate) const UTIL_EST_MARGIN: i64 = 1024 / 100;

/// Estimated utilisation of a task, or (only `enqueued`) the sum over the tasks of a runqueue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UtilEst {
    /// Utilisation at the last sleep, with [`UTIL_AVG_UNCHANGED`].
    pub enqueued: u32,
    /// Moving average of the samples.
    pub ewma: u32,
}

impl UtilEst {
    /// Returns the estimate: the larger of the last sample and the average.
    #[inline]
    pub fn estimate(self) -> u64 {
        u64::from(self.ewma.max(self.enqueued & !UTIL_AVG_UNCHANGED))
    }

    /// Records a sample when a task goes to sleep.
    ///
    /// Models `util_est_update()` (6.1). Rules, in order:
    /// 1. Nothing changes if `util_avg` was not updated since the last sample.
    /// 2. With `fast_up`, an increase is adopted at once.
    /// 3. An average within the margin stays. The sample is recorded only if it differs from the last one by
    ///    at least the margin.
    /// 4. A sample above the CPU's capacity is ignored, because it is not reliable.
    /// 5. Otherwise a quarter of the difference is added to the average.
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

impl UtilEst {
    /// Records a sample when a task goes to sleep, as in 6.12; `runnable` is the task's `runnable_avg`.
    ///
    /// Rules, in order:
    /// 1. Nothing changes if `util_avg` was not updated since the last sample.
    /// 2. An increase is adopted at once.
    /// 3. A decrease within the margin changes nothing.
    /// 4. A sample above the CPU's capacity is ignored, and the average may be sampled again.
    /// 5. A task that waited for a CPU did not get the time that it wanted: the average stays.
    /// 6. Otherwise a quarter of the difference is subtracted.
    pub fn sample_average(&mut self, util: u64, runnable: u64, capacity: Capacity) {
        if self.enqueued & UTIL_AVG_UNCHANGED != 0 {
            return;
        }
        let (old, sample) = (i64::from(self.enqueued), i64::from(util as u32));
        let decrease = old - sample;
        let new = if decrease <= 0 {
            sample
        } else if decrease < UTIL_EST_MARGIN {
            old
        } else if util > capacity {
            return;
        } else if util + (UTIL_EST_MARGIN as u64) < runnable {
            old
        } else {
            ((old << EWMA_WEIGHT_SHIFT) - decrease) >> EWMA_WEIGHT_SHIFT
        };
        self.enqueued = new as u32 | UTIL_AVG_UNCHANGED;
    }
}

pub(crate) fn within_margin(diff: i64) -> bool {
    diff.abs() < UTIL_EST_MARGIN
}
