// SPDX-License-Identifier: GPL-2.0-or-later
//! Workload: task groups, tasks, objects that they share, and changes at given times.

use crate::background::BackgroundSource;
use crate::step::{Behaviour, ObjectId, TaskIndex};
use crate::tunable_name::TunableName;
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;
use std::fmt;

/// CPUs that a task may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// Every CPU of the machine.
    #[default]
    All,
    /// At least one CPU, in ascending order.
    Cpus(Vec<u32>),
}

/// Attributes that a task gets, at its start or at a step. `None` leaves an attribute unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct Attributes {
    pub policy: Option<Policy>,
    /// Whether a deadline task reclaims bandwidth that other tasks do not use (`SCHED_FLAG_RECLAIM`). Only at
    /// the start.
    pub reclaims: bool,
    /// Nice value, -20 to 19.
    pub nice: Option<i8>,
    pub affinity: Option<Affinity>,
    /// Minimum utilisation clamp, 0 to 1024.
    pub uclamp_min: Option<u32>,
    /// Maximum utilisation clamp, 0 to 1024.
    pub uclamp_max: Option<u32>,
    /// Task group as an index into [`Workload::groups`]; `Some(None)` is the root group.
    pub group: Option<Option<usize>>,
    /// Slice of a fair task (`sched_runtime` of `sched_setattr()`, since 6.12); 0 is that of the kernel.
    pub slice: Option<Nanos>,
}

/// CFS bandwidth of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Runtime in each period, in microseconds.
    pub quota_us: u64,
    /// Length of a period, in microseconds.
    pub period_us: u64,
    /// Unused runtime that may accumulate, in microseconds.
    pub burst_us: u64,
}

/// Task group with its `cpu` controller settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    /// Name, unique in the workload.
    pub name: String,
    /// Index of the parent, which is an earlier group; `None` is the root group.
    pub parent: Option<usize>,
    /// `cpu.shares`, 2 to 262144.
    pub shares: u64,
    /// CFS bandwidth; `None` is no limit.
    pub quota: Option<Quota>,
    /// Whether the group is idle (`cpu.idle`).
    pub idle: bool,
    /// `cpu.uclamp.min` and `cpu.uclamp.max`, 0 to 1024, if either is set.
    pub uclamp: Option<(u32, u32)>,
}

impl GroupSpec {
    /// Returns a group with the kernel's defaults.
    pub const fn new(name: String, parent: Option<usize>) -> Self {
        Self { name, parent, shares: 1024, quota: None, idle: false, uclamp: None }
    }
}

/// Cpuset below the top cpuset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpusetSpec {
    /// Name, unique in the workload.
    pub name: String,
    /// `cpuset.cpus`, in ascending order.
    pub cpus: Vec<u32>,
}

/// Task, or template from which tasks are forked.
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct TaskSpec {
    /// Name, at most 15 bytes.
    pub name: String,
    /// Name that results use for tasks that belong together: the name before instances were numbered.
    pub family: String,
    pub start: Attributes,
    /// Sets of attributes that [`crate::step::Step::SetAttributes`] refers to.
    pub attributes: Vec<Attributes>,
    /// Cpuset as an index into [`Workload::cpusets`]; `None` is the top cpuset.
    pub cpuset: Option<usize>,
    /// CPU on which the task is forked.
    pub start_cpu: u32,
    /// Time of the fork, from the start of the run; `None` for a template.
    pub start_at: Option<Nanos>,
    /// Names of the timers that each instance has for itself.
    pub own_timers: Vec<String>,
    /// Origin of the timers that this task is the first to use: a time from the start of the run. It lies
    /// before the fork of an instance that is forked from a template.
    pub timer_origin: Nanos,
    /// Whether a shell starts the program of the task, so that it is in the shell's session and autogroup.
    pub is_from_shell: bool,
    /// Whether the task is a kernel thread. A kernel thread never ends, and its waiting for work does not count
    /// as a stall.
    pub is_kthread: bool,
    /// Whether the first steps wait for the origin ([`crate::step::Step::AwaitOrigin`]), so that the task may
    /// be forked before it.
    pub awaits_origin: bool,
    /// Constructor of the task's behaviour; each fork of a template gets its own. The argument is the number
    /// of the instance, from 0.
    pub behaviour: Box<dyn Fn(u32) -> Box<dyn Behaviour> + Send + Sync>,
}

