// SPDX-License-Identifier: GPL-2.0-or-later
//! Throttled time of a cfs_rq in 6.1.

use crate::state::rq::Rq;
use crate::state::rq::cfs_rq::CfsRq;

impl CfsRq {
    /// Returns the clock from which the throttled time of a cfs_rq counts that is throttled now.
    pub(in crate::classes::fair) fn throttled_clock_cfs(&self, rq: &Rq) -> Option<u64> {
        Some(rq.clock)
    }
}
