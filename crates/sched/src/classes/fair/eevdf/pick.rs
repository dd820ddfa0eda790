// SPDX-License-Identifier: GPL-2.0-or-later
//! Choice of the next entity under EEVDF.
//!
//! Models `pick_eevdf()` and `pick_next_entity()` (6.12.117). The kernel searches a tree whose nodes know the smallest
//! virtual runtime below them; the first eligible entity in the order of deadlines is the same one.

use crate::state::State;
use crate::state::eevdf::EevdfFeature;
use crate::state::entity::vruntime_before;
use crate::types::ids::{CfsRqId, EntityId};

impl State {
    /// Returns the entity with the earliest deadline among those that are eligible, waiting or running.
    ///
    /// Rules, in order:
    /// 1. A single entity needs no comparison.
    /// 2. RUN_TO_PARITY: an eligible running entity keeps its protected slice.
    /// 3. The first eligible waiting entity, unless the running one is eligible and its deadline is earlier.
    pub(crate) fn pick_eevdf(&self, cfs_rq: CfsRqId) -> Option<EntityId> {
        let queue = &self.cfs_rqs[cfs_rq.index()];
        let running = queue.curr.filter(|curr| self.entities[curr.index()].on_rq);
        if queue.nr_running == 1 {
            return running.or_else(|| queue.timeline.first());
        }
        let running = running.filter(|&curr| self.entity_eligible(cfs_rq, curr));
        if let Some(curr) = running
            && self.eevdf.has(EevdfFeature::RunToParity)
            && self.entities[curr.index()].is_slice_protected()
        {
            return Some(curr);
        }
        let Some(best) = self.first_eligible(cfs_rq) else { return running };
        let deadline = |se: EntityId| self.entities[se.index()].deadline;
        Some(running.filter(|&curr| vruntime_before(deadline(curr), deadline(best))).unwrap_or(best))
    }

    /// Returns the next entity of a cfs_rq to run: an eligible next buddy (PICK_BUDDY), or by deadline.
    #[inline(never)]
    pub(crate) fn pick_next_entity_eevdf(&self, cfs_rq: CfsRqId) -> EntityId {
        let next = self.cfs_rqs[cfs_rq.index()].next.filter(|_| self.eevdf.has(EevdfFeature::PickBuddy));
        let next = next.filter(|&next| self.entity_eligible(cfs_rq, next));
        next.or_else(|| self.pick_eevdf(cfs_rq)).expect("of the entities of a cfs_rq one is always eligible")
    }
}
