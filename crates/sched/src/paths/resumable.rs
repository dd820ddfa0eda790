// SPDX-License-Identifier: GPL-2.0-or-later
//! Resumable kernel paths: state machines that yield where the kernel takes or drops a lock.
//!
//! Kernel code takes simulated time. If `try_to_wake_up()` ran at one instant, no other CPU could take the
//! idle CPU that a scan has just seen. A path that the kernel does not run under one lock therefore
//! implements [`Resumable`]; each `step()` executes one phase. A phase also ends where concurrent changes by
//! other CPUs matter.
//!
//! With [`YieldMode::On`]:
//! 1. A `handle_*` call runs to the first yield point, stores the path and returns.
//! 2. The machine reads [`Sched::yielded_path`], keeps the CPU busy for the phase's cost, acquires the next
//!    lock, and calls [`Sched::handle_resume`].
//! 3. Meanwhile only interrupts may enter this CPU, and only if the path leaves them on. Other CPUs may
//!    complete the path early.
//!
//! With [`YieldMode::Off`] the same path runs to its end at once.
//!
//! The stored paths of a CPU form a stack: `schedule()` or the update in the idle loop at the bottom, then
//! the softirq, then the tick, and a wake-up on top, because a wake-up can interrupt any of them. Only the
//! top path is reported and resumed.

use crate::interface::ctx::Ctx;
use crate::paths::load_balance::LbPass;
use crate::paths::newidle::NewIdleSchedule;
use crate::paths::nohz::idle_balance::NohzRunIdle;
use crate::paths::sched::Sched;
use crate::paths::softirq::SoftirqRun;
use crate::paths::tick::TickPath;
use crate::paths::wake::WakePath;
use crate::rules::wakeup::search::ScanBudget;
use crate::state::State;
use crate::state::task::OnRq;
use crate::types::arena::Arena;
use crate::types::ids::{CpuId, TaskId};
use alloc::vec::Vec;

/// Kind of a path that can yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A wake-up that scans for an idle CPU.
    Search,
    /// A wake-up or a fork whose CPU is selected, and whose task is not enqueued yet.
    Wakeup,
    /// The end of an interrupt that has woken a task: pending softirqs run.
    InterruptEnd,
    /// Newly-idle balancing inside `schedule()`; the previous task is still the CPU's current task.
    NewIdle,
    /// The balancing softirq (`run_rebalance_domains()`).
    Softirq,
    /// Update of blocked load before the CPU idles (`nohz_run_idle_balance()`). The CPU must enter its idle
    /// loop again afterwards.
    IdleLoop,
    /// End of the tick, without the runqueue lock: it may raise the balancing softirq and kick a tickless
    /// CPU.
    NohzKick,
}

/// Runqueue lock that a phase needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseLock {
    /// The phase needs no runqueue lock.
    None,
    /// Lock of this CPU's runqueue, which need not be the executing CPU.
    Rq(CpuId),
    /// Lock that the phase before has acquired and not released.
    Held(CpuId),
}

/// Position of a yielded path, as the machine needs it to resume the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YieldedPath {
    /// Kind of the path.
    pub path: PathKind,
    /// Whether the CPU accepts interrupts before the path resumes.
    pub irqs_on: bool,
    /// Lock that the next phase acquires first and holds while its cost elapses.
    pub next: PhaseLock,
}

/// Whether resumable paths yield between their phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum YieldMode {
    /// Paths run to their end at once.
    #[default]
    Off,
    /// Paths yield after each phase.
    On {
        /// Number of CPUs that an idle scan samples in one phase.
        cpus_per_phase: u32,
    },
}

/// State between two phases of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct YieldPoint {
    /// The path keeps interrupts off at this point, although it leaves them on at other yield points.
    irqs_off: bool,
    next: PhaseLock,
}

impl YieldPoint {
    /// The next phase takes no lock.
    pub(crate) const UNLOCKED: Self = Self { irqs_off: false, next: PhaseLock::None };

