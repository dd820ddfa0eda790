// SPDX-License-Identifier: GPL-2.0-or-later
//! Timers of CFS bandwidth: the period timer refills a group's pool, and the slack timer distributes runtime
//! that CPUs have returned.
//!
//! Models `start_cfs_bandwidth()`, `sched_cfs_period_timer()`, `do_sched_cfs_period_timer()`,
//! `start_cfs_slack_bandwidth()`, `do_sched_cfs_slack_timer()`, `distribute_cfs_runtime()` (6.1 and 6.12) and
//! `__cfsb_csd_unthrottle()` (6.12).

use crate::classes::fair::bandwidth::timers::MIN_EXPIRATION_NS;
use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::paths::sched::Sched;
use crate::state::calls::CallFunction;
use crate::state::fair_tree::FairTree;
use crate::state::timers::Timer;
use crate::types::ids::{CfsRqId, CpuId, GroupId};

/// Number of rounds in one period interrupt after which the period counts as too short and is scaled up.
const MAX_ROUNDS: u32 = 3;

impl Sched {
    /// Handles the expiry of the period timer. The timer stops after a period in which no CPU drew from the
    /// pool.
    pub(crate) fn end_cfs_period(&mut self, ctx: &mut Ctx<'_>, group: GroupId) {
        self.fair.groups[group].bandwidth.period_running = true;
        let resolution = self.timer_resolution_ns;
        let mut has_more = true;
        let mut round = 0;
        loop {
            let pool = &mut self.fair.groups[group].bandwidth;
            let nr_ended = pool.forward_period(ctx.now.0, resolution);
            if nr_ended == 0 {
                break;
            }
            has_more = self.begin_cfs_period(ctx, group, nr_ended);
            round += 1;
            if round > MAX_ROUNDS {
                self.fair.groups[group].bandwidth.scale_up();
                round = 0;
            }
        }
        let pool = &mut self.fair.groups[group].bandwidth;
        pool.period_active = has_more;
        pool.period_running = false;
        if has_more {
            let at = pool.period_expires;
            self.start_timer(ctx, Timer::CfsPeriod(group), at);
        }
    }

    /// Begins a period. Returns whether the timer continues: the negated result of
    /// `do_sched_cfs_period_timer()`.
    ///
    /// Rules, in order:
    /// 1. Without a quota the timer stops.
    /// 2. The pool is refilled.
    /// 3. If no cfs_rq is throttled and none drew runtime in the period that has ended, the timer stops.
    /// 4. If no cfs_rq is throttled, the pool is marked idle; the next draw clears the mark.
    /// 5. Otherwise runtime is distributed while the pool has runtime and a cfs_rq is throttled.
    fn begin_cfs_period(&mut self, ctx: &mut Ctx<'_>, group: GroupId, nr_ended: u64) -> bool {
        let pool = &mut self.fair.groups[group].bandwidth;
        if pool.limits.quota().is_none() {
            return false;
        }
        pool.stats.nr_periods += nr_ended;
        let before = pool.stats.burst_time;
        pool.refill();
        let (is_throttled, burst) = (!pool.throttled.is_empty(), pool.stats.burst_time - before);
        ctx.report(Event::GroupRefill { group, nr_ended, is_throttled, burst });
        if pool.throttled.is_empty() {
            return !core::mem::replace(&mut pool.idle, true);
        }
        pool.stats.nr_throttled += nr_ended;
        self.distribute_cfs_runtime(ctx, group);
        self.fair.groups[group].bandwidth.idle = false;
        true
    }

