// SPDX-License-Identifier: GPL-2.0-or-later
//! The two timers of a group's quota are started: by who draws from the pool, and by who gives back.
//!
//! Models `start_cfs_bandwidth()` and `start_cfs_slack_bandwidth()` (6.1); what they do when they expire is in
//! [`crate::paths::bandwidth`].

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::timers::Timer;
use crate::types::ids::GroupId;

/// How long runtime that was given back waits for more of it: `cfs_bandwidth_slack_period`.
pub(crate) const SLACK_PERIOD_NS: u64 = 5_000_000;

/// It is not worth while to hand it out if the pool is filled within this time: `min_bandwidth_expiration`.
pub(crate) const MIN_EXPIRATION_NS: u64 = 2_000_000;

impl State {
    /// Starts the period timer on the CPU that executes this, unless it runs. Periods end at multiples of their length,
    /// counted from where the timer stood last.
    pub(crate) fn start_cfs_bandwidth(&mut self, ctx: &mut Ctx<'_>, group: GroupId) {
        let resolution = self.hrtimer_resolution();
        let pool = &mut self.groups[group.index()].bandwidth;
        if pool.period_active {
            return;
        }
        pool.period_active = true;
        pool.forward_period(ctx.now.0, resolution);
        let at = pool.period_expires;
        self.start_timer(ctx, Timer::CfsPeriod(group), at);
    }

    /// Starts the slack timer on the CPU that executes this, unless it runs or the pool is filled soon.
    pub(crate) fn start_cfs_slack_bandwidth(&mut self, ctx: &mut Ctx<'_>, group: GroupId) {
        let now = ctx.now.0;
        let pool = &mut self.groups[group.index()].bandwidth;
        if pool.is_refilled_within(now, SLACK_PERIOD_NS + MIN_EXPIRATION_NS) || pool.slack_started {
            return;
        }
        pool.slack_started = true;
        self.start_timer(ctx, Timer::CfsSlack(group), now + SLACK_PERIOD_NS);
    }
}
