// SPDX-License-Identifier: GPL-2.0-or-later
//! Long paths of the kernel that let time pass between their phases.
//!
//! With pauses switched on ([`Sched::set_pausing`]), a path that the kernel does not run under one lock stops at the ends of
//! its phases: it notes where it is, and the handler returns. The machine asks [`Sched::paused`], lets pass what the phase
//! has cost (and what it takes to get the lock of the next one), and calls [`Sched::handle_resume`]. Meanwhile other CPUs
//! act, and on the CPU itself interrupts, if the path leaves them on. With pauses off each path is carried through at once,
//! by the same code.
//!
//! What is paused on a CPU forms a stack: `schedule()` or the idle loop's walk at the bottom, the softirq above it, the tick
//! on top. The one on top is told, and carried on.

#[cfg(test)]
mod tests;

use crate::paths::schedule::PausedSchedule;
use crate::paths::softirq::SoftirqRun;
use crate::paths::tickless::idle_balance::TicklessWalk;
use crate::rules::wakeup::search::Search;
use crate::state::sched::Sched;
use crate::state::task::OnRq;
use crate::told::balance::KickDecision;
use crate::told::ctx::Ctx;
use crate::words::cpumask::CpuMask;
use crate::words::ids::{CpuId, TaskId};
use alloc::vec::Vec;

/// A path that can pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PausedPath {
    /// Newly-idle balancing inside `schedule()`: the CPU's previous task still is the current one.
    NewIdle,
    /// The balancing softirq.
    Softirq,
    /// The idle loop's update of blocked load before the CPU idles (`nohz_run_idle_balance()`). Afterwards the idle loop
    /// has to be entered again.
    IdleLoop,
    /// The tick: its work under the runqueue's lock is done, or it has decided to ask a tickless CPU and not done so yet.
    NohzKick,
}

/// The runqueue lock that a phase takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseLock {
    /// None.
    None,
    /// That of a CPU, which may be the one that executes.
    Rq(CpuId),
}

/// Where a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Which path.
    pub path: PausedPath,
    /// Whether the CPU takes interrupts before the path goes on.
    pub irqs_on: bool,
    /// What the next phase locks first, and holds for as long as its work takes.
    pub next: PhaseLock,
}

/// What lies between two phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Boundary {
    /// The path keeps interrupts off here, although it leaves them on elsewhere.
    irqs_off: bool,
    next: PhaseLock,
}

impl Boundary {
    /// The next phase takes no lock.
    pub(crate) const FREE: Self = Self { irqs_off: false, next: PhaseLock::None };

    /// The next phase takes a runqueue's lock.
    pub(crate) const fn lock(cpu: CpuId) -> Self {
        Self { irqs_off: false, next: PhaseLock::Rq(cpu) }
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
    Pause(Boundary),
    /// The path is over.
    Done(T),
}

/// A path that pauses, with what lies before its next phase.
#[derive(Clone, Debug)]
pub(crate) struct Paused<T> {
    pub path: T,
    pub before: Boundary,
}

/// Where a tick is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PausedTick {
    /// It has dropped the lock of its runqueue, and will look whether somebody has to balance.
    Look,
    /// It has left the tickless CPUs, and will look whether some are left for which somebody has to balance.
    LookForTickless,
    /// It has decided to ask a tickless CPU.
    Ask(KickDecision),
}

/// What a CPU is in the middle of, and the mask that its balancing passes use: the kernel's `load_balance_mask`.
#[derive(Clone, Debug)]
pub(crate) struct CpuPaths {
    pub schedule: Option<Paused<PausedSchedule>>,
    pub idle_loop: Option<Paused<TicklessWalk>>,
    pub softirq: Option<Paused<SoftirqRun>>,
    pub tick: Option<PausedTick>,
    pub mask: CpuMask,
    /// The search of a wake-up, which is in the middle of whatever else there is and is carried on by itself.
    pub search: Option<Search>,
    /// The candidates that are left to it, if it looks for cores.
    pub candidates: CpuMask,
}

/// The paused paths of all CPUs.
#[derive(Clone, Debug, Default)]
pub(crate) struct PausedPaths {
    /// Whether paths pause.
    pub on: bool,
    /// Empty until pauses have been switched on once.
    pub cpus: Vec<CpuPaths>,
}

impl CpuPaths {
    fn new(nr_cpus: usize) -> Self {
        let mask = CpuMask::new(nr_cpus);
        let candidates = mask.clone();
        Self { schedule: None, idle_loop: None, softirq: None, tick: None, mask, search: None, candidates }
    }

    fn top(&self) -> Option<Pause> {
        let pause = |path, irqs_on: bool, before: Boundary| {
            Some(Pause { path, irqs_on: irqs_on && !before.irqs_off, next: before.next })
        };
        if self.tick.is_some() {
            pause(PausedPath::NohzKick, false, Boundary::FREE)
        } else if let Some(softirq) = &self.softirq {
            pause(PausedPath::Softirq, true, softirq.before)
        } else if let Some(walk) = &self.idle_loop {
            pause(PausedPath::IdleLoop, true, walk.before)
        } else if let Some(schedule) = &self.schedule {
            pause(PausedPath::NewIdle, false, schedule.before)
        } else {
            None
        }
    }

