// SPDX-License-Identifier: GPL-2.0-or-later
//! Virtual times of an entity whose weight changes.
//!
//! Models `reweight_eevdf()` and the part of `reweight_entity()` that concerns lags (6.12.117).
//!
//! The lag in real time is the virtual lag times the weight. It stays, so that the virtual time of the cfs_rq does not
//! move. The distance of the deadline to the virtual time scales like the lag.

use crate::state::State;
use crate::types::ids::{CfsRqId, EntityId};

impl State {
    /// Takes a waiting entity off the timeline, and scales virtual runtime and deadline of an entity on the runqueue for a
    /// new weight, which the caller sets.
    #[inline(never)]
    pub(super) fn begin_reweight(&mut self, cfs_rq: CfsRqId, se: EntityId, weight: u64) {
        let avg_vruntime = self.avg_vruntime(cfs_rq);
        if self.cfs_rqs[cfs_rq].curr != Some(se) {
            self.remove_from_timeline_eevdf(cfs_rq, se);
        }
        self.reweight_eevdf(se, avg_vruntime, weight);
    }

    /// Scales lag and deadline of an entity on the runqueue, at a virtual time, for a new weight.
    fn reweight_eevdf(&mut self, se: EntityId, avg_vruntime: u64, weight: u64) {
        let old_weight = self.entities[se].load.weight;
        if avg_vruntime != self.entities[se].vruntime {
            let lag = scale(self.entity_lag(avg_vruntime, se), old_weight, weight);
            self.entities[se].vruntime = avg_vruntime.wrapping_sub(lag as u64);
        }
        let entity = &mut self.entities[se];
        let distance = scale(entity.deadline.wrapping_sub(avg_vruntime) as i64, old_weight, weight);
        entity.deadline = avg_vruntime.wrapping_add(distance as u64);
    }

    /// Scales the lag of an entity that is not on the runqueue.
    #[inline(never)]
    pub(super) fn rescale_lag(&mut self, se: EntityId, weight: u64) {
        let entity = &mut self.entities[se];
        entity.vlag = scale(entity.vlag, entity.load.weight, weight);
    }
}

/// Returns a virtual time span that is as long in real time with the new weight; rounded towards zero.
const fn scale(span: i64, old_weight: u64, weight: u64) -> i64 {
    span.wrapping_mul(old_weight as i64) / weight as i64
}
