// SPDX-License-Identifier: GPL-2.0-or-later
//! Slices of groups: a group's entity has the shortest slice of the entities below it, so that it can serve them in time.
//!
//! Models `cfs_rq_min_slice()` and its callers (6.12.117).

use crate::state::State;
use crate::state::entity::SchedEntity;
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::rq::slice_tree::NO_SLOT;
use crate::types::ids::{CfsRqId, EntityId};

impl CfsRq {
    /// Adds a waiting entity to the slice tree, if an entity represents the cfs_rq.
    #[inline]
    pub(crate) fn insert_slice(&mut self, se: &mut SchedEntity) {
        if self.entity.is_some() {
            se.slice_slot = self.slice_tree.insert(se.deadline, se.vruntime, se.slice);
        }
    }

    /// Removes a waiting entity from the slice tree.
    #[inline]
    pub(crate) fn remove_slice(&mut self, se: &mut SchedEntity) {
        if se.slice_slot != NO_SLOT {
            self.slice_tree.remove(se.slice_slot);
            se.slice_slot = NO_SLOT;
        }
    }
}

impl State {
    /// Returns the slice that the entity above a cfs_rq gets: the shortest of its entities. `None` for a root cfs_rq, and
    /// for kernels without slices.
    #[inline]
    pub(crate) fn slice_for_group(&self, cfs_rq: CfsRqId) -> Option<u64> {
        let has_group = self.series.is_eevdf() && self.cfs_rqs[cfs_rq.index()].entity.is_some();
        has_group.then(|| self.min_slice(cfs_rq))
    }

    /// Returns the shortest slice of a cfs_rq's entities, the running one included, as the kernel knows it.
    fn min_slice(&self, cfs_rq: CfsRqId) -> u64 {
        let queue = &self.cfs_rqs[cfs_rq.index()];
        let running = queue.curr.map(|curr| &self.entities[curr.index()]).filter(|curr| curr.on_rq);
        queue.slice_tree.min_slice().into_iter().chain(running.map(|curr| curr.slice)).min().unwrap_or(u64::MAX)
    }

    /// Gives the entity of a group that is about to be enqueued the slice of its cfs_rq.
    #[inline]
    pub(crate) fn inherit_slice(&mut self, se: EntityId, slice: Option<u64>) {
        if let Some(slice) = slice {
            let entity = &mut self.entities[se.index()];
            (entity.slice, entity.has_custom_slice) = (slice, true);
        }
    }

    /// Gives the queued entity of a group the slice of its cfs_rq, and returns the one for the entity above it.
    #[inline]
    pub(crate) fn pass_slice_up(&mut self, cfs_rq: CfsRqId, se: EntityId, slice: Option<u64>) -> Option<u64> {
        if let Some(slice) = slice {
            let entity = &mut self.entities[se.index()];
            entity.slice = slice;
            if entity.slice_slot != NO_SLOT {
                self.cfs_rqs[cfs_rq.index()].slice_tree.set_slice(entity.slice_slot, slice);
            }
        }
        self.slice_for_group(cfs_rq)
    }
}
