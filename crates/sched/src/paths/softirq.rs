// SPDX-License-Identifier: GPL-2.0-or-later
//! The balancing softirq of a CPU.
//!
//! Stands for `__do_softirq()` (since 6.10 `handle_softirqs()`) as far as the scheduler sees it, and models `invoke_softirq()`,
//! `run_rebalance_domains()` (6.1; since 6.10 `sched_balance_softirq()`). Rules:
//! 1. It runs when an interrupt ends, with interrupts on, and not on top of itself: raised meanwhile, it runs again
//!    afterwards, ten times at the most.
//! 2. The CPU does not reschedule before it is over.
//! 3. Where softirqs go over ([`Sched::set_softirq_deferral`]), one that was raised meanwhile is left pending if the CPU has to
//!    reschedule, or if 2 ms have passed, counted in jiffies. Who drives the CPU sees that and wakes the thread ksoftirqd.
//! 4. While that thread is runnable, softirqs at the end of an interrupt are left to it, if `ksoftirqd_first`.
//
// DIFFERS: where softirqs do not go over, which is where kernel code is free, one that is still pending after its tenth round waits for
// the end of the next interrupt.

use crate::interface::blocked::BlockedCaller;
use crate::interface::ctx::Ctx;
use crate::paths::domains::RebalanceDomains;
use crate::paths::load_balance::LbPass;
use crate::paths::nohz::idle_balance::NohzIdleBalance;
use crate::paths::resumable::{CpuPathStack, Resumable, Step, YieldPoint, Yielded};
use crate::paths::sched::Sched;
use crate::state::new_task::NewTask;
use crate::state::task::TaskState;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::{CpuId, TaskId};
use crate::types::work::KernelOp;

/// How often it runs at the most, raised again each time: MAX_SOFTIRQ_RESTART.
const MAX_ROUNDS: u32 = 10;
/// For how long it may begin again: MAX_SOFTIRQ_TIME, before it is made jiffies.
const MAX_TIME_NS: u64 = 2_000_000;

/// A run of the softirq.
#[derive(Clone, Debug)]
pub(crate) struct SoftirqRun {
    /// How often it has begun.
    rounds: u32,
    /// From this jiffy on it does not begin again.
    until: u64,
    /// The idle task had it run on its way to `schedule()`.
    then_reschedule: bool,
    stage: SoftirqStage,
}

/// What comes next.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a box would be made anew for each run, and nothing may allocate")]
enum SoftirqStage {
    /// See whether it is raised.
    Raised,
    /// Balance for this CPU, which is in that state: its blocked load first.
    Blocked(CpuIdleType),
    /// Its domains.
    Domains(RebalanceDomains),
    /// Balance for all tickless CPUs.
    Tickless(NohzIdleBalance),
}

impl SoftirqRun {
    /// The pass that is under way.
    pub(crate) fn pass(&self) -> Option<&LbPass> {
        match &self.stage {
            SoftirqStage::Domains(walk) => walk.pass(),
            SoftirqStage::Tickless(walk) => walk.pass(),
            SoftirqStage::Raised | SoftirqStage::Blocked(_) => None,
        }
    }
}

impl Sched {
    /// At the end of an interrupt: runs the softirq if it is pending on the CPU that executes this.
    #[inline]
    pub(crate) fn run_softirqs(&mut self, ctx: &mut Ctx<'_>) {
        if self.rqs[ctx.cpu.index()].sched_softirq && !self.defers_softirqs(ctx.cpu) {
            self.enter_softirqs(ctx, false);
        }
    }

    /// Has softirqs that would take too long left pending, or not any more. Who drives the CPU then has to wake the thread.
    pub fn set_softirq_deferral(&mut self, go_over: bool) {
        self.softirq_deferral = go_over;
    }

    /// Creates the thread ksoftirqd of the CPU that executes this. It has slept since the boot, so nothing is left of its averages.
    pub fn add_ksoftirqd(&mut self, ctx: &mut Ctx<'_>, new: NewTask) -> TaskId {
        let task = self.new_task(new, ctx.cpu);
        let p = &mut self.tasks[task.index()];
        (p.state, p.is_per_cpu_kthread) = (TaskState::Interruptible, true);
        let se = p.se;
        self.entities[se.index()].avg.load_avg = 0;
        self.rqs[ctx.cpu.index()].ksoftirqd = Some(task);
        self.report_priority(ctx, task, false);
        task
    }

