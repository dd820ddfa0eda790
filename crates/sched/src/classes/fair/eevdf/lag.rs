// SPDX-License-Identifier: GPL-2.0-or-later
//! Virtual time of cfs_rqs, eligibility and lag of entities.
//!
//! Models `avg_vruntime()`, `entity_eligible()`, `entity_lag()` and `update_entity_lag()` (6.12.117).

use crate::state::entity::SchedEntity;
use crate::state::fair_tree::FairTree;
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::rq::virtual_time::{Eligibility, RunningEntity};
use crate::types::arena::Arena;
use crate::types::ids::{CfsRqId, EntityId};
use crate::types::weight::calc_delta_fair;

impl CfsRq {
    /// Running entity, if it is still on the runqueue.
    #[inline]
    pub(crate) fn running_entity(&self, entities: &Arena<EntityId, SchedEntity>) -> Option<RunningEntity> {
        let se = &entities[self.curr?];
        se.on_rq.then(|| RunningEntity { vruntime: se.vruntime, weight: se.weight() as i64 })
    }

    /// Returns the virtual time, and moves the origin of its sums there.
    #[inline]
    pub(crate) fn avg_vruntime(&mut self, entities: &Arena<EntityId, SchedEntity>) -> u64 {
        let running = self.running_entity(entities);
        self.virtual_time.advance(running)
    }

    /// Returns the condition under which entities are eligible now.
    #[inline]
    pub(super) fn eligibility(&self, entities: &Arena<EntityId, SchedEntity>) -> Eligibility {
        self.virtual_time.eligibility(self.running_entity(entities))
    }
}

impl SchedEntity {
    /// Returns the lag at a virtual time: positive if the entity is owed service, in ns of virtual time.
    ///
    /// Joining, leaving and reweighted entities move the virtual time, so that a lag could exceed what the entity itself
    /// has caused. It is limited to two slices, and to one tick for shorter slices.
    #[inline]
    pub(crate) fn lag_at(&mut self, avg_vruntime: u64, tick_ns: u64) -> i64 {
        let limit = calc_delta_fair((2 * self.slice).max(tick_ns), &mut self.load) as i64;
        (avg_vruntime.wrapping_sub(self.vruntime) as i64).clamp(-limit, limit)
    }
}

impl FairTree {
    /// Whether an entity may be picked: it has received no more service than it is due.
    pub(crate) fn entity_eligible(&self, cfs_rq: CfsRqId, se: EntityId) -> bool {
        self.cfs_rqs[cfs_rq].eligibility(&self.entities).has(self.entities[se].vruntime)
    }

    /// Records the lag of an entity that leaves its cfs_rq. Returns the lag without its limit.
    #[inline(never)]
    pub(super) fn update_entity_lag(&mut self, cfs_rq: CfsRqId, se: EntityId, tick_ns: u64) -> i64 {
        let avg_vruntime = self.cfs_rqs[cfs_rq].avg_vruntime(&self.entities);
        let entity = &mut self.entities[se];
        entity.vlag = entity.lag_at(avg_vruntime, tick_ns);
        avg_vruntime.wrapping_sub(entity.vruntime) as i64
    }
}
