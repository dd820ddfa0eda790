// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks: the scheduler's state of a task, except its fair entity.

use crate::types::arena::Arena;
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpuId, CpusetId, EntityId, GroupId, TaskId};
use crate::types::runtime_limit::RuntimeLimit;
use crate::types::units::{Capacity, Nanos};

/// Scheduling policy with its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_NORMAL`: a fair task, the default policy.
    #[default]
    Normal,
    /// `SCHED_BATCH`: does not preempt at wake-up.
    Batch,
    /// `SCHED_IDLE`: the lowest weight, 3 (nice 0 has 1024).
    Idle,
    /// `SCHED_FIFO` with a priority from 1 to 99.
    Fifo(u8),
    /// `SCHED_RR` with a priority from 1 to 99.
    RoundRobin(u8),
    /// `SCHED_DEADLINE` with its parameters.
    Deadline {
        /// Budget in each period.
        runtime: Nanos,
        /// Deadline, relative to the start of a period.
        deadline: Nanos,
        /// Length of a period.
        period: Nanos,
    },
}

impl Policy {
    /// Class that serves the policy.
    pub const fn class(self) -> SchedClass {
        match self {
            Self::Normal | Self::Batch | Self::Idle => SchedClass::Fair,
            Self::Fifo(_) | Self::RoundRobin(_) => SchedClass::RealTime,
            Self::Deadline { .. } => SchedClass::Deadline,
        }
    }
}

/// Scheduling classes in ascending order: a later one goes before an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchedClass {
    /// Class of the idle task of a CPU.
    Idle,
    /// Class of SCHED_NORMAL, SCHED_BATCH and SCHED_IDLE.
    Fair,
    /// Class of SCHED_FIFO and SCHED_RR.
    RealTime,
    /// Class of SCHED_DEADLINE.
    Deadline,
    /// Class of the stopper of a CPU.
    Stop,
}

/// All tasks of the machine.
pub(crate) type Tasks = Arena<TaskId, Task>;

/// State of a task: the kernel's `p->__state`, as far as the scheduler needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// The task is forked but was never woken.
    New,
    /// The task runs or wants to run.
    Running,
    /// The task sleeps or is about to.
    Interruptible,
    /// Another task or an interrupt wakes the task and has not queued it yet.
    Waking,
    /// The task has ended.
    Dead,
}

/// Relation of a task to a runqueue: the kernel's `p->on_rq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRq {
    /// The task is on no runqueue.
    No,
    /// The task is on a runqueue, queued or running.
    Queued,
    /// The task is between two runqueues.
    Migrating,
}

/// Waiting time and number of runs: the kernel's `struct sched_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedInfo {
    /// Time at which the task became runnable, in ns of the runqueue's clock; 0 while it does not wait.
    pub last_queued: u64,
    /// Time at which the task last began to run, in ns of the runqueue's clock.
    pub last_arrival: u64,
    /// Time for which the task waited although runnable, in ns.
    pub run_delay: u64,
    /// Number of times that the task began to run.
    pub pcount: u64,
}

/// Clamps of a task's utilisation, 0 to 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uclamp {
    /// Lower clamp, 0 to 1024.
    pub min: u32,
    /// Upper clamp, 0 to 1024.
    pub max: u32,
}

impl Default for Uclamp {
    fn default() -> Self {
        Self { min: 0, max: 1024 }
    }
}

/// Task: the kernel's `struct task_struct`, as far as the scheduler uses it.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct Task {
    /// Process id, for display and traces.
    pub pid: i32,
    /// Fair entity of the task, which exists in every class.
    pub se: EntityId,
    /// CPU to which the task belongs.
    pub cpu: CpuId,
    /// CPU on which the task last went to sleep or was to be woken, where its next wake-up starts to search
    /// (`wake_cpu`).
    pub wake_cpu: CpuId,
    /// CPU before the last wake-up that moved the task.
    pub recent_used_cpu: CpuId,
    pub on_rq: OnRq,
    /// Whether the task is the current task of its CPU (`on_cpu`).
    pub on_cpu: bool,
    pub state: TaskState,
    /// Class that serves the task now, which may be inherited.
    pub class: SchedClass,
    pub policy: Policy,
    /// Priority inherited from the most important waiter; the lowest possible one if the task inherits none.
    pub(crate) pi_prio: crate::state::prio::Prio,
    /// Most important waiter.
    pub(crate) pi_top_task: Option<TaskId>,
    /// Nice value, -20 to 19, also while another class serves the task.
    pub nice: i8,
    pub cpus_allowed: CpuMask,
    pub nr_cpus_allowed: u32,
    /// Capacity of the largest allowed CPU, when it was last determined. A new task inherits that of `init`, which follows
    /// the idle tasks and the stoppers; `init` begins with 0.
    pub(crate) max_allowed_capacity: Capacity,
    pub cpuset: CpusetId,
    /// Whether the task is a kernel thread that is bound to one CPU.
    pub is_per_cpu_kthread: bool,
    pub group: GroupId,
    /// Number of times that the task woke another task than before, halved each second.
    pub wakee_flips: u32,
    /// Time of the last decay of `wakee_flips`, in jiffies.
    pub wakee_flip_decay_ts: u64,
    /// Task that this one woke last.
    pub last_wakee: Option<TaskId>,
    /// Whether a queued remote wake-up moved the task to another CPU (`sched_remote_wakeup`).
    pub remote_wakeup: bool,
    /// Whether a CPU has been selected for the task, on which it is not enqueued yet.
    pub in_wakeup: bool,
    /// Whether the task waits for input or output, or has waited and not run since.
    pub in_iowait: bool,
    /// Limit by which the task is throttled according to the last event about it.
    pub(crate) reported_throttled_by: Option<RuntimeLimit>,
    pub info: SchedInfo,
    /// Requested utilisation clamps, before the limits of the group.
    pub uclamp: Uclamp,
    /// Whether the clamps were set for this task and are not the defaults (`user_defined`).
    pub has_uclamp: bool,
    /// Clamps that are counted in the runqueue, while the task is runnable.
    pub uclamp_active: Option<Uclamp>,
    /// Neighbours in the list of the runqueue's fair tasks.
    pub links: crate::state::rq::task_list::TaskLinks,
    pub rt: crate::state::rt::RtEntity,
    pub dl: crate::state::deadline::DlEntity,
}

impl Task {
    /// Whether the task's policy is SCHED_IDLE.
    #[inline]
    pub fn has_idle_policy(&self) -> bool {
        self.policy == Policy::Idle
    }

    /// Whether the task is queued or running: `task_on_rq_queued()`.
    #[inline]
    pub fn is_queued(&self) -> bool {
        self.on_rq == OnRq::Queued
    }

    /// Whether the task is between two runqueues: `task_on_rq_migrating()`.
    #[inline]
    pub fn is_migrating(&self) -> bool {
        self.on_rq == OnRq::Migrating
    }
}
