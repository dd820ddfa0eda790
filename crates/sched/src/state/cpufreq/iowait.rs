// SPDX-License-Identifier: GPL-2.0-or-later
//! The frequency boost for tasks that wait for I/O: they use little of a CPU, but other work depends on them.
//!
//! Models `sugov_iowait_boost()`, `sugov_iowait_apply()` and `sugov_iowait_reset()` (6.1).

use crate::types::units::{Capacity, SCHED_CAPACITY_SCALE};

/// Lowest boost, an eighth of the full capacity.
const IOWAIT_BOOST_MIN: u64 = SCHED_CAPACITY_SCALE / 8;

/// I/O-wait boost of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IowaitBoost {
    /// Of 1024; 0 if there is no boost.
    boost: u64,
    /// Whether the boost was requested since it was last applied.
    is_pending: bool,
}

impl IowaitBoost {
    /// Records a utilisation update of the CPU. `for_iowait` says whether a task has waited for I/O;
    /// `since_last` is the time since the CPU's last update, in ns.
    ///
    /// Rules, in order:
    /// 1. A boost without any update for more than a tick ends. It restarts with the lowest boost if this
    ///    task has waited for I/O.
    /// 2. A task that has waited for I/O doubles the boost, but only once until it is applied.
    pub(crate) fn record_iowait(&mut self, for_iowait: bool, since_last: i64, tick_ns: u64) {
        if self.boost > 0 && self.reset(for_iowait, since_last, tick_ns) {
            return;
        }
        if for_iowait && !self.is_pending {
            self.is_pending = true;
            self.boost = if self.boost > 0 { (self.boost << 1).min(SCHED_CAPACITY_SCALE) } else { IOWAIT_BOOST_MIN };
        }
    }

    /// Returns the utilisation that the boost demands of a CPU of capacity `max`, if any.
    ///
    /// Rules, in order:
    /// 1. As rule 1 of [`IowaitBoost::record_iowait`].
    /// 2. A boost that was not requested since it was last applied is halved. Below the lowest boost it ends.
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
