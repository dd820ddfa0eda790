// SPDX-License-Identifier: GPL-2.0-or-later
//! NOHZ idle balancing: one tickless CPU balances and decays blocked load for all of them.
//!
//! Models `nohz_idle_balance()`, `_nohz_idle_balance()`, `nohz_run_idle_balance()` and
//! `nohz_newidle_balance()` (6.1).

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

/// Iteration over the tickless CPUs in progress: the local variables of `_nohz_idle_balance()`.
#[derive(Clone, Debug)]
pub(crate) struct NohzIdleBalance {
    this_cpu: CpuId,
    flags: u32,
    caller: BlockedCaller,
    /// Start of the iteration, in jiffies.
    began: u64,
    next_balance: Option<u64>,
    has_blocked: bool,
    /// The current CPU needed work that takes time, so the path yields before the next one.
    has_worked: bool,
    cpus: CpuWrapIter,
    stage: NohzIdleStage,
}

/// Next phase of the iteration.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "boxing would allocate on each call, which must not allocate")]
enum NohzIdleStage {
    /// Advance to the next CPU.
    Next,
    /// Update the blocked load of this CPU.
    Stats(CpuId),
    /// Balance for this CPU if it is due.
    Due(CpuId),
    /// Balance the domains of this CPU.
    Domains(CpuId, RebalanceDomains),
}

