// SPDX-License-Identifier: GPL-2.0-or-later
//! What load balancing decided and why: one record for each pass and for each tick that thought of idle CPUs.
//!
//! The enums are closed: each variant is one rule of the kernel, so a count by variant is a result.

use crate::interface::wakeup::rules;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;

rules! {
    /// How busy a group is: the kernel's `enum group_type`, in its order. A later one is more in need of help.
    #[derive(Default)]
    GroupType
    #[default] HasSpare "It can take more (`group_has_spare`)."
    FullyBusy "It is used up, but tasks do not compete (`group_fully_busy`)."
    MisfitTask "A task is too big for its CPU (`group_misfit_task`)."
    AsymPacking "A CPU of higher priority should take its tasks (`group_asym_packing`)."
    Imbalanced "Affinity kept an earlier pass from balancing it (`group_imbalanced`)."
    Overloaded "Tasks compete for it (`group_overloaded`)."
}

rules! {
    /// What is counted when tasks are moved: the kernel's `enum migration_type`, in its order.
    MigrationType
    Load "Load (`migrate_load`)."
    Util "Utilisation (`migrate_util`)."
    Task "Tasks (`migrate_task`)."
    Misfit "A single task, which does not fit its CPU (`migrate_misfit`)."
}

rules! {
    /// Why a domain counts as balanced after its groups were looked at: the exits of `find_busiest_group()`.
    BalancedReason
    NoCandidate "No other group has tasks that this CPU should take."
    EnergyAware "Energy-aware placement is in charge: no CPU is over-utilised."
    LocalIsBusier "The local group is in a worse state than the busiest one."
    LocalHasMoreLoad "Both are overloaded, and the local one has at least as much load for its capacity."
    LocalIsAboveAverage "Both are overloaded, and the local one is above the domain's average."
    WithinMargin "Both are overloaded, and the difference is within `imbalance_pct`."
    BusyWithoutCompetition "This CPU has work itself, and no tasks compete there."
    IdleCpusAlike "The busiest group has not fewer idle CPUs than the local one, give or take one."
    SingleTask "The busiest group has a single task: moving it would gain nothing."
    NoImbalance "All said there is an imbalance, but it amounts to nothing."
    Policy "A policy of one's own, in the place of the kernel's rules, wants nothing to be pulled."
}

rules! {
    /// What became of a pass of `load_balance()`.
    BalanceVerdict
    NotOurs "Another CPU of the group is to balance this domain, or the CPU has got work meanwhile (`should_we_balance()`)."
    NoBusiestGroup "There is nothing to do; why is a matter of its own."
    NoBusiestQueue "No runqueue of the busiest group is suited."
    AllPinned "All tasks of the busiest runqueue may not run here, nor on another CPU of the group."
    Moved "Tasks were moved."
    Failed "No task could be moved."
    ActiveBalance "No task could be moved, so the running one is being pushed by its stopper."
    ActiveBalancePending "The running one should be pushed, but that is under way already."
    RunningTaskPinned "The running one should be pushed, but may not run here."
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
    /// Why it is balanced, if it is.
    pub balanced: Option<BalancedReason>,
    /// State of the local group, if groups were looked at.
    pub local_type: Option<GroupType>,
    /// State of the busiest group, if there was one.
    pub busiest_type: Option<GroupType>,
    /// The first CPU of the busiest group that was chosen last.
    pub busiest_group: Option<CpuId>,
    /// The CPU of the busiest runqueue that was chosen last.
    pub busiest_queue: Option<CpuId>,
    /// What was to be moved, if there was a busiest group.
    pub migration: Option<MigrationType>,
    /// How much of it, as found.
    pub imbalance: i64,
    /// Number of CPUs whose statistics were gathered, all attempts together.
    pub nr_cpus: u32,
    /// How often the lock of a busiest runqueue was taken.
    pub nr_locks: u32,
    /// Number of tasks looked at.
    pub nr_scanned: u32,
    /// Number of tasks moved.
    pub nr_moved: u32,
    /// How often the pass started over because all tasks of the busiest runqueue were pinned.
    pub redos: u32,
    /// How many of these were because the runqueue had lost its tasks between the look at it and its lock, and counted as
    /// one with pinned tasks (only with the tunable `redo_emptied`).
    pub raced: u32,
    /// How often a runqueue had lost its tasks when its lock was taken.
    pub emptied: u32,
}

rules! {
    /// The rule of `nohz_balancer_kick()` that decided.
    KickReason
    CpuIsIdle "The CPU is idle itself: its own softirq balances."
    NobodyTickless "No CPU is tickless."
    NotDue "Idle balancing is not due yet."
    ManyTasks "The CPU has two or more tasks."
    ReducedCapacity "Other classes and interrupts leave too little of the CPU for its fair task."
    AsymPacking "A tickless CPU has a higher priority."
    Misfit "The CPU's task does not fit it, and a better CPU exists."
    AsymCapacity "CPUs differ in capacity, and nothing of the above holds: the cache rule does not count."
    LlcBusy "More than one CPU of the last-level cache is busy."
    NoReason "No rule asked for balancing."
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

/// Balance for tickless CPUs: the kernel's NOHZ_BALANCE_KICK.
pub const NOHZ_BALANCE_KICK: u32 = 1 << 0;

/// Update their blocked load: NOHZ_STATS_KICK.
pub const NOHZ_STATS_KICK: u32 = 1 << 1;

/// A CPU that went idle itself updates blocked load before it sleeps: NOHZ_NEWILB_KICK.
pub const NOHZ_NEWILB_KICK: u32 = 1 << 2;

/// Bring `next_balance` up to date: NOHZ_NEXT_KICK.
pub const NOHZ_NEXT_KICK: u32 = 1 << 3;

/// What one CPU asks of another: NOHZ_KICK_MASK.
pub const NOHZ_KICK_MASK: u32 = NOHZ_BALANCE_KICK | NOHZ_STATS_KICK | NOHZ_NEXT_KICK;