    /// The next phase takes the runqueue lock of `cpu`.
    pub(crate) const fn lock(cpu: CpuId) -> Self {
        Self { irqs_off: false, next: PhaseLock::Rq(cpu) }
    }

    /// The next phase continues under the runqueue lock of `cpu`, which the present phase holds.
    pub(crate) const fn with_lock_held(cpu: CpuId) -> Self {
        Self { irqs_off: true, next: PhaseLock::Held(cpu) }
    }

    /// The next phase takes the runqueue lock of `cpu`. Interrupts stay off until then, because detached
    /// tasks are on no runqueue.
    pub(crate) const fn lock_irqs_off(cpu: CpuId) -> Self {
        Self { irqs_off: true, next: PhaseLock::Rq(cpu) }
    }
}

/// Result of one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<T> {
    /// The path is not complete: its next phase follows this yield point.
    Yield(YieldPoint),
    /// The path is complete.
    Done(T),
}

/// Kernel path that is executed in phases.
pub(crate) trait Resumable: Sized {
    /// Result of the complete path.
    type Output;

    /// Executes the next phase.
    fn step(&mut self, sched: &mut Sched, ctx: &mut Ctx<'_>) -> Step<Self::Output>;

    /// Returns the field of a CPU's stack that stores paths of this type.
    fn slot(stack: &mut CpuPathStack) -> &mut Option<Yielded<Self>>;
}

/// Yielded path, with the conditions under which its next phase runs.
#[derive(Clone, Debug)]
pub(crate) struct Yielded<W> {
    pub path: W,
    pub yield_point: YieldPoint,
}

/// Type of a stored path, from the bottom of a stack to its top.
#[derive(Clone, Copy, Debug)]
enum StackedPath {
    Schedule,
    IdleLoop,
    Softirq,
    Tick,
    Wake,
}

/// Yielded paths of one CPU, from the bottom of the stack to its top.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuPathStack {
    /// Type of the top path.
    top: Option<StackedPath>,
    pub schedule: Option<Yielded<NewIdleSchedule>>,
    pub idle_loop: Option<Yielded<NohzRunIdle>>,
    pub softirq: Option<Yielded<SoftirqRun>>,
    pub tick: Option<Yielded<TickPath>>,
    pub wake: Option<Yielded<WakePath>>,
}

/// Yielded paths of all CPUs.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathStacks {
    yield_mode: YieldMode,
    /// Empty until yielding is enabled for the first time.
    cpus: Arena<CpuId, CpuPathStack>,
    /// Wake-ups of tasks with delayed dequeue that are between two runqueues: task and CPU of the waker.
    pub(crate) wakeups_of_migrating: Vec<(TaskId, CpuId)>,
}

impl PathStacks {
    /// Whether paths yield between their phases.
    #[inline]
    pub(crate) fn yields(&self) -> bool {
        self.yield_mode != YieldMode::Off
    }

    /// Returns how many CPUs an idle scan may sample in one phase.
    pub(crate) fn scan_budget(&self) -> ScanBudget {
        match self.yield_mode {
            YieldMode::Off => ScanBudget::ALL,
            YieldMode::On { cpus_per_phase: looks_per_phase } => ScanBudget::at_most(looks_per_phase),
        }
    }

    /// Returns the stack of `cpu`; `None` if yielding was never enabled.
    #[inline]
    pub(crate) fn of(&self, cpu: CpuId) -> Option<&CpuPathStack> {
        self.cpus.get(cpu)
    }

    /// Mutable form of [`PathStacks::of`].
    #[inline]
    pub(crate) fn of_mut(&mut self, cpu: CpuId) -> Option<&mut CpuPathStack> {
        self.cpus.get_mut(cpu)
    }
}

