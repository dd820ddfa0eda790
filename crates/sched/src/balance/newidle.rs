// SPDX-License-Identifier: GPL-2.0-or-later
//! Balancing by a CPU that runs out of work.
//!
//! Models `sched_balance_newidle()` of 6.1.192, which has the proportional newly-idle balancing of 6.18 (in 6.1.0
//! `newidle_balance()`): the search must be expected to take less time than the CPU will be idle, and each domain is tried
//! as often as trying has been of use.

use crate::ctx::Ctx;
use crate::features::Feature;
use crate::ids::CpuId;
use crate::nohz::blocked::BlockedCaller;
use crate::sched::Sched;
use crate::schedule::NewIdle;
use crate::topology::{CpuIdleType, DomainId, SchedDomain, SdFlags};

/// Throws with these odds: a thousand, as good as.
const DICE_SIDES: u32 = 1024;
/// So many calls make up a success ratio.
const RATIO_CALLS: u32 = 1024;

impl Sched {
    /// Pulls work to a CPU that has none, before it goes idle.
    ///
    /// Rules, in order:
    /// 1. A queued wake-up will bring work: nothing to do.
    /// 2. The CPU counts as idle from now on.
    /// 3. Unless some CPU has more than one task, and idle time is expected to exceed what the narrowest domain costs,
    ///    nobody is searched.
    /// 4. Otherwise its blocked load is updated and its domains are tried, from the narrowest, until expected idle time
    ///    is used up, or something was found or has come by itself.
    /// 5. A CPU that got work does not count as idle; one that did not may have to update blocked load of others.
    pub(crate) fn sched_balance_newidle(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> NewIdle {
        self.update_misfit_status(ctx, cpu, None);
        let rq = &mut self.rqs[cpu.index()];
        if rq.ttwu_pending {
            return NewIdle::Nothing;
        }
        rq.idle_stamp = rq.clock;
        let avg_idle = rq.avg_idle;
        let mut next_balance = self.jiffies + self.hz();
        let mut result = NewIdle::Nothing;
        if let Some(base) = self.domains.cpus[cpu.index()].base {
            if !self.domains.root.overload || avg_idle < self.domains.domains[base].max_newidle_lb_cost {
                self.update_next_balance(base, &mut next_balance);
            } else {
                result = self.search_work(ctx, cpu, base, &mut next_balance);
            }
        }
        let rq = &mut self.rqs[cpu.index()];
        rq.next_balance = rq.next_balance.min(next_balance);
        if result == NewIdle::Nothing {
            self.nohz_newidle_balance(ctx, cpu);
        } else {
            rq.idle_stamp = 0;
        }
        result
    }

    /// Tries the domains of a CPU from the narrowest on.
    fn search_work(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, base: DomainId, next_balance: &mut u64) -> NewIdle {
        let mut since = ctx.sched_clock();
        self.update_blocked_averages(ctx, cpu, BlockedCaller::NewIdle);
        let mut pulled = false;
        let mut cost = 0;
        let mut next = Some(base);
        while let Some(sd) = next {
            self.update_next_balance(sd, next_balance);
            let domain = &self.domains.domains[sd];
            next = domain.parent;
            if self.rqs[cpu.index()].avg_idle < cost + domain.max_newidle_lb_cost {
                break;
            }
            if domain.flags.intersects(SdFlags::BALANCE_NEWIDLE) {
                let Some(weight) = self.throw_dice(cpu, sd) else {
                    self.domains.domains[sd].update_newidle_stats(0);
                    continue;
                };
                pulled = self.load_balance(ctx, cpu, sd, CpuIdleType::NewlyIdle).nr_moved > 0;
                let now = ctx.sched_clock();
                let domain_cost = now - since;
                since = now;
                cost += domain_cost;
                let (jiffies, hz) = (self.jiffies, self.hz());
                let success = if pulled { weight } else { 0 };
                self.domains.domains[sd].update_newidle_cost(domain_cost, success, jiffies, hz);
            }
            let rq = &self.rqs[cpu.index()];
            if pulled || rq.nr_running > 0 || rq.ttwu_pending {
                break;
            }
        }
        let rq = &mut self.rqs[cpu.index()];
        rq.max_idle_balance_cost = rq.max_idle_balance_cost.max(cost);
        let h_nr_running = self.cfs_rqs[cpu.index()].h_nr_running;
        if rq.nr_running != h_nr_running {
            NewIdle::Retry
        } else if pulled || h_nr_running > 0 {
            NewIdle::Pulled
        } else {
            NewIdle::Nothing
        }
    }

    /// Whether a domain is tried, by the dice and its success ratio; if it is, what a success counts.
    ///
    /// A domain that is tried one time in four would seem to succeed a fourth as often, so each success counts four times.
    fn throw_dice(&mut self, cpu: CpuId, sd: DomainId) -> Option<u32> {
        if !self.features.has(Feature::NiRandom) {
            return Some(1);
        }
        let throw = prandom_u32_state(&mut self.rqs[cpu.index()].rnd_state) % DICE_SIDES;
        let odds = 1 + self.domains.domains[sd].newidle_ratio;
        (throw <= odds).then_some((DICE_SIDES + odds / 2) / odds)
    }

    /// Lets the price of newly-idle balancing in a domain decay. Returns whether it was time for that.
    pub(crate) fn decay_newidle_cost(&mut self, sd: DomainId) -> bool {
        let (jiffies, hz) = (self.jiffies, self.hz());
        self.domains.domains[sd].update_newidle_cost(0, 0, jiffies, hz)
    }

    /// The migration cost as the unsigned 32-bit number that the kernel keeps; -1 is a very large one.
    pub(crate) const fn migration_cost_u64(&self) -> u64 {
        self.tunables.migration_cost_ns as u32 as u64
    }
}

impl SchedDomain {
    /// Counts a try; every 1024 calls (half of them from before) make up a new ratio.
    fn update_newidle_stats(&mut self, success: u32) {
        self.newidle_call += 1;
        self.newidle_success += success;
        if self.newidle_call >= RATIO_CALLS {
            self.newidle_ratio = self.newidle_success;
            self.newidle_call /= 2;
            self.newidle_success /= 2;
        }
    }

