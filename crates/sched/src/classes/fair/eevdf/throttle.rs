// SPDX-License-Identifier: GPL-2.0-or-later
//! Throttled time of a cfs_rq in 6.12: a cfs_rq without entities does not count it.

use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::state::rq::Rq;
use crate::state::rq::cfs_rq::CfsRq;

impl CfsRq {
    /// Starts to count the throttled time of a cfs_rq that gets its first entity while it is throttled.
    #[cold]
    #[inline(never)]
    pub(super) fn start_throttled_clock(&mut self, ctx: &mut Ctx<'_>, rq: &Rq) {
        if self.throttled && self.throttled_clock.is_none() {
            let (cpu, group, clock) = (self.cpu, self.group, Some(rq.clock));
            self.throttled_clock = clock;
            ctx.report(Event::GroupThrottling { group, cpu, is_throttled: true, clock });
        }
    }
}
