// SPDX-License-Identifier: GPL-2.0-or-later
//! Balancing softirq of a CPU.
//!
//! Models the scheduler's part of `__do_softirq()` (since 6.10 `handle_softirqs()`), `invoke_softirq()`, and
//! `run_rebalance_domains()` (6.1; since 6.10 `sched_balance_softirq()`). Rules:
//! 1. The softirq runs at the end of an interrupt, with interrupts on, and does not nest. If it is raised
//!    meanwhile, it runs again afterwards, at most ten times.
//! 2. The CPU does not reschedule before it ends.
//! 3. With softirq deferral ([`Sched::set_softirq_deferral`]), a softirq that was raised again stays pending
//!    if the CPU must reschedule, or if 2 ms have passed, counted in jiffies. The machine then wakes the
//!    thread ksoftirqd.
//! 4. While that thread is runnable, softirqs at the end of an interrupt are left to it, if the tunable
//!    `ksoftirqd_first` is set.
//
// DIFFERS: Without softirq deferral, which is the case where kernel code has no cost, a softirq that is still
// pending after its tenth round waits for the end of the next interrupt. The kernel wakes ksoftirqd.

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

/// Maximum number of rounds of one run (MAX_SOFTIRQ_RESTART).
const MAX_ROUNDS: u32 = 10;
/// Time within which a run may begin another round (MAX_SOFTIRQ_TIME, before its conversion to jiffies).
const MAX_TIME_NS: u64 = 2_000_000;

/// Run of the balancing softirq in progress.
#[derive(Clone, Debug)]
pub(crate) struct SoftirqRun {
    /// Number of rounds begun so far.
    rounds: u32,
    /// Jiffy from which no further round begins.
    until: u64,
    /// The idle task runs the softirq before `schedule()`, which follows when the run ends.
    then_reschedule: bool,
    stage: SoftirqStage,
}

/// Next phase of a run.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "boxing would allocate in each run, which must not allocate")]
enum SoftirqStage {
    /// Check whether the softirq is raised.
    Raised,
    /// Balance for this CPU, which has this idle type: update its blocked load first.
    Blocked(CpuIdleType),
    /// Balance the domains of this CPU.
    Domains(RebalanceDomains),
    /// Balance for all tickless CPUs.
    Tickless(NohzIdleBalance),
}

impl SoftirqRun {
    /// Returns the load-balance pass in progress.
    pub(crate) fn pass(&self) -> Option<&LbPass> {
        match &self.stage {
            SoftirqStage::Domains(path) => path.pass(),
            SoftirqStage::Tickless(path) => path.pass(),
            SoftirqStage::Raised | SoftirqStage::Blocked(_) => None,
        }
    }
}

impl Sched {
    /// Runs the softirq at the end of an interrupt if it is pending on the executing CPU.
    #[inline]
    pub(crate) fn run_softirqs(&mut self, ctx: &mut Ctx<'_>) {
        if self.rqs[ctx.cpu].sched_softirq && !self.defers_softirqs(ctx.cpu) {
            self.enter_softirqs(ctx, false);
        }
    }

    /// Switches softirq deferral on or off. With deferral, softirqs that take too long stay pending, and the
    /// machine must wake ksoftirqd.
    pub fn set_softirq_deferral(&mut self, enabled: bool) {
        self.softirq_deferral = enabled;
    }

    /// Creates a kernel thread whose last CPU is the executing one. The thread has slept since boot, so its
    /// averages have decayed to zero.
    pub fn add_kthread(&mut self, ctx: &mut Ctx<'_>, new: NewTask) -> TaskId {
        let task = self.new_task(new, ctx.cpu);
        let p = &mut self.tasks[task];
        (p.state, p.is_per_cpu_kthread) = (TaskState::Interruptible, p.nr_cpus_allowed == 1);
        let se = p.se;
        self.fair.entities[se].avg.load_avg = 0;
        self.report_priority(ctx, task);
        task
    }

    /// Creates the thread ksoftirqd of the executing CPU.
    pub fn add_ksoftirqd(&mut self, ctx: &mut Ctx<'_>, new: NewTask) -> TaskId {
        let task = self.add_kthread(ctx, new);
        self.rqs[ctx.cpu].ksoftirqd = Some(task);
        task
    }

