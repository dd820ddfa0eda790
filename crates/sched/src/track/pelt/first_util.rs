// SPDX-License-Identifier: GPL-2.0-or-later
//! First utilisation of a new task.
//!
//! Models `post_init_entity_util_avg()` (6.1 and 6.12).

use crate::state::fair_tree::FairTree;
use crate::state::rq::Rqs;
use crate::state::task::{SchedClass, Task};
use crate::types::kernel_rules::KernelRules;

/// Computes the first utilisation of a task on a cfs_rq; `own`, its present one, if no capacity is free.
pub(crate) fn first_util(capacity: u64, cfs_util: u64, cfs_load: u64, weight: u64, own: u64) -> u64 {
    let most = (capacity as i64 - cfs_util as i64) / 2;
    if most <= 0 {
        return own;
    }
    if cfs_util == 0 { most as u64 } else { (cfs_util * weight / (cfs_load + 1)).min(most as u64) }
}

impl FairTree {
    /// Estimates the utilisation of a new task.
    ///
    /// Rules: the share of the cfs_rq's utilisation that the task's weight has of the load, but at most half
    /// of the free capacity; that half if the cfs_rq has no utilisation yet. Tasks of other classes start
    /// with none.
    pub(crate) fn post_init_entity_util_avg(&mut self, rqs: &Rqs, rules: &KernelRules, p: &Task) {
        let se = &mut self.entities[p.se];
        let queue = &self.cfs_rqs[se.cfs_rq];
        let rq = &rqs[queue.cpu];
        if p.class != SchedClass::Fair {
            se.avg.last_update_time = queue.clock_pelt(rq);
            return;
        }
        let capacity = rq.cpu_capacity_orig;
        // 6.1 takes the weight with its extra bits of resolution, which makes the share too large.
        let weight = if rules.scales_first_weight { se.weight() } else { se.load.weight };
        se.avg.util_avg = first_util(capacity, queue.avg.util_avg, queue.avg.load_avg, weight, se.avg.util_avg);
        se.avg.runnable_avg = se.avg.util_avg;
    }
}
