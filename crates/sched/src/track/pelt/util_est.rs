// SPDX-License-Identifier: GPL-2.0-or-later
//! Estimated utilisation (UTIL_EST): the utilisation of a task before it slept, which its decayed `util_avg`
//! no longer shows.
//!
//! Models `util_est_update()`, `_task_util_est()` and the sums of a runqueue (6.1 and 6.12).

use crate::state::entity::SchedEntity;
use crate::state::fair_tree::FairTree;
use crate::state::lb_cache::LbCache;
use crate::state::rq::Rq;
use crate::types::features::{Feature, FeatureSet};
use crate::types::ids::{CfsRqId, CpuId, EntityId};
use crate::types::kernel_rules::KernelRules;
use crate::types::pelt::SchedAvg;

impl FairTree {
    /// Adds the estimate of an entity to its runqueue's (`util_est_enqueue()`) or subtracts it (`util_est_dequeue()`).
    #[inline(always)]
    pub(crate) fn change_util_est(
        &mut self,
        features: FeatureSet,
        lb_cache: &mut LbCache,
        cpu: CpuId,
        se: EntityId,
        change: impl Fn(u32, u32) -> u32,
    ) {
        if features.has(Feature::UtilEst) {
            let estimate = self.entities[se].avg.util_est.estimate() as u32;
            lb_cache.mark_dirty(cpu);
            let sum = &mut self.cfs_rqs[CfsRqId::root(cpu)].avg.util_est.enqueued;
            *sum = change(*sum, estimate);
        }
    }
}

impl SchedEntity {
    /// Updates the estimate of a task that goes to sleep. Models `util_est_update()`.
    #[inline(always)]
    pub(crate) fn util_est_update(&mut self, features: FeatureSet, rules: &KernelRules, rq: &Rq, task_sleep: bool) {
        if !features.has(Feature::UtilEst) || !task_sleep {
            return;
        }
        let fast_up = features.has(Feature::UtilEstFastup);
        let capacity = rq.cpu_capacity_orig;
        let avg = &mut self.avg;
        if rules.has_one_util_estimate {
            avg.util_est.sample_average(avg.util_avg, avg.runnable_avg, capacity);
        } else {
            avg.util_est.sample(avg.util_avg, fast_up, capacity);
        }
    }
}

impl SchedAvg {
    /// Utilisation of a task, the larger of tracked and estimated: `task_util_est()`.
    pub(crate) fn task_util_est(&self) -> u64 {
        self.util_avg.max(self.util_est.estimate())
    }
}
