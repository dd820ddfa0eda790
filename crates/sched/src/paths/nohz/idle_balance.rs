// SPDX-License-Identifier: GPL-2.0-or-later
//! Balancing and decaying for all tickless CPUs, by one of them.
//!
//! Models `nohz_idle_balance()`, `_nohz_idle_balance()`, `nohz_run_idle_balance()` and `nohz_newidle_balance()` (6.1).

use crate::interface::balance::{NOHZ_BALANCE_KICK, NOHZ_KICK_MASK, NOHZ_NEWILB_KICK, NOHZ_NEXT_KICK, NOHZ_STATS_KICK};
use crate::interface::blocked::BlockedCaller;
use crate::interface::ctx::Ctx;
use crate::paths::domains::RebalanceDomains;
use crate::paths::load_balance::LbPass;
use crate::paths::resumable::{CpuPathStack, Resumable, Step, YieldPoint, Yielded};
use crate::paths::sched::Sched;
use crate::types::cpumask::CpuMask;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;
use crate::types::units::{LOAD_AVG_PERIOD_MS, msecs_to_jiffies};
use crate::types::work::KernelOp;

/// A walk through the tickless CPUs: what `_nohz_idle_balance()` has in its variables.
#[derive(Clone, Debug)]
pub(crate) struct NohzIdleBalance {
    this_cpu: CpuId,
    flags: u32,
    caller: BlockedCaller,
    /// When it began, in jiffies.
    began: u64,
    next_balance: Option<u64>,
    has_blocked: bool,
    /// Something was done for the CPU at hand, which takes time.
    has_worked: bool,
    cpus: WrapResult,
    stage: NohzIdleStage,
}

/// What comes next.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a box would be made anew for each walk, and nothing may allocate")]
enum NohzIdleStage {
    /// The next CPU.
    Next,
    /// Update the blocked load of a CPU.
    Stats(CpuId),
    /// Balance for a CPU if it is due.
    Due(CpuId),
    /// Balance its domains.
    Domains(CpuId, RebalanceDomains),
}

impl NohzIdleBalance {
    /// The pass that is under way.
    pub(crate) fn pass(&self) -> Option<&LbPass> {
        match &self.stage {
            NohzIdleStage::Domains(_, walk) => walk.pass(),
            NohzIdleStage::Next | NohzIdleStage::Stats(_) | NohzIdleStage::Due(_) => None,
        }
    }

    const fn wants_stats(&self) -> bool {
        self.flags & NOHZ_STATS_KICK != 0
    }

    const fn wants_next(&self) -> bool {
        self.flags & NOHZ_NEXT_KICK != 0
    }
}

/// The walk of the idle loop over the tickless CPUs, before the CPU idles.
#[derive(Clone, Debug)]
pub(crate) struct NohzRunIdle(NohzIdleBalance);

impl Resumable for NohzRunIdle {
    type Output = ();

    fn step(&mut self, sched: &mut Sched, ctx: &mut Ctx<'_>) -> Step<()> {
        sched.step_tickless(ctx, &mut self.0)
    }

    fn place(walks: &mut CpuPathStack) -> &mut Option<Yielded<Self>> {
        &mut walks.idle_loop
    }
}

impl Sched {
    /// In the softirq: begins to do what this CPU was asked for, if it is still idle. That includes its own domains.
    pub(crate) fn nohz_idle_balance(&mut self, this_cpu: CpuId, idle: CpuIdleType) -> Option<NohzIdleBalance> {
        let flags = core::mem::take(&mut self.rqs[this_cpu.index()].nohz_idle_balance);
        (flags != 0 && idle == CpuIdleType::Idle).then(|| self.begin_tickless(this_cpu, flags, BlockedCaller::NohzKick))
    }

