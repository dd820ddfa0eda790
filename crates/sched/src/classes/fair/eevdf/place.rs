// SPDX-License-Identifier: GPL-2.0-or-later
//! Placement of an entity that joins a cfs_rq under EEVDF.
//!
//! Models `place_entity()` (6.12.117).

use crate::state::entity::SchedEntity;
use crate::state::fair_tree::FairTree;
use crate::types::features::{Feature, FeatureSet};
use crate::types::ids::{CfsRqId, EntityId};
use crate::types::tunables::Tunables;

impl SchedEntity {
    /// Returns the distance to the virtual time at which the entity has its old lag once it has joined entities of a weight.
    #[inline]
    fn inflated_lag(&self, weight: i64) -> i64 {
        self.vlag.wrapping_mul(weight + self.weight() as i64) / weight.max(1)
    }
}

impl FairTree {
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
    pub(crate) fn place_entity_eevdf(
        &mut self,
        features: FeatureSet,
        tunables: &Tunables,
        cfs_rq: CfsRqId,
        se: EntityId,
        is_initial: bool,
    ) {
        let queue = &mut self.cfs_rqs[cfs_rq];
        let running = queue.running_entity(&self.entities);
        let avg_vruntime = queue.virtual_time.advance(running);
        let weight = queue.virtual_time.sum_weight + running.map_or(0, |running| running.weight);
        let has_lag = queue.nr_running > 0 && features.has(Feature::PlaceLag);
        let entity = &mut self.entities[se];
        let mut vslice = entity.refresh_slice(tunables.base_slice_ns);
        let lag = if has_lag { entity.inflated_lag(weight) } else { 0 };
        entity.vruntime = avg_vruntime.wrapping_sub(lag as u64);
        if entity.has_relative_deadline && features.has(Feature::PlaceRelDeadline) {
            entity.deadline = entity.deadline.wrapping_add(entity.vruntime);
            entity.has_relative_deadline = false;
            return;
        }
        if is_initial && features.has(Feature::PlaceDeadlineInitial) {
            vslice /= 2;
        }
        entity.deadline = entity.vruntime.wrapping_add(vslice);
    }
}
