// SPDX-License-Identifier: GPL-2.0-or-later
//! Events and kernel paths of a machine for its observers, and the interest of an observer in them.

use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::state::snapshot::TaskFit;
use fairlab_sched::units::{Capacity, Nanos};
use fairlab_workload::step::{LoopPlace, ObjectId};

/// A kernel path, or a phase of one, that takes time on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelPath {
    /// The first phase of a wake-up, fork or exec: selection of a CPU (`select_task_rq()`).
    Select,
    /// The second phase of a wake-up: the task is enqueued on its CPU, or queued for a remote enqueue
    /// (`ttwu_queue()`).
    Wake,
    /// Choice of the next task and context switch (`schedule()`), or the phases of it before and after
    /// newly-idle balancing.
    Schedule,
    /// Balancing of a CPU that runs out of work, inside `schedule()` (`newidle_balance()`).
    NewIdle,
    /// The balancing softirq (`run_rebalance_domains()`), for the CPU itself or, after a nohz kick, for all
    /// tickless CPUs. Raising and entering the softirq belong to the path at whose end it begins.
    Softirq,
    /// The update of the blocked load of tickless CPUs before the CPU idles (`nohz_run_idle_balance()`).
    NohzIdle,
    /// The tick (`scheduler_tick()`), without the softirq that may follow.
    Tick,
    /// Another interrupt, from a CPU or a timer; excludes wake-ups with phases of their own.
    Interrupt,
    /// Entry into the idle loop (`do_idle()`).
    IdleEnter,
    /// Exit from the idle loop.
    IdleExit,
    /// Execution of the stopper, which migrates tasks.
    Stopper,
    /// Creation, end, or change of attributes of a task.
    Change,
}

impl KernelPath {
    /// All paths, in the order of the variants.
    pub const ALL: [Self; 12] = [
        Self::Select,
        Self::Wake,
        Self::Schedule,
        Self::NewIdle,
        Self::Softirq,
        Self::NohzIdle,
        Self::Tick,
        Self::Interrupt,
        Self::IdleEnter,
        Self::IdleExit,
        Self::Stopper,
        Self::Change,
    ];

    /// Returns the name of the path in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::Wake => "wake",
            Self::Schedule => "schedule",
            Self::NewIdle => "newidle",
            Self::Softirq => "softirq",
            Self::NohzIdle => "nohz_idle",
            Self::Tick => "tick",
            Self::Interrupt => "interrupt",
            Self::IdleEnter => "idle_enter",
            Self::IdleExit => "idle_exit",
            Self::Stopper => "stopper",
            Self::Change => "change",
        }
    }
}

/// Object that keeps what tasks release into it, in order, until other tasks take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeepingObject {
    /// Units of a semaphore.
    Semaphore(ObjectId),
    /// The one wake-up that is remembered for a task: its index in the machine.
    Wakeup(usize),
}

/// Action of a task that can begin, carry or end a response. Tasks are indices of the machine's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub enum Activity {
    /// A task has completed a piece of work.
    Worked { task: usize },
    /// A task passes a point ([`fairlab_workload::step::Step::Point`]).
    Point { task: usize, point: ObjectId },
    /// A task reaches a wait for a unit, a condition, a wake-up or a resume, whether or not it blocks there.
    ReachedWait { task: usize },
    /// A task reaches a mutex that it cannot take yet.
    ReachedLock { task: usize },
    /// A task reaches a sleep, or a wait for a device.
    ReachedSleep { task: usize },
    /// A task reaches a timer, whether or not it blocks there.
    ReachedTimer {
        task: usize,
        /// Start of the next period: the timer's expiry, or now if the timer is relative and late.
        next: Nanos,
    },
    /// A task reaches the wait for its timer origin ([`fairlab_workload::step::Step::AwaitOrigin`]) before its program, or is
    /// forked without such a wait.
    ReachedOrigin { task: usize, origin: Nanos },
    /// A task releases a unit into an object; `None` is an interrupt.
    Put { task: Option<usize>, object: KeepingObject },
    /// A task takes the oldest unit from an object.
    Take { task: usize, object: KeepingObject },
    /// A task signals, resumes, wakes or forks another one. Without another one, its release is lost: no task waited,
    /// or a wake-up was remembered already.
    Hand { task: Option<usize>, to: Option<usize> },
    /// A task arrives at a barrier. The last one opens it, and then hands to each of the others.
    Arrived { task: usize, is_last: bool },
    /// A task has ended.
    Ended { task: usize },
}

