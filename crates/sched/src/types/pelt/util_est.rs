// SPDX-License-Identifier: GPL-2.0-or-later
//! Estimated utilisation: what a task used before it slept, which its decayed `util_avg` has forgotten.
//!
//! Models `util_est_update()` and `_task_util_est()` (6.1).

use crate::types::units::Capacity;

/// Set in [`UtilEst::enqueued`] until `util_avg` is refreshed: the kernel's `UTIL_AVG_UNCHANGED`.
pub const UTIL_AVG_UNCHANGED: u32 = 0x8000_0000;

/// The moving average gives its newest sample a weight of one in four.
pub(crate) const EWMA_WEIGHT_SHIFT: u32 = 2;

/// Differences below one percent of full capacity change nothing.
pub(crate) const MARGIN: i64 = 1024 / 100;

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

pub(crate) fn within_margin(diff: i64) -> bool {
    diff.abs() < MARGIN
}
