// SPDX-License-Identifier: GPL-2.0-or-later
//! The period timer, which fills a group's pool, and the slack timer, which hands out what CPUs have given back.
//!
//! Models `start_cfs_bandwidth()`, `sched_cfs_period_timer()`, `do_sched_cfs_period_timer()`,
//! `start_cfs_slack_bandwidth()`, `do_sched_cfs_slack_timer()` and `distribute_cfs_runtime()` (6.1).

use crate::classes::fair::bandwidth::timers::MIN_EXPIRATION_NS;
use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::State;
use crate::state::timers::Timer;
use crate::types::ids::GroupId;

/// After so many rounds of one period interrupt the period counts as too short.
const MAX_ROUNDS: u32 = 3;

impl Sched {
    /// The period timer has expired. It goes on until a period has passed in which nobody drew from the pool.
    pub(crate) fn end_cfs_period(&mut self, ctx: &mut Ctx<'_>, group: GroupId) {
        self.groups[group.index()].bandwidth.period_running = true;
        let resolution = self.hrtimer_resolution();
        let mut has_more = true;
        let mut round = 0;
        loop {
            let pool = &mut self.groups[group.index()].bandwidth;
            let nr_ended = pool.forward_period(ctx.now.0, resolution);
            if nr_ended == 0 {
                break;
            }
            has_more = self.begin_cfs_period(ctx, group, nr_ended);
            round += 1;
            if round > MAX_ROUNDS {
                self.groups[group.index()].bandwidth.scale_up();
                round = 0;
            }
        }
        let pool = &mut self.groups[group.index()].bandwidth;
        pool.period_active = has_more;
        pool.period_running = false;
        if has_more {
            let at = pool.period_expires;
            self.start_timer(ctx, Timer::CfsPeriod(group), at);
        }
    }

    /// A period begins. Returns whether the timer goes on: `do_sched_cfs_period_timer()`, with the sense turned round.
    ///
    /// Rules, in order:
    /// 1. Without a quota it stops.
    /// 2. The pool is filled.
    /// 3. If nobody is throttled and nobody drew in the period that has ended, it stops.
    /// 4. If nobody is throttled, the next period shows whether anybody draws.
    /// 5. Otherwise runtime is handed out while there is any and somebody waits.
    fn begin_cfs_period(&mut self, ctx: &mut Ctx<'_>, group: GroupId, nr_ended: u64) -> bool {
        let pool = &mut self.groups[group.index()].bandwidth;
        if pool.limits.quota().is_none() {
            return false;
        }
        pool.stats.nr_periods += nr_ended;
        pool.refill();
        if pool.throttled.is_empty() {
            return !core::mem::replace(&mut pool.idle, true);
        }
        pool.stats.nr_throttled += nr_ended;
        self.distribute_cfs_runtime(ctx, group);
        self.groups[group.index()].bandwidth.idle = false;
        true
    }

    /// Hands runtime out to throttled cfs_rqs, the one first that waits longest: to each as much as it lacks.
    ///
    /// A cfs_rq goes on with the least that lets it. Ends when nobody waits or the pool is empty.
    fn distribute_cfs_runtime(&mut self, ctx: &mut Ctx<'_>, group: GroupId) {
        loop {
            let State { groups, cfs_rqs, .. } = &mut self.state;
            let pool = &mut groups[group.index()].bandwidth;
            let Some(&id) = pool.throttled.front() else { return };
            let cfs_rq = &mut cfs_rqs[id.index()];
            let unsupported = (1 - cfs_rq.runtime_remaining) as u64;
            cfs_rq.runtime_remaining += pool.take(unsupported) as i64;
            let is_empty = pool.runtime == 0;
            if cfs_rq.runtime_remaining > 0 {
                let cpu = cfs_rq.cpu;
                let rq = self.rq_lock(cpu);
                self.unthrottle_cfs_rq(ctx, &rq, id);
            }
            if is_empty {
                return;
            }
        }
    }

    /// The slack timer has expired: what the pool holds is handed out if it is more than a slice.
    pub(crate) fn end_cfs_slack(&mut self, ctx: &mut Ctx<'_>, group: GroupId) {
        let slice = self.bandwidth_slice_ns();
        let pool = &mut self.groups[group.index()].bandwidth;
        pool.slack_started = false;
        let is_worth_while = !pool.is_refilled_within(ctx.now.0, MIN_EXPIRATION_NS);
        if is_worth_while && pool.limits.quota().is_some() && pool.runtime > slice {
            self.distribute_cfs_runtime(ctx, group);
        }
    }
}
