// SPDX-License-Identifier: GPL-2.0-or-later
//! Long paths of the kernel that let time pass between their phases: one protocol for all of them.
//!
//! A path that the kernel does not run under one lock is a [`Walk`]: a small state machine whose phases end where the kernel
//! drops or takes a lock, or where what others do meanwhile is seen. With pauses on ([`Sched::set_pausing`]) the walk stops
//! there: it is kept, and the handler returns. The machine asks [`Sched::paused`], lets pass what the phase has cost (and
//! what it takes to get the lock of the next one), and calls [`Sched::handle_resume`]. Meanwhile other CPUs act, and on the
//! CPU itself interrupts, if the path leaves them on. With pauses off the same walk runs to its end at once.
//!
//! What is paused on a CPU forms a stack: `schedule()` or the idle loop's walk at the bottom, the softirq above it, the tick,
//! and on top a wake-up, which may come in the middle of any of them. The one on top is told, and carried on.

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
use crate::types::ids::{CpuId, TaskId};
use alloc::vec::Vec;

/// A path that can pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A wake-up that searches for an idle CPU.
    Search,
    /// A wake-up or a fork that has a CPU, and will enqueue its task or is about to.
    Wakeup,
    /// An interrupt that has woken a task, and ends with a softirq.
    InterruptEnd,
    /// Newly-idle balancing inside `schedule()`: the CPU's previous task still is the current one.
    NewIdle,
    /// The balancing softirq.
    Softirq,
    /// The idle loop's update of blocked load before the CPU idles (`nohz_run_idle_balance()`). Afterwards the idle loop
    /// has to be entered again.
    IdleLoop,
    /// The tick: its work under the runqueue's lock is done, or it has decided to ask a tickless CPU and not done so yet.
    NohzKick,
    /// Another interrupt. This and those below are of engines that pause at each lock of a runqueue; here they are one phase.
    Interrupt,
    /// `schedule()`, outside newly-idle balancing.
    Schedule,
    /// A stopper's work.
    Stopper,
}

/// The runqueue lock that a phase takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseLock {
    /// None.
    None,
    /// That of a CPU, which may be the one that executes.
    Rq(CpuId),
    /// The same, but only if it is free: the phase is told (`raw_spin_rq_trylock()`).
    Try(CpuId),
    /// None of a runqueue: it looks again and again until it finds what it waits for.
    Spin,
    /// The one that the phase before has taken, and that stays taken.
    Held(CpuId),
}

/// Where a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YieldedPath {
    /// Which path.
    pub path: PathKind,
    /// Whether the CPU takes interrupts before the path goes on.
    pub irqs_on: bool,
    /// What the next phase locks first, and holds for as long as its work takes.
    pub next: PhaseLock,
}

/// Whether paths pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum YieldMode {
    /// They run to their end at once.
    #[default]
    Off,
    /// They pause between their phases, searches after so many looks at a CPU.
    On {
        /// How many.
        looks_per_phase: u32,
    },
}

/// What lies between two phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct YieldPoint {
    /// The path keeps interrupts off here, although it leaves them on elsewhere.
    irqs_off: bool,
    next: PhaseLock,
}

impl YieldPoint {
    /// The next phase takes no lock.
    pub(crate) const FREE: Self = Self { irqs_off: false, next: PhaseLock::None };

    /// The next phase takes a runqueue's lock.
    pub(crate) const fn lock(cpu: CpuId) -> Self {
        Self { irqs_off: false, next: PhaseLock::Rq(cpu) }
    }

    /// The next phase goes on under the lock of this one.
    pub(crate) const fn with_lock_held(cpu: CpuId) -> Self {
        Self { irqs_off: true, next: PhaseLock::Held(cpu) }
    }

    /// The next phase takes a runqueue's lock, and interrupts stay off until then: tasks are on their way.
    pub(crate) const fn lock_next(cpu: CpuId) -> Self {
        Self { irqs_off: true, next: PhaseLock::Rq(cpu) }
    }
}

/// What a phase of a path comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<T> {
    /// More follows.
    Pause(YieldPoint),
    /// The path is over.
    Done(T),
}

/// A path in phases.
pub(crate) trait Resumable: Sized {
    /// What it comes to.
    type Output;

