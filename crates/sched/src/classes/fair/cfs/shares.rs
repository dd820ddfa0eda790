// SPDX-License-Identifier: GPL-2.0-or-later
//! Weights of entities in 6.1, among them those of groups.
//!
//! Models `update_cfs_group()` and `reweight_entity()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::types::ids::EntityId;

impl State {
    /// Updates the weight of a group's entity to its CPU's part of the group (`update_cfs_group()`).
    pub(in crate::classes::fair) fn update_cfs_group_cfs(&mut self, ctx: &mut Ctx<'_>, se: EntityId) {
        let Some(below) = self.fair.entities[se].my_q() else { return };
        let below = &self.fair.cfs_rqs[below];
        if below.throttle_count > 0 {
            return;
        }
        ctx.op_counts.touch_group_read(below.group);
        let weight = self.fair.groups[below.group].weight_of(below);
        self.reweight_entity_cfs(ctx, se, weight);
    }

    /// Changes the weight of an entity. A running one is charged first.
    pub(in crate::classes::fair) fn reweight_entity_cfs(&mut self, ctx: &mut Ctx<'_>, se: EntityId, weight: u64) {
        let entity = &self.fair.entities[se];
        let (cfs_rq, on_rq, old) = (entity.cfs_rq, entity.on_rq, entity.load.weight);
        if on_rq {
            if self.fair.cfs_rqs[cfs_rq].curr == Some(se) {
                self.update_curr_cfs(ctx, cfs_rq);
            }
            self.fair.cfs_rqs[cfs_rq].load.sub(old);
        }
        self.lb_cache.mark_cfs_rq_dirty(cfs_rq);
        let queue = &mut self.fair.cfs_rqs[cfs_rq];
        self.fair.entities[se].set_weight(&mut queue.avg, weight);
        if on_rq {
            queue.load.add(weight);
        }
    }
}
