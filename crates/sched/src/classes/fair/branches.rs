// SPDX-License-Identifier: GPL-2.0-or-later
//! Branches of the group tree from an entity upwards: where two of them meet, and the switch from one to the other.

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::fair_tree::FairTree;
use crate::types::ids::{CfsRqId, EntityId};
use crate::types::work::KernelOp;

impl State {
    /// Runs a step for an entity and then for each one above it (`for_each_sched_entity()`).
    #[inline(always)]
    pub(super) fn for_each_sched_entity(
        &mut self,
        ctx: &mut Ctx<'_>,
        mut entity: Option<EntityId>,
        step: impl Fn(&mut Self, &mut Ctx<'_>, CfsRqId, EntityId),
    ) {
        while let Some(se) = entity {
            let (cfs_rq, parent) = self.fair.place_of(se);
            step(self, ctx, cfs_rq, se);
            entity = parent;
        }
    }

    /// Stops the entities of the old task (`put`) and starts those of the new one (`set`), up to the cfs_rq that both share.
    ///
    /// The deeper branch goes up first; at equal depth both do, the old one before the new one.
    #[inline(always)]
    pub(super) fn switch_branches(
        &mut self,
        ctx: &mut Ctx<'_>,
        mut old: EntityId,
        mut new: EntityId,
        put: impl Fn(&mut Self, &mut Ctx<'_>, CfsRqId, EntityId),
        set: impl Fn(&mut Self, &mut Ctx<'_>, CfsRqId, EntityId),
    ) {
        loop {
            let (old_entity, new_entity) = (&self.fair.entities[old], &self.fair.entities[new]);
            let (old_rq, new_rq) = (old_entity.cfs_rq, new_entity.cfs_rq);
            let (old_depth, new_depth) = (old_entity.depth, new_entity.depth);
            let up = |entity: Option<EntityId>| entity.expect("branches of one CPU meet at the root");
            let (old_parent, new_parent) = (old_entity.parent, new_entity.parent);
            if old_rq == new_rq {
                ctx.charge(KernelOp::GroupLevel);
                put(self, ctx, old_rq, old);
                ctx.charge(KernelOp::GroupLevel);
                set(self, ctx, new_rq, new);
                return;
            }
            if new_depth <= old_depth {
                ctx.charge(KernelOp::GroupLevel);
                put(self, ctx, old_rq, old);
                old = up(old_parent);
            }
            if new_depth >= old_depth {
                ctx.charge(KernelOp::GroupLevel);
                set(self, ctx, new_rq, new);
                new = up(new_parent);
            }
        }
    }
}

impl FairTree {
    /// Returns the ancestors of two entities (or the entities) that are on the same cfs_rq
    /// (`find_matching_se()`).
    #[inline]
    pub(crate) fn find_matching_se(&self, a: EntityId, b: EntityId) -> (EntityId, EntityId) {
        if self.entities[a].cfs_rq == self.entities[b].cfs_rq { (a, b) } else { self.climb_to_meet(a, b) }
    }

    fn climb_to_meet(&self, mut a: EntityId, mut b: EntityId) -> (EntityId, EntityId) {
        let up = |se: EntityId| self.entities[se].parent.expect("entities of one CPU meet at the root");
        let depth = |se: EntityId| self.entities[se].depth;
        while depth(a) > depth(b) {
            a = up(a);
        }
        while depth(b) > depth(a) {
            b = up(b);
        }
        while self.entities[a].cfs_rq != self.entities[b].cfs_rq {
            (a, b) = (up(a), up(b));
        }
        (a, b)
    }
}
