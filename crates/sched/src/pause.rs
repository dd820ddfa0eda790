// SPDX-License-Identifier: GPL-2.0-or-later
//! Long paths of the kernel that let time pass between their phases.
//!
//! With pauses switched on ([`Sched::set_pausing`]), a path that the kernel does not run under one lock stops at the ends of
//! its phases: it notes where it is, and the handler returns. The machine asks [`Sched::paused`], lets pass what the phase
//! has cost (and what it takes to get the locks of the next one), and calls [`Sched::handle_resume`]. Meanwhile other CPUs
//! act, and on the CPU itself interrupts, if the path leaves them on. With pauses off each path is carried through at once.
//!
//! What is paused on a CPU forms a stack: the idle loop's walk at the bottom, the softirq above it, an interrupt on top.
//! The one on top is told, and carried on.

use crate::ctx::Ctx;
use crate::ids::CpuId;
use crate::sched::Sched;

/// A path that can pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PausedPath {
    /// Newly-idle balancing inside `schedule()`: the CPU's previous task still is the current one.
    NewIdle,
    /// The balancing softirq.
    Softirq,
    /// The idle loop's update of blocked load before the CPU idles (`nohz_run_idle_balance()`).
    IdleLoop,
    /// The tick has decided to ask a tickless CPU, and has not done so yet.
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

impl Sched {
    /// Has long paths pause between their phases, or not any more.
    pub fn set_pausing(&mut self, _pausing: bool) {}

    /// What the CPU is in the middle of. While there is something, nothing but [`Sched::handle_resume`] may be called on it,
    /// and interrupts if they are on. Other CPUs may end a path early: ask again when its time has passed.
    pub fn paused(&self, _cpu: CpuId) -> Option<Pause> {
        None
    }

    /// Carries on what the CPU that executes this is in the middle of, to its next pause or its end. Without anything
    /// paused it does nothing.
    pub fn handle_resume(&mut self, _ctx: &mut Ctx<'_>) {}
}
