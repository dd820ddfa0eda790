// SPDX-License-Identifier: GPL-2.0-or-later
//! Slices of groups: a group's entity has the shortest slice of the entities below it, so that it can serve them in time.
//!
//! Models `cfs_rq_min_slice()` and its callers (6.12.117).

use crate::state::entity::SchedEntity;
use crate::state::fair_tree::FairTree;
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::rq::slice_tree::NO_SLOT;
use crate::types::ids::{CfsRqId, EntityId};

impl CfsRq {
    /// Adds a waiting entity to the slice tree.
    #[inline]
    pub(crate) fn insert_slice(&mut self, se: &mut SchedEntity) {
        se.slice_slot = self.slice_tree.insert(se.deadline, se.vruntime, se.slice);
    }

    /// Removes a waiting entity from the slice tree.
    #[inline]
    pub(crate) fn remove_slice(&mut self, se: &mut SchedEntity) {
        self.slice_tree.remove(se.slice_slot);
        se.slice_slot = NO_SLOT;
    }
}

impl FairTree {
    /// Returns the shortest slice of a cfs_rq's entities, the running one included, as the kernel knows it.
    pub(super) fn min_slice(&self, cfs_rq: CfsRqId) -> u64 {
        let queue = &self.cfs_rqs[cfs_rq];
        let running = queue.curr.map(|curr| &self.entities[curr]).filter(|curr| curr.on_rq);
        queue.slice_tree.min_slice().into_iter().chain(running.map(|curr| curr.slice)).min().unwrap_or(u64::MAX)
    }

    /// Gives a queued entity the slice of the cfs_rq below it, and returns the one for the entity above.
    pub(super) fn pass_slice_up(&mut self, cfs_rq: CfsRqId, se: EntityId, slice: u64) -> u64 {
        let entity = &mut self.entities[se];
        entity.slice = slice;
        if entity.slice_slot != NO_SLOT {
            self.cfs_rqs[cfs_rq].slice_tree.set_slice(entity.slice_slot, slice);
        }
        self.min_slice(cfs_rq)
    }
}