impl NohzIdleBalance {
    /// Returns the load-balance pass in progress.
    pub(crate) fn pass(&self) -> Option<&LbPass> {
        match &self.stage {
            NohzIdleStage::Domains(_, path) => path.pass(),
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

/// Iteration over the tickless CPUs in the idle loop, before the CPU idles (`nohz_run_idle_balance()`).
#[derive(Clone, Debug)]
pub(crate) struct NohzRunIdle(NohzIdleBalance);

impl Resumable for NohzRunIdle {
    type Output = ();

    fn step(&mut self, sched: &mut Sched, ctx: &mut Ctx<'_>) -> Step<()> {
        sched.step_nohz_idle_balance(ctx, &mut self.0)
    }

    fn slot(stack: &mut CpuPathStack) -> &mut Option<Yielded<Self>> {
        &mut stack.idle_loop
    }
}

impl Sched {
    /// Begins the work for which this CPU was kicked, in its softirq, if it is still idle. Returns `None` if
    /// it was not kicked or has work. The work includes the CPU's own domains.
    pub(crate) fn nohz_idle_balance(&mut self, this_cpu: CpuId, idle: CpuIdleType) -> Option<NohzIdleBalance> {
        let flags = core::mem::take(&mut self.rqs[this_cpu].nohz_idle_balance);
        (flags != 0 && idle == CpuIdleType::Idle)
            .then(|| self.begin_nohz_idle_balance(this_cpu, flags, BlockedCaller::NohzKick))
    }

    /// Updates blocked load in the idle loop, before the tick stops, if newly-idle balancing has deferred
    /// that and no kick has requested more meanwhile. Returns whether the update is complete.
    pub(crate) fn nohz_run_idle_balance(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> bool {
        let rq = &mut self.rqs[cpu];
        let flags = rq.nohz_flags;
        rq.nohz_flags &= !NOHZ_NEWILB_KICK;
        if flags != NOHZ_NEWILB_KICK || rq.need_resched {
            return true;
        }
        let path = self.begin_nohz_idle_balance(cpu, NOHZ_STATS_KICK, BlockedCaller::NohzIdle);
        self.run_path(ctx, NohzRunIdle(path)).is_some()
    }

    /// Defers the update of blocked load to the idle loop of a CPU that found no work, if the update is due
    /// and the CPU expects to be idle long enough.
    ///
    /// With the tunable `newidle_blocked`, as before 5.13, the update begins at once and is returned.
    pub(crate) fn nohz_newidle_balance(&mut self, cpu: CpuId) -> Option<NohzIdleBalance> {
        let is_worth_it = self.rqs[cpu].avg_idle >= self.tunables.migration_cost_u64();
        if !is_worth_it || !self.nohz.has_blocked || self.jiffies < self.nohz.next_blocked {
            return None;
        }
        if self.tunables.changes.newidle_blocked {
            return Some(self.begin_nohz_idle_balance(cpu, NOHZ_STATS_KICK, BlockedCaller::NohzNewIdle));
        }
        self.rqs[cpu].nohz_flags |= NOHZ_NEWILB_KICK;
        None
    }

    /// Begins the work that `flags` request, for each idle tickless CPU (`_nohz_idle_balance()`).
    ///
    /// Rules, in order:
    /// 1. The state to be determined is cleared first, so that concurrent reports by other CPUs are not lost.
    /// 2. The CPUs are visited in order from the one after this CPU; this CPU is the last.
    /// 3. If this CPU gets work, the rest is left for the next time.
    /// 4. CPUs whose balancing is due are balanced.
    pub(crate) fn begin_nohz_idle_balance(
        &mut self,
        this_cpu: CpuId,
        flags: u32,
        caller: BlockedCaller,
    ) -> NohzIdleBalance {
        debug_assert!(flags & NOHZ_KICK_MASK != NOHZ_BALANCE_KICK, "balancing comes with an update of blocked load");
        let path = NohzIdleBalance {
            this_cpu,
            flags,
            caller,
            began: self.jiffies,
            next_balance: None,
            has_blocked: false,
            has_worked: false,
            cpus: CpuWrapIter::after(this_cpu),
            stage: NohzIdleStage::Next,
        };
        if path.wants_stats() {
            self.nohz.has_blocked = false;
        }
        if path.wants_next() {
            self.nohz.needs_update = false;
        }
        path
    }

    /// Runs the next phases of the iteration, up to a yield point or the end.
    pub(crate) fn step_nohz_idle_balance(&mut self, ctx: &mut Ctx<'_>, path: &mut NohzIdleBalance) -> Step<()> {
        loop {
            match &mut path.stage {
                NohzIdleStage::Next => match self.next_nohz_cpu(ctx, path) {
                    Some(cpu) if path.wants_stats() => {
                        path.stage = NohzIdleStage::Stats(cpu);
                        path.has_worked =
                            self.state.nohz.nohz_stats_are_due(&self.state.tunables, self.state.jiffies, cpu);
                        if path.has_worked && self.path_stacks.yields() {
                            return Step::Yield(YieldPoint::lock(cpu));
                        }
                    }
                    Some(cpu) => path.stage = NohzIdleStage::Due(cpu),
                    None => return Step::Done(()),
                },
                &mut NohzIdleStage::Stats(cpu) => {
                    path.has_blocked |= self.update_nohz_stats(ctx, cpu, path.caller);
                    path.stage = NohzIdleStage::Due(cpu);
                }
                &mut NohzIdleStage::Due(cpu) => {
                    path.stage = NohzIdleStage::Next;
                    if self.is_own_cpu_special(path, cpu) && self.tunables.changes.ilb_others < 2 {
                        self.write_next_balance(path);
                    }
                    if self.is_own_cpu_special(path, cpu) || self.jiffies >= self.nohz.cpus[cpu].next_balance {
                        path.has_worked = true;
                        let _rq = self.rq_lock_clocked(ctx, cpu);
                        if path.flags & NOHZ_BALANCE_KICK != 0 {
                            path.stage = NohzIdleStage::Domains(cpu, self.begin_domains(cpu, CpuIdleType::Idle));
                            continue;
                        }
                    }
                    self.record_next_balance(path, cpu);
                    if core::mem::take(&mut path.has_worked) && self.path_stacks.yields() {
                        return Step::Yield(YieldPoint::UNLOCKED);
                    }
                }
                NohzIdleStage::Domains(cpu, domains) => {
                    let cpu = *cpu;
                    if let Step::Yield(before) = self.step_domains(ctx, domains) {
                        return Step::Yield(before);
                    }
                    path.stage = NohzIdleStage::Next;
                    self.record_next_balance(path, cpu);
                    if self.path_stacks.yields() {
                        return Step::Yield(YieldPoint::UNLOCKED);
                    }
                }
            }
        }
    }

    /// Returns the next idle CPU for which work is due. `None` ends the iteration: no CPU is left, or this
    /// CPU has got work. The state of the iteration is then written.
    ///
    /// For idle CPUs without due work only their next balancing time and blocked load are recorded. Most CPUs
    /// are of this kind, so the iteration reads little of them.
    fn next_nohz_cpu(&mut self, ctx: &mut Ctx<'_>, path: &mut NohzIdleBalance) -> Option<CpuId> {
        self.refresh_lb_cache();
        let this_rq = &self.rqs[path.this_cpu];
        let has_got_work = !this_rq.is_idle() && this_rq.need_resched;
        while let Some(cpu) = path.cpus.next(&self.nohz.idle_cpus_mask) {
            ctx.charge(KernelOp::TicklessCpu);
            ctx.op_counts.touch_read(cpu);
            if !self.lb_cache.idle().contains(cpu) {
                continue;
            }
            if has_got_work {
                self.nohz.needs_update |= path.wants_next();
                self.nohz.has_blocked |= path.has_blocked || path.wants_stats();
                if self.tunables.changes.ilb_others == 2 {
                    self.write_next_balance(path);
                }
                return None;
            }
            if self.is_anything_due(path, cpu) {
                return Some(cpu);
            }
            path.has_blocked |= path.wants_stats() && self.nohz.cpus[cpu].has_blocked_load;
            self.record_next_balance(path, cpu);
        }
        self.write_next_balance(path);
        if path.wants_stats() {
            self.nohz.next_blocked = path.began + msecs_to_jiffies(LOAD_AVG_PERIOD_MS, self.hz);
        }
        self.nohz.has_blocked |= path.has_blocked;
        None
    }

    /// Whether a tickless CPU needs an update of blocked load or balancing, or is this CPU and treated
    /// specially.
    fn is_anything_due(&self, path: &NohzIdleBalance, cpu: CpuId) -> bool {
        self.jiffies >= self.nohz.cpus[cpu].next_balance
            || path.wants_stats() && self.state.nohz.nohz_stats_are_due(&self.state.tunables, self.state.jiffies, cpu)
            || self.is_own_cpu_special(path, cpu)
    }

    /// Whether `cpu` is the CPU that iterates, and is treated specially (tunable `ilb_others`: before 5.13).
    fn is_own_cpu_special(&self, path: &NohzIdleBalance, cpu: CpuId) -> bool {
        self.tunables.changes.ilb_others > 0 && cpu == path.this_cpu
    }

    /// Writes the recorded time of the next idle balancing to `nohz.next_balance`, at most once.
    fn write_next_balance(&mut self, path: &mut NohzIdleBalance) {
        if let Some(due) = path.next_balance.take() {
            self.nohz.next_balance = due;
        }
    }

    fn record_next_balance(&self, path: &mut NohzIdleBalance, cpu: CpuId) {
        if self.is_own_cpu_special(path, cpu) {
            return;
        }
        let due = self.nohz.cpus[cpu].next_balance;
        if due < path.next_balance.unwrap_or_else(|| path.began + 60 * self.hz) {
            path.next_balance = Some(due);
        }
    }
}

/// Iterator over the CPUs of a mask that may change meanwhile (`for_each_cpu_wrap()`).
#[derive(Clone, Debug)]
struct CpuWrapIter {
    first: CpuId,
    next: CpuId,
    wrapped: bool,
}

impl CpuWrapIter {
    /// Starts after `cpu` and ends with it.
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
