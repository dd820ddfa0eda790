// SPDX-License-Identifier: GPL-2.0-or-later
//! Delayed dequeue: an entity that goes to sleep with a negative lag stays queued until the others have caught up, so
//! that it cannot lose its lag by sleeping.
//!
//! Models `set_delayed()`, `clear_delayed()`, `finish_delayed_dequeue_entity()` and `requeue_delayed_entity()` (6.12.117).
//! A task whose dequeue is delayed competes and ages the lags of the others, but it is not runnable: it is not picked, its
//! averages decay, and it counts in `h_nr_running`, not in `h_nr_runnable`. An entity of a group has no tasks while its dequeue
//! is delayed, so it does not count.

use crate::classes::fair::enqueue::DequeueFlags;
use crate::interface::ctx::Ctx;
use crate::interface::eevdf::DelayStep;
use crate::state::State;
use crate::state::fair_tree::FairTree;
use crate::track::pelt::attach::UpdateLoad;
use crate::types::features::{Feature, FeatureSet};
use crate::types::ids::{CfsRqId, EntityId};
use crate::types::tunables::Tunables;

impl State {
    /// Delays the dequeue of an entity that sleeps without being eligible. Returns whether it does.
    #[inline(never)]
    pub(super) fn delay_dequeue(
        &mut self,
        ctx: &mut Ctx<'_>,
        cfs_rq: CfsRqId,
        se: EntityId,
        flags: DequeueFlags,
    ) -> bool {
        let may_wait = flags.sleep && !flags.special && !flags.delayed && self.features.has(Feature::DelayDequeue);
        if !may_wait || self.fair.entity_eligible(cfs_rq, se) {
            return false;
        }
        self.fair.clear_buddies(cfs_rq, se);
        self.update_load_avg(ctx, cfs_rq, se, UpdateLoad::PLAIN);
        self.fair.set_delayed(se, true);
        self.fair.report_delay(ctx, se, DelayStep::Begins);
        true
    }

    /// Ends the delay of an entity that stays, because it is woken. It keeps no positive lag from it (DELAY_ZERO).
    pub(super) fn requeue_delayed_entity(&mut self, ctx: &mut Ctx<'_>, se: EntityId) {
        let cfs_rq = self.fair.entities[se].cfs_rq;
        if self.features.has(Feature::DelayZero) {
            self.fair.update_entity_lag(cfs_rq, se, self.tick_ns);
            if self.fair.entities[se].vlag > 0 {
                self.fair.place_without_lag(self.features, &self.tunables, cfs_rq, se);
            }
        }
        self.update_load_avg(ctx, cfs_rq, se, UpdateLoad::PLAIN);
        self.fair.set_delayed(se, false);
        self.fair.report_delay(ctx, se, DelayStep::Woken);
    }
}

impl FairTree {
    /// Marks an entity. A task changes from runnable to delayed, or back, on all cfs_rqs up to a throttled one.
    fn set_delayed(&mut self, se: EntityId, is_delayed: bool) {
        let first = &mut self.entities[se];
        first.is_delayed = is_delayed;
        if first.task().is_none() {
            return;
        }
        first.set_on_rq(first.on_rq);
        let mut entity = Some(se);
        while let Some(se) = entity {
            let (cfs_rq, parent) = self.place_of(se);
            let queue = &mut self.cfs_rqs[cfs_rq];
            if is_delayed {
                queue.h_nr_runnable -= 1;
            } else {
                queue.h_nr_runnable += 1;
            }
            entity = parent.filter(|_| !queue.throttled);
        }
    }

    /// Ends the delay of an entity that has left. It keeps no positive lag from it (DELAY_ZERO).
    #[inline(never)]
    pub(super) fn finish_delayed_dequeue(&mut self, ctx: &mut Ctx<'_>, features: FeatureSet, se: EntityId) {
        self.report_delay(ctx, se, DelayStep::Ends);
        self.set_delayed(se, false);
        if features.has(Feature::DelayZero) {
            let entity = &mut self.entities[se];
            entity.vlag = entity.vlag.min(0);
        }
    }

    /// Moves a queued entity to the virtual time of its cfs_rq.
    fn place_without_lag(&mut self, features: FeatureSet, tunables: &Tunables, cfs_rq: CfsRqId, se: EntityId) {
        let is_curr = self.cfs_rqs[cfs_rq].curr == Some(se);
        self.cfs_rqs[cfs_rq].nr_running -= 1;
        if !is_curr {
            self.remove_from_timeline_eevdf(cfs_rq, se);
        }
        self.entities[se].vlag = 0;
        self.place_entity_eevdf(features, tunables, cfs_rq, se, false);
        if !is_curr {
            self.insert_into_timeline_eevdf(cfs_rq, se);
        }
        self.cfs_rqs[cfs_rq].nr_running += 1;
    }
}
