// SPDX-License-Identifier: GPL-2.0-or-later
//! Virtual time of cfs_rqs, eligibility and lag of entities.
//!
//! Models `avg_vruntime()`, `entity_eligible()`, `entity_lag()` and `update_entity_lag()` (6.12.117).

use crate::state::State;
use crate::state::rq::virtual_time::{Eligibility, RunningEntity};
use crate::types::ids::{CfsRqId, EntityId};
use crate::types::weight::calc_delta_fair;

impl State {
    /// Running entity of a cfs_rq, if it is still on the runqueue.
    #[inline]
    pub(crate) fn running_entity(&self, cfs_rq: CfsRqId) -> Option<RunningEntity> {
        let curr = self.cfs_rqs[cfs_rq].curr?;
        let se = &self.entities[curr];
        se.on_rq.then(|| RunningEntity { vruntime: se.vruntime, weight: se.weight() as i64 })
    }

    /// Returns the virtual time of a cfs_rq, and moves the origin of its sums there.
    pub(crate) fn avg_vruntime(&mut self, cfs_rq: CfsRqId) -> u64 {
        let running = self.running_entity(cfs_rq);
        self.cfs_rqs[cfs_rq].virtual_time.advance(running)
    }

    /// Whether an entity may be picked: it has received no more service than it is due.
    pub(crate) fn entity_eligible(&self, cfs_rq: CfsRqId, se: EntityId) -> bool {
        self.eligibility(cfs_rq).has(self.entities[se].vruntime)
    }

    /// Returns the condition under which entities of a cfs_rq are eligible now.
    #[inline]
    pub(super) fn eligibility(&self, cfs_rq: CfsRqId) -> Eligibility {
        self.cfs_rqs[cfs_rq].virtual_time.eligibility(self.running_entity(cfs_rq))
    }

    /// Returns the lag of an entity at a virtual time: positive if it is owed service, in ns of virtual time.
    ///
    /// Joining, leaving and reweighted entities move the virtual time, so that a lag could exceed what the entity itself
    /// has caused. It is limited to two slices, and to one tick for shorter slices.
    pub(crate) fn entity_lag(&mut self, avg_vruntime: u64, se: EntityId) -> i64 {
        let tick_ns = self.tick_ns;
        let entity = &mut self.entities[se];
        let limit = calc_delta_fair((2 * entity.slice).max(tick_ns), &mut entity.load) as i64;
        (avg_vruntime.wrapping_sub(entity.vruntime) as i64).clamp(-limit, limit)
    }

    /// Records the lag of an entity that leaves its cfs_rq. Returns the lag without its limit.
    #[inline(never)]
    pub(super) fn update_entity_lag(&mut self, cfs_rq: CfsRqId, se: EntityId) -> i64 {
        let avg_vruntime = self.avg_vruntime(cfs_rq);
        self.entities[se].vlag = self.entity_lag(avg_vruntime, se);
        avg_vruntime.wrapping_sub(self.entities[se].vruntime) as i64
    }
}
