// SPDX-License-Identifier: GPL-2.0-or-later
//! Records of load-balancing decisions: one for each pass, and one for each tick that checked whether to kick
//! idle CPUs.
//!
//! The enums are closed: each variant is one rule of the kernel, so counts by variant can be reported.

use crate::interface::wakeup::rules;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;

rules! {
    /// State of a group: the kernel's `enum group_type`, in its order. A later state has a higher priority
    /// for help.
    #[derive(Default)]
    GroupType
    #[default] HasSpare "The group has spare capacity (`group_has_spare`)."
    FullyBusy "The group is fully used, but tasks do not compete (`group_fully_busy`)."
    MisfitTask "A task is too big for its CPU (`group_misfit_task`)."
    SmtBalance "A core has several tasks, and an idle CPU could take one (`group_smt_balance`, 6.12)."
    AsymPacking "A CPU of higher priority should take its tasks (`group_asym_packing`)."
    Imbalanced "Affinity kept an earlier pass from balancing the group (`group_imbalanced`)."
    Overloaded "Tasks compete for the group's CPUs (`group_overloaded`)."
}

rules! {
    /// Quantity that a pass moves: the kernel's `enum migration_type`, in its order.
    MigrationType
    Load "Load (`migrate_load`)."
    Util "Utilisation (`migrate_util`)."
    Task "Tasks (`migrate_task`)."
    Misfit "A single task, which does not fit its CPU (`migrate_misfit`)."
}

rules! {
    /// Reason why a domain counts as balanced after its groups were examined: an exit of
    /// `find_busiest_group()`.
    BalancedReason
    NoCandidate "No other group has tasks that this CPU should take."
    EnergyAware "Energy-aware scheduling is active: no CPU is over-utilised."
    LocalIsBusier "The local group is in a worse state than the busiest one."
    LocalHasMoreLoad "Both groups are overloaded, and the local one has at least as much load relative to its capacity."
    LocalIsAboveAverage "Both groups are overloaded, and the local one is above the domain's average."
    WithinMargin "Both groups are overloaded, and the difference is within `imbalance_pct`."
    BusyWithoutCompetition "This CPU is busy, and no tasks compete in the busiest group."
    IdleCpusAlike "The local group has at most one idle CPU more than the busiest group."
    SingleTask "The busiest group has a single task: moving it would gain nothing."
    NoImbalance "The computed imbalance is 0."
    Policy "A custom policy chose to pull nothing."
}

rules! {
    /// Result of a pass of `load_balance()`.
    BalanceVerdict
    NotOurs "Another CPU of the group balances this domain, or the CPU has received work meanwhile (`should_we_balance()`)."
    NoBusiestGroup "The domain is balanced; `BalancedReason` has the reason."
    NoBusiestQueue "No runqueue of the busiest group is suitable."
    AllPinned "No task of the busiest runqueue may run here or on another CPU of the group."
    Moved "Tasks were moved."
    Failed "No task could be moved."
    ActiveBalance "No task could be moved, so the running one is being pushed by its stopper."
    ActiveBalancePending "The running task should be pushed, but a push is in progress already."
    RunningTaskPinned "The running task should be pushed, but may not run here."
}

/// One pass of `load_balance()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceDecision {
    /// CPU that executed the pass.
    pub on: CpuId,
    /// CPU for which the pass pulled.
    pub dst_cpu: CpuId,
    /// Level of the domain; 0 is the narrowest.
    pub level: u32,
    /// Idle type with which the pass was called.
    pub idle: CpuIdleType,
    /// Result of the pass.
    pub verdict: BalanceVerdict,
    /// Reason why the domain counts as balanced, if it does.
    pub balanced: Option<BalancedReason>,
    /// State of the local group, if groups were examined.
    pub local_type: Option<GroupType>,
    /// State of the busiest group, if there was one.
    pub busiest_type: Option<GroupType>,
    /// First CPU of the busiest group of the last attempt.
    pub busiest_group: Option<CpuId>,
    /// CPU of the busiest runqueue of the last attempt.
    pub busiest_queue: Option<CpuId>,
    /// Quantity to move, if there was a busiest group.
    pub migration: Option<MigrationType>,
    /// Amount of that quantity, as computed.
    pub imbalance: i64,
    /// Number of CPUs whose statistics were gathered in all attempts.
    pub nr_cpus: u32,
    /// Number of times that the lock of a busiest runqueue was taken.
    pub nr_locks: u32,
    /// Number of tasks that were examined for migration.
    pub nr_scanned: u32,
    /// Number of migrated tasks.
    pub nr_moved: u32,
    /// Number of times that the pass started over because all tasks of the busiest runqueue were pinned.
    pub redos: u32,
    /// Number of those restarts whose runqueue had lost its tasks before its lock was taken, and counted as
    /// one with pinned tasks (only with the tunable `redo_emptied`).
    pub raced: u32,
    /// Number of runqueues that had lost their tasks when their lock was taken.
    pub emptied: u32,
}

impl BalanceDecision {
    /// Returns the record of a pass that has only begun.
    pub(crate) const fn new(on: CpuId, dst_cpu: CpuId, level: u32, idle: CpuIdleType) -> Self {
        Self {
            on,
            dst_cpu,
            level,
            idle,
            verdict: BalanceVerdict::NotOurs,
            balanced: None,
            local_type: None,
            busiest_type: None,
            busiest_group: None,
            busiest_queue: None,
            migration: None,
            imbalance: 0,
            nr_cpus: 0,
            nr_locks: 0,
            nr_scanned: 0,
            nr_moved: 0,
            redos: 0,
            raced: 0,
            emptied: 0,
        }
    }
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
    AsymCapacity "CPUs differ in capacity, and no earlier rule applies; the last-level cache rule is skipped."
    LlcBusy "More than one CPU of the last-level cache is busy."
    NoReason "No rule asked for balancing."
}

/// A tick that checked whether to balance for tickless CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KickDecision {
    /// CPU of the tick.
    pub cpu: CpuId,
    /// Rule that requested the kick, or the reason for requesting none.
    pub reason: KickReason,
    /// Requested work: the kernel's `NOHZ_*_KICK` bits; 0 for none.
    pub flags: u32,
    /// CPU that was chosen to balance for all; `None` if nothing was requested or no CPU is idle.
    pub target: Option<CpuId>,
    /// Whether the target was interrupted; otherwise a kick was pending already.
    pub kicked: bool,
}

/// Request to balance for tickless CPUs (`NOHZ_BALANCE_KICK`).
pub const NOHZ_BALANCE_KICK: u32 = 1 << 0;

/// Request to update the blocked load of tickless CPUs (`NOHZ_STATS_KICK`).
pub const NOHZ_STATS_KICK: u32 = 1 << 1;

/// Request of a CPU that went idle to update blocked load before it sleeps (`NOHZ_NEWILB_KICK`).
pub const NOHZ_NEWILB_KICK: u32 = 1 << 2;

/// Request to update `next_balance` (`NOHZ_NEXT_KICK`).
pub const NOHZ_NEXT_KICK: u32 = 1 << 3;

/// All requests that one CPU sends to another (`NOHZ_KICK_MASK`).
pub const NOHZ_KICK_MASK: u32 = NOHZ_BALANCE_KICK | NOHZ_STATS_KICK | NOHZ_NEXT_KICK;
