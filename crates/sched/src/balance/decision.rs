// SPDX-License-Identifier: GPL-2.0-or-later
//! What load balancing decided and why: one record for each pass and for each tick that thought of idle CPUs.
//!
//! The enums are closed: each variant is one rule of the kernel, so a count by variant is a result.

use crate::ids::CpuId;
use crate::topology::CpuIdleType;

/// How busy a group is: the kernel's `enum group_type`, in its order. A later one is more in need of help.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupType {
    /// `group_has_spare`: it can take more.
    #[default]
    HasSpare,
    /// `group_fully_busy`: it is used up, but tasks do not compete.
    FullyBusy,
    /// `group_misfit_task`: a task is too big for its CPU.
    MisfitTask,
    /// `group_asym_packing`: a CPU of higher priority should take its tasks.
    AsymPacking,
    /// `group_imbalanced`: affinity kept an earlier pass from balancing it.
    Imbalanced,
    /// `group_overloaded`: tasks compete for it.
    Overloaded,
}

/// What is counted when tasks are moved: the kernel's `enum migration_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MigrationType {
    /// `migrate_load`: load.
    #[default]
    Load,
    /// `migrate_util`: utilisation.
    Util,
    /// `migrate_task`: tasks.
    Task,
    /// `migrate_misfit`: a single task, which does not fit its CPU.
    Misfit,
}

/// Why a domain counts as balanced after its groups were looked at: the exits of `find_busiest_group()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Balanced {
    /// No other group has tasks that this CPU should take.
    NoCandidate,
    /// Energy-aware placement is in charge: no CPU is over-utilised.
    EnergyAware,
    /// The local group is in a worse state than the busiest one.
    LocalIsBusier,
    /// Both are overloaded, and the local one has at least as much load for its capacity.
    LocalHasMoreLoad,
    /// Both are overloaded, and the local one is above the domain's average.
    LocalIsAboveAverage,
    /// Both are overloaded, and the difference is within `imbalance_pct`.
    WithinMargin,
    /// This CPU has work itself, and no tasks compete there.
    BusyWithoutCompetition,
    /// The busiest group has not fewer idle CPUs than the local one, give or take one.
    IdleCpusAlike,
    /// The busiest group has a single task: moving it would gain nothing.
    SingleTask,
    /// All said there is an imbalance, but it amounts to nothing.
    NoImbalance,
}

/// What became of a pass of `load_balance()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BalanceVerdict {
    /// Another CPU of the group is to balance this domain (`should_we_balance()`), or the CPU has got work meanwhile.
    NotOurs,
    /// There is nothing to do.
    NoBusiestGroup(Balanced),
    /// No runqueue of the busiest group is suited.
    NoBusiestQueue,
    /// All tasks of the busiest runqueue may not run here, nor on another CPU of the group.
    AllPinned,
    /// Tasks were moved.
    Moved,
    /// No task could be moved.
    Failed,
    /// No task could be moved, so the running one is being pushed by its stopper.
    ActiveBalance,
    /// The running one should be pushed, but that is under way already.
    ActiveBalancePending,
    /// The running one should be pushed, but may not run here.
    RunningTaskPinned,
}

/// One pass of `load_balance()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceDecision {
    /// Who executed it.
    pub on: CpuId,
    /// For which CPU.
    pub dst_cpu: CpuId,
    /// Level of the domain.
    pub level: u32,
    /// In which state the CPU balanced.
    pub idle: CpuIdleType,
    /// What became of it.
    pub verdict: BalanceVerdict,
    /// State of the local group, if groups were looked at.
    pub local_type: Option<GroupType>,
    /// State of the busiest group, if there was one.
    pub busiest_type: Option<GroupType>,
    /// The first CPU of the busiest group that was chosen last.
    pub busiest_group: Option<CpuId>,
    /// The CPU of the busiest runqueue that was chosen last.
    pub busiest_queue: Option<CpuId>,
    /// What was to be moved.
    pub migration: MigrationType,
    /// How much of it, as found.
    pub imbalance: i64,
    /// Number of tasks looked at.
    pub nr_scanned: u32,
    /// Number of tasks moved.
    pub nr_moved: u32,
    /// How often the pass started over because all tasks of the busiest runqueue were pinned.
    pub redos: u32,
}

/// The rule of `nohz_balancer_kick()` that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KickReason {
    /// The CPU is idle itself: its own softirq balances.
    CpuIsIdle,
    /// No CPU is tickless.
    NobodyTickless,
    /// Idle balancing is not due yet.
    NotDue,
    /// The CPU has two or more tasks.
    ManyTasks,
    /// Other classes and interrupts leave too little of the CPU for its fair task.
    ReducedCapacity,
    /// A tickless CPU has a higher priority.
    AsymPacking,
    /// The CPU's task does not fit it, and a better CPU exists.
    Misfit,
    /// CPUs differ in capacity, and nothing of the above holds: the cache rule does not count.
    AsymCapacity,
    /// More than one CPU of the last-level cache is busy.
    LlcBusy,
    /// No rule asked for balancing.
    NoReason,
}

/// A tick that asked whether to balance for tickless CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KickDecision {
    /// Whose tick.
    pub cpu: CpuId,
    /// The rule that decided.
    pub reason: KickReason,
    /// What is asked for: the kernel's `NOHZ_*_KICK` bits; 0: nothing.
    pub flags: u32,
    /// Whom it chose to balance for all; none if it asked for nothing, or nobody is idle.
    pub target: Option<CpuId>,
    /// Whether the target was interrupted; otherwise it had been asked before.
    pub kicked: bool,
}
