// SPDX-License-Identifier: GPL-2.0-or-later
//! Hierarchical load: the share of a CPU's load that belongs to a task in nested groups.
//!
//! Models `task_h_load()` and `update_cfs_rq_h_load()` (6.1). A task's `load_avg` counts on the cfs_rq of its
//! group; its share of the CPU's load depends on the shares of the groups above. Each cfs_rq caches its share
//! for a jiffy. The kernel records the path down (`h_load_next`) on its way up; here the way up is a
//! recursion.

use crate::state::fair_tree::FairTree;
use crate::types::ids::{CfsRqId, EntityId};

impl FairTree {
    /// Load of an entity as a share of its CPU's load.
    pub(crate) fn task_h_load(&mut self, se: EntityId, jiffies: u64) -> u64 {
        let cfs_rq = self.entities[se].cfs_rq;
        let h_load = self.cfs_rq_h_load(cfs_rq, jiffies);
        part_of(self.entities[se].avg.load_avg, h_load, self.cfs_rqs[cfs_rq].avg.load_avg)
    }

    /// Load of a cfs_rq as a share of its CPU's load, computed at most once in a jiffy.
    fn cfs_rq_h_load(&mut self, id: CfsRqId, jiffies: u64) -> u64 {
        let cfs_rq = &self.cfs_rqs[id];
        if cfs_rq.last_h_load_update == jiffies {
            return cfs_rq.h_load;
        }
        let h_load = match cfs_rq.entity {
            None => cfs_rq.avg.load_avg,
            Some(se) => {
                let above = self.entities[se].cfs_rq;
                let h_load_above = self.cfs_rq_h_load(above, jiffies);
                let load_above = self.cfs_rqs[above].avg.load_avg;
                part_of(self.entities[se].avg.load_avg, h_load_above, load_above)
            }
        };
        let cfs_rq = &mut self.cfs_rqs[id];
        cfs_rq.h_load = h_load;
        cfs_rq.last_h_load_update = jiffies;
        h_load
    }
}

/// Share of an entity with this load in the hierarchical load of its cfs_rq. The divisor is one more than the
/// cfs_rq's load, so that an empty cfs_rq does not divide by 0.
fn part_of(load_avg: u64, h_load: u64, cfs_rq_load: u64) -> u64 {
    load_avg.wrapping_mul(h_load) / (cfs_rq_load + 1)
}