    /// Distributes runtime to throttled cfs_rqs, in the order in which they were throttled. Each gets as much
    /// as it lacks.
    ///
    /// A cfs_rq is unthrottled with 1 ns of runtime. The distribution ends when no cfs_rq is throttled or the
    /// pool is empty.
    fn distribute_cfs_runtime(&mut self, ctx: &mut Ctx<'_>, group: GroupId) {
        if self.rules.unthrottles_asynchronously {
            while self.distribute_once(ctx, group) && self.fair.groups[group].bandwidth.runtime > 0 {}
            return;
        }
        loop {
            let FairTree { groups, cfs_rqs, .. } = &mut self.state.fair;
            let pool = &mut groups[group].bandwidth;
            let Some(&id) = pool.throttled.front() else { return };
            let cfs_rq = &mut cfs_rqs[id];
            let missing_ns = (1 - cfs_rq.runtime_remaining) as u64;
            cfs_rq.runtime_remaining += pool.take(missing_ns) as i64;
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

    /// Distributes runtime to throttled cfs_rqs in 6.12, where each CPU ends the throttling of its own. Returns whether
    /// a cfs_rq has not received enough.
    ///
    /// Rules, in order:
    /// 1. A cfs_rq that has received runtime and waits for its CPU is skipped.
    /// 2. The others receive as much as they lack, in the order in which they were throttled, until the pool is empty.
    /// 3. Other CPUs are interrupted. The cfs_rq of this CPU comes last.
    fn distribute_once(&mut self, ctx: &mut Ctx<'_>, group: GroupId) -> bool {
        let (mut lacks_runtime, mut own) = (false, None);
        let mut is_empty = false;
        for place in 0..self.fair.groups[group].bandwidth.throttled.len() {
            if is_empty {
                lacks_runtime = true;
                break;
            }
            let FairTree { groups, cfs_rqs, .. } = &mut self.state.fair;
            let pool = &mut groups[group].bandwidth;
            let id = pool.throttled[place];
            let cfs_rq = &mut cfs_rqs[id];
            let cpu = cfs_rq.cpu;
            if self.state.rqs[cpu].unthrottle_queue.contains(&id) {
                continue;
            }
            let missing_ns = (1 - cfs_rq.runtime_remaining) as u64;
            cfs_rq.runtime_remaining += pool.take(missing_ns) as i64;
            is_empty = pool.runtime == 0;
            if cfs_rq.runtime_remaining <= 0 {
                lacks_runtime = true;
            } else if cpu == ctx.cpu {
                own = Some(id);
            } else {
                self.unthrottle_cfs_rq_async(ctx, cpu, id);
            }
        }
        if let Some(id) = own {
            let rq = self.rq_lock(ctx.cpu);
            self.unthrottle_cfs_rq(ctx, &rq, id);
        }
        lacks_runtime
    }

    /// Requests that another CPU ends the throttling of a cfs_rq.
    fn unthrottle_cfs_rq_async(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, id: CfsRqId) {
        let queue = &mut self.rqs[cpu].unthrottle_queue;
        queue.push_back(id);
        if queue.len() == 1 {
            self.state.rqs[cpu].queue_call(ctx, CallFunction::Unthrottle, self.state.polling_idle);
        }
    }

    /// Ends the throttling of the cfs_rqs that wait for this CPU.
    pub(crate) fn unthrottle_queued(&mut self, ctx: &mut Ctx<'_>) {
        let rq = self.rq_lock_clocked(ctx, ctx.cpu);
        while let Some(id) = self.rqs[ctx.cpu].unthrottle_queue.pop_front() {
            if self.fair.cfs_rqs[id].throttled {
                self.unthrottle_cfs_rq(ctx, &rq, id);
            }
        }
    }

    /// Handles the expiry of the slack timer: distributes the pool if it holds more than a slice and is not
    /// refilled soon.
    pub(crate) fn end_cfs_slack(&mut self, ctx: &mut Ctx<'_>, group: GroupId) {
        let slice = self.tunables.bandwidth_slice_ns();
        let pool = &mut self.fair.groups[group].bandwidth;
        pool.slack_started = false;
        let is_worth_while = !pool.is_refilled_within(ctx.now.0, MIN_EXPIRATION_NS);
        if is_worth_while && pool.limits.quota().is_some() && pool.runtime > slice {
            self.distribute_cfs_runtime(ctx, group);
        }
    }
}