impl CpuPathStack {
    /// Returns the top path of the stack.
    fn top(&self) -> Option<YieldedPath> {
        let pause = |path, irqs_on: bool, before: YieldPoint| {
            Some(YieldedPath { path, irqs_on: irqs_on && !before.irqs_off, next: before.next })
        };
        match self.top? {
            StackedPath::Wake => self.wake.as_ref().and_then(|it| pause(it.path.path_kind(), false, it.yield_point)),
            StackedPath::Tick => self.tick.as_ref().and_then(|it| pause(PathKind::NohzKick, false, it.yield_point)),
            StackedPath::Softirq => self.softirq.as_ref().and_then(|it| pause(PathKind::Softirq, true, it.yield_point)),
            StackedPath::IdleLoop => {
                self.idle_loop.as_ref().and_then(|it| pause(PathKind::IdleLoop, true, it.yield_point))
            }
            StackedPath::Schedule => {
                self.schedule.as_ref().and_then(|it| pause(PathKind::NewIdle, false, it.yield_point))
            }
        }
    }

    /// Stores a path of a type of which there is none.
    #[inline]
    fn put<W: Resumable>(&mut self, path: Yielded<W>) {
        *W::slot(self) = Some(path);
        self.find_top();
    }

    /// Takes the path of a type, if there is one.
    #[inline]
    fn take<W: Resumable>(&mut self) -> Option<Yielded<W>> {
        let taken = W::slot(self).take()?;
        self.find_top();
        Some(taken)
    }

    fn find_top(&mut self) {
        self.top = if self.wake.is_some() {
            Some(StackedPath::Wake)
        } else if self.tick.is_some() {
            Some(StackedPath::Tick)
        } else if self.softirq.is_some() {
            Some(StackedPath::Softirq)
        } else if self.idle_loop.is_some() {
            Some(StackedPath::IdleLoop)
        } else {
            self.schedule.is_some().then_some(StackedPath::Schedule)
        };
    }

    /// Iterates over the load-balance passes in progress on this CPU.
    fn passes(&self) -> impl Iterator<Item = &LbPass> {
        let of_schedule = self.schedule.as_ref().and_then(|paused| paused.path.pass());
        let of_softirq = self.softirq.as_ref().and_then(|paused| paused.path.pass());
        [of_schedule, of_softirq].into_iter().flatten()
    }

    /// Whether a pass of this CPU has detached `task` and not attached it yet.
    fn has_detached_task(&self, state: &State, task: TaskId) -> bool {
        self.passes().any(|pass| pass.env.tasks.iter_from_oldest(&state.tasks).any(|other| other == task))
    }
}

impl Sched {
    /// Switches yielding on or off. Paths that have already yielded are kept until [`Sched::handle_resume`]
    /// completes them.
    pub fn set_yield_mode(&mut self, pausing: YieldMode) {
        let nr_cpus = self.rqs.len();
        self.path_stacks.yield_mode = pausing;
        if self.path_stacks.yields() && self.path_stacks.cpus.is_empty() {
            self.path_stacks.cpus = (0..nr_cpus).map(|_| CpuPathStack::default()).collect();
        }
    }

    /// Whether the CPU has a yielded path, so that [`Sched::yielded_path`] reports one.
    #[inline]
    pub fn is_in_path(&self, cpu: CpuId) -> bool {
        self.path_stacks.of(cpu).is_some_and(|stack| stack.top.is_some())
    }

    /// Returns the top yielded path of a CPU.
    ///
    /// While there is one, only [`Sched::handle_resume`] may be called on this CPU, and interrupt handlers if
    /// `irqs_on` is set. Other CPUs may complete a path early, so the caller must query again after the
    /// phase's cost has elapsed.
    #[inline]
    pub fn yielded_path(&self, cpu: CpuId) -> Option<YieldedPath> {
        let mut pause = self.path_stacks.of(cpu)?.top()?;
        if pause.path == PathKind::Wakeup {
            pause.next = self.wakeup_lock(cpu);
        }
        Some(pause)
    }

    /// Resumes the top path of the executing CPU until its next yield point or its end. Does nothing if no
    /// path has yielded.
    pub fn handle_resume(&mut self, ctx: &mut Ctx<'_>) {
        let Some(stack) = self.path_stacks.of_mut(ctx.cpu) else { return };
        if let Some(Yielded { path, .. }) = stack.take::<WakePath>() {
            self.run_path(ctx, path);
        } else if let Some(Yielded { path, .. }) = stack.take() {
            self.resume_tick(ctx, path);
        } else if let Some(Yielded { path, .. }) = stack.take() {
            self.resume_softirqs(ctx, path);
        } else if let Some(Yielded { path, .. }) = stack.take::<NohzRunIdle>() {
            self.run_path(ctx, path);
        } else if let Some(Yielded { path, .. }) = stack.take() {
            self.resume_schedule(ctx, path);
        }
    }

