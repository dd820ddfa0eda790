// SPDX-License-Identifier: GPL-2.0-or-later
//! Observers of a run. They receive events and snapshots, and cannot change the run.

use crate::sim::Machine;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::sched::Sched;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::OpCounts;
use fairlab_workload::step::LoopPlace;

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
    /// A phase of a kernel path. Reported only with a cost model, and only to observers that want it
    /// ([`Observer::wants_kernel_paths`]), at the start of the phase, when its length is known. The duration
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
    /// Wake-ups, switches, migrations, frequencies and decisions.
    pub events: bool,
    /// Interrupts and domain counters. On machines with many CPUs they outnumber all other events.
    pub details: bool,
    /// Updates of PELT averages.
    pub pelt: bool,
}

impl Interest {
    /// Interest of an observer that wants no events.
    pub const NONE: Self = Self { events: false, details: false, pelt: false };

    /// Returns the events that at least one of two observers wants.
    #[must_use]
    pub const fn merge(self, other: Self) -> Self {
        Self {
            events: self.events || other.events,
            details: self.details || other.details,
            pelt: self.pelt || other.pelt,
        }
    }
}

/// An observer of a run.
pub trait Observer<E = Sched>: SchedObserver {
    /// Returns the scheduler events that the observer wants. The result must not change during a run. Other
    /// events may arrive as well.
    fn wants(&self) -> Interest {
        Interest { events: true, details: true, pelt: self.wants_pelt() }
    }

    /// Receives an event of the machine.
    fn machine_event(&mut self, _now: Nanos, _event: &MachineEvent) {}

    /// Whether the observer wants [`MachineEvent::Kernel`].
    fn wants_kernel_paths(&self) -> bool {
        false
    }

    /// Whether the observer wants calls of [`Observer::work`].
    fn wants_ops(&self) -> bool {
        false
    }

    /// Receives the operation counts of a scheduler call. Called only for observers that want it.
    fn work(&mut self, _now: Nanos, _cpu: CpuId, _path: KernelPath, _counted: &OpCounts) {}

    /// Receives the machine's state at a snapshot.
    fn snapshot(&mut self, _machine: &Machine<E>) {}
}

/// Observer without interest in any event.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl SchedObserver for NoObserver {
    fn event(&mut self, _now: Nanos, _event: &Event<'_>) {}
}

impl<E> Observer<E> for NoObserver {
    fn wants(&self) -> Interest {
        Interest::NONE
    }
}

/// Several observers. Each one receives the events that any of them wants, but operation counts only if it
/// wants them itself.
pub struct Observers<'a, E = Sched>(pub Vec<&'a mut dyn Observer<E>>);

impl<E> SchedObserver for Observers<'_, E> {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        for observer in &mut self.0 {
            observer.event(now, event);
        }
    }

    fn wants_pelt(&self) -> bool {
        self.0.iter().any(|observer| observer.wants_pelt())
    }
}

impl<E> Observer<E> for Observers<'_, E> {
    fn wants(&self) -> Interest {
        self.0.iter().fold(Interest::NONE, |wants, observer| wants.merge(observer.wants()))
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        for observer in &mut self.0 {
            observer.machine_event(now, event);
        }
    }

    fn wants_kernel_paths(&self) -> bool {
        self.0.iter().any(|observer| observer.wants_kernel_paths())
    }

    fn wants_ops(&self) -> bool {
        self.0.iter().any(|observer| observer.wants_ops())
    }

    fn work(&mut self, now: Nanos, cpu: CpuId, path: KernelPath, counted: &OpCounts) {
        for observer in self.0.iter_mut().filter(|observer| observer.wants_ops()) {
            observer.work(now, cpu, path, counted);
        }
    }

    fn snapshot(&mut self, machine: &Machine<E>) {
        for observer in &mut self.0 {
            observer.snapshot(machine);
        }
    }
}
