// SPDX-License-Identifier: GPL-2.0-or-later
//! The running entity of a cfs_rq: how both kernels charge its time and start it.
//!
//! Models what `update_curr()` and `set_next_entity()` have in common in 6.1 and 6.12.

use crate::state::entity::SchedEntity;
use crate::state::fair_tree::FairTree;
use crate::state::rq::Rq;
use crate::types::ids::{CfsRqId, EntityId};
use crate::types::weight::calc_delta_fair;

impl SchedEntity {
    /// Charges the running entity up to `now`, in ns of the task clock. Returns the time since the last charge; `None` if
    /// that is not positive.
    #[inline]
    pub(super) fn charge(&mut self, now: u64) -> Option<u64> {
        let delta = now.wrapping_sub(self.exec_start);
        if delta as i64 <= 0 {
            return None;
        }
        self.exec_start = now;
        self.sum_exec_runtime += delta;
        self.vruntime = self.vruntime.wrapping_add(calc_delta_fair(delta, &mut self.load));
        Some(delta)
    }

    /// CPU time that the entity has used since it was picked, in ns.
    #[inline]
    pub(super) const fn ran_ns(&self) -> u64 {
        self.sum_exec_runtime - self.prev_sum_exec_runtime
    }
}

impl FairTree {
    /// Starts an entity that has left the timeline of its cfs_rq.
    #[inline]
    pub(super) fn start_entity(&mut self, rq: &Rq, cfs_rq: CfsRqId, se: EntityId) {
        self.cfs_rqs[cfs_rq].curr = Some(se);
        let entity = &mut self.entities[se];
        entity.exec_start = rq.clock_task;
        entity.prev_sum_exec_runtime = entity.sum_exec_runtime;
    }
}
