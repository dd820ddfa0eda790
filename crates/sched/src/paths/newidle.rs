// SPDX-License-Identifier: GPL-2.0-or-later
//! Balancing by a CPU that runs out of work.
//!
//! Models `sched_balance_newidle()` of 6.1.192, which has the proportional newly-idle balancing of 6.18 (in 6.1.0
//! `newidle_balance()`): the search must be expected to take less time than the CPU will be idle, and each domain is tried
//! as often as trying has been of use. The runqueue is unlocked meanwhile, with interrupts off: the CPU's last task still is
//! the current one, so to others the CPU is not idle, and they may enqueue tasks there.

use crate::interface::blocked::BlockedCaller;
use crate::interface::ctx::Ctx;
use crate::paths::load_balance::LbPass;
use crate::paths::nohz::idle_balance::NohzIdleBalance;
use crate::paths::resumable::{CpuPathStack, Resumable, Step, YieldPoint, Yielded};
use crate::paths::sched::Sched;
use crate::state::topology::{DomainId, SchedDomain, SdFlags};
use crate::types::features::Feature;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::{CpuId, TaskId};

/// Throws with these odds: a thousand, as good as.
const DICE_SIDES: u32 = 1024;
/// So many calls make up a success ratio.
const RATIO_CALLS: u32 = 1024;

/// A search for work: what `sched_balance_newidle()` has in its variables.
#[derive(Clone, Debug)]
pub(crate) struct NewIdleBalance {
    cpu: CpuId,
    next_balance: u64,
    /// When the present part of the search began, by the CPU's clock.
    since: u64,
    /// What the search has cost so far.
    cost: u64,
    pulled: bool,
    /// The domain that comes next.
    next: Option<DomainId>,
    stage: NewIdleStage,
}

/// What comes next.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a box would be made anew for each search, and nothing may allocate")]
enum NewIdleStage {
    /// Update this CPU's blocked load.
    Blocked,
    /// Try the next domain.
    Domain,
    /// Balance it; a success counts so much.
    Pass(LbPass, u32),
    /// Account what that has taken.
    Passed(DomainId, u32),
    /// Take this CPU's lock again, and see what has come of it.
    Relock,
    /// Before 5.12: update the blocked load of tickless CPUs.
    Tickless(NohzIdleBalance),
    /// Take this CPU's lock again after that.
    RelockAfterTickless,
}

impl NewIdleBalance {
    /// What lies before the first phase.
    pub(crate) const fn begins_with(&self) -> YieldPoint {
        if matches!(self.stage, NewIdleStage::Blocked) { YieldPoint::lock(self.cpu) } else { YieldPoint::FREE }
    }

    /// The pass that is under way.
    pub(crate) fn pass(&self) -> Option<&LbPass> {
        match &self.stage {
            NewIdleStage::Pass(pass, _) => Some(pass),
            NewIdleStage::Tickless(walk) => walk.pass(),
            _ => None,
        }
    }
}

/// What newly-idle balancing has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewIdle {
    /// Nothing: the CPU goes idle.
    Nothing,
    /// Fair tasks.
    Pulled,
    /// A task of a higher class has come meanwhile: pick anew.
    Retry,
}

/// From where newly-idle balancing was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewIdleSite {
    /// The fair class picks and has nothing: `pick_next_task_fair()`.
    Fair,
    /// Each class looks for work: `balance_fair()`.
    Classes,
}

/// A `schedule()` that pauses in newly-idle balancing.
#[derive(Clone, Debug)]
pub(crate) struct NewIdleSchedule {
    /// The task that the CPU switches away from, perhaps.
    pub prev: TaskId,
    /// From where it balances.
    pub site: NewIdleSite,
    /// The search.
    pub walk: NewIdleBalance,
}

impl NewIdleSchedule {
    /// The pass that is under way.
    pub(crate) fn pass(&self) -> Option<&LbPass> {
        self.walk.pass()
    }
}

impl Resumable for NewIdleSchedule {
    type Output = NewIdle;

