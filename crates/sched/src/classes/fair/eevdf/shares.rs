// SPDX-License-Identifier: GPL-2.0-or-later
//! Weights of entities under EEVDF, among them those of groups. [`reweight`](super::reweight) keeps their lags.
//!
//! Models `update_cfs_group()` and `reweight_entity()` (6.12.117).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::types::ids::EntityId;

impl State {
    /// Updates the weight of a group's entity to its CPU's part of the group (`update_cfs_group()`). The entity of a group
    /// that becomes empty keeps its weight.
    pub(in crate::classes::fair) fn update_cfs_group_eevdf(&mut self, ctx: &mut Ctx<'_>, se: EntityId) {
        let Some(below) = self.fair.entities[se].my_q() else { return };
        let below = &self.fair.cfs_rqs[below];
        if below.throttle_count > 0 || below.load.weight == 0 {
            return;
        }
        ctx.op_counts.touch_group_read(below.group);
        let weight = self.fair.groups[below.group].weight_of(below);
        if self.fair.entities[se].load.weight != weight {
            self.reweight_entity_eevdf(ctx, se, weight);
        }
    }

    /// Changes the weight of an entity, which keeps its lag. Its cfs_rq is charged first.
    pub(in crate::classes::fair) fn reweight_entity_eevdf(&mut self, ctx: &mut Ctx<'_>, se: EntityId, weight: u64) {
        let entity = &self.fair.entities[se];
        let (cfs_rq, on_rq, old) = (entity.cfs_rq, entity.on_rq, entity.load.weight);
        if on_rq {
            self.update_curr_eevdf(ctx, cfs_rq);
            self.fair.begin_reweight(cfs_rq, se, weight, self.tick_ns);
            self.fair.cfs_rqs[cfs_rq].load.sub(old);
        } else {
            self.fair.entities[se].rescale_lag(weight);
        }
        self.lb_cache.mark_cfs_rq_dirty(cfs_rq);
        let queue = &mut self.fair.cfs_rqs[cfs_rq];
        self.fair.entities[se].set_weight(&mut queue.avg, weight);
        if on_rq {
            queue.load.add(weight);
            if queue.curr != Some(se) {
                self.fair.insert_into_timeline_eevdf(cfs_rq, se);
            }
        }
    }
}
