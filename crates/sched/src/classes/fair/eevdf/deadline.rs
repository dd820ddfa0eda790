// SPDX-License-Identifier: GPL-2.0-or-later
//! Virtual deadlines, and the protection of a slice that has begun.
//!
//! Models `update_deadline()`, `set_protect_slice()`, `protect_slice()` and `cancel_protect_slice()` (6.12.117).
//!
//! While an entity runs, its field `vlag` is free. It then holds the deadline with which the entity was picked: the
//! slice is protected while the deadline is still that one.

use crate::state::entity::SchedEntity;
use crate::state::fair_tree::FairTree;
use crate::types::features::{Feature, FeatureSet};
use crate::types::ids::{CfsRqId, EntityId};
use crate::types::weight::calc_delta_fair;

impl SchedEntity {
    /// Protects the slice that begins now.
    pub(crate) const fn set_protect_slice(&mut self) {
        self.vlag = self.deadline as i64;
    }

    /// Whether the slice has not ended since the entity was picked, and its protection was not cancelled.
    #[inline]
    pub(crate) const fn is_slice_protected(&self) -> bool {
        self.vlag == self.deadline as i64
    }

    /// Ends the protection of the slice.
    pub(crate) const fn cancel_protect_slice(&mut self) {
        if self.is_slice_protected() {
            self.vlag = self.deadline.wrapping_add(1) as i64;
        }
    }

    /// Keeps the distance of the deadline when the entity leaves its cfs_rq without sleeping (PLACE_REL_DEADLINE).
    #[inline(never)]
    pub(super) const fn keep_relative_deadline(&mut self, features: FeatureSet) {
        if features.has(Feature::PlaceRelDeadline) {
            self.deadline = self.deadline.wrapping_sub(self.vruntime);
            self.has_relative_deadline = true;
        }
    }

    /// Sets the slice to the kernel's, unless the task has one of its own, and returns it in virtual time.
    pub(crate) fn refresh_slice(&mut self, base_slice_ns: u64) -> u64 {
        if !self.has_custom_slice {
            self.slice = base_slice_ns;
        }
        calc_delta_fair(self.slice, &mut self.load)
    }
}

impl FairTree {
    /// Gives the running entity, which has used up its slice, a new deadline.
    #[inline(never)]
    pub(super) fn renew_deadline(&mut self, cfs_rq: CfsRqId, curr: EntityId, base_slice_ns: u64) {
        let entity = &mut self.entities[curr];
        let vslice = entity.refresh_slice(base_slice_ns);
        entity.deadline = entity.vruntime.wrapping_add(vslice);
        self.cfs_rqs[cfs_rq].avg_vruntime(&self.entities);
    }
}
