// SPDX-License-Identifier: GPL-2.0-or-later
//! Newly-idle balancing: a CPU that runs out of work pulls tasks before it goes idle.
//!
//! Models `sched_balance_newidle()` of 6.1.192, which has the proportional newly-idle balancing of 6.18 (in
//! 6.1.0 `newidle_balance()`). The balancing is expected to take less time than the CPU will be idle. Each
//! domain is tried in proportion to its past success. The runqueue is unlocked meanwhile, with interrupts
//! off. The CPU's last task is still its current task, so other CPUs do not see this CPU as idle, and they
//! may enqueue tasks on it.

use crate::interface::blocked::BlockedCaller;
use crate::interface::ctx::Ctx;
use crate::paths::load_balance::LbPass;
use crate::paths::nohz::idle_balance::NohzIdleBalance;
use crate::paths::resumable::{CpuPathStack, Resumable, Step, YieldPoint, Yielded};
use crate::paths::sched::Sched;
use crate::state::topology::{DomainId, SchedDomain, SdFlags};
use crate::types::features::Feature;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::{CfsRqId, CpuId, TaskId};

/// Modulus of the NI_RANDOM draw.
const NI_RANDOM_MODULUS: u32 = 1024;
/// Number of calls after which a domain's success ratio is computed.
const NR_RATIO_CALLS: u32 = 1024;

/// Newly-idle balancing in progress: the local variables of `sched_balance_newidle()`.
#[derive(Clone, Debug)]
pub(crate) struct NewIdleBalance {
    cpu: CpuId,
    next_balance: u64,
    /// Start of the present part of the balancing, by the CPU's clock in ns.
    since: u64,
    /// Cost so far, in ns.
    cost: u64,
    pulled: bool,
    /// Whether the last pass allows wider domains.
    continue_balancing: bool,
    /// Domain that is tried next.
    next: Option<DomainId>,
    stage: NewIdleStage,
}

/// Next phase of newly-idle balancing.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "boxing would allocate on each call, which must not allocate")]
enum NewIdleStage {
    /// Update the blocked load of this CPU.
    Blocked,
    /// Try the next domain.
    Domain,
    /// Balance a domain; a success counts with this weight.
    Pass(LbPass, u32),
    /// Account the time that the pass over this domain took.
    Passed(DomainId, u32),
    /// Take this CPU's lock again and determine the result.
    Relock,
    /// Update the blocked load of tickless CPUs, as before 5.13.
    Tickless(NohzIdleBalance),
    /// Take this CPU's lock again after the update of tickless CPUs.
    RelockAfterTickless,
}

impl NewIdleBalance {
    /// Returns the yield point before the first phase.
    pub(crate) const fn first_yield_point(&self) -> YieldPoint {
        if matches!(self.stage, NewIdleStage::Blocked) { YieldPoint::lock(self.cpu) } else { YieldPoint::UNLOCKED }
    }

    /// Returns the load-balance pass in progress.
    pub(crate) fn pass(&self) -> Option<&LbPass> {
        match &self.stage {
            NewIdleStage::Pass(pass, _) => Some(pass),
            NewIdleStage::Tickless(path) => path.pass(),
            _ => None,
        }
    }
}

/// Result of newly-idle balancing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewIdleResult {
    /// No task was found: the CPU goes idle.
    Nothing,
    /// Fair tasks were pulled, or enqueued by other CPUs.
    Pulled,
    /// A task of a higher class was enqueued meanwhile: the pick starts again.
    Retry,
}

/// Caller of newly-idle balancing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewIdleSite {
    /// `pick_next_task_fair()`, which has found no task.
    Fair,
    /// `balance_fair()`, when each class looks for work.
    Classes,
}

/// A `schedule()` that yields in newly-idle balancing.
#[derive(Clone, Debug)]
pub(crate) struct NewIdleSchedule {
    /// Task that the CPU may switch away from.
    pub prev: TaskId,
    pub site: NewIdleSite,
    pub newidle: NewIdleBalance,
}

impl NewIdleSchedule {
    /// Returns the load-balance pass in progress.
    pub(crate) fn pass(&self) -> Option<&LbPass> {
        self.newidle.pass()
    }
}

impl Resumable for NewIdleSchedule {
    type Output = NewIdleResult;

    fn step(&mut self, sched: &mut Sched, ctx: &mut Ctx<'_>) -> Step<NewIdleResult> {
        sched.step_newidle(ctx, &mut self.newidle)
    }

    fn slot(stack: &mut CpuPathStack) -> &mut Option<Yielded<Self>> {
        &mut stack.schedule
    }
}

