// SPDX-License-Identifier: GPL-2.0-or-later
//! Virtual times of an entity whose weight changes.
//!
//! Models `reweight_eevdf()` and the part of `reweight_entity()` that concerns lags (6.12.117).
//!
//! The lag in real time is the virtual lag times the weight. It stays, so that the virtual time of the cfs_rq does not
//! move. The distance of the deadline to the virtual time scales like the lag.

use crate::state::entity::SchedEntity;
use crate::state::fair_tree::FairTree;
use crate::types::ids::{CfsRqId, EntityId};

impl FairTree {
    /// Takes a waiting entity off the timeline, and scales virtual runtime and deadline of an entity on the runqueue for a
    /// new weight, which the caller sets.
    #[inline(never)]
    pub(super) fn begin_reweight(&mut self, cfs_rq: CfsRqId, se: EntityId, weight: u64, tick_ns: u64) {
        let queue = &mut self.cfs_rqs[cfs_rq];
        let avg_vruntime = queue.avg_vruntime(&self.entities);
        if queue.curr != Some(se) {
            self.remove_from_timeline_eevdf(cfs_rq, se);
        }
        self.entities[se].reweight_at(avg_vruntime, weight, tick_ns);
    }
}

impl SchedEntity {
    /// Scales lag and deadline of an entity on the runqueue, at a virtual time, for a new weight.
    fn reweight_at(&mut self, avg_vruntime: u64, weight: u64, tick_ns: u64) {
        let old_weight = self.load.weight;
        if avg_vruntime != self.vruntime {
            let lag = scale(self.lag_at(avg_vruntime, tick_ns), old_weight, weight);
            self.vruntime = avg_vruntime.wrapping_sub(lag as u64);
        }
        let distance = scale(self.deadline.wrapping_sub(avg_vruntime) as i64, old_weight, weight);
        self.deadline = avg_vruntime.wrapping_add(distance as u64);
    }

    /// Scales the lag of an entity that is not on the runqueue.
    #[inline(never)]
    pub(super) fn rescale_lag(&mut self, weight: u64) {
        self.vlag = scale(self.vlag, self.load.weight, weight);
    }
}

/// Returns a virtual time span that is as long in real time with the new weight; rounded towards zero.
const fn scale(span: i64, old_weight: u64, weight: u64) -> i64 {
    span.wrapping_mul(old_weight as i64) / weight as i64
}