    /// Does the next phase.
    fn step(&mut self, sched: &mut Sched, ctx: &mut Ctx<'_>) -> Step<Self::Output>;

    /// Its place among what a CPU is in the middle of.
    fn place(walks: &mut CpuPathStack) -> &mut Option<Yielded<Self>>;
}

/// A walk that pauses, with what lies before its next phase.
#[derive(Clone, Debug)]
pub(crate) struct Yielded<W> {
    pub walk: W,
    pub before: YieldPoint,
}

/// What a CPU is in the middle of.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuPathStack {
    pub schedule: Option<Yielded<NewIdleSchedule>>,
    pub idle_loop: Option<Yielded<NohzRunIdle>>,
    pub softirq: Option<Yielded<SoftirqRun>>,
    pub tick: Option<Yielded<TickPath>>,
    pub wake: Option<Yielded<WakePath>>,
}

/// The paused walks of all CPUs.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathStacks {
    pausing: YieldMode,
    /// Empty until pauses have been switched on once.
    cpus: Vec<CpuPathStack>,
}

impl PathStacks {
    /// Whether paths pause.
    #[inline]
    pub(crate) fn pause(&self) -> bool {
        self.pausing != YieldMode::Off
    }

    /// How many looks a phase of a search has.
    pub(crate) fn uses_scan_budget(&self) -> ScanBudget {
        match self.pausing {
            YieldMode::Off => ScanBudget::ALL,
            YieldMode::On { looks_per_phase } => ScanBudget::at_most(looks_per_phase),
        }
    }

    /// What a CPU is in the middle of.
    #[inline]
    pub(crate) fn of(&self, cpu: CpuId) -> Option<&CpuPathStack> {
        self.cpus.get(cpu.index())
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn of_mut(&mut self, cpu: CpuId) -> Option<&mut CpuPathStack> {
        self.cpus.get_mut(cpu.index())
    }
}

impl CpuPathStack {
    /// The path on top of the stack.
    fn top(&self) -> Option<YieldedPath> {
        let pause = |path, irqs_on: bool, before: YieldPoint| {
            Some(YieldedPath { path, irqs_on: irqs_on && !before.irqs_off, next: before.next })
        };
        if let Some(wake) = &self.wake {
            pause(wake.walk.path(), false, wake.before)
        } else if let Some(tick) = &self.tick {
            pause(PathKind::NohzKick, false, tick.before)
        } else if let Some(softirq) = &self.softirq {
            pause(PathKind::Softirq, true, softirq.before)
        } else if let Some(idle_loop) = &self.idle_loop {
            pause(PathKind::IdleLoop, true, idle_loop.before)
        } else if let Some(schedule) = &self.schedule {
            pause(PathKind::NewIdle, false, schedule.before)
        } else {
            None
        }
    }

    /// The balancing passes that are under way.
    fn passes(&self) -> impl Iterator<Item = &LbPass> {
        let of_schedule = self.schedule.as_ref().and_then(|paused| paused.walk.pass());
        let of_softirq = self.softirq.as_ref().and_then(|paused| paused.walk.pass());
        [of_schedule, of_softirq].into_iter().flatten()
    }

    /// Whether a task has left its runqueue in a pass of this CPU and is on no other yet.
    fn resume_innermost(&self, state: &State, task: TaskId) -> bool {
        self.passes().any(|pass| pass.env.tasks.iter_from_oldest(&state.tasks).any(|other| other == task))
    }
}

impl Sched {
    /// Has long paths pause between their phases, or not any more; what is paused then goes on to pause until it is over.
    pub fn set_pausing(&mut self, pausing: YieldMode) {
        let nr_cpus = self.rqs.len();
        self.walks.pausing = pausing;
        if self.walks.pause() && self.walks.cpus.is_empty() {
            self.walks.cpus.resize_with(nr_cpus, CpuPathStack::default);
        }
    }

    /// Whether the CPU is in the middle of something: whether [`Sched::paused`] says what.
    #[inline]
    pub fn is_in_path(&self, cpu: CpuId) -> bool {
        self.walks.of(cpu).is_some_and(|walks| walks.top().is_some())
    }

    /// What the CPU is in the middle of. While there is something, nothing but [`Sched::handle_resume`] may be called on it,
    /// and interrupts if they are on. Other CPUs may end a path early: ask again when its time has passed.
    #[inline]
    pub fn paused(&self, cpu: CpuId) -> Option<YieldedPath> {
        let mut pause = self.walks.of(cpu)?.top()?;
        if pause.path == PathKind::Wakeup {
            pause.next = self.lock_of_wakeup(cpu);
        }
        Some(pause)
    }