impl TaskSpec {
    /// Returns a template of a task that no shell starts, without attributes and timers.
    pub fn new<B: Behaviour + 'static>(
        name: String,
        family: &str,
        behaviour: impl Fn(u32) -> B + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            family: family.to_owned(),
            start: Attributes::default(),
            attributes: Vec::new(),
            cpuset: None,
            start_cpu: 0,
            start_at: None,
            own_timers: Vec::new(),
            timer_origin: Nanos::ZERO,
            is_from_shell: false,
            is_kthread: false,
            awaits_origin: false,
            behaviour: Box::new(move |instance| Box::new(behaviour(instance))),
        }
    }

    /// Returns a kernel thread that exists from the start on the CPU `start_cpu`; its only instance runs
    /// `behaviour`.
    pub fn kthread<B: Behaviour + 'static>(
        name: String,
        family: &str,
        start_cpu: u32,
        start: Attributes,
        behaviour: impl Fn() -> B + Send + Sync + 'static,
    ) -> Self {
        Self { start, start_cpu, is_kthread: true, ..Self::new(name, family, move |_| behaviour()) }
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

/// Change of the system at a given time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants and fields are named after what they hold")]
pub enum Change {
    Task {
        task: TaskIndex,
        /// New attributes. One attribute is set, or both clamps.
        attributes: Attributes,
    },
    /// Shares of a group.
    Shares {
        /// Group, as an index into [`Workload::groups`].
        group: usize,
        /// New `cpu.shares`, 2 to 262144.
        shares: u64,
    },
    /// CPUs go offline or come online.
    Hotplug {
        /// CPUs in ascending order.
        cpus: Vec<u32>,
        online: bool,
    },
    /// Upper limit of the frequency of CPUs.
    FrequencyLimit {
        /// CPUs in ascending order.
        cpus: Vec<u32>,
        /// Whether thermal pressure is the reason, so that capacity counts as lost; otherwise the limit is a
        /// user's.
        is_thermal: bool,
        /// Allowed share of the highest frequency, of 1024.
        part: u32,
    },
    /// PM QoS CPU latency limit, as a process sets it through `/dev/cpu_dma_latency`; `None` removes it.
    CpuDmaLatency(Option<Nanos>),
    /// Scheduler feature that is switched on or off (`sched_features`).
    Feature {
        /// Name of an existing feature.
        name: String,
        /// State of the feature from then on.
        on: bool,
    },
    /// Tunable of the scheduler. Values derived from a tunable earlier are not recomputed.
    Tunable {
        /// An existing tunable.
        name: TunableName,
        /// Value in the unit of the tunable.
        value: i64,
    },
    /// Runtime and period of fair servers (debugfs `fair_server/`, since 6.12).
    FairServer {
        /// CPUs in ascending order.
        cpus: Vec<u32>,
        /// Runtime in each period; 0 switches the servers off.
        runtime: Nanos,
        period: Nanos,
    },
    /// Utilisation clamps of a group.
    GroupClamps {
        /// Group, as an index into [`Workload::groups`].
        group: usize,
        /// New `cpu.uclamp.min`, 0 to 1024.
        min: u32,
        /// New `cpu.uclamp.max`, 0 to 1024.
        max: u32,
    },
    /// CPUs of a cpuset.
    CpusetCpus {
        /// Cpuset, as an index into [`Workload::cpusets`].
        cpuset: usize,
        /// CPUs in ascending order.
        cpus: Vec<u32>,
    },
    /// Move of a task to another cpuset.
    Attach {
        task: TaskIndex,
        /// Index into [`Workload::cpusets`]; `None` is the top cpuset.
        cpuset: Option<usize>,
    },
    /// CFS bandwidth of a group.
    Quota {
        /// Group, as an index into [`Workload::groups`].
        group: usize,
        /// Runtime in each period, in microseconds; `None` removes the limit.
        quota_us: Option<u64>,
        /// Length of a period, in microseconds.
        period_us: u64,
        /// New burst, in microseconds; `None` keeps the group's burst, as a write to `cpu.max` does.
        burst_us: Option<u64>,
    },
}

/// Periodic interrupt of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct IrqLoad {
    pub cpu: u32,
    /// Time between the ends of two interrupts; the first ends this long after the start.
    pub every: Nanos,
    /// Length of an interrupt, less than `every`.
    pub duration: Nanos,
    /// Whether the time is steal time of a hypervisor, not that of an interrupt.
    pub is_stolen: bool,
}

