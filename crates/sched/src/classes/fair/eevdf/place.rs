// SPDX-License-Identifier: GPL-2.0-or-later
//! Placement of an entity that joins a cfs_rq under EEVDF.
//!
//! Models `place_entity()` (6.12.117).

use crate::state::State;
use crate::types::features::Feature;
use crate::types::ids::{CfsRqId, EntityId};

impl State {
    /// Sets virtual runtime and deadline of an entity that joins a cfs_rq.
    ///
    /// Rules, in order:
    /// 1. PLACE_LAG: the entity gets back the lag with which it left. The entity itself moves the virtual time towards
    ///    its own virtual runtime. So the lag is multiplied by the new and divided by the old sum of weights; what is
    ///    left of it after joining is the old lag. On an empty cfs_rq, lag has no meaning.
    /// 2. PLACE_REL_DEADLINE: a deadline that is relative, since the entity left without sleeping, counts from the new
    ///    virtual runtime.
    /// 3. Otherwise the deadline is a slice away; half a slice for a new task (PLACE_DEADLINE_INITIAL), since the others
    ///    are, on average, in the middle of theirs.
    #[inline(never)]
    pub(crate) fn place_entity_eevdf(&mut self, cfs_rq: CfsRqId, se: EntityId, is_initial: bool) {
        let avg_vruntime = self.avg_vruntime(cfs_rq);
        let mut vslice = self.entities[se].refresh_slice(self.tunables.base_slice_ns);
        let lag = self.inflated_lag(cfs_rq, se);
        let entity = &mut self.entities[se];
        entity.vruntime = avg_vruntime.wrapping_sub(lag as u64);
        if entity.has_relative_deadline && self.features.has(Feature::PlaceRelDeadline) {
            entity.deadline = entity.deadline.wrapping_add(entity.vruntime);
            entity.has_relative_deadline = false;
            return;
        }
        if is_initial && self.features.has(Feature::PlaceDeadlineInitial) {
            vslice /= 2;
        }
        entity.deadline = entity.vruntime.wrapping_add(vslice);
    }

    /// Returns the distance to the virtual time at which an entity has its old lag once it has joined.
    fn inflated_lag(&self, cfs_rq: CfsRqId, se: EntityId) -> i64 {
        let queue = &self.cfs_rqs[cfs_rq];
        if queue.nr_running == 0 || !self.features.has(Feature::PlaceLag) {
            return 0;
        }
        let curr = queue.curr.map(|curr| &self.entities[curr]).filter(|curr| curr.on_rq);
        let weight = queue.virtual_time.sum_weight + curr.map_or(0, |curr| curr.weight() as i64);
        let entity = &self.entities[se];
        entity.vlag.wrapping_mul(weight + entity.weight() as i64) / weight.max(1)
    }
}
