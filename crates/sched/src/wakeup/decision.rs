// SPDX-License-Identifier: GPL-2.0-or-later
//! Why a task was put where it was: the record of one selection of a CPU.
//!
//! A record is filled in on the way through the selection and told to the probe once. It is a result: the enums name every
//! way out of the selection.

use super::WakeFlags;
use crate::ids::{CpuId, TaskId};

/// What a CPU is selected for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WakeKind {
    /// A task is woken.
    Wakeup,
    /// A task is new.
    Fork,
    /// A running task begins another program, and is as cheap to move as never else.
    Exec,
}

/// Whether a wake-up pulls the task towards the waker, and why: the outcome of `wake_wide()` and `wake_affine()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AffineRule {
    /// Not asked: no wake-up, or decided before.
    NotAsked,
    /// Previous CPU: waker and task wake so many others that they had better be spread.
    Wide,
    /// Previous CPU: the task may not use the waker's.
    NotAllowed,
    /// Previous CPU: no domain for affine wake-ups holds both.
    NoDomain,
    /// Both are the same CPU.
    SameCpu,
    /// Waker's CPU: it is idle (an interrupt wakes), shares the cache, and the previous CPU is busy.
    ThisIdle,
    /// Previous CPU: it is as idle as the waker's, and both share a cache.
    BothIdle,
    /// Waker's CPU: the waker is alone there and about to sleep.
    SyncAlone,
    /// Previous CPU: it is idle.
    PrevIdle,
    /// Waker's CPU: the waker is about to sleep and is more load than there is.
    SyncAllLoad,
    /// Waker's CPU: it would be less loaded.
    LessLoad,
    /// Previous CPU: the waker's would not be less loaded.
    NotLessLoad,
    /// Previous CPU: the features that would compare are off, and nothing else has decided.
    NotCompared,
}

/// Which rule chose the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WakeRule {
    /// The task may use only one CPU.
    PinnedToOne,
    /// The choice was no CPU that the task may use; it got another (`select_fallback_rq()`).
    Fallback,

    /// The target is idle, or runs only SCHED_IDLE tasks. "Idle" means both in what follows.
    TargetIdle,
    /// The previous CPU is idle and shares the target's cache.
    PrevIdle,
    /// A kernel thread of this CPU wakes the task that asked it for something: the task stays with it.
    PerCpuKthread,
    /// The CPU that the task used before the previous one is idle and shares the target's cache.
    RecentUsedIdle,
    /// Where capacities differ: the first idle CPU that is big enough.
    AsymFits,
    /// Where capacities differ: no idle CPU is big enough; the one that comes nearest.
    AsymBest,
    /// The target has no cache domain to search (or the waker none to account the search to, with SIS_PROP): the target.
    NoCacheDomain,
    /// No core is idle, but a sibling of the previous CPU.
    IdleSmt,
    /// A core that is idle as a whole.
    IdleCore,
    /// An idle CPU of a core that is not idle as a whole, although one was expected to be.
    IdleCpuOfBusyCore,
    /// The first idle CPU after the target.
    IdleCpu,
    /// The cache domain is so busy that a search is not worth it (`nr_idle_scan` is 0): the target.
    ScanBusy,
    /// The search gave up at its limit: the target.
    ScanLimit,
    /// A whole search found no idle CPU: the target.
    NothingIdle,

    /// No domain balances on such an occasion: the previous CPU.
    NoDomain,
    /// The domain has no CPU that the task may use: the previous CPU.
    SlowPathNotAllowed,
    /// The idlest CPU of the idlest group is elsewhere.
    SlowPathIdlest,
    /// No group is better than that of this CPU, nor another CPU in it.
    SlowPathStays,
}

/// One selection of a CPU for a fair task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeupDecision {
    /// The task.
    pub task: TaskId,
    /// What for.
    pub kind: WakeKind,
    /// Whether the waker is about to sleep.
    pub sync: bool,
    /// The CPU that the task used.
    pub prev: CpuId,
    /// The CPU of the waker, or of the parent.
    pub waker: CpuId,
    /// Why the target is what it is.
    pub affine: AffineRule,
    /// The CPU near which an idle one is looked for.
    pub target: CpuId,
    /// The CPU that was chosen.
    pub cpu: CpuId,
    /// Why.
    pub rule: WakeRule,
    /// How many CPUs of the domain were looked at, one by one or as parts of cores, beyond the fast checks of target, previous and
    /// recent CPU; on the slow path, over all levels.
    pub nr_scanned: u32,
    /// How many cores were looked at.
    pub nr_cores_scanned: u32,
    /// How many CPUs the search could look at: `nr_idle_scan` with SIS_UTIL, computed anew with SIS_PROP. `None` if there
    /// was no search or no limit.
    pub nr_idle_scan: Option<u32>,
}

impl WakeupDecision {
    /// A selection that has not begun: it would leave the task where it was.
    pub(crate) fn new(task: TaskId, prev: CpuId, waker: CpuId, flags: WakeFlags) -> Self {
        let kind = match flags {
            WakeFlags { fork: true, .. } => WakeKind::Fork,
            WakeFlags { exec: true, .. } => WakeKind::Exec,
            _ => WakeKind::Wakeup,
        };
        Self {
            task,
            kind,
            sync: flags.sync,
            prev,
            waker,
            affine: AffineRule::NotAsked,
            target: prev,
            cpu: prev,
            rule: WakeRule::NoDomain,
            nr_scanned: 0,
            nr_cores_scanned: 0,
            nr_idle_scan: None,
        }
    }

    /// Ends the selection.
    pub(crate) fn choose(&mut self, cpu: CpuId, rule: WakeRule) {
        self.cpu = cpu;
        self.rule = rule;
    }
}
