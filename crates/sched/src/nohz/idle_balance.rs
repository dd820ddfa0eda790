// SPDX-License-Identifier: GPL-2.0-or-later
//! Balancing and decaying for all tickless CPUs, by one of them.
//!
//! Models `nohz_idle_balance()`, `_nohz_idle_balance()`, `nohz_run_idle_balance()` and `nohz_newidle_balance()` (6.1).

use super::blocked::BlockedCaller;
use super::{LOAD_AVG_PERIOD_MS, NOHZ_BALANCE_KICK, NOHZ_KICK_MASK, NOHZ_NEWILB_KICK, NOHZ_NEXT_KICK, NOHZ_STATS_KICK};
use crate::balance::interval::msecs_to_jiffies;
use crate::cpumask::CpuMask;
use crate::ctx::Ctx;
use crate::ids::CpuId;
use crate::sched::Sched;
use crate::topology::CpuIdleType;

impl Sched {
    /// In the softirq: does what this CPU was asked for, if it is still idle. Returns whether it did, for its own domains
    /// too.
    pub(crate) fn nohz_idle_balance(&mut self, ctx: &mut Ctx<'_>, this_cpu: CpuId, idle: CpuIdleType) -> bool {
        let flags = core::mem::take(&mut self.rqs[this_cpu.index()].nohz_idle_balance);
        if flags == 0 || idle != CpuIdleType::Idle {
            return false;
        }
        self.balance_for_tickless(ctx, this_cpu, flags, BlockedCaller::NohzKick);
        true
    }

    /// In the idle loop, before the tick stops: updates blocked load if newly-idle balancing left that to do, and nobody
    /// has asked for more meanwhile.
    pub(crate) fn nohz_run_idle_balance(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let rq = &mut self.rqs[cpu.index()];
        let flags = rq.nohz_flags;
        rq.nohz_flags &= !NOHZ_NEWILB_KICK;
        if flags == NOHZ_NEWILB_KICK && !rq.need_resched {
            self.balance_for_tickless(ctx, cpu, NOHZ_STATS_KICK, BlockedCaller::NohzIdle);
        }
    }

    /// A CPU that found no work will update blocked load in its idle loop, if it expects to be idle long enough and it is
    /// time. With the tunable `newidle_blocked` it does so at once, as before 5.12.
    pub(crate) fn nohz_newidle_balance(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let is_worth_it = self.rqs[cpu.index()].avg_idle >= self.migration_cost_u64();
        if !is_worth_it || !self.nohz.has_blocked || self.jiffies < self.nohz.next_blocked {
            return;
        }
        if self.tunables.changes.newidle_blocked {
            self.balance_for_tickless(ctx, cpu, NOHZ_STATS_KICK, BlockedCaller::NohzNewIdle);
        } else {
            self.rqs[cpu.index()].nohz_flags |= NOHZ_NEWILB_KICK;
        }
    }

    /// Does what the flags ask for, for each tickless CPU that is idle: `_nohz_idle_balance()`.
    ///
    /// Rules, in order:
    /// 1. What is to be found out anew is forgotten first, so that what others report meanwhile is not lost.
    /// 2. The CPUs come in order from the one after this on; this one is the last.
    /// 3. When this CPU has got work, the rest is left for the next time.
    /// 4. A CPU whose balancing is due is balanced.
    fn balance_for_tickless(&mut self, ctx: &mut Ctx<'_>, this_cpu: CpuId, flags: u32, caller: BlockedCaller) {
        debug_assert!(flags & NOHZ_KICK_MASK != NOHZ_BALANCE_KICK, "balancing comes with an update of blocked load");
        let (wants_stats, wants_next) = (flags & NOHZ_STATS_KICK != 0, flags & NOHZ_NEXT_KICK != 0);
        let now = self.jiffies;
        if wants_stats {
            self.nohz.has_blocked = false;
        }
        if wants_next {
            self.nohz.needs_update = false;
        }
        let latest = now + 60 * self.hz();
        let (mut next_balance, mut has_blocked) = (None, false);
        let mut walk = Wrap::after(this_cpu);
        while let Some(cpu) = walk.next(&self.nohz.idle_cpus_mask) {
            if !self.rqs[cpu.index()].is_idle() {
                continue;
            }
            let this_rq = &self.rqs[this_cpu.index()];
            if !this_rq.is_idle() && this_rq.need_resched {
                self.nohz.needs_update |= wants_next;
                self.nohz.has_blocked |= has_blocked || wants_stats;
                return;
            }
            if wants_stats {
                has_blocked |= self.update_nohz_stats(ctx, cpu, caller);
            }
            if self.jiffies >= self.rqs[cpu.index()].next_balance {
                self.update_rq_clock(ctx, cpu);
                if flags & NOHZ_BALANCE_KICK != 0 {
                    self.rebalance_domains(ctx, cpu, CpuIdleType::Idle);
                }
            }
            let due = self.rqs[cpu.index()].next_balance;
            if due < next_balance.unwrap_or(latest) {
                next_balance = Some(due);
            }
        }
        if let Some(due) = next_balance {
            self.nohz.next_balance = due;
        }
        if wants_stats {
            self.nohz.next_blocked = now + msecs_to_jiffies(LOAD_AVG_PERIOD_MS, self.hz());
        }
        self.nohz.has_blocked |= has_blocked;
    }
}

/// A walk over the CPUs of a mask that may change on the way: `for_each_cpu_wrap()`.
struct Wrap {
    first: CpuId,
    next: CpuId,
    wrapped: bool,
}

impl Wrap {
    /// Starts behind a CPU and ends with it.
    const fn after(cpu: CpuId) -> Self {
        let first = CpuId(cpu.0 + 1);
        Self { first, next: first, wrapped: false }
    }

    fn next(&mut self, mask: &CpuMask) -> Option<CpuId> {
        let mut found = mask.next_from(self.next);
        if found.is_none() && !self.wrapped {
            self.wrapped = true;
            found = mask.first();
        }
        let cpu = found.filter(|&cpu| !self.wrapped || cpu < self.first)?;
        self.next = CpuId(cpu.0 + 1);
        Some(cpu)
    }
}