/// An event of the machine rather than of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub enum MachineEvent {
    /// A task of the workload is about to be forked.
    Forked {
        /// Index of the machine's task.
        task: usize,
        /// Number of the task in the scheduler.
        id: TaskId,
        pid: i32,
        /// Index of the task or of its template in the workload.
        spec: usize,
        /// CPU that executes the fork.
        on: CpuId,
    },
    /// A tick was served.
    Tick { cpu: CpuId },
    /// A CPU waits for interrupts in an idle state.
    IdleEnter {
        cpu: CpuId,
        /// Index of its idle state; `None` if the CPU has no states.
        state: Option<usize>,
    },
    /// A change of the workload was executed or rejected.
    Changed {
        /// Name of the change, such as `quota`.
        what: &'static str,
        /// Index of the machine's task; `None` if the change targets no task.
        task: Option<usize>,
        /// Index of the workload's group; `None` if the change targets no group, or the root group.
        group: Option<usize>,
        /// 0, or the kernel's negative error number.
        result: i32,
    },
    /// A task belongs to another group from now on. Its first group is that of its specification.
    Moved {
        /// Index of the machine's task.
        task: usize,
        /// Index of the workload's group; `None` is the root group.
        group: Option<usize>,
    },
    /// A group has other shares (`cpu.shares`) from now on.
    Shares {
        /// Index of the workload's group.
        group: usize,
        shares: u64,
    },
    /// A group has another quota (`cpu.max`) from now on.
    Quota {
        /// Index of the workload's group.
        group: usize,
        /// Runtime per period; `None` without a limit.
        quota: Option<Nanos>,
        period: Nanos,
    },
    /// A task is being woken: by a timer or a device at `since`, whose interrupt is served now, or by a task
    /// now. If the target is asleep, its wake-up latency begins at `since`.
    Waking {
        /// Index of the machine's task that is woken.
        task: usize,
        /// Time of the timer's or the device's event, or of the waker's call.
        since: Nanos,
        /// Whether a timer or a device wakes the task.
        by_interrupt: bool,
    },
    /// A task has recorded the time for another task, from which that task's wake-up latency counts.
    TimeRecorded {
        /// Index of the machine's task whose latency begins.
        task: usize,
    },
    /// A hotplug operation was executed or rejected.
    Hotplug {
        /// CPU that goes offline or comes back.
        cpu: CpuId,
        /// Whether the CPU comes back.
        online: bool,
        /// 0, or the kernel's negative error number.
        result: i32,
    },
    /// The CPUs of a cpuset were changed.
    Cpuset {
        /// Index of the workload's cpuset.
        cpuset: usize,
        /// 0, or the kernel's negative error number.
        result: i32,
    },
    /// A task begins a loop of a phase.
    Mark {
        /// Index of the machine's task.
        task: usize,
        /// Number of the phase.
        phase: u32,
    },
    /// A thread of rt-app begins a loop. Reported before the mark of that loop.
    LoopBegins {
        /// Index of the machine's task.
        task: usize,
        /// Position of the loop in the program.
        place: LoopPlace,
    },
    /// A timed sleep of a task has ended, as rt-app measures it for its slack and wake-up latency.
    TimerWoke {
        /// Index of the machine's task.
        task: usize,
        /// Time at which the timer expired, or will expire.
        expired: Nanos,
    },
    /// A task does something that can begin, carry or end a response. Reported only to observers that want activities.
    Activity(Activity),
    /// A CPU has lost time, up to now, to an interrupt of a device or to a hypervisor.
    LostTime {
        cpu: CpuId,
        took: Nanos,
        /// Whether a hypervisor took the time.
        is_stolen: bool,
    },
    /// The hardware has changed a CPU's turbo frequency. Frequencies that a governor sets are events of the
    /// scheduler.
    TurboFrequency {
        cpu: CpuId,
        /// New frequency, in kHz.
        khz: u64,
    },
    /// A CPU has left its idle state. Reported only to observers that want details, as are the next ones.
    IdleExit { cpu: CpuId },
    /// A CPU runs at a new frequency. The governor's request came earlier if the change takes time.
    Speed {
        cpu: CpuId,
        /// New frequency as a fraction of the highest one (1024).
        part: Capacity,
        /// New frequency in kHz, if the machine defines one.
        khz: Option<u64>,
    },
    /// The scheduler's estimate of the fit between a running task and its CPU, on machines whose CPUs differ
    /// in capacity.
    Fit {
        /// Index of the machine's task.
        task: usize,
        fit: TaskFit,
    },
    /// A CPU begins to execute kernel code that takes time, or to wait for a runqueue lock.
    KernelEnter { cpu: CpuId },
    /// A CPU stops executing kernel code, or stops waiting for a runqueue lock.
    KernelExit { cpu: CpuId },
    /// Packets have arrived at a CPU's backlog from outside, or a message waits there.
    Backlog {
        cpu: CpuId,
        /// Packets that the backlog had space for.
        arrived: u32,
        dropped: u32,
        /// Packets and messages that wait now.
        waiting: usize,
    },
    /// The ksoftirqd of a CPU is being woken.
    KsoftirqdWoken { cpu: CpuId },
    /// A phase of a kernel path. Reported only with a cost model, and only to observers that want it
    /// ([`Observer::wants_kernel_paths`](crate::observer::Observer::wants_kernel_paths)), at the start of the phase, when its length is known. The duration
    /// of a path is the sum over its phases on one CPU, up to the one that ends it.
    Kernel {
        /// CPU that executes the phase.
        cpu: CpuId,
        /// Path to which the phase belongs.
        path: KernelPath,
        /// Start of the phase, including the wait for locks.
        began: Nanos,
        /// Duration without the wait.
        took: Nanos,
        /// Time spent waiting for runqueue locks.
        waited: Nanos,
        /// Whether the path ends with this phase. Otherwise it continues later on the same CPU, possibly
        /// after other paths.
        ends: bool,
    },
}

/// Scheduler events that an observer wants. An event that no observer wants takes no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest {
    /// Wake-ups, switches, migrations, frequencies and decisions; of EEVDF only rare ones.
    pub events: bool,
    /// Interrupts, domain counters, and events of the machine that say so. On machines with many CPUs they
    /// outnumber all other events.
    pub details: bool,
    /// Charges of run time and updates of PELT averages.
    pub accounting: bool,
    /// Virtual times of fair tasks at their wake-ups and switches, and decisions of EEVDF and of fair servers.
    pub lags: bool,
    /// Actions of tasks on the objects by which they hand work on.
    pub activities: bool,
}

impl Interest {
    /// Interest of an observer that wants no events.
    pub const NONE: Self = Self { events: false, details: false, accounting: false, lags: false, activities: false };

    /// Interest of an observer that wants events, but no details.
    pub const EVENTS: Self = Self { events: true, ..Self::NONE };

    /// Returns the events that at least one of two observers wants.
    #[must_use]
    pub const fn merge(self, other: Self) -> Self {
        Self {
            events: self.events || other.events,
            details: self.details || other.details,
            accounting: self.accounting || other.accounting,
            lags: self.lags || other.lags,
            activities: self.activities || other.activities,
        }
    }
}
