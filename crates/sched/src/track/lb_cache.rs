// SPDX-License-Identifier: GPL-2.0-or-later
//! Updates of the cached load-balance statistics ([`crate::state::lb_cache`]) from the runqueues.

use crate::state::State;
use crate::state::fair_tree::FairTree;
use crate::state::lb_cache::LbSample;
use crate::state::rq::Rq;
use crate::state::topology::DomainId;
use crate::types::features::FeatureSet;

impl State {
    /// Reads the runqueues of all dirty CPUs again. The cache then equals the runqueues until the next
    /// change.
    #[inline]
    pub(crate) fn refresh_lb_cache(&mut self) {
        while let Some(cpu) = self.lb_cache.take_dirty() {
            self.lb_cache.set(cpu, self.fair.lb_sample(self.features, &self.rqs[cpu]));
        }
    }

    /// Reads the runqueues of a domain's dirty CPUs again, so that a pass over few CPUs does not pay for
    /// changes elsewhere.
    #[inline]
    pub(crate) fn refresh_lb_cache_in(&mut self, sd: DomainId) {
        while let Some(cpu) = self.lb_cache.take_dirty_in(sd, &self.domains.domains[sd].span) {
            self.lb_cache.set(cpu, self.fair.lb_sample(self.features, &self.rqs[cpu]));
        }
    }
}

impl FairTree {
    /// Reads the load-balance statistics of a CPU from its runqueue.
    #[inline]
    pub(crate) fn lb_sample(&self, features: FeatureSet, rq: &Rq) -> LbSample {
        let root = self.root_cfs_rq(rq.cpu);
        LbSample {
            load: root.avg.load_avg,
            runnable: root.avg.runnable_avg,
            // At most the greatest capacity, so it fits 32 bits.
            util: self.cpu_util_cfs(features, rq) as u32,
            nr_running: rq.nr_running,
            h_nr_running: root.h_nr_running,
            overloaded_cpus: u32::from(rq.nr_running > 1),
            reduced_cpus: u32::from(root.h_nr_running == 1 && rq.cpu_capacity < rq.cpu_capacity_orig),
            idle_cpus: u32::from(rq.is_idle()),
        }
    }
}
