// SPDX-License-Identifier: GPL-2.0-or-later
//! Throttled time of a cfs_rq in 6.12: a cfs_rq without entities does not count it.

use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::state::State;
use crate::types::ids::CfsRqId;

impl State {
    /// Returns the clock from which the throttled time of a cfs_rq counts that is throttled now; `None` if it has no
    /// entity.
    pub(in crate::classes::fair) fn throttled_clock_eevdf(&self, id: CfsRqId) -> Option<u64> {
        let queue = &self.fair.cfs_rqs[id];
        (queue.nr_running > 0).then_some(self.rqs[queue.cpu].clock)
    }

    /// Starts to count the throttled time of a cfs_rq that gets its first entity while it is throttled.
    #[cold]
    #[inline(never)]
    pub(super) fn start_throttled_clock(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId) {
        let queue = &mut self.fair.cfs_rqs[id];
        let (cpu, group) = (queue.cpu, queue.group);
        if queue.throttled && queue.throttled_clock.is_none() {
            let clock = Some(self.rqs[cpu].clock);
            queue.throttled_clock = clock;
            ctx.report(Event::GroupThrottling { group, cpu, is_throttled: true, clock });
        }
    }
}