    /// Whether softirqs that are raised on a CPU wait for its thread: `ksoftirqd_running()`.
    pub fn defers_softirqs(&self, cpu: CpuId) -> bool {
        let Some(thread) = self.rqs[cpu.index()].ksoftirqd else { return false };
        let p = &self.tasks[thread.index()];
        self.tunables.ksoftirqd_first && p.state == TaskState::Running && (p.is_queued() || p.on_cpu)
    }

    /// The thread ksoftirqd, on its CPU, runs the balancing softirq if that is pending.
    pub fn handle_softirqs(&mut self, ctx: &mut Ctx<'_>) {
        if self.rqs[ctx.cpu.index()].sched_softirq {
            self.enter_softirqs(ctx, false);
        }
    }

    /// For how many jiffies softirqs may begin again.
    pub fn max_softirq_jiffies(&self) -> u64 {
        MAX_TIME_NS.div_ceil(self.tick_ns)
    }

    /// Whether a softirq that was raised again while it ran is left to the thread.
    fn should_defer(&self, cpu: CpuId, run: &SoftirqRun) -> bool {
        let is_long = self.jiffies >= run.until || self.rqs[cpu.index()].need_resched;
        self.softirq_deferral && run.rounds > 0 && is_long
    }

    /// In the idle task, before it reschedules: the same. Returns whether it is over; otherwise rescheduling follows by
    /// itself.
    pub(crate) fn run_softirqs_before_schedule(&mut self, ctx: &mut Ctx<'_>) -> bool {
        !self.rqs[ctx.cpu.index()].sched_softirq || self.enter_softirqs(ctx, true)
    }

    /// Returns whether it is over.
    fn enter_softirqs(&mut self, ctx: &mut Ctx<'_>, then_reschedule: bool) -> bool {
        if self.walks.of(ctx.cpu).is_some_and(|walks| walks.softirq.is_some()) {
            return true;
        }
        let until = self.jiffies + self.max_softirq_jiffies();
        self.drive(ctx, SoftirqRun { rounds: 0, until, then_reschedule, stage: SoftirqStage::Raised }).is_some()
    }

    /// Goes on after a pause.
    pub(crate) fn resume_softirqs(&mut self, ctx: &mut Ctx<'_>, run: SoftirqRun) {
        let then_reschedule = run.then_reschedule;
        if self.drive(ctx, run).is_some() && then_reschedule && self.rqs[ctx.cpu.index()].need_resched {
            self.schedule(ctx);
        }
    }
}

impl Resumable for SoftirqRun {
    type Output = ();

    fn step(&mut self, sched: &mut Sched, ctx: &mut Ctx<'_>) -> Step<()> {
        let cpu = ctx.cpu;
        loop {
            match &mut self.stage {
                SoftirqStage::Raised => {
                    if self.rounds == MAX_ROUNDS || sched.should_defer(cpu, self) {
                        return Step::Done(());
                    }
                    if !core::mem::take(&mut sched.rqs[cpu.index()].sched_softirq) {
                        return Step::Done(());
                    }
                    self.rounds += 1;
                    ctx.charge(KernelOp::SoftirqRaise);
                    let is_idle = sched.rqs[cpu.index()].idle_balance;
                    let idle = if is_idle { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
                    // A CPU that was asked to balances for the tickless ones. That includes itself, so nothing else is left.
                    if let Some(walk) = sched.nohz_idle_balance(cpu, idle) {
                        self.stage = SoftirqStage::Tickless(walk);
                        return Step::Pause(YieldPoint::FREE);
                    }
                    self.stage = SoftirqStage::Blocked(idle);
                    return Step::Pause(YieldPoint::lock(cpu));
                }
                &mut SoftirqStage::Blocked(idle) => {
                    sched.update_blocked_averages(ctx, cpu, BlockedCaller::Softirq);
                    self.stage = SoftirqStage::Domains(sched.begin_domains(cpu, idle));
                    return Step::Pause(YieldPoint::FREE);
                }
                SoftirqStage::Domains(walk) => match sched.step_domains(ctx, walk) {
                    Step::Pause(before) => return Step::Pause(before),
                    Step::Done(()) => self.stage = SoftirqStage::Raised,
                },
                SoftirqStage::Tickless(walk) => match sched.step_tickless(ctx, walk) {
                    Step::Pause(before) => return Step::Pause(before),
                    Step::Done(()) => self.stage = SoftirqStage::Raised,
                },
            }
        }
    }

    fn place(walks: &mut CpuPathStack) -> &mut Option<Yielded<Self>> {
        &mut walks.softirq
    }
}