    /// In the idle loop, before the tick stops: updates blocked load if newly-idle balancing left that to do, and nobody
    /// has asked for more meanwhile. Returns whether that is over.
    pub(crate) fn nohz_run_idle_balance(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> bool {
        let rq = &mut self.rqs[cpu.index()];
        let flags = rq.nohz_flags;
        rq.nohz_flags &= !NOHZ_NEWILB_KICK;
        if flags != NOHZ_NEWILB_KICK || rq.need_resched {
            return true;
        }
        let walk = self.begin_tickless(cpu, NOHZ_STATS_KICK, BlockedCaller::NohzIdle);
        self.drive(ctx, NohzRunIdle(walk)).is_some()
    }

    /// A CPU that found no work will update blocked load in its idle loop, if it expects to be idle long enough and it is
    /// time. With the tunable `newidle_blocked` it does so at once, as before 5.12: then that begins here.
    pub(crate) fn nohz_newidle_balance(&mut self, cpu: CpuId) -> Option<NohzIdleBalance> {
        let is_worth_it = self.rqs[cpu.index()].avg_idle >= self.migration_cost_u64();
        if !is_worth_it || !self.nohz.has_blocked || self.jiffies < self.nohz.next_blocked {
            return None;
        }
        if self.tunables.changes.newidle_blocked {
            return Some(self.begin_tickless(cpu, NOHZ_STATS_KICK, BlockedCaller::NohzNewIdle));
        }
        self.rqs[cpu.index()].nohz_flags |= NOHZ_NEWILB_KICK;
        None
    }

    /// Begins to do what the flags ask for, for each tickless CPU that is idle: `_nohz_idle_balance()`.
    ///
    /// Rules, in order:
    /// 1. What is to be found out anew is forgotten first, so that what others report meanwhile is not lost.
    /// 2. The CPUs come in order from the one after this on; this one is the last.
    /// 3. When this CPU has got work, the rest is left for the next time.
    /// 4. A CPU whose balancing is due is balanced.
    pub(crate) fn begin_tickless(&mut self, this_cpu: CpuId, flags: u32, caller: BlockedCaller) -> NohzIdleBalance {
        debug_assert!(flags & NOHZ_KICK_MASK != NOHZ_BALANCE_KICK, "balancing comes with an update of blocked load");
        let walk = NohzIdleBalance {
            this_cpu,
            flags,
            caller,
            began: self.jiffies,
            next_balance: None,
            has_blocked: false,
            has_worked: false,
            cpus: WrapResult::after(this_cpu),
            stage: NohzIdleStage::Next,
        };
        if walk.wants_stats() {
            self.nohz.has_blocked = false;
        }
        if walk.wants_next() {
            self.nohz.needs_update = false;
        }
        walk
    }

    /// Does the next phase of that.
    pub(crate) fn step_tickless(&mut self, ctx: &mut Ctx<'_>, walk: &mut NohzIdleBalance) -> Step<()> {
        loop {
            match &mut walk.stage {
                NohzIdleStage::Next => match self.next_tickless(ctx, walk) {
                    Some(cpu) if walk.wants_stats() => {
                        walk.stage = NohzIdleStage::Stats(cpu);
                        walk.has_worked = self.nohz_stats_are_due(cpu);
                        if walk.has_worked {
                            return Step::Pause(YieldPoint::lock(cpu));
                        }
                    }
                    Some(cpu) => walk.stage = NohzIdleStage::Due(cpu),
                    None => return Step::Done(()),
                },
                &mut NohzIdleStage::Stats(cpu) => {
                    walk.has_blocked |= self.update_nohz_stats(ctx, cpu, walk.caller);
                    walk.stage = NohzIdleStage::Due(cpu);
                }
                &mut NohzIdleStage::Due(cpu) => {
                    walk.stage = NohzIdleStage::Next;
                    if self.is_own_apart(walk, cpu) && self.tunables.changes.ilb_others < 2 {
                        self.write_next_balance(walk);
                    }
                    if self.is_own_apart(walk, cpu) || self.jiffies >= self.nohz.cpus[cpu.index()].next_balance {
                        walk.has_worked = true;
                        let _rq = self.rq_lock_clocked(ctx, cpu);
                        if walk.flags & NOHZ_BALANCE_KICK != 0 {
                            walk.stage = NohzIdleStage::Domains(cpu, self.begin_domains(cpu, CpuIdleType::Idle));
                            continue;
                        }
                    }
                    self.record_next_balance(walk, cpu);
                    if core::mem::take(&mut walk.has_worked) {
                        return Step::Pause(YieldPoint::FREE);
                    }
                }
                NohzIdleStage::Domains(cpu, domains) => {
                    let cpu = *cpu;
                    if let Step::Pause(before) = self.step_domains(ctx, domains) {
                        return Step::Pause(before);
                    }
                    walk.stage = NohzIdleStage::Next;
                    self.record_next_balance(walk, cpu);
                    return Step::Pause(YieldPoint::FREE);
                }
            }
        }
    }

    /// The next CPU that is idle and for which something is due. None if there is no more, or this CPU has got work; then the
    /// walk is over, and says so.
    ///
    /// Of the idle CPUs on the way, for which nothing is due, only that is noted: most are such, so the walk reads no more
    /// of them than it must.
    fn next_tickless(&mut self, ctx: &mut Ctx<'_>, walk: &mut NohzIdleBalance) -> Option<CpuId> {
        self.refresh_tallies();
        let this_rq = &self.rqs[walk.this_cpu.index()];
        let has_got_work = !this_rq.is_idle() && this_rq.need_resched;
        while let Some(cpu) = walk.cpus.next(&self.nohz.idle_cpus_mask) {
            ctx.charge(KernelOp::TicklessCpu);
            ctx.work.touch_read(cpu);
            if !self.tallies.idle().contains(cpu) {
                continue;
            }
            if has_got_work {
                self.nohz.needs_update |= walk.wants_next();
                self.nohz.has_blocked |= walk.has_blocked || walk.wants_stats();
                if self.tunables.changes.ilb_others == 2 {
                    self.write_next_balance(walk);
                }
                return None;
            }
            if self.is_anything_due(walk, cpu) {
                return Some(cpu);
            }
            walk.has_blocked |= walk.wants_stats() && self.nohz.cpus[cpu.index()].has_blocked_load;
            self.record_next_balance(walk, cpu);
        }
        self.write_next_balance(walk);
        if walk.wants_stats() {
            self.nohz.next_blocked = walk.began + msecs_to_jiffies(LOAD_AVG_PERIOD_MS, self.hz);
        }
        self.nohz.has_blocked |= walk.has_blocked;
        None
    }

    /// Whether a tickless CPU's blocked load is to be updated, or it is to be balanced, or it is a case of its own.
    fn is_anything_due(&self, walk: &NohzIdleBalance, cpu: CpuId) -> bool {
        self.jiffies >= self.nohz.cpus[cpu.index()].next_balance
            || walk.wants_stats() && self.nohz_stats_are_due(cpu)
            || self.is_own_apart(walk, cpu)
    }

    /// Whether the CPU at hand is the one that walks, and that is a case of its own (the tunable `ilb_others`).
    fn is_own_apart(&self, walk: &NohzIdleBalance, cpu: CpuId) -> bool {
        self.tunables.changes.ilb_others > 0 && cpu == walk.this_cpu
    }

    /// What was noted so far says when idle balancing is due next. It is written once.
    fn write_next_balance(&mut self, walk: &mut NohzIdleBalance) {
        if let Some(due) = walk.next_balance.take() {
            self.nohz.next_balance = due;
        }
    }

    fn record_next_balance(&self, walk: &mut NohzIdleBalance, cpu: CpuId) {
        if self.is_own_apart(walk, cpu) {
            return;
        }
        let due = self.nohz.cpus[cpu.index()].next_balance;
        if due < walk.next_balance.unwrap_or_else(|| walk.began + 60 * self.hz) {
            walk.next_balance = Some(due);
        }
    }
}

/// A walk over the CPUs of a mask that may change on the way: `for_each_cpu_wrap()`.
#[derive(Clone, Debug)]
struct WrapResult {
    first: CpuId,
    next: CpuId,
    wrapped: bool,
}

impl WrapResult {
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