    /// Carries on what the CPU that executes this is in the middle of, to its next pause or its end. Without anything
    /// paused it does nothing.
    pub fn handle_resume(&mut self, ctx: &mut Ctx<'_>) {
        let Some(walks) = self.walks.of_mut(ctx.cpu) else { return };
        if let Some(Yielded { walk, .. }) = walks.wake.take() {
            self.drive(ctx, walk);
        } else if let Some(Yielded { walk, .. }) = walks.tick.take() {
            self.resume_tick(ctx, walk);
        } else if let Some(Yielded { walk, .. }) = walks.softirq.take() {
            self.resume_softirqs(ctx, walk);
        } else if let Some(Yielded { walk, .. }) = walks.idle_loop.take() {
            self.drive(ctx, walk);
        } else if let Some(Yielded { walk, .. }) = walks.schedule.take() {
            self.resume_schedule(ctx, walk);
        }
    }

    /// Has a walk go on to its next pause or its end. None if it pauses.
    pub(crate) fn drive<W: Resumable>(&mut self, ctx: &mut Ctx<'_>, mut walk: W) -> Option<W::Output> {
        loop {
            match walk.step(self, ctx) {
                Step::Done(output) => return Some(output),
                Step::Pause(before) if self.walks.pause() => {
                    self.keep(ctx.cpu, walk, before);
                    return None;
                }
                Step::Pause(_) => {}
            }
        }
    }

    /// The same for one that pauses before its first phase already.
    pub(crate) fn drive_after<W: Resumable>(
        &mut self,
        ctx: &mut Ctx<'_>,
        walk: W,
        before: YieldPoint,
    ) -> Option<W::Output> {
        if self.walks.pause() {
            self.keep(ctx.cpu, walk, before);
            return None;
        }
        self.drive(ctx, walk)
    }

    fn keep<W: Resumable>(&mut self, cpu: CpuId, walk: W, before: YieldPoint) {
        let place = W::place(self.walks.of_mut(cpu).expect("where paths pause there is room for them"));
        debug_assert!(place.is_none(), "paths of a kind do not nest on {cpu:?}");
        *place = Some(Yielded { walk, before });
    }

    /// Ends at once what a CPU is in the middle of: somebody cannot wait for it. A wake-up goes on as ever.
    pub(crate) fn finish_paths(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let Some(walks) = self.walks.of_mut(cpu) else { return };
        let wake = walks.wake.take();
        self.without_pauses(|sched| {
            ctx.on_cpu(cpu, |ctx| {
                while sched.paused(cpu).is_some() {
                    sched.handle_resume(ctx);
                }
            });
        });
        self.walks.cpus[cpu.index()].wake = wake;
    }

    /// Does something whose paths do not pause.
    pub(crate) fn without_pauses<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        let pausing = core::mem::take(&mut self.walks.pausing);
        let result = act(self);
        self.walks.pausing = pausing;
        result
    }

    /// Before a task is changed: if it is on its way between two runqueues, or its CPU is about to switch away from it,
    /// that comes to its end first. The kernel would spin on the lock of its runqueue for the former.
    pub(crate) fn finish_arrival(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let p = &self.tasks[task.index()];
        if p.on_rq == OnRq::Migrating {
            for cpu in self.cpu_ids() {
                if self.walks.of(cpu).is_some_and(|walks| walks.resume_innermost(self, task)) {
                    self.finish_paths(ctx, cpu);
                }
            }
        } else if p.on_cpu && self.is_in_newidle(p.cpu) {
            let cpu = p.cpu;
            self.finish_paths(ctx, cpu);
        }
    }

    /// Whether a CPU is in the middle of newly-idle balancing.
    pub(crate) fn is_in_newidle(&self, cpu: CpuId) -> bool {
        self.walks.of(cpu).is_some_and(|walks| walks.schedule.is_some())
    }

    /// Whether a task has left its runqueue in some paused pass and is on no other yet.
    pub(crate) fn is_between_runqueues(&self, task: TaskId) -> bool {
        self.walks.cpus.iter().any(|walks| walks.resume_innermost(self, task))
    }
}

#[cfg(test)]
mod tests;
