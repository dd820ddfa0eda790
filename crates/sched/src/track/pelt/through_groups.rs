// SPDX-License-Identifier: GPL-2.0-or-later
//! Attach and detach of an entity's averages, propagated to all groups above it.
//!
//! Models `attach_entity_cfs_rq()`, `detach_entity_cfs_rq()` and `propagate_entity_cfs_rq()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::track::pelt::attach::UpdateLoad;

impl State {
    /// Adds the averages of an entity to its cfs_rq, and propagates them to the groups above:
    /// `attach_entity_cfs_rq()`.
    pub(crate) fn attach_entity_cfs_rq(&mut self, ctx: &mut Ctx<'_>, se: crate::types::ids::EntityId) {
        let cfs_rq = self.fair.entities[se].cfs_rq;
        let skip_age = !self.features.has(crate::types::features::Feature::AttachAgeLoad);
        self.update_load_avg(ctx, cfs_rq, se, UpdateLoad { skip_age, ..UpdateLoad::PLAIN });
        self.fair.attach_entity_load_avg(cfs_rq, se);
        self.end_attach_or_detach(ctx, cfs_rq);
        self.propagate_entity_cfs_rq(ctx, se);
    }

    /// Subtracts the averages of an entity from its cfs_rq, and propagates that to the groups above:
    /// `detach_entity_cfs_rq()`.
    pub(crate) fn detach_entity_cfs_rq(&mut self, ctx: &mut Ctx<'_>, se: crate::types::ids::EntityId) {
        if self.fair.entities[se].avg.last_update_time == 0 {
            return;
        }
        let cfs_rq = self.fair.entities[se].cfs_rq;
        self.update_load_avg(ctx, cfs_rq, se, UpdateLoad::PLAIN);
        self.fair.detach_entity_load_avg(cfs_rq, se);
        self.end_attach_or_detach(ctx, cfs_rq);
        self.propagate_entity_cfs_rq(ctx, se);
    }

    pub(crate) fn propagate_entity_cfs_rq(&mut self, ctx: &mut Ctx<'_>, se: crate::types::ids::EntityId) {
        let (mut entity, mut is_above) = (Some(se), false);
        while let Some(se) = entity {
            let (cfs_rq, parent) = self.fair.place_of(se);
            if is_above {
                self.update_load_avg(ctx, cfs_rq, se, UpdateLoad::TG);
            }
            let queue = &self.fair.cfs_rqs[cfs_rq];
            if queue.throttled {
                return;
            }
            if !queue.is_throttled_hierarchy() {
                self.fair.list_add_leaf_cfs_rq(&mut self.rqs[queue.cpu], cfs_rq);
            }
            (entity, is_above) = (parent, true);
        }
    }
}