    /// Whether a task has left its runqueue in a pass of this CPU and is on no other yet.
    fn carries(&self, sched: &Sched, task: TaskId) -> bool {
        let of_schedule = self.schedule.as_ref().and_then(|paused| paused.path.pass());
        let of_softirq = self.softirq.as_ref().and_then(|paused| paused.path.pass());
        let passes = [of_schedule, of_softirq];
        passes
            .into_iter()
            .flatten()
            .any(|pass| pass.env.tasks.iter_from_oldest(&sched.tasks).any(|other| other == task))
    }
}

impl Sched {
    /// Has long paths pause between their phases, or not any more; what is paused then goes on to pause until it is over.
    pub fn set_pausing(&mut self, pausing: bool) {
        let nr_cpus = self.rqs.len();
        if pausing && self.paths.cpus.is_empty() {
            self.paths.cpus.resize_with(nr_cpus, || CpuPaths::new(nr_cpus));
        }
        self.paths.on = pausing;
    }

    /// What the CPU is in the middle of. While there is something, nothing but [`Sched::handle_resume`] may be called on it,
    /// and interrupts if they are on. Other CPUs may end a path early: ask again when its time has passed.
    #[inline]
    pub fn paused(&self, cpu: CpuId) -> Option<Pause> {
        self.paths.cpus.get(cpu.index())?.top()
    }

    /// Carries on what the CPU that executes this is in the middle of, to its next pause or its end. Without anything
    /// paused it does nothing.
    pub fn handle_resume(&mut self, ctx: &mut Ctx<'_>) {
        let Some(paths) = self.paths.cpus.get_mut(ctx.cpu.index()) else { return };
        if let Some(tick) = paths.tick.take() {
            match tick {
                PausedTick::Look => self.finish_tick(ctx),
                PausedTick::LookForTickless => {
                    let cpu = ctx.cpu;
                    if !self.look_for_tickless(ctx, cpu) {
                        self.run_softirqs(ctx);
                    }
                }
                PausedTick::Ask(decision) => {
                    self.finish_nohz_kick(ctx, decision);
                    self.run_softirqs(ctx);
                }
            }
        } else if let Some(Paused { path, .. }) = paths.softirq.take() {
            self.carry_on_softirqs(ctx, path);
        } else if let Some(Paused { path, .. }) = paths.idle_loop.take() {
            self.carry_on_idle_loop(ctx, path);
        } else if let Some(Paused { path, .. }) = paths.schedule.take() {
            self.carry_on_schedule(ctx, path);
        }
    }

    /// Ends at once what a CPU is in the middle of: somebody cannot wait for it.
    pub(crate) fn finish_paths(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if self.paused(cpu).is_none() {
            return;
        }
        self.without_pauses(|sched| {
            ctx.on_cpu(cpu, |ctx| {
                while sched.paused(cpu).is_some() {
                    sched.handle_resume(ctx);
                }
            });
        });
    }

    /// Does something whose paths do not pause.
    pub(crate) fn without_pauses<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        let was_on = core::mem::replace(&mut self.paths.on, false);
        let result = act(self);
        self.paths.on = was_on;
        result
    }

    /// Before a task is changed: if it is on its way between two runqueues, or its CPU is about to switch away from it,
    /// that comes to its end first. The kernel would spin on the lock of its runqueue for the former.
    pub(crate) fn let_task_arrive(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let p = &self.tasks[task.index()];
        if p.on_rq == OnRq::Migrating {
            for cpu in self.cpu_ids() {
                if self.paths.cpus.get(cpu.index()).is_some_and(|paths| paths.carries(self, task)) {
                    self.finish_paths(ctx, cpu);
                }
            }
        } else if p.on_cpu && self.is_in_newidle(p.cpu) {
            self.finish_paths(ctx, p.cpu);
        }
    }

    /// Whether a CPU is in the middle of newly-idle balancing.
    pub(crate) fn is_in_newidle(&self, cpu: CpuId) -> bool {
        self.paths.cpus.get(cpu.index()).is_some_and(|paths| paths.schedule.is_some())
    }

    /// Whether a task has left its runqueue in some paused pass and is on no other yet.
    pub(crate) fn is_between_runqueues(&self, task: TaskId) -> bool {
        self.paths.cpus.iter().any(|paths| paths.carries(self, task))
    }

    /// Lends the mask of a CPU's balancing passes. What stands in for it meanwhile does not allocate.
    pub(crate) fn lend_balance_mask(&mut self, cpu: CpuId) -> CpuMask {
        let mask = match self.paths.cpus.get_mut(cpu.index()) {
            Some(paths) => &mut paths.mask,
            None => &mut self.scratch.balance,
        };
        let mask = core::mem::replace(mask, CpuMask::new(1));
        debug_assert!(mask.nr_cpus() == self.rqs.len(), "balancing passes of a CPU do not nest");
        mask
    }

    /// Gives it back.
    pub(crate) fn return_balance_mask(&mut self, cpu: CpuId, mask: CpuMask) {
        match self.paths.cpus.get_mut(cpu.index()) {
            Some(paths) => paths.mask = mask,
            None => self.scratch.balance = mask,
        }
    }
}