    fn step(&mut self, sched: &mut Sched, ctx: &mut Ctx<'_>) -> Step<NewIdle> {
        sched.step_newidle(ctx, &mut self.walk)
    }

    fn place(walks: &mut CpuPathStack) -> &mut Option<Yielded<Self>> {
        &mut walks.schedule
    }
}

impl Sched {
    /// Begins to pull work to a CPU that has none, before it goes idle.
    ///
    /// Rules, in order:
    /// 1. A queued wake-up will bring work: nothing to do.
    /// 2. The CPU counts as idle from now on.
    /// 3. Unless some CPU has more than one task, and idle time is expected to exceed what the narrowest domain costs (with
    ///    the tunable `newidle_min_idle`, as before 5.16: what moving a task costs), nobody is searched.
    /// 4. Otherwise its blocked load is updated and its domains are tried, from the narrowest, until expected idle time
    ///    is used up, or something was found or has come by itself.
    /// 5. A CPU that got work does not count as idle; one that did not may have to update blocked load of others.
    pub(crate) fn begin_newidle(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> Result<NewIdleBalance, NewIdle> {
        self.update_misfit_status(ctx, cpu, None);
        let rq = &mut self.rqs[cpu.index()];
        if rq.ttwu_pending {
            return Err(NewIdle::Nothing);
        }
        rq.idle_stamp = rq.clock;
        let avg_idle = rq.avg_idle;
        // One that goes offline pulls nothing, and does nothing for others either.
        if !self.hotplug.active.contains(cpu) {
            return Err(NewIdle::Nothing);
        }
        let mut walk = NewIdleBalance {
            cpu,
            next_balance: self.jiffies + self.hz,
            since: ctx.sched_clock(),
            cost: 0,
            pulled: false,
            next: self.domains.cpus[cpu.index()].base,
            stage: NewIdleStage::Blocked,
        };
        if let Some(base) = walk.next {
            let least = if self.tunables.changes.newidle_min_idle {
                self.migration_cost_u64()
            } else {
                self.domains.domains[base].max_newidle_lb_cost
            };
            if self.domains.root.overload && avg_idle >= least {
                return Ok(walk);
            }
            self.update_next_balance(base, &mut walk.next_balance);
        }
        match self.end_newidle(&mut walk, NewIdle::Nothing) {
            true => Err(NewIdle::Nothing),
            false => Ok(walk),
        }
    }

    /// Does the next phase of the search.
    pub(crate) fn step_newidle(&mut self, ctx: &mut Ctx<'_>, walk: &mut NewIdleBalance) -> Step<NewIdle> {
        let cpu = walk.cpu;
        loop {
            match &mut walk.stage {
                NewIdleStage::Blocked => {
                    self.update_blocked_averages(ctx, cpu, BlockedCaller::NewIdle);
                    walk.stage = NewIdleStage::Domain;
                    return Step::Pause(YieldPoint::FREE);
                }
                NewIdleStage::Domain => self.try_next_domain(ctx, walk),
                NewIdleStage::Pass(pass, weight) => {
                    let result = match self.step_pass(ctx, pass) {
                        Step::Pause(before) => return Step::Pause(before),
                        Step::Done(result) => result,
                    };
                    walk.pulled = result.nr_moved > 0;
                    walk.stage = NewIdleStage::Passed(pass.env.sd, *weight);
                    return Step::Pause(YieldPoint::FREE);
                }
                &mut NewIdleStage::Passed(sd, weight) => self.account_domain(ctx, walk, sd, weight),
                NewIdleStage::Relock => {
                    let result = self.what_newidle_brought(walk);
                    if self.end_newidle(walk, result) {
                        return Step::Done(result);
                    }
                    return Step::Pause(YieldPoint::FREE);
                }
                NewIdleStage::Tickless(tickless) => {
                    if let Step::Pause(before) = self.step_tickless(ctx, tickless) {
                        return Step::Pause(before);
                    }
                    walk.stage = NewIdleStage::RelockAfterTickless;
                    return Step::Pause(YieldPoint::lock(cpu));
                }
                NewIdleStage::RelockAfterTickless => {
                    let result = self.what_newidle_brought(walk);
                    if result != NewIdle::Nothing {
                        self.rqs[cpu.index()].idle_stamp = 0;
                    }
                    return Step::Done(result);
                }
            }
            if matches!(walk.stage, NewIdleStage::Relock) {
                return Step::Pause(YieldPoint::lock(cpu));
            }
        }
    }

    /// Begins a pass over the next domain that is worth it, or ends the search.
    fn try_next_domain(&mut self, ctx: &mut Ctx<'_>, walk: &mut NewIdleBalance) {
        walk.stage = NewIdleStage::Relock;
        while let Some(sd) = walk.next {
            self.update_next_balance(sd, &mut walk.next_balance);
            let domain = &self.domains.domains[sd];
            walk.next = domain.parent;
            if self.rqs[walk.cpu.index()].avg_idle < walk.cost + domain.max_newidle_lb_cost {
                return;
            }
            if domain.flags.intersects(SdFlags::BALANCE_NEWIDLE) {
                let Some(weight) = self.throw_dice(walk.cpu, sd) else {
                    self.domains.domains[sd].update_newidle_stats(0);
                    continue;
                };
                let pass = self.begin_pass(ctx, walk.cpu, sd, CpuIdleType::NewlyIdle);
                walk.stage = NewIdleStage::Pass(pass, weight);
                return;
            }
            if self.newidle_may_stop(walk) {
                return;
            }
        }
    }

    /// Accounts the time that a domain has taken.
    fn account_domain(&mut self, ctx: &Ctx<'_>, walk: &mut NewIdleBalance, sd: DomainId, weight: u32) {
        let now = ctx.sched_clock();
        let domain_cost = now - core::mem::replace(&mut walk.since, now);
        walk.cost += domain_cost;
        let (jiffies, hz) = (self.jiffies, self.hz);
        let success = if walk.pulled { weight } else { 0 };
        self.domains.domains[sd].update_newidle_cost(domain_cost, success, jiffies, hz);
        walk.stage = if self.newidle_may_stop(walk) { NewIdleStage::Relock } else { NewIdleStage::Domain };
    }

    /// Whether something was found, or has come by itself.
    fn newidle_may_stop(&self, walk: &NewIdleBalance) -> bool {
        let rq = &self.rqs[walk.cpu.index()];
        walk.pulled || rq.nr_running > 0 || rq.ttwu_pending
    }

    /// What has come of the search. A task that others have enqueued here meanwhile is as good as one that was pulled.
    fn what_newidle_brought(&mut self, walk: &NewIdleBalance) -> NewIdle {
        let h_nr_running = self.cfs_rqs[walk.cpu.index()].h_nr_running;
        let rq = &mut self.rqs[walk.cpu.index()];
        rq.max_idle_balance_cost = rq.max_idle_balance_cost.max(walk.cost);
        if rq.nr_running != h_nr_running {
            NewIdle::Retry
        } else if walk.pulled || h_nr_running > 0 {
            NewIdle::Pulled
        } else {
            NewIdle::Nothing
        }
    }

    /// Returns whether the search is over.
    fn end_newidle(&mut self, walk: &mut NewIdleBalance, result: NewIdle) -> bool {
        let of = &mut self.nohz.cpus[walk.cpu.index()];
        of.next_balance = of.next_balance.min(walk.next_balance);
        let rq = &mut self.rqs[walk.cpu.index()];
        if result != NewIdle::Nothing {
            rq.idle_stamp = 0;
            return true;
        }
        let Some(tickless) = self.nohz_newidle_balance(walk.cpu) else { return true };
        walk.stage = NewIdleStage::Tickless(tickless);
        false
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
        let (jiffies, hz) = (self.jiffies, self.hz);
        self.domains.domains[sd].update_newidle_cost(0, 0, jiffies, hz)
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
