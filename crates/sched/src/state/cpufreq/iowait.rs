// SPDX-License-Identifier: GPL-2.0-or-later
//! The boost for tasks that waited for I/O: they use little of a CPU, but others wait for what they do.
//!
//! Models `sugov_iowait_boost()`, `sugov_iowait_apply()` and `sugov_iowait_reset()` (6.1).

use crate::types::units::{Capacity, SCHED_CAPACITY_SCALE};

/// The least boost.
const IOWAIT_BOOST_MIN: u64 = SCHED_CAPACITY_SCALE / 8;

/// The boost of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IowaitBoost {
    /// Of 1024; 0: none.
    boost: u64,
    /// It was asked for since it was applied last.
    is_pending: bool,
}

impl IowaitBoost {
    /// A CPU asks for its frequency, for a task that waited for I/O or not; `since_last` is the time since it asked last.
    ///
    /// Rules, in order:
    /// 1. A boost that nobody has asked about for more than a tick is over; it begins anew if this one waited for I/O.
    /// 2. Such a task doubles the boost, but only once until it is applied.
    pub(crate) fn record_iowait(&mut self, for_iowait: bool, since_last: i64, tick_ns: u64) {
        if self.boost > 0 && self.reset(for_iowait, since_last, tick_ns) {
            return;
        }
        if for_iowait && !self.is_pending {
            self.is_pending = true;
            self.boost = if self.boost > 0 { (self.boost << 1).min(SCHED_CAPACITY_SCALE) } else { IOWAIT_BOOST_MIN };
        }
    }

    /// The utilisation that the boost demands of a CPU of this capacity, if any.
    ///
    /// Rules, in order:
    /// 1. As rule 1 of [`IowaitBoost::note`].
    /// 2. A boost that was not asked for since it was applied last is halved, until it is less than the least.
    pub(crate) fn apply(&mut self, since_last: i64, tick_ns: u64, max: Capacity) -> Option<u64> {
        if self.boost == 0 || self.reset(false, since_last, tick_ns) {
            return None;
        }
        if !self.is_pending {
            self.boost >>= 1;
            if self.boost < IOWAIT_BOOST_MIN {
                self.boost = 0;
                return None;
            }
        }
        self.is_pending = false;
        Some((self.boost * max) >> 10)
    }

    fn reset(&mut self, for_iowait: bool, since_last: i64, tick_ns: u64) -> bool {
        let is_over = since_last > tick_ns as i64;
        if is_over {
            *self = if for_iowait { Self { boost: IOWAIT_BOOST_MIN, is_pending: true } } else { Self::default() };
        }
        is_over
    }
}
