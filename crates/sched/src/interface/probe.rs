// SPDX-License-Identifier: GPL-2.0-or-later
//! What the scheduler tells those who listen. Listening changes nothing.

pub use crate::interface::balance::{
    BalanceDecision, BalanceVerdict, BalancedReason, GroupType, KickDecision, KickReason, MigrationType,
};
pub use crate::interface::blocked::{BlockedCaller, BlockedUpdate};

use crate::interface::ctx::{IpiKind, PrevState};
use crate::interface::wakeup::WakeupDecision;
pub use crate::interface::warning::Warning;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::{CpuId, TaskId};
use crate::types::pelt::SchedAvg;
use crate::types::units::{Capacity, Nanos};

/// Something that happened inside the scheduler, in the order in which it happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A task that sleeps is about to be woken: tracepoint `sched_waking`. Its CPU is not selected yet.
    Waking {
        /// The task.
        task: TaskId,
        /// The CPU that it has used.
        cpu: CpuId,
        /// The CPU that wakes it.
        on: CpuId,
    },
    /// A task has another priority, or is new: -1 for SCHED_DEADLINE, 0 to 98 for real-time policies, 100 to 139 for fair tasks.
    Priority {
        /// The task.
        task: TaskId,
        /// Its priority, inherited or its own.
        prio: i32,
        /// Whether it inherits from who waits for it: tracepoint `sched_pi_setprio`.
        is_inherited: bool,
        /// Who executes.
        on: CpuId,
    },
    /// A task became runnable on a CPU: tracepoints `sched_wakeup` and `sched_wakeup_new`.
    Wakeup {
        /// The task.
        task: TaskId,
        /// Where it is queued.
        cpu: CpuId,
        /// It was forked just now.
        is_new: bool,
        /// The CPU that queued it.
        on: CpuId,
    },
    /// A CPU has another current task: tracepoint `sched_switch`.
    Switch {
        /// The CPU.
        cpu: CpuId,
        /// The task that ran.
        prev: TaskId,
        /// The task that runs now.
        next: TaskId,
        /// Why `prev` stopped.
        prev_state: PrevState,
    },
    /// A task belongs to another CPU: tracepoint `sched_migrate_task`.
    Migrate {
        /// The task.
        task: TaskId,
        /// Where it was.
        from: CpuId,
        /// Where it is.
        to: CpuId,
        /// The CPU that moved it.
        on: CpuId,
    },
    /// The frequency governor has changed a frequency.
    Frequency {
        /// The CPU.
        cpu: CpuId,
        /// Part of the highest frequency, of 1024.
        capacity: Capacity,
    },
    /// An inter-processor interrupt was sent.
    Ipi {
        /// To whom.
        cpu: CpuId,
        /// Why.
        kind: IpiKind,
        /// By whom.
        on: CpuId,
    },
    /// The machine became over-utilised, or is so no longer: `overutilized` of the root domain changed (the kernel's `sched_overutilized_tp`).
    Overutilized {
        /// Which of both.
        is_over: bool,
        /// The CPU that has too little room, or the one whose pass over all CPUs has said so.
        cpu: CpuId,
    },
    /// A schedstat counter of a sched domain grew.
    DomainStat {
        /// Who executes.
        on: CpuId,
        /// Whose domain it is.
        cpu: CpuId,
        /// The domain's level.
        level: u32,
        /// The counter's name in the kernel.
        counter: &'static str,
        /// The kind of balancing, for counters that are kept by kind.
        idle: Option<CpuIdleType>,
        /// By how much.
        amount: i64,
    },
    /// A CPU was selected for a fair task that wakes or is new.
    WakeupDecision(&'a WakeupDecision),
    /// A pass of load balancing is over.
    BalanceDecision(&'a BalanceDecision),
    /// A tick has thought of tickless CPUs.
    KickDecision(&'a KickDecision),
    /// The averages of a CPU were brought up to date, whether or not anything runs there.
    BlockedUpdate(&'a BlockedUpdate),
    /// The scheduler complains, as it was told to.
    Warning {
        /// Of which CPU.
        cpu: CpuId,
        /// Who executes.
        on: CpuId,
        /// Of what.
        warning: Warning,
    },
    /// The averages of an entity were refreshed.
    PeltEntity {
        /// Its task; `None` for a group's entity.
        task: Option<TaskId>,
        /// Its CPU.
        cpu: CpuId,
        /// Its weight at full resolution.
        weight: u64,
        /// The averages.
        avg: &'a SchedAvg,
    },
    /// The averages of a cfs_rq were refreshed.
    PeltCfsRq {
        /// Its CPU.
        cpu: CpuId,
        /// Whether it is the root cfs_rq.
        is_root: bool,
        /// The averages.
        avg: &'a SchedAvg,
    },
}

/// Listens to what happens.
pub trait Probe {
    /// Called for each event, at the time of the event that is being handled.
    fn event(&mut self, now: Nanos, event: &Event<'_>);

    /// Whether refreshes of averages are wanted; there are very many of them.
    fn wants_pelt(&self) -> bool {
        false
    }
}

/// Listens to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    fn event(&mut self, _now: Nanos, _event: &Event<'_>) {}
}