    /// Whether softirqs that are raised on a CPU wait for its ksoftirqd (`ksoftirqd_running()`).
    pub fn defers_softirqs(&self, cpu: CpuId) -> bool {
        let Some(thread) = self.rqs[cpu].ksoftirqd else { return false };
        let p = &self.tasks[thread];
        self.tunables.ksoftirqd_first && p.state == TaskState::Running && (p.is_queued() || p.on_cpu)
    }

    /// Runs the balancing softirq in the thread ksoftirqd, on its CPU, if it is pending.
    pub fn handle_softirqs(&mut self, ctx: &mut Ctx<'_>) {
        if self.rqs[ctx.cpu].sched_softirq {
            self.enter_softirqs(ctx, false);
        }
    }

    /// Returns the number of jiffies within which softirqs may begin another round.
    pub fn max_softirq_jiffies(&self) -> u64 {
        MAX_TIME_NS.div_ceil(self.tick_ns)
    }

    /// Whether a softirq that was raised again while it ran is left to ksoftirqd.
    fn should_defer(&self, cpu: CpuId, run: &SoftirqRun) -> bool {
        let is_long = self.jiffies >= run.until || self.rqs[cpu].need_resched;
        self.softirq_deferral && run.rounds > 0 && is_long
    }

    /// Runs a pending softirq in the idle task before it reschedules. Returns whether the run is complete; if
    /// it yields, rescheduling follows at its end.
    pub(crate) fn run_softirqs_before_schedule(&mut self, ctx: &mut Ctx<'_>) -> bool {
        !self.rqs[ctx.cpu].sched_softirq || self.enter_softirqs(ctx, true)
    }

    /// Begins a run unless one is in progress. Returns whether the run is complete.
    fn enter_softirqs(&mut self, ctx: &mut Ctx<'_>, then_reschedule: bool) -> bool {
        if self.path_stacks.of(ctx.cpu).is_some_and(|stack| stack.softirq.is_some()) {
            return true;
        }
        let until = self.jiffies + self.max_softirq_jiffies();
        self.run_path(ctx, SoftirqRun { rounds: 0, until, then_reschedule, stage: SoftirqStage::Raised }).is_some()
    }

    /// Resumes a run, and reschedules at its end if the idle task requested that.
    pub(crate) fn resume_softirqs(&mut self, ctx: &mut Ctx<'_>, run: SoftirqRun) {
        let then_reschedule = run.then_reschedule;
        if self.run_path(ctx, run).is_some() && then_reschedule && self.rqs[ctx.cpu].need_resched {
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
                    if !core::mem::take(&mut sched.rqs[cpu].sched_softirq) {
                        return Step::Done(());
                    }
                    self.rounds += 1;
                    ctx.charge(KernelOp::SoftirqRaise);
                    let is_idle = sched.rqs[cpu].idle_balance;
                    let idle = if is_idle { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
                    // A kicked CPU balances for all tickless CPUs, including itself, so nothing else is left.
                    if let Some(path) = sched.nohz_idle_balance(cpu, idle) {
                        self.stage = SoftirqStage::Tickless(path);
                        return Step::Yield(YieldPoint::UNLOCKED);
                    }
                    self.stage = SoftirqStage::Blocked(idle);
                    return Step::Yield(YieldPoint::lock(cpu));
                }
                &mut SoftirqStage::Blocked(idle) => {
                    sched.update_blocked_averages(ctx, cpu, BlockedCaller::Softirq);
                    self.stage = SoftirqStage::Domains(sched.begin_domains(cpu, idle));
                    return Step::Yield(YieldPoint::UNLOCKED);
                }
                SoftirqStage::Domains(path) => match sched.step_domains(ctx, path) {
                    Step::Yield(before) => return Step::Yield(before),
                    Step::Done(()) => self.stage = SoftirqStage::Raised,
                },
                SoftirqStage::Tickless(path) => match sched.step_nohz_idle_balance(ctx, path) {
                    Step::Yield(before) => return Step::Yield(before),
                    Step::Done(()) => self.stage = SoftirqStage::Raised,
                },
            }
        }
    }

    fn slot(walks: &mut CpuPathStack) -> &mut Option<Yielded<Self>> {
        &mut walks.softirq
    }
}
