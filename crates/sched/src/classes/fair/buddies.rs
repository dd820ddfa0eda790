// SPDX-License-Identifier: GPL-2.0-or-later
//! Buddies: entities that the next pick of a cfs_rq prefers or avoids.
//!
//! Models `set_next_buddy()` and `clear_buddies()` (6.1). In 6.12 only the next buddy is left.

use crate::state::fair_tree::FairTree;
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::task::Tasks;
use crate::types::ids::{CfsRqId, EntityId};

impl FairTree {
    /// Clears all buddy marks of an entity, and of the group entities above it as far as they have the same
    /// mark.
    #[inline]
    pub(crate) fn clear_buddies(&mut self, cfs_rq: CfsRqId, se: EntityId) {
        let queue = &self.cfs_rqs[cfs_rq];
        let is_marked = [queue.last, queue.next, queue.skip].map(|mark| mark == Some(se));
        if is_marked != [false; 3] {
            self.clear_marks(se, is_marked);
        }
    }

    fn clear_marks(&mut self, se: EntityId, is_marked: [bool; 3]) {
        let fields: [fn(&mut CfsRq) -> &mut Option<EntityId>; 3] = [|q| &mut q.last, |q| &mut q.next, |q| &mut q.skip];
        for (field, _) in fields.into_iter().zip(is_marked).filter(|&(_, is_marked)| is_marked) {
            let mut entity = Some(se);
            while let Some(se) = entity {
                let (cfs_rq, parent) = self.place_of(se);
                let mark = field(&mut self.cfs_rqs[cfs_rq]);
                if *mark != Some(se) {
                    break;
                }
                *mark = None;
                entity = parent;
            }
        }
    }

    /// Marks an entity and the group entities above it as next buddies, up to an idle one.
    pub(crate) fn set_next_buddy(&mut self, tasks: &Tasks, se: EntityId) {
        self.mark_upwards(tasks, se, |cfs_rq| &mut cfs_rq.next);
    }

    pub(super) fn mark_upwards(
        &mut self,
        tasks: &Tasks,
        se: EntityId,
        mark: impl Fn(&mut CfsRq) -> &mut Option<EntityId>,
    ) {
        let mut entity = Some(se);
        while let Some(se) = entity {
            if !self.entities[se].on_rq || self.se_is_idle(tasks, se) {
                return;
            }
            let (cfs_rq, parent) = self.place_of(se);
            *mark(&mut self.cfs_rqs[cfs_rq]) = Some(se);
            entity = parent;
        }
    }
}
