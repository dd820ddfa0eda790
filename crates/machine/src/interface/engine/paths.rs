// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernel paths that have yielded in an engine, and the locks that they need next.
//!
//! The built-in scheduler yields less often than other engines may, so each type has the scheduler's variants,
//! in their order, and those that only other engines have.

use fairlab_sched::ids::CpuId;
use fairlab_sched::paths::resumable::{PathKind, PhaseLock, YieldedPath};

/// Kind of a path that has yielded in an engine. Up to `NohzKick` the variants are those of [`PathKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "PathKind describes the variants that it has too")]
pub enum EnginePath {
    Search,
    Wakeup,
    InterruptEnd,
    NewIdle,
    Softirq,
    IdleLoop,
    NohzKick,
    /// An interrupt other than a wake-up. The built-in scheduler executes this and the following paths in one
    /// phase; an engine may yield in them at each runqueue lock.
    Interrupt,
    /// `schedule()`, except newly-idle balancing.
    Schedule,
    /// Work of a CPU's stopper thread.
    Stopper,
}

impl From<PathKind> for EnginePath {
    #[inline]
    fn from(path: PathKind) -> Self {
        match path {
            PathKind::Search => Self::Search,
            PathKind::Wakeup => Self::Wakeup,
            PathKind::InterruptEnd => Self::InterruptEnd,
            PathKind::NewIdle => Self::NewIdle,
            PathKind::Softirq => Self::Softirq,
            PathKind::IdleLoop => Self::IdleLoop,
            PathKind::NohzKick => Self::NohzKick,
        }
    }
}

/// Runqueue lock that a phase needs in an engine. Up to `Held` the variants are those of [`PhaseLock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "PhaseLock describes the variants that it has too")]
pub enum EngineLock {
    None,
    Rq(CpuId),
    Held(CpuId),
    /// Lock of this CPU's runqueue if it is free. The phase runs in both cases and learns the result
    /// (`raw_spin_rq_trylock()`).
    Try(CpuId),
    /// No runqueue lock: the phase polls until the condition it waits for holds.
    Spin,
}

impl From<PhaseLock> for EngineLock {
    #[inline]
    fn from(lock: PhaseLock) -> Self {
        match lock {
            PhaseLock::None => Self::None,
            PhaseLock::Rq(cpu) => Self::Rq(cpu),
            PhaseLock::Held(cpu) => Self::Held(cpu),
        }
    }
}

/// Position of a path that has yielded in an engine, as the machine needs it to resume the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YieldedEnginePath {
    /// Kind of the path.
    pub path: EnginePath,
    /// Whether the CPU accepts interrupts before the path resumes.
    pub irqs_on: bool,
    /// Lock that the next phase acquires first and holds while its cost elapses.
    pub next: EngineLock,
}

impl From<YieldedPath> for YieldedEnginePath {
    #[inline]
    fn from(yielded: YieldedPath) -> Self {
        let YieldedPath { path, irqs_on, next } = yielded;
        Self { path: path.into(), irqs_on, next: next.into() }
    }
}
