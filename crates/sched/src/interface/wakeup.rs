// SPDX-License-Identifier: GPL-2.0-or-later
//! Record of one CPU selection: the rule that chose the CPU.
//!
//! The selection fills in a record on its way and reports it once. The enums name every exit of the
//! selection, so counts by variant can be reported.

use crate::types::ids::{CpuId, TaskId};

/// Occasion of a CPU selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub enum WakeKind {
    Wakeup,
    Fork,
    /// A running task calls exec, when it has no cache footprint to lose.
    Exec,
}

/// Declares an enum of rules: variant and meaning.
macro_rules! rules {
    ($(#[$doc:meta])* $name:ident $($(#[$attribute:meta])* $variant:ident $meaning:literal)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $(#[doc = $meaning] $(#[$attribute])* $variant,)*
        }

        impl $name {
            /// All variants, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name of the variant in results.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)* }
            }

            /// Returns the meaning of the variant in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

pub(crate) use rules;

rules! {
    /// Decision between the CPU of the waker and the previous CPU: result of `wake_wide()` and
    /// `wake_affine()`.
    AffineRule
    NotAsked "Not evaluated: no wake-up, or decided before."
    Wide "Previous CPU: waker and task wake so many others that spreading them is better."
    NotAllowed "Previous CPU: the task may not use the waker's."
    NoDomain "Previous CPU: no domain for affine wake-ups contains both."
    SameCpu "The waker's CPU and the previous CPU are the same."
    ThisIdle "Waker's CPU: it is idle (an interrupt wakes), shares the cache, and the previous CPU is busy."
    BothIdle "Previous CPU: it is as idle as the waker's, and both share a cache."
    SyncAlone "Waker's CPU: the waker is alone there and about to sleep."
    PrevIdle "Previous CPU: it is idle."
    SyncAllLoad "Waker's CPU: the waker is about to sleep, and its load exceeds that of the CPU."
    LessLoad "Waker's CPU: it would be less loaded."
    NotLessLoad "Previous CPU: the waker's would not be less loaded."
    NotCompared "Previous CPU: the features that would compare are off, and no other rule decided."
}

rules! {
    /// Rule that chose the CPU.
    WakeRule
    PinnedToOne "The task may use only one CPU."
    Fallback "The task may not use the chosen CPU; it got another (`select_fallback_rq()`)."
    EnergyNone "Energy-aware: the task has no utilisation and no uclamp request; the previous CPU."
    EnergyPrev "Energy-aware: the task adds the least energy on the previous CPU, or fits no other CPU."
    EnergyBest "Energy-aware: the task adds less energy on another CPU, or fits better there."
    EnergyUnsure "Energy-aware: the estimate is invalid, because a domain seems to need less energy with the task than without it; the previous CPU."
    TargetIdle "The target is idle, or runs only SCHED_IDLE tasks; \"idle\" means either in the other rules too."
    PrevIdle "The previous CPU is idle and shares the target's cache."
    PerCpuKthread "A per-CPU kernel thread wakes the task for which it worked: the task runs on the thread's CPU."
    RecentUsedIdle "The CPU that the task used before the previous one is idle and shares the target's cache."
    AsymFits "Where capacities differ: the first idle CPU that is big enough."
    AsymBest "Where capacities differ: no idle CPU is big enough; the idle CPU that comes nearest."
    NoCacheDomain "The target has no cache domain to search (or the waker none to account the search to, with SIS_PROP): the target."
    IdleSmt "No core is idle, but a sibling of the previous CPU is."
    IdleCore "A core all of whose threads are idle."
    IdleCpuOfBusyCore "An idle CPU of a partly busy core, although an idle core was expected."
    IdleCpu "The first idle CPU after the target."
    ScanBusy "The cache domain is so busy that a search is not worthwhile (`nr_idle_scan` is 0): the target."
    ScanLimit "The search ended at its limit: the target."
    NothingIdle "A complete search found no idle CPU: the target."
    NoDomain "No domain balances on this occasion: the previous CPU."
    SlowPathNotAllowed "The domain has no CPU that the task may use: the previous CPU."
    SlowPathIdlest "The idlest CPU of the idlest group, which is not this CPU."
    SlowPathStays "Neither another group nor another CPU of this group is better than this CPU."
    Policy "A custom policy chose the CPU."
}

/// One selection of a CPU for a fair task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeupDecision {
    /// Task that needs a CPU.
    pub task: TaskId,
    /// Occasion of the selection.
    pub kind: WakeKind,
    /// Whether the waker is about to sleep.
    pub sync: bool,
    /// Previous CPU of the task.
    pub prev: CpuId,
    /// CPU of the waker, or of the parent.
    pub waker: CpuId,
    /// Rule that chose the target.
    pub affine: AffineRule,
    /// CPU near which an idle CPU is searched for.
    pub target: CpuId,
    /// CPU on which the task will be enqueued.
    pub cpu: CpuId,
    /// Rule that chose the CPU.
    pub rule: WakeRule,
    /// Number of CPUs of the domain that were scanned, one by one or as parts of cores, beyond the fast
    /// checks of the target, the previous and the recent CPU; on the slow path, over all levels. Samples of a
    /// custom policy count too.
    pub nr_scanned: u32,
    /// Number of cores that were scanned.
    pub nr_cores_scanned: u32,
    /// Maximum number of CPUs to scan: `nr_idle_scan` with SIS_UTIL, computed for each search with SIS_PROP.
    /// `None` without a search or without a limit.
    pub nr_idle_scan: Option<u32>,
}

impl WakeupDecision {
    /// Returns the record of a selection that has not begun: it leaves the task on its previous CPU.
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

    /// Records the result of the selection.
    pub(crate) fn choose(&mut self, cpu: CpuId, rule: WakeRule) {
        self.cpu = cpu;
        self.rule = rule;
    }
}

/// Occasion of a CPU selection for a task (`WF_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WakeFlags {
    /// A blocked task is woken (`WF_TTWU`).
    pub ttwu: bool,
    /// A forked task is woken for the first time (`WF_FORK`).
    pub fork: bool,
    /// The running task executes a new program (`WF_EXEC`).
    pub exec: bool,
    /// The waker is about to sleep (`WF_SYNC`).
    pub sync: bool,
    /// The caller is an interrupt handler and not the running task: the opposite of `in_task()`.
    pub in_interrupt: bool,
}
