// SPDX-License-Identifier: GPL-2.0-or-later
//! Start of the two timers of a group's quota: the period timer when a CPU draws runtime, the slack timer
//! when a CPU returns runtime.
//!
//! Models `start_cfs_bandwidth()` and `start_cfs_slack_bandwidth()` (6.1). Their expiry is handled in
//! [`crate::paths::bandwidth`].

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::timers::Timer;
use crate::types::ids::GroupId;

/// Delay before returned runtime is distributed, to collect more of it (`cfs_bandwidth_slack_period`), in ns.
pub(crate) const SLACK_PERIOD_NS: u64 = 5_000_000;

/// Minimum time to the next refill for which returned runtime is distributed (`min_bandwidth_expiration`), in
/// ns.
pub(crate) const MIN_EXPIRATION_NS: u64 = 2_000_000;

impl State {
    /// Starts the period timer on the executing CPU, unless it is active. Periods end at multiples of their
    /// length, counted from the timer's last expiry.
    pub(crate) fn start_cfs_bandwidth(&mut self, ctx: &mut Ctx<'_>, group: GroupId) {
        let resolution = self.timer_resolution_ns;
        let pool = &mut self.fair.groups[group].bandwidth;
        if pool.period_active {
            return;
        }
        pool.period_active = true;
        pool.forward_period(ctx.now.0, resolution);
        let at = pool.period_expires;
        self.start_timer(ctx, Timer::CfsPeriod(group), at);
    }

    /// Starts the slack timer on the executing CPU, unless it is active or the pool is refilled soon.
    pub(crate) fn start_cfs_slack_bandwidth(&mut self, ctx: &mut Ctx<'_>, group: GroupId) {
        let now = ctx.now.0;
        let pool = &mut self.fair.groups[group].bandwidth;
        if pool.is_refilled_within(now, SLACK_PERIOD_NS + MIN_EXPIRATION_NS) || pool.slack_started {
            return;
        }
        pool.slack_started = true;
        self.start_timer(ctx, Timer::CfsSlack(group), now + SLACK_PERIOD_NS);
    }
}
