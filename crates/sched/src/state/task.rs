// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks: what the scheduler keeps of one, beside its fair entity.

use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpuId, CpusetId, EntityId, GroupId, TaskId};
use crate::types::units::Nanos;

/// Scheduling policy with its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_NORMAL`.
    #[default]
    Normal,
    /// `SCHED_BATCH`: does not preempt at wake-up.
    Batch,
    /// `SCHED_IDLE`: the weight of almost nothing.
    Idle,
    /// `SCHED_FIFO` with a priority from 1 to 99.
    Fifo(u8),
    /// `SCHED_RR` with a priority from 1 to 99.
    RoundRobin(u8),
    /// `SCHED_DEADLINE`.
    Deadline {
        /// Budget in each period.
        runtime: Nanos,
        /// Relative deadline.
        deadline: Nanos,
        /// Period.
        period: Nanos,
    },
}

impl Policy {
    /// The class that serves it.
    pub const fn class(self) -> SchedClass {
        match self {
            Self::Normal | Self::Batch | Self::Idle => SchedClass::Fair,
            Self::Fifo(_) | Self::RoundRobin(_) => SchedClass::RealTime,
            Self::Deadline { .. } => SchedClass::Deadline,
        }
    }
}

/// Scheduling classes; a later one goes before an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchedClass {
    /// The idle task of a CPU.
    Idle,
    /// SCHED_NORMAL, SCHED_BATCH, SCHED_IDLE.
    Fair,
    /// SCHED_FIFO, SCHED_RR.
    RealTime,
    /// SCHED_DEADLINE.
    Deadline,
    /// The stopper of a CPU.
    Stop,
}

/// What a task is about to do or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Forked but never woken.
    New,
    /// Runs or wants to.
    Running,
    /// Sleeps, or is about to.
    Interruptible,
    /// Somebody wakes it and has not queued it yet.
    Waking,
    /// Has ended.
    Dead,
}

/// Whether a task is on a runqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRq {
    /// No.
    No,
    /// Yes.
    Queued,
    /// It is between two of them.
    Migrating,
}

/// Waiting time and number of runs: the kernel's `struct sched_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedInfo {
    /// When it became runnable, in ns of the runqueue's clock; 0 while it does not wait.
    pub last_queued: u64,
    /// When it began to run last.
    pub last_arrival: u64,
    /// Time that it waited although runnable, in ns.
    pub run_delay: u64,
    /// How often it began to run.
    pub pcount: u64,
}

/// Clamps of a task's utilisation, 0 to 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uclamp {
    /// Lowest.
    pub min: u32,
    /// Highest.
    pub max: u32,
}

impl Default for Uclamp {
    fn default() -> Self {
        Self { min: 0, max: 1024 }
    }
}

/// The kernel's `struct task_struct`, as far as the scheduler uses it.
#[derive(Clone, Debug)]
pub struct Task {
    /// Process id, for people and traces.
    pub pid: i32,
    /// Its fair entity, which exists in every class.
    pub se: EntityId,
    /// CPU to which it belongs.
    pub cpu: CpuId,
    /// CPU on which it was last put to sleep or was to be woken: where its next wake-up starts to look (`wake_cpu`).
    pub wake_cpu: CpuId,
    /// CPU before the last wake-up that moved it.
    pub recent_used_cpu: CpuId,
    /// Whether it is on a runqueue.
    pub on_rq: OnRq,
    /// Whether it is the current task of its CPU (`on_cpu`).
    pub on_cpu: bool,
    /// State.
    pub state: TaskState,
    /// Class that serves it now.
    pub class: SchedClass,
    /// Policy.
    pub policy: Policy,
    /// The priority that it inherits from its most important waiter; the lowest if it inherits none.
    pub(crate) pi_prio: crate::state::prio::Prio,
    /// Nice value, also while another class serves it.
    pub nice: i8,
    /// Allowed CPUs.
    pub cpus_allowed: CpuMask,
    /// Number of them.
    pub nr_cpus_allowed: u32,
    /// The cpuset that it is in.
    pub cpuset: CpusetId,
    /// Whether it is a kernel thread that is bound to one CPU.
    pub is_per_cpu_kthread: bool,
    /// Task group.
    pub group: GroupId,
    /// How often it woke another task than the one before, decaying by half each second.
    pub wakee_flips: u32,
    /// When that was decayed last, in jiffies.
    pub wakee_flip_decay_ts: u64,
    /// The task that it woke last.
    pub last_wakee: Option<TaskId>,
    /// A queued remote wake-up moved it to another CPU (`sched_remote_wakeup`).
    pub remote_wakeup: bool,
    /// A CPU has been selected for it, but it is not enqueued there yet.
    pub in_wakeup: bool,
    /// It waits for input or output, or has waited and not run since.
    pub in_iowait: bool,
    /// Waiting time.
    pub info: SchedInfo,
    /// Asked-for clamps.
    pub uclamp: Uclamp,
    /// Whether somebody asked for them; otherwise they are the defaults (`user_defined`).
    pub has_uclamp: bool,
    /// The clamps that count for its runqueue, while it is runnable and counts.
    pub uclamp_active: Option<Uclamp>,
    /// Neighbours in the list of its runqueue's fair tasks.
    pub links: crate::state::rq::task_list::TaskLinks,
    /// State of the real-time class.
    pub rt: crate::state::rt::RtEntity,
    /// State of the deadline class.
    pub dl: crate::state::deadline::DlEntity,
}

impl Task {
    /// Whether its policy is SCHED_IDLE.
    #[inline]
    pub fn has_idle_policy(&self) -> bool {
        self.policy == Policy::Idle
    }

    /// Whether it is queued: `task_on_rq_queued()`.
    #[inline]
    pub fn is_queued(&self) -> bool {
        self.on_rq == OnRq::Queued
    }

    /// Whether it is between two runqueues.
    #[inline]
    pub fn is_migrating(&self) -> bool {
        self.on_rq == OnRq::Migrating
    }
}
