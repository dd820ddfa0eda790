// SPDX-License-Identifier: GPL-2.0-or-later
//! Why a task was put where it was: the record of one selection of a CPU.
//!
//! A record is filled in on the way through the selection and told to the probe once. It is a result: the enums name every
//! way out of the selection.

use crate::types::ids::{CpuId, TaskId};

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

/// Declares the rules of an enum once: variant and meaning.
macro_rules! rules {
    ($(#[$doc:meta])* $name:ident $($(#[$attribute:meta])* $variant:ident $meaning:literal)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $(#[doc = $meaning] $(#[$attribute])* $variant,)*
        }

        impl $name {
            /// All rules.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name, as in results.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)* }
            }

            /// What it says, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

pub(crate) use rules;

rules! {
    /// Whether a wake-up pulls the task towards the waker, and why: the outcome of `wake_wide()` and `wake_affine()`.
    AffineRule
    NotAsked "Not asked: no wake-up, or decided before."
    Wide "Previous CPU: waker and task wake so many others that they had better be spread."
    NotAllowed "Previous CPU: the task may not use the waker's."
    NoDomain "Previous CPU: no domain for affine wake-ups holds both."
    SameCpu "Both are the same CPU."
    ThisIdle "Waker's CPU: it is idle (an interrupt wakes), shares the cache, and the previous CPU is busy."
    BothIdle "Previous CPU: it is as idle as the waker's, and both share a cache."
    SyncAlone "Waker's CPU: the waker is alone there and about to sleep."
    PrevIdle "Previous CPU: it is idle."
    SyncAllLoad "Waker's CPU: the waker is about to sleep and is more load than there is."
    LessLoad "Waker's CPU: it would be less loaded."
    NotLessLoad "Previous CPU: the waker's would not be less loaded."
    NotCompared "Previous CPU: the features that would compare are off, and nothing else has decided."
}

rules! {
    /// Which rule chose the CPU.
    WakeRule
    PinnedToOne "The task may use only one CPU."
    Fallback "The choice was no CPU that the task may use; it got another (`select_fallback_rq()`)."
    EnergyNone "Energy-aware: the task uses nothing and asks for nothing; the previous CPU."
    EnergyPrev "Energy-aware: nowhere does the task add less energy than on the previous CPU, or nowhere else it fits."
    EnergyBest "Energy-aware: the task adds less energy elsewhere, or fits better there."
    EnergyUnsure "Energy-aware: a domain seems to need less energy with the task than without it, so the estimate is worth nothing; the previous CPU."
    TargetIdle "The target is idle, or runs only SCHED_IDLE tasks. \"Idle\" means both in what follows."
    PrevIdle "The previous CPU is idle and shares the target's cache."
    PerCpuKthread "A kernel thread of this CPU wakes the task that asked it for something: the task stays with it."
    RecentUsedIdle "The CPU that the task used before the previous one is idle and shares the target's cache."
    AsymFits "Where capacities differ: the first idle CPU that is big enough."
    AsymBest "Where capacities differ: no idle CPU is big enough; the one that comes nearest."
    NoCacheDomain "The target has no cache domain to search (or the waker none to account the search to, with SIS_PROP): the target."
    IdleSmt "No core is idle, but a sibling of the previous CPU."
    IdleCore "A core that is idle as a whole."
    IdleCpuOfBusyCore "An idle CPU of a core that is not idle as a whole, although one was expected to be."
    IdleCpu "The first idle CPU after the target."
    ScanBusy "The cache domain is so busy that a search is not worth it (`nr_idle_scan` is 0): the target."
    ScanLimit "The search gave up at its limit: the target."
    NothingIdle "A whole search found no idle CPU: the target."
    NoDomain "No domain balances on such an occasion: the previous CPU."
    SlowPathNotAllowed "The domain has no CPU that the task may use: the previous CPU."
    SlowPathIdlest "The idlest CPU of the idlest group is elsewhere."
    SlowPathStays "No group is better than that of this CPU, nor another CPU in it."
    Policy "A policy of one's own chose it, in the place of the kernel's rules."
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
    /// recent CPU; on the slow path, over all levels. A policy's looks count.
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

/// Why a CPU is selected for a task: WF_*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WakeFlags {
    /// It was woken: WF_TTWU.
    pub ttwu: bool,
    /// It was forked: WF_FORK.
    pub fork: bool,
    /// It calls exec: WF_EXEC.
    pub exec: bool,
    /// The waker is about to sleep: WF_SYNC.
    pub sync: bool,
    /// An interrupt handler asks, not the running task: the opposite of `in_task()`.
    pub in_interrupt: bool,
}
