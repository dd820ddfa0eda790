// SPDX-License-Identifier: GPL-2.0-or-later
//! Events that the scheduler reports to observers. Observers cannot change the scheduler.

pub use crate::interface::balance::{
    BalanceDecision, BalanceVerdict, BalancedReason, GroupType, KickDecision, KickReason, MigrationType,
};
pub use crate::interface::blocked::{BlockedCaller, BlockedUpdate};
pub use crate::interface::eevdf::EevdfEvent;
pub use crate::interface::lag::{EntityLag, LagMoment, QueueLag};

use crate::interface::ctx::{IpiKind, PrevState};
use crate::interface::wakeup::WakeupDecision;
pub use crate::interface::warning::Warning;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::{CpuId, GroupId, TaskId};
use crate::types::pelt::SchedAvg;
pub use crate::types::runtime_limit::RuntimeLimit;
use crate::types::units::{Capacity, Nanos};

/// An event inside the scheduler. Events are reported in the order in which they happen.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub enum Event<'a> {
    /// A sleeping task is about to be woken (tracepoint `sched_waking`). Its CPU is not selected yet.
    Waking {
        task: TaskId,
        /// Previous CPU of the task.
        cpu: CpuId,
        /// CPU of the waker.
        on: CpuId,
    },
    /// The priority of a task changed, or the task is new: -1 for SCHED_DEADLINE, 0 to 98 for real-time
    /// policies, 100 to 139 for fair tasks.
    Priority {
        task: TaskId,
        /// New priority, inherited or its own.
        prio: i32,
        /// Whether the task inherits from a waiter of its mutex (tracepoint `sched_pi_setprio`).
        is_inherited: bool,
        /// CPU that executes the change.
        on: CpuId,
    },
    /// A task became runnable on a CPU (tracepoints `sched_wakeup` and `sched_wakeup_new`).
    Wakeup {
        task: TaskId,
        /// CPU on which the task is queued.
        cpu: CpuId,
        /// Whether the task was forked just now.
        is_new: bool,
        /// CPU that queued the task.
        on: CpuId,
    },
    /// A context switch (tracepoint `sched_switch`).
    Switch { cpu: CpuId, prev: TaskId, next: TaskId, prev_state: PrevState },
    /// A task moved to another CPU (tracepoint `sched_migrate_task`).
    Migrate {
        task: TaskId,
        from: CpuId,
        to: CpuId,
        /// CPU that moved the task.
        on: CpuId,
    },
    /// A task was throttled, so that it waits for runtime of this limit and not for a CPU; or this has ended (`None`).
    Throttling { task: TaskId, limit: Option<RuntimeLimit> },
    /// A CPU's queue of a task group was throttled, or this has ended.
    GroupThrottling {
        group: GroupId,
        cpu: CpuId,
        is_throttled: bool,
        /// Clock of the CPU's runqueue from which, or up to which, throttled time counts. `None` in 6.12 if the queue
        /// has no entity; the first one causes a second event.
        clock: Option<u64>,
    },
    /// The runtime of a group was refilled, at the end of periods or with new limits.
    GroupRefill {
        group: GroupId,
        /// Number of periods that have ended; 0 for new limits.
        nr_ended: u64,
        /// Whether the group is throttled on some CPU.
        is_throttled: bool,
        /// Runtime beyond the quota that was used since the last refill.
        burst: u64,
    },
    /// The frequency governor changed a frequency.
    Frequency {
        cpu: CpuId,
        /// New frequency as a fraction of the highest one (1024).
        capacity: Capacity,
        /// New frequency in kHz; 0 if a compiled-kernel engine does not report it.
        khz: u64,
    },
    /// An inter-processor interrupt was sent.
    Ipi {
        /// CPU that receives the interrupt.
        cpu: CpuId,
        /// Purpose of the interrupt.
        kind: IpiKind,
        /// CPU that sends the interrupt.
        on: CpuId,
    },
    /// The flag `overutilized` of the root domain changed (tracepoint `sched_overutilized_tp`).
    Overutilized {
        /// New value of `rd->overutilized`.
        is_over: bool,
        /// CPU that is over-utilised, or the one whose pass over all CPUs cleared the flag.
        cpu: CpuId,
    },
    /// A schedstat counter of a sched domain grew.
    DomainStat {
        /// CPU that executes the code.
        on: CpuId,
        /// CPU whose domain is counted.
        cpu: CpuId,
        /// Level of the domain.
        level: u32,
        /// Kernel name of the counter.
        counter: &'static str,
        /// Idle type, for counters that are kept by idle type.
        idle: Option<CpuIdleType>,
        /// Increment of the counter.
        amount: i64,
    },
    /// A CPU was selected for a waking or new fair task.
    WakeupDecision(&'a WakeupDecision),
    /// A pass of load balancing ended.
    BalanceDecision(&'a BalanceDecision),
    /// A tick checked whether to kick a CPU for tickless CPUs.
    KickDecision(&'a KickDecision),
    /// The blocked averages of a CPU were updated.
    BlockedUpdate(&'a BlockedUpdate),
    /// The scheduler emitted a warning, as it was configured to.
    Warning {
        /// CPU that the warning concerns.
        cpu: CpuId,
        /// CPU that executes the code.
        on: CpuId,
        warning: Warning,
    },
    /// A task was charged for the time it ran (tracepoint `sched_stat_runtime`). Time of interrupts and steal time
    /// is left out.
    Runtime {
        task: TaskId,
        /// CPU that executes the code.
        on: CpuId,
        runtime: Nanos,
    },
    /// Virtual times of an entity and of its queue, for a fair task and then for each group above it.
    Lag { moment: LagMoment, entity: &'a EntityLag, queue: &'a QueueLag },
    /// A decision of EEVDF or a step of a fair server.
    Eevdf(EevdfEvent<'a>),
    /// The averages of an entity were updated.
    PeltEntity {
        /// Task of the entity; `None` for a group's entity.
        task: Option<TaskId>,
        cpu: CpuId,
        /// Weight at full resolution.
        weight: u64,
        avg: &'a SchedAvg,
    },
    /// The averages of a cfs_rq were updated.
    PeltCfsRq {
        cpu: CpuId,
        /// Whether the cfs_rq is that of the root group.
        is_root: bool,
        avg: &'a SchedAvg,
    },
}

/// Observer of scheduler events.
pub trait SchedObserver {
    /// Receives an event, with the time of the machine event that is being handled. Some observers need only events of the
    /// machine.
    fn event(&mut self, _now: Nanos, _event: &Event<'_>) {}
}

/// Observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSchedObserver;

impl SchedObserver for NoSchedObserver {}
