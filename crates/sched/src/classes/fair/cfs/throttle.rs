// SPDX-License-Identifier: GPL-2.0-or-later
//! Throttled time of a cfs_rq in 6.1.

use crate::state::State;
use crate::types::ids::CfsRqId;

impl State {
    /// Returns the clock from which the throttled time of a cfs_rq counts that is throttled now.
    pub(in crate::classes::fair) fn throttled_clock_cfs(&self, id: CfsRqId) -> Option<u64> {
        Some(self.rqs[self.fair.cfs_rqs[id].cpu].clock)
    }
}
