// SPDX-License-Identifier: GPL-2.0-or-later
//! Who listens to a run. Observers see everything and change nothing.

use crate::sim::Machine;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::sched::Sched;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::OpCounts;
use fairlab_workload::step::LoopPlace;

/// A path of the kernel, or a phase of one, that takes time on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelPath {
    /// The first phase of a wake-up or of a fork, or an exec: a CPU is selected (`select_task_rq()`).
    Select,
    /// The second phase: the task is enqueued on its CPU, or queued for being enqueued there (`ttwu_queue()`).
    Wake,
    /// A task picks its successor and the CPU switches (`schedule()`), or a part of that before and after newly-idle
    /// balancing.
    Schedule,
    /// Balancing of a CPU that runs out of work, inside `schedule()` (`newidle_balance()`).
    NewIdle,
    /// The balancing softirq (`run_rebalance_domains()`), for the CPU itself or, if it was asked to, on behalf of all tickless
    /// ones. That it is raised and entered belongs to the path at whose end it begins.
    Softirq,
    /// The idle loop updates the blocked load of tickless CPUs before the CPU idles (`nohz_run_idle_balance()`).
    NohzIdle,
    /// The tick (`scheduler_tick()`), without the softirq that may follow.
    Tick,
    /// Another interrupt: from another CPU, or of a timer; without the wake-ups that have phases of their own.
    Interrupt,
    /// The idle loop is entered (`do_idle()`).
    IdleEnter,
    /// The idle loop is left.
    IdleExit,
    /// The stopper moves tasks.
    Stopper,
    /// A task is made, ends, or gets other attributes.
    Change,
}

impl KernelPath {
    /// All paths.
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

    /// The name, as in results.
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

/// Something that happened in the machine rather than in the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineEvent {
    /// A task of the workload is about to be forked.
    Forked {
        /// Its place among the machine's tasks.
        task: usize,
        /// Its name in the scheduler.
        id: TaskId,
        /// Its pid.
        pid: i32,
        /// Its place in the workload, or its template's.
        spec: usize,
    },
    /// A tick was served.
    Tick {
        /// The CPU.
        cpu: CpuId,
    },
    /// A CPU waits for interrupts in an idle state; `None` if it has no such states.
    IdleEnter {
        /// The CPU.
        cpu: CpuId,
        /// Which of its states.
        state: Option<usize>,
    },
    /// A change that the workload asked for has been made, or was refused.
    Changed {
        /// What kind of change.
        what: &'static str,
        /// Place of the task among the machine's tasks; `None`: it concerns a group.
        task: Option<usize>,
        /// Place of the group in the workload; `None`: it concerns a task, or the root group.
        group: Option<usize>,
        /// 0, or the kernel's error number, negative.
        result: i32,
    },
    /// Somebody has begun to wake a task: a timer or a device at `since`, whose interrupt is served now, or another task, which calls
    /// for it now. Whether the task sleeps shows later; if it does, it has been waiting to run since then.
    Waking {
        /// Place of the task among the machine's tasks.
        task: usize,
        /// When that began.
        since: Nanos,
        /// Whether a timer or a device does.
        by_interrupt: bool,
    },
    /// Another task has noted the time for this one, from which its wake-up latency counts.
    TimeNoted {
        /// Place of the task among the machine's tasks.
        task: usize,
    },
    /// A CPU has gone offline or come back, or was refused that.
    Hotplug {
        /// The CPU.
        cpu: CpuId,
        /// Whether it was to come back.
        online: bool,
        /// 0, or the kernel's error number, negative.
        result: i32,
    },
    /// A cpuset has got other CPUs.
    Cpuset {
        /// Its place in the workload.
        cpuset: usize,
        /// 0, or the kernel's error number, negative.
        result: i32,
    },
    /// A task begins a loop of a phase.
    Mark {
        /// Place of the task among the machine's tasks.
        task: usize,
        /// The phase.
        phase: u32,
    },
    /// The mark is that of a thread of rt-app, whose loop begins there. Told before the mark.
    LoopBegins {
        /// Place of the task among the machine's tasks.
        task: usize,
        /// The loop.
        place: LoopPlace,
    },
    /// A task's timed sleep ended as late as its timer says: rt-app's slack and wake-up latency.
    TimerWoke {
        /// Place of the task among the machine's tasks.
        task: usize,
        /// When the timer expired, or was to.
        expired: Nanos,
    },
    /// A phase of a path of the kernel. Only where kernel code has prices, and only for observers that want it
    /// ([`Observer::wants_kernel_paths`]); told when the phase begins its work, since its length is known then. What a path
    /// takes in all is the sum over its phases on one CPU, up to the one that ends it.
    Kernel {
        /// The CPU.
        cpu: CpuId,
        /// Which path.
        path: KernelPath,
        /// When the CPU began, with waiting for locks.
        began: Nanos,
        /// How long it takes, without the waiting.
        took: Nanos,
        /// How long it waited for locks of runqueues.
        waited: Nanos,
        /// Whether the path is over with this phase; otherwise it goes on later on the same CPU, perhaps after others.
        ends: bool,
    },
}

/// Which of the scheduler's events an observer wants to be told of. What nobody wants takes no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest {
    /// Wake-ups, switches, migrations, frequencies and decisions.
    pub events: bool,
    /// Interrupts and counters of domains; on machines of many CPUs there are more of them than of all others.
    pub details: bool,
    /// Refreshed averages.
    pub pelt: bool,
}

impl Interest {
    /// Nothing.
    pub const NOTHING: Self = Self { events: false, details: false, pelt: false };

    /// What either of two observers wants.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self {
            events: self.events || other.events,
            details: self.details || other.details,
            pelt: self.pelt || other.pelt,
        }
    }
}

/// Listens to a run.
pub trait Observer<E = Sched>: Probe {
    /// Which of the scheduler's events it wants. The answer must not change during a run; events that it does not want may
    /// come nevertheless.
    fn wants(&self) -> Interest {
        Interest { events: true, details: true, pelt: self.wants_pelt() }
    }

    /// Something has happened in the machine.
    fn machine_event(&mut self, _now: Nanos, _event: &MachineEvent) {}

    /// Whether to be told of [`MachineEvent::Kernel`].
    fn wants_kernel_paths(&self) -> bool {
        false
    }

    /// Whether to be told of [`Observer::work`].
    fn wants_work(&self) -> bool {
        false
    }

    /// A CPU has called the scheduler, which has counted these operations. Only for observers that want it.
    fn work(&mut self, _now: Nanos, _cpu: CpuId, _path: KernelPath, _counted: &OpCounts) {}

    /// A moment at which the whole state is to be noted.
    fn snapshot(&mut self, _machine: &Machine<E>) {}
}

/// Listens to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Probe for NoObserver {
    fn event(&mut self, _now: Nanos, _event: &Event<'_>) {}
}

impl<E> Observer<E> for NoObserver {
    fn wants(&self) -> Interest {
        Interest::NOTHING
    }
}

/// Several observers, each of which hears everything.
pub struct Observers<'a, E = Sched>(pub Vec<&'a mut dyn Observer<E>>);

impl<E> Probe for Observers<'_, E> {
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
        self.0.iter().fold(Interest::NOTHING, |wants, observer| wants.or(observer.wants()))
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        for observer in &mut self.0 {
            observer.machine_event(now, event);
        }
    }

    fn wants_kernel_paths(&self) -> bool {
        self.0.iter().any(|observer| observer.wants_kernel_paths())
    }

    fn snapshot(&mut self, machine: &Machine<E>) {
        for observer in &mut self.0 {
            observer.snapshot(machine);
        }
    }
}
