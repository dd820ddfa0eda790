// SPDX-License-Identifier: GPL-2.0-or-later
//! Runtime of a group's CPUs: consumption, transfer from the pool, and return of unused runtime.
//!
//! Models `account_cfs_rq_runtime()`, `assign_cfs_rq_runtime()` and `return_cfs_rq_runtime()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::types::ids::CfsRqId;

/// Runtime that a CPU keeps when the last task of the group leaves it (`min_cfs_rq_runtime`).
const MIN_CFS_RQ_RUNTIME_NS: i64 = 1_000_000;

impl State {
    /// Charges used time to a cfs_rq, if its group has a quota.
    #[inline]
    pub(crate) fn account_cfs_rq_runtime(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId, used_ns: u64) {
        if self.fair.cfs_rqs[id].runtime_enabled {
            self.use_runtime(ctx, id, used_ns);
        }
    }

    /// Consumes runtime. When it has run out, a slice is drawn from the pool. If the pool is empty, the
    /// running task must reschedule, and the cfs_rq is throttled then.
    fn use_runtime(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId, used_ns: u64) {
        let cfs_rq = &mut self.fair.cfs_rqs[id];
        cfs_rq.runtime_remaining -= used_ns as i64;
        if cfs_rq.runtime_remaining > 0 || cfs_rq.throttled {
            return;
        }
        let slice = self.tunables.bandwidth_slice_ns();
        if !self.assign_cfs_rq_runtime(ctx, id, slice) {
            let cfs_rq = &self.fair.cfs_rqs[id];
            if cfs_rq.curr.is_some() {
                self.resched_curr(ctx, cfs_rq.cpu);
            }
        }
    }

    /// Draws from the pool until a cfs_rq has `target_ns`, or the pool is empty. Returns whether the cfs_rq
    /// then has runtime.
    ///
    /// The period timer keeps running while a CPU draws.
    pub(crate) fn assign_cfs_rq_runtime(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId, target_ns: u64) -> bool {
        let group = self.fair.cfs_rqs[id].group;
        if self.fair.groups[group].bandwidth.limits.quota.is_some() {
            self.start_cfs_bandwidth(ctx, group);
        }
        let cfs_rq = &mut self.fair.cfs_rqs[id];
        let pool = &mut self.fair.groups[group].bandwidth;
        let drawn = pool.take(target_ns.wrapping_sub(cfs_rq.runtime_remaining as u64));
        pool.idle &= drawn == 0;
        cfs_rq.runtime_remaining += drawn as i64;
        cfs_rq.runtime_remaining > 0
    }

    /// Returns unused runtime of an empty cfs_rq to the pool, if its group has a quota.
    ///
    /// The cfs_rq keeps 1 ms. If other cfs_rqs are throttled and the pool then holds more than a slice, the
    /// slack timer distributes it soon.
    #[inline(always)]
    pub(crate) fn return_cfs_rq_runtime(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId) {
        let cfs_rq = &self.fair.cfs_rqs[id];
        if cfs_rq.runtime_enabled && cfs_rq.nr_running == 0 && cfs_rq.runtime_remaining > MIN_CFS_RQ_RUNTIME_NS {
            self.return_runtime(ctx, id);
        }
    }

    fn return_runtime(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId) {
        let slice = self.tunables.bandwidth_slice_ns();
        let cfs_rq = &mut self.fair.cfs_rqs[id];
        let slack = cfs_rq.runtime_remaining - MIN_CFS_RQ_RUNTIME_NS;
        cfs_rq.runtime_remaining = MIN_CFS_RQ_RUNTIME_NS;
        let group = cfs_rq.group;
        let pool = &mut self.fair.groups[group].bandwidth;
        if pool.limits.quota().is_some() {
            pool.runtime += slack as u64;
            if pool.runtime > slice && !pool.throttled.is_empty() {
                self.start_cfs_slack_bandwidth(ctx, group);
            }
        }
    }
}
