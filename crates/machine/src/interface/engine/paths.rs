// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernel paths that have yielded in an engine, and the locks that they need next.
//!
//! The built-in scheduler yields less often than other engines may, so each type wraps the scheduler's own
//! and adds what only other engines have.

use fairlab_sched::ids::CpuId;
use fairlab_sched::paths::resumable::{PathKind, PhaseLock, YieldedPath};

/// Kind of a path that has yielded in an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnginePath {
    /// A path in which the built-in scheduler yields too.
    Sched(PathKind),
    /// An interrupt other than a wake-up. The built-in scheduler executes this and the following paths in one
    /// phase; an engine may yield in them at each runqueue lock.
    Interrupt,
    /// `schedule()`, except newly-idle balancing.
    Schedule,
    /// Work of a CPU's stopper thread.
    Stopper,
}

/// Runqueue lock that a phase needs in an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineLock {
    /// A need of the built-in scheduler too.
    Sched(PhaseLock),
    /// Lock of this CPU's runqueue if it is free. The phase runs in both cases and learns the result
    /// (`raw_spin_rq_trylock()`).
    Try(CpuId),
    /// No runqueue lock: the phase polls until the condition it waits for holds.
    Spin,
}

impl EngineLock {
    /// The phase needs no runqueue lock.
    pub const NONE: Self = Self::Sched(PhaseLock::None);
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
        Self { path: EnginePath::Sched(path), irqs_on, next: EngineLock::Sched(next) }
    }
}
