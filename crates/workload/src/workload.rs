// SPDX-License-Identifier: GPL-2.0-or-later
//! A workload: task groups, tasks, objects they share, and changes at given times.

use crate::step::{Behaviour, TaskIndex};
use fairlab_sched::units::Nanos;
use std::fmt;

/// Scheduling policy with its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_NORMAL` (also called `SCHED_OTHER`).
    #[default]
    Normal,
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_IDLE`.
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

/// CPUs that a task may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// Every CPU of the machine.
    #[default]
    All,
    /// These CPUs, in ascending order, at least one.
    Cpus(Vec<u32>),
}

/// Attributes that a task gets, at its start or at a step. `None` leaves an attribute as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Policy.
    pub policy: Option<Policy>,
    /// Whether a deadline task reclaims bandwidth that others do not use (SCHED_FLAG_RECLAIM). Only at the start.
    pub reclaims: bool,
    /// Nice value, -20 to 19.
    pub nice: Option<i8>,
    /// Allowed CPUs.
    pub affinity: Option<Affinity>,
    /// Lowest utilisation clamp, 0 to 1024.
    pub uclamp_min: Option<u32>,
    /// Highest utilisation clamp, 0 to 1024.
    pub uclamp_max: Option<u32>,
    /// Task group: its place in [`Workload::groups`]; `Some(None)` is the root group.
    pub group: Option<Option<usize>>,
}

/// CFS bandwidth of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Runtime in each period, in microseconds.
    pub quota_us: u64,
    /// Period, in microseconds.
    pub period_us: u64,
    /// Runtime that may be saved up, in microseconds.
    pub burst_us: u64,
}

/// A task group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    /// Name, unique in the workload.
    pub name: String,
    /// Parent: an earlier group, or the root group.
    pub parent: Option<usize>,
    /// `cpu.shares`, 2 to 262144.
    pub shares: u64,
    /// Quota, if any.
    pub quota: Option<Quota>,
    /// `cpu.idle`.
    pub idle: bool,
    /// `cpu.uclamp.min` and `cpu.uclamp.max`, 0 to 1024, if either is set.
    pub uclamp: Option<(u32, u32)>,
}

/// A cpuset, below the top one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpusetSpec {
    /// Name, unique in the workload.
    pub name: String,
    /// `cpuset.cpus`, in ascending order.
    pub cpus: Vec<u32>,
}

/// A task, or a template from which tasks are forked.
pub struct TaskSpec {
    /// Name, at most 15 characters.
    pub name: String,
    /// What the tasks that belong together are called in results: the name before instances were numbered.
    pub family: String,
    /// Attributes at the start.
    pub start: Attributes,
    /// Sets of attributes that [`crate::step::Step::SetAttributes`] refers to.
    pub attributes: Vec<Attributes>,
    /// Cpuset: its place in [`Workload::cpusets`]; none: the top one.
    pub cpuset: Option<usize>,
    /// CPU on which the task is forked.
    pub start_cpu: u32,
    /// When it is forked, from the start of the run; never, if it is a template.
    pub start_at: Option<Nanos>,
    /// Names of the timers that each instance has for itself.
    pub own_timers: Vec<String>,
    /// From where a timer counts that this task is the first to use: a time from the start of the run. It lies before the
    /// fork of an instance that is forked from a template.
    pub timer_origin: Nanos,
    /// It is a thread of the kernel, not of the workload: it never ends, and waits for work without being stuck.
    pub is_kthread: bool,
    /// Whether its first steps wait for its origin ([`crate::step::Step::AwaitOrigin`]), so that it may be forked before.
    pub awaits_origin: bool,
    /// Makes the task's behaviour; each fork of a template gets its own. The number is that of the instance, from 0.
    pub behaviour: Box<dyn Fn(u32) -> Box<dyn Behaviour> + Send + Sync>,
}

impl TaskSpec {
    /// A thread of the kernel, there from the start on the CPU `start_cpu`, whose only instance does what `behaviour` says.
    pub fn kthread<B: Behaviour + 'static>(
        name: String,
        family: &str,
        start_cpu: u32,
        start: Attributes,
        behaviour: impl Fn() -> B + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            family: family.to_owned(),
            start,
            attributes: Vec::new(),
            cpuset: None,
            start_cpu,
            start_at: None,
            own_timers: Vec::new(),
            timer_origin: Nanos::ZERO,
            is_kthread: true,
            awaits_origin: false,
            behaviour: Box::new(move |_| Box::new(behaviour())),
        }
    }
}

impl fmt::Debug for TaskSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskSpec")
            .field("name", &self.name)
            .field("family", &self.family)
            .field("start", &self.start)
            .field("attributes", &self.attributes)
            .field("cpuset", &self.cpuset)
            .field("start_cpu", &self.start_cpu)
            .field("start_at", &self.start_at)
            .field("own_timers", &self.own_timers)
            .field("timer_origin", &self.timer_origin)
            .field("is_kthread", &self.is_kthread)
            .field("awaits_origin", &self.awaits_origin)
            .finish_non_exhaustive()
    }
}

/// What changes at a given time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Attributes of a task.
    Task {
        /// Whose.
        task: TaskIndex,
        /// What it becomes. One attribute is set, or both clamps.
        attributes: Attributes,
    },
    /// Shares of a group.
    Shares {
        /// Which group.
        group: usize,
        /// `cpu.shares`.
        shares: u64,
    },
    /// CPUs go offline or come back.
    Hotplug {
        /// Which, in ascending order.
        cpus: Vec<u32>,
        /// Whether they come back.
        online: bool,
    },
    /// The frequency of CPUs gets another limit.
    FrequencyLimit {
        /// Which CPUs, in ascending order.
        cpus: Vec<u32>,
        /// Whether heat is the reason, so that capacity counts as lost; otherwise the user wants it.
        is_thermal: bool,
        /// The part of 1024 of the highest frequency that is allowed.
        part: u32,
    },
    /// Somebody holds another request for a short way out of idle states (`/dev/cpu_dma_latency`), or none any more.
    CpuDmaLatency(Option<Nanos>),
    /// A feature of the scheduler is switched.
    Feature {
        /// Its name, which exists.
        name: String,
        /// Whether it is on from then on.
        on: bool,
    },
    /// A tunable of the scheduler is set. Nothing is derived anew from it.
    Tunable {
        /// Its name, which exists.
        name: String,
        /// Its value.
        value: u64,
    },
    /// Utilisation clamps of a group.
    GroupClamps {
        /// Which group.
        group: usize,
        /// `cpu.uclamp.min`, 0 to 1024.
        min: u32,
        /// `cpu.uclamp.max`, 0 to 1024.
        max: u32,
    },
    /// A cpuset gets other CPUs.
    CpusetCpus {
        /// Which cpuset.
        cpuset: usize,
        /// Its CPUs from now on.
        cpus: Vec<u32>,
    },
    /// A task goes to a cpuset.
    Attach {
        /// Which task.
        task: TaskIndex,
        /// Which cpuset; `None`: the top one.
        cpuset: Option<usize>,
    },
    /// Quota of a group; `None` takes it away.
    Quota {
        /// Which group.
        group: usize,
        /// Runtime in each period, in microseconds.
        quota_us: Option<u64>,
        /// Period, in microseconds.
        period_us: u64,
    },
}

/// A periodic interrupt of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IrqLoad {
    /// Which CPU.
    pub cpu: u32,
    /// Time between the ends of two interrupts; the first ends this long after the start.
    pub every: Nanos,
    /// Length of an interrupt, less than `every`.
    pub duration: Nanos,
    /// Whether a host takes the time (`steal`).
    pub is_stolen: bool,
}

/// Packets that come from outside to a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketLoad {
    /// To which CPU the network device belongs.
    pub cpu: u32,
    /// Time between two arrivals; the first is this long after the start.
    pub every: Nanos,
    /// How many packets come at a time.
    pub count: u32,
    /// Whom they wake, in turn.
    pub targets: Vec<TaskIndex>,
}

impl Change {
    /// The same change of another task, if it is one of a task.
    #[must_use]
    pub fn of_task(mut self, index: TaskIndex) -> Self {
        if let Self::Task { task, .. } | Self::Attach { task, .. } = &mut self {
            *task = index;
        }
        self
    }
}

/// What a channel is made of; decides what moving a message costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// A pipe.
    Pipe,
    /// A connected pair of stream sockets.
    Socket,
    /// A TCP connection through the loopback device.
    Tcp,
    /// A UDP flow through the loopback device.
    Udp,
    /// A list in shared memory whose reader waits for a futex: free of charge, and a message is no promise to sleep.
    Queue,
}

/// A channel for messages between tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// What it is.
    pub kind: ChannelKind,
    /// How many messages fit.
    pub capacity: u32,
    /// Senders that wait are woken when no more than this many messages are left.
    pub wake_senders_at: u32,
}

/// How many objects of each kind the tasks share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    /// Names of mutexes.
    pub mutexes: Vec<String>,
    /// Names of condition variables.
    pub conds: Vec<String>,
    /// Names of barriers, each with its number of participants; one with none never opens.
    pub barriers: Vec<(String, u32)>,
    /// Names of semaphores (all start at 0).
    pub semaphores: Vec<String>,
    /// Names of timers.
    pub timers: Vec<String>,
    /// Names under which tasks suspend.
    pub suspends: Vec<String>,
    /// Channels.
    pub channels: Vec<Channel>,
    /// Number of futexes; none is posted at first.
    pub futexes: usize,
    /// Number of lists of tasks that wait to be posted.
    pub lists: usize,
    /// Whether mutexes inherit priority.
    pub priority_inheritance: bool,
}

/// A workload.
#[derive(Debug, Default)]
pub struct Workload {
    /// Task groups, parents before children.
    pub groups: Vec<GroupSpec>,
    /// Cpusets.
    pub cpusets: Vec<CpusetSpec>,
    /// Tasks, in the order of their pids.
    pub tasks: Vec<TaskSpec>,
    /// What they share.
    pub objects: Objects,
    /// Changes at given times, in the order of the file.
    pub changes: Vec<(Nanos, Change)>,
    /// Interrupts, and time that a host takes, beside those of the machine.
    pub irqs: Vec<IrqLoad>,
    /// Packets that come from outside.
    pub packets: Vec<PacketLoad>,
    /// How often one template may be forked; one fork more is an error that ends the run.
    pub fork_limit: Option<u32>,
    /// The longest exit from an idle state that it allows: what it holds on `/dev/cpu_dma_latency` from its start on.
    pub cpu_dma_latency: Option<Nanos>,
    /// How long the workload wants to run, if it says so.
    pub duration: Option<Nanos>,
    /// What the file leaves open and was taken for granted, in words for a person.
    pub assumptions: Vec<String>,
    /// What could not be honoured, in words for a person.
    pub warnings: Vec<String>,
}