/// Network packets that arrive at a CPU from outside the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketLoad {
    /// CPU to which the network device's interrupt is bound.
    pub cpu: u32,
    /// Time between two arrivals; the first is this long after the start.
    pub every: Nanos,
    /// Number of packets that arrive together.
    pub count: u32,
    /// Tasks that the packets wake, in turn.
    pub targets: Vec<TaskIndex>,
}

impl Change {
    /// Returns this change with its task replaced; a change without a task is returned unchanged.
    #[must_use]
    pub fn with_task(mut self, index: TaskIndex) -> Self {
        if let Self::Task { task, .. } | Self::Attach { task, .. } = &mut self {
            *task = index;
        }
        self
    }
}

/// Kind of a channel; decides the cost of moving a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants and fields are named after what they hold")]
pub enum ChannelKind {
    Pipe,
    /// Connected pair of stream sockets.
    Socket,
    Eventfd,
    /// TCP connection through the loopback device.
    Tcp,
    /// TCP connection through the loopback device whose receiver waits with `epoll_wait()` and then receives.
    TcpEpoll,
    /// UDP flow through the loopback device.
    Udp,
    /// List in shared memory whose reader waits for a futex. Moving a message costs nothing, and the sender
    /// does not announce that it is about to sleep.
    Queue,
}

/// Channel for messages between tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct Channel {
    pub kind: ChannelKind,
    /// Number of messages that fit.
    pub capacity: u32,
    /// Number of remaining messages at or below which waiting senders are woken.
    pub wake_senders_at: u32,
    /// Channel in the other direction of the same pair of stream sockets. A receive frees buffer space of the sender's
    /// socket, which wakes a task that waits for a message there: `unix_write_space()` (6.1) does not distinguish
    /// waiting for space from waiting for data. A message over TCP acknowledges those that came the other way.
    pub reverse: Option<usize>,
    /// Whether messages wait while one before them is not acknowledged: TCP without `TCP_NODELAY`.
    pub is_delayed: bool,
}

impl Channel {
    /// Returns a channel of one direction for this many messages, whose waiting senders are woken once there is space
    /// for one.
    pub const fn new(kind: ChannelKind, capacity: u32) -> Self {
        Self { kind, capacity, wake_senders_at: capacity.saturating_sub(1), reverse: None, is_delayed: false }
    }
}

impl ChannelKind {
    /// Whether messages pass the loopback device.
    pub const fn is_loopback(self) -> bool {
        matches!(self, Self::Tcp | Self::TcpEpoll | Self::Udp)
    }

    /// Whether the receiver acknowledges messages.
    pub const fn is_acknowledged(self) -> bool {
        matches!(self, Self::Tcp | Self::TcpEpoll)
    }
}

impl Workload {
    /// Moves all starts by a time, for which the machine has been up before.
    pub fn begin_after(&mut self, uptime: Nanos) {
        for task in &mut self.tasks {
            task.start_at = task.start_at.map(|at| at + uptime);
            task.timer_origin += uptime;
        }
        self.starts += uptime;
    }

    /// Whether a shell starts tasks.
    pub fn has_shell(&self) -> bool {
        self.tasks.iter().any(|task| task.is_from_shell)
    }

    /// Moves tasks of the root group into a group of their own, as `sched_autogroup_enabled` does with those of a
    /// session. Kernel threads and tasks of other groups stay where they are.
    pub fn enter_autogroup(&mut self) {
        let group = self.groups.len();
        let in_root = |task: &&mut TaskSpec| !task.is_kthread && task.start.group.flatten().is_none();
        self.tasks.iter_mut().filter(in_root).for_each(|task| task.start.group = Some(Some(group)));
        let name = "autogroup".to_owned();
        self.groups.push(GroupSpec::new(name, None));
    }
}