    /// Keeps the highest price of a pass; after a second without a higher one it decays by one percent.
    /// Returns whether it decayed.
    fn update_newidle_cost(&mut self, cost: u64, success: u32, jiffies: u64, hz: u64) -> bool {
        let next_decay = self.last_decay_max_lb_cost + hz;
        if cost > 0 {
            self.update_newidle_stats(success);
        }
        if cost > self.max_newidle_lb_cost {
            self.max_newidle_lb_cost = cost;
            self.last_decay_max_lb_cost = jiffies;
        } else if jiffies > next_decay {
            self.max_newidle_lb_cost = self.max_newidle_lb_cost * 253 / 256;
            self.last_decay_max_lb_cost = jiffies;
            return true;
        }
        false
    }
}

/// A throw of the four-word Tausworthe generator of `lib/random32.c` (L'Ecuyer's LFSR113).
///
/// Each word keeps its upper bits but for a few, shifted left, and takes bits of its own shifted difference.
pub(crate) fn prandom_u32_state(state: &mut [u32; 4]) -> u32 {
    /// Of each word: first shift, second shift, number of low bits that are dropped, third shift.
    const STEPS: [(u32, u32, u32, u32); 4] = [(6, 13, 1, 18), (2, 27, 3, 2), (13, 21, 4, 7), (3, 12, 7, 13)];
    let mut throw = 0;
    for (word, (feed, down, dropped, up)) in state.iter_mut().zip(STEPS) {
        let kept = (*word >> dropped << dropped) << up;
        *word = kept ^ (((*word << feed) ^ *word) >> down);
        throw ^= *word;
    }
    throw
}