impl Sched {
    /// Begins to pull work to a CPU that has none, before it goes idle.
    ///
    /// Rules, in order:
    /// 1. A queued wake-up will bring work: do nothing.
    /// 2. The CPU counts as idle from now on.
    /// 3. No domain is tried unless the root domain is overloaded (some CPU has two or more tasks), and the
    ///    expected idle time is at least the cost of the narrowest domain. With the tunable
    ///    `newidle_min_idle`, as before 5.16, the limit is the cost of moving a task.
    /// 4. Otherwise the CPU's blocked load is updated. Its domains are tried from the narrowest on, until the
    ///    expected idle time is used up, a task was pulled, or the CPU has received work.
    /// 5. A CPU that got work does not count as idle. A CPU without work may have to update the blocked load
    ///    of tickless CPUs.
    pub(crate) fn begin_newidle(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> Result<NewIdleBalance, NewIdleResult> {
        self.update_misfit_status(ctx, cpu, None);
        let rq = &mut self.rqs[cpu];
        if rq.ttwu_pending {
            return Err(NewIdleResult::Nothing);
        }
        rq.idle_stamp = rq.clock;
        let avg_idle = rq.avg_idle;
        // A CPU that goes offline pulls no tasks and does no work for other CPUs.
        if !self.hotplug.active.contains(cpu) {
            return Err(NewIdleResult::Nothing);
        }
        let mut path = NewIdleBalance {
            cpu,
            next_balance: self.jiffies + self.hz,
            since: ctx.sched_clock(),
            cost: 0,
            pulled: false,
            continue_balancing: true,
            next: self.domains.cpus[cpu].base,
            stage: NewIdleStage::Blocked,
        };
        if let Some(base) = path.next {
            let least = if self.tunables.changes.newidle_min_idle {
                self.tunables.migration_cost_u64()
            } else {
                self.domains.domains[base].max_newidle_lb_cost
            };
            if self.domains.root.overload && avg_idle >= least {
                return Ok(path);
            }
            self.update_next_balance(base, &mut path.next_balance);
        }
        match self.end_newidle(&mut path, NewIdleResult::Nothing) {
            true => Err(NewIdleResult::Nothing),
            false => Ok(path),
        }
    }

    /// Runs the next phases of newly-idle balancing, up to a yield point or the end.
    pub(crate) fn step_newidle(&mut self, ctx: &mut Ctx<'_>, path: &mut NewIdleBalance) -> Step<NewIdleResult> {
        let cpu = path.cpu;
        loop {
            match &mut path.stage {
                NewIdleStage::Blocked => {
                    self.update_blocked_averages(ctx, cpu, BlockedCaller::NewIdle);
                    path.stage = NewIdleStage::Domain;
                    return Step::Yield(YieldPoint::UNLOCKED);
                }
                NewIdleStage::Domain => self.try_next_domain(ctx, path),
                NewIdleStage::Pass(pass, weight) => {
                    let result = match self.step_pass(ctx, pass) {
                        Step::Yield(before) => return Step::Yield(before),
                        Step::Done(result) => result,
                    };
                    path.pulled = result.nr_moved > 0;
                    path.continue_balancing = result.continue_balancing;
                    path.stage = NewIdleStage::Passed(pass.env.sd, *weight);
                    return Step::Yield(YieldPoint::UNLOCKED);
                }
                &mut NewIdleStage::Passed(sd, weight) => self.account_domain(ctx, path, sd, weight),
                NewIdleStage::Relock => {
                    let result = self.newidle_result(path);
                    if self.end_newidle(path, result) {
                        return Step::Done(result);
                    }
                    return Step::Yield(YieldPoint::UNLOCKED);
                }
                NewIdleStage::Tickless(tickless) => {
                    if let Step::Yield(before) = self.step_nohz_idle_balance(ctx, tickless) {
                        return Step::Yield(before);
                    }
                    path.stage = NewIdleStage::RelockAfterTickless;
                    return Step::Yield(YieldPoint::lock(cpu));
                }
                NewIdleStage::RelockAfterTickless => {
                    let result = self.newidle_result(path);
                    if result != NewIdleResult::Nothing {
                        self.rqs[cpu].idle_stamp = 0;
                    }
                    return Step::Done(result);
                }
            }
            if matches!(path.stage, NewIdleStage::Relock) {
                return Step::Yield(YieldPoint::lock(cpu));
            }
        }
    }

    /// Begins a pass over the next domain that is worth its cost, or ends the balancing.
    fn try_next_domain(&mut self, ctx: &mut Ctx<'_>, path: &mut NewIdleBalance) {
        path.stage = NewIdleStage::Relock;
        while let Some(sd) = path.next {
            self.update_next_balance(sd, &mut path.next_balance);
            let domain = &self.domains.domains[sd];
            path.next = domain.parent;
            if self.rqs[path.cpu].avg_idle < path.cost + domain.max_newidle_lb_cost {
                return;
            }
            if domain.flags.intersects(SdFlags::BALANCE_NEWIDLE) {
                let Some(weight) = self.draw_success_weight(path.cpu, sd) else {
                    self.domains.domains[sd].update_newidle_stats(0);
                    continue;
                };
                let pass = self.begin_pass(ctx, path.cpu, sd, CpuIdleType::NewlyIdle);
                path.stage = NewIdleStage::Pass(pass, weight);
                return;
            }
            if self.newidle_may_stop(path) {
                return;
            }
        }
    }

    /// Accounts the time that a domain took.
    ///
    /// A clock offset ends with its event, so with both self-timed operations and costs the clock can go back.
    fn account_domain(&mut self, ctx: &Ctx<'_>, path: &mut NewIdleBalance, sd: DomainId, weight: u32) {
        let now = ctx.sched_clock();
        let domain_cost = now.saturating_sub(core::mem::replace(&mut path.since, now));
        path.cost += domain_cost;
        let (jiffies, hz) = (self.jiffies, self.hz);
        let success = if path.pulled { weight } else { 0 };
        self.domains.domains[sd].update_newidle_cost(domain_cost, success, jiffies, hz);
        path.stage = if self.newidle_may_stop(path) { NewIdleStage::Relock } else { NewIdleStage::Domain };
    }

    /// Whether a task was pulled, or the CPU has received work meanwhile. In 6.12 the latter counts only if a pass has
    /// noticed it.
    fn newidle_may_stop(&self, path: &NewIdleBalance) -> bool {
        if self.rules.newidle_stops_by_verdict {
            return path.pulled || !path.continue_balancing;
        }
        let rq = &self.rqs[path.cpu];
        path.pulled || rq.nr_running > 0 || rq.ttwu_pending
    }

    /// Determines the result. A task that other CPUs have enqueued here meanwhile counts like a pulled task.
    fn newidle_result(&mut self, path: &NewIdleBalance) -> NewIdleResult {
        let h_nr_running = self.fair.cfs_rqs[CfsRqId::root(path.cpu)].h_nr_running;
        let rq = &mut self.rqs[path.cpu];
        rq.max_idle_balance_cost = rq.max_idle_balance_cost.max(path.cost);
        if rq.nr_running != h_nr_running {
            NewIdleResult::Retry
        } else if path.pulled || h_nr_running > 0 {
            NewIdleResult::Pulled
        } else {
            NewIdleResult::Nothing
        }
    }

    /// Ends the balancing with `result`. Returns false if the blocked load of tickless CPUs must still be
    /// updated.
    fn end_newidle(&mut self, path: &mut NewIdleBalance, result: NewIdleResult) -> bool {
        let of = &mut self.nohz.cpus[path.cpu];
        of.next_balance = of.next_balance.min(path.next_balance);
        let rq = &mut self.rqs[path.cpu];
        if result != NewIdleResult::Nothing {
            rq.idle_stamp = 0;
            return true;
        }
        let Some(tickless) = self.nohz_newidle_balance(path.cpu) else { return true };
        path.stage = NewIdleStage::Tickless(tickless);
        false
    }

    /// Draws whether a domain is tried, with odds from its success ratio. Returns the weight of a success, or
    /// `None` if the domain is skipped.
    ///
    /// A domain that is tried once in four times would seem to succeed a fourth as often, so each success
    /// counts four times.
    fn draw_success_weight(&mut self, cpu: CpuId, sd: DomainId) -> Option<u32> {
        if !self.features.has(Feature::NiRandom) {
            return Some(1);
        }
        let draw = prandom_u32_state(&mut self.rqs[cpu].rnd_state) % NI_RANDOM_MODULUS;
        let odds = 1 + self.domains.domains[sd].newidle_ratio;
        (draw <= odds).then_some((NI_RANDOM_MODULUS + odds / 2) / odds)
    }

    /// Lets the cost of newly-idle balancing in a domain decay. Returns whether a decay was due.
    pub(crate) fn decay_newidle_cost(&mut self, sd: DomainId) -> bool {
        let (jiffies, hz) = (self.jiffies, self.hz);
        self.domains.domains[sd].update_newidle_cost(0, 0, jiffies, hz)
    }
}

impl SchedDomain {
    /// Counts a try and its success. Every 1024 calls, of which half are carried over from before, make a new
    /// ratio.
    fn update_newidle_stats(&mut self, success: u32) {
        self.newidle_call += 1;
        self.newidle_success += success;
        if self.newidle_call >= NR_RATIO_CALLS {
            self.newidle_ratio = self.newidle_success;
            self.newidle_call /= 2;
            self.newidle_success /= 2;
        }
    }

    /// Records the highest cost of a pass, in ns. After one second without a higher cost it decays by about 1
    /// % (factor 253/256). Returns whether it decayed.
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

/// Draws from the four-word Tausworthe generator of `lib/random32.c` (L'Ecuyer's LFSR113).
///
/// Each word drops some low bits, is shifted left, and takes bits of its own shifted difference.
pub(crate) fn prandom_u32_state(state: &mut [u32; 4]) -> u32 {
    /// For each word: first shift, second shift, number of dropped low bits, third shift.
    const STEPS: [(u32, u32, u32, u32); 4] = [(6, 13, 1, 18), (2, 27, 3, 2), (13, 21, 4, 7), (3, 12, 7, 13)];
    let mut draw = 0;
    for (word, (feed, down, dropped, up)) in state.iter_mut().zip(STEPS) {
        let kept = (*word >> dropped << dropped) << up;
        *word = kept ^ (((*word << feed) ^ *word) >> down);
        draw ^= *word;
    }
    draw
}