    /// Runs a path to its next yield point or its end. Returns `None` if the path has yielded.
    pub(crate) fn run_path<W: Resumable>(&mut self, ctx: &mut Ctx<'_>, mut path: W) -> Option<W::Output> {
        loop {
            match path.step(self, ctx) {
                Step::Done(output) => return Some(output),
                Step::Yield(before) if self.path_stacks.yields() => {
                    self.store_path(ctx.cpu, path, before);
                    return None;
                }
                Step::Yield(_) => {}
            }
        }
    }

    /// Runs a path that yields before its first phase. Returns `None` if the path has yielded.
    pub(crate) fn run_path_after<W: Resumable>(
        &mut self,
        ctx: &mut Ctx<'_>,
        path: W,
        before: YieldPoint,
    ) -> Option<W::Output> {
        if self.path_stacks.yields() {
            self.store_path(ctx.cpu, path, before);
            return None;
        }
        self.run_path(ctx, path)
    }

    fn store_path<W: Resumable>(&mut self, cpu: CpuId, path: W, before: YieldPoint) {
        let stack = self.path_stacks.of_mut(cpu).expect("yielding is enabled, so every CPU has a stack");
        debug_assert!(W::slot(stack).is_none(), "{cpu:?} has already yielded in a path of this kind");
        stack.put(Yielded { path, yield_point: before });
    }

    /// Completes the yielded paths of `cpu` at once, for callers that cannot wait for them. A wake-up in
    /// progress is kept and resumes later.
    pub(crate) fn finish_paths(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let Some(stack) = self.path_stacks.of_mut(cpu) else { return };
        let wake = stack.take::<WakePath>();
        self.without_yielding(|sched| {
            ctx.on_cpu(cpu, |ctx| {
                while sched.yielded_path(cpu).is_some() {
                    sched.handle_resume(ctx);
                }
            });
        });
        if let Some(wake) = wake {
            self.path_stacks.cpus[cpu].put(wake);
        }
    }

    /// Calls `act` with yielding switched off.
    pub(crate) fn without_yielding<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        let pausing = core::mem::take(&mut self.path_stacks.yield_mode);
        let result = act(self);
        self.path_stacks.yield_mode = pausing;
        result
    }

    /// Prepares a change of a task, as `task_rq_lock()` does: completes the path that the task is part of.
    ///
    /// A task that is detached in a load-balance pass is attached first; the kernel spins on its runqueue
    /// lock in this case. If the task's CPU is about to switch away from it, newly-idle balancing of that CPU
    /// is completed first.
    pub(crate) fn finish_arrival(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let p = &self.tasks[task];
        if p.on_rq == OnRq::Migrating {
            for cpu in self.cpu_ids() {
                if self.path_stacks.of(cpu).is_some_and(|stack| stack.has_detached_task(self, task)) {
                    self.finish_paths(ctx, cpu);
                }
            }
        } else if p.on_cpu && self.is_in_newidle(p.cpu) {
            let cpu = p.cpu;
            self.finish_paths(ctx, cpu);
        }
    }

    /// Whether the CPU is in newly-idle balancing.
    pub(crate) fn is_in_newidle(&self, cpu: CpuId) -> bool {
        self.path_stacks.of(cpu).is_some_and(|stack| stack.schedule.is_some())
    }

    /// Whether a yielded load-balance pass of any CPU has detached `task` and not attached it yet.
    pub(crate) fn is_between_runqueues(&self, task: TaskId) -> bool {
        self.path_stacks.cpus.iter().any(|stack| stack.has_detached_task(self, task))
    }
}

#[cfg(test)]
mod tests;