/// Beginning of the responses of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseStart {
    /// A task passes a point.
    Point(ObjectId),
    /// A task reaches a timer after it has passed a point. The response begins at the timer's expiry, or now if the timer
    /// is relative and late.
    Timer {
        /// Point before the timer.
        point: ObjectId,
        /// Tasks whose first response begins at their timer origin ([`TaskSpec::timer_origin`]).
        from_origin: Vec<TaskIndex>,
    },
}

/// Definition of a response: what people wait for, from an event of one task to an event of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct ResponseSpec {
    /// Name, unique in the workload.
    pub name: String,
    pub start: ResponseStart,
    /// Point that ends a response. Without one, a response ends with the last thing that is done for it.
    pub end: Option<ObjectId>,
    /// Time after which a response is late.
    pub deadline: Option<Nanos>,
}

/// Objects that the tasks share, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct Objects {
    pub mutexes: Vec<String>,
    /// Names of condition variables.
    pub conds: Vec<String>,
    /// Names of barriers, each with its number of participants; one with none never opens.
    pub barriers: Vec<(String, u32)>,
    /// Barrier at which tasks meet before their programs begin.
    pub start_barrier: Option<ObjectId>,
    /// Names of semaphores (all start at 0).
    pub semaphores: Vec<String>,
    /// Semaphores from which no task takes.
    pub untaken_semaphores: Vec<ObjectId>,
    pub timers: Vec<String>,
    /// Names under which tasks suspend.
    pub suspends: Vec<String>,
    /// Names of points that tasks pass.
    pub points: Vec<String>,
    pub channels: Vec<Channel>,
    /// Number of futexes; none is posted at first.
    pub futexes: usize,
    /// Number of lists of tasks that wait to be posted.
    pub lists: usize,
    /// Whether mutexes inherit priority.
    pub priority_inheritance: bool,
}

/// Workload that a machine can run: groups, cpusets, tasks and what happens to them.
#[derive(Debug, Default)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct Workload {
    /// Task groups, parents before children.
    pub groups: Vec<GroupSpec>,
    pub cpusets: Vec<CpusetSpec>,
    /// Tasks in the order of their pids.
    pub tasks: Vec<TaskSpec>,
    pub objects: Objects,
    /// Responses that are measured.
    pub responses: Vec<ResponseSpec>,
    /// Changes at given times, in the order of the file.
    pub changes: Vec<(Nanos, Change)>,
    /// Interrupts and steal time in addition to those of the machine.
    pub irqs: Vec<IrqLoad>,
    /// Packets from outside the machine.
    pub packets: Vec<PacketLoad>,
    /// Background of the kernel, which runs beside the tasks.
    pub background: Vec<BackgroundSource>,
    /// Maximum number of forks of one template; one fork more is an error that ends the run.
    pub fork_limit: Option<u32>,
    /// PM QoS CPU latency limit that the workload holds on `/dev/cpu_dma_latency` from its start.
    pub cpu_dma_latency: Option<Nanos>,
    /// Length of the run, if the workload defines it, without its starts.
    pub duration: Option<Nanos>,
    /// Time until the last instance of a program has been started.
    pub starts: Nanos,
    /// Assumptions about settings that the file leaves open, as sentences for the user.
    pub assumptions: Vec<String>,
    /// Settings that could not be honoured, as sentences for the user.
    pub warnings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use crate::bench::hackbench::Hackbench;

    #[test]
    fn an_autogroup_has_the_tasks_of_the_root_group() {
        let mut workload = Hackbench { groups: 1, fds: 2, group_levels: 1, ..Hackbench::default() }.workload();
        workload.tasks[0].start.group = None;
        workload.tasks[1].start.group = Some(None);
        workload.tasks[2].start.group = Some(None);
        workload.tasks[2].is_kthread = true;
        workload.enter_autogroup();
        let groups: Vec<_> = workload.tasks[..4].iter().map(|task| task.start.group).collect();
        assert_eq!(groups, [Some(Some(1)), Some(Some(1)), Some(None), Some(Some(0))]);
        assert_eq!((workload.groups[1].name.as_str(), workload.groups[1].parent), ("autogroup", None));
    }
}
