// SPDX-License-Identifier: GPL-2.0-or-later
//! Slices in 6.1: the time that an entity may run before others, as its share of a period.
//!
//! Models `__sched_period()`, `sched_slice()` and `sched_vslice()` (6.1).

use crate::state::fair_tree::FairTree;
use crate::state::task::Tasks;
use crate::types::features::{Feature, FeatureSet};
use crate::types::ids::{CfsRqId, EntityId};
use crate::types::tunables::Tunables;
use crate::types::weight::{calc_delta, calc_delta_fair};

impl FairTree {
    /// Returns the slice of an entity, in ns.
    ///
    /// Rules, in order:
    /// 1. The period is the latency, or the minimal granularity times the number of tasks if there are more
    ///    than `nr_latency`. With ALT_PERIOD all fair tasks of the CPU count, otherwise the entities of the
    ///    cfs_rq. An entity that is about to be enqueued counts too.
    /// 2. The slice is the period times the entity's fraction of the cfs_rq's weight, times the fractions of
    ///    the group entities above it.
    /// 3. With BASE_SLICE the slice is at least the minimal granularity; for an idle entity beside others, at
    ///    least the idle minimal granularity.
    pub(crate) fn sched_slice(
        &mut self,
        tasks: &Tasks,
        features: FeatureSet,
        tunables: &Tunables,
        cfs_rq: CfsRqId,
        se: EntityId,
    ) -> u64 {
        let queue = &self.cfs_rqs[cfs_rq];
        let nr_running = if features.has(Feature::AltPeriod) {
            self.cfs_rqs[CfsRqId::root(queue.cpu)].h_nr_running
        } else {
            queue.nr_running
        };
        let mut slice = tunables.sched_period(nr_running + u32::from(!self.entities[se].on_rq));

        let mut entity = Some(se);
        while let Some(id) = entity {
            let entry = &self.entities[id];
            let load = &mut self.cfs_rqs[entry.cfs_rq].load;
            slice = if entry.on_rq {
                calc_delta(slice, entry.load.weight, load)
            } else {
                let mut with_it = *load;
                with_it.add(entry.load.weight);
                calc_delta(slice, entry.load.weight, &mut with_it)
            };
            entity = entry.parent;
        }

        if features.has(Feature::BaseSlice) {
            let is_idle_beside_others = self.se_is_idle(tasks, se) && !self.cfs_rqs[cfs_rq].has_only_idle();
            let least =
                if is_idle_beside_others { tunables.idle_min_granularity_ns } else { tunables.min_granularity_ns };
            slice = slice.max(least);
        }
        slice
    }

    /// Returns the slice in virtual time, in ns.
    pub(crate) fn sched_vslice(
        &mut self,
        tasks: &Tasks,
        features: FeatureSet,
        tunables: &Tunables,
        cfs_rq: CfsRqId,
        se: EntityId,
    ) -> u64 {
        let slice = self.sched_slice(tasks, features, tunables, cfs_rq, se);
        calc_delta_fair(slice, &mut self.entities[se].load)
    }
}
