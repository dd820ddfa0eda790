// SPDX-License-Identifier: GPL-2.0-or-later
//! What all formats of traces have in common: one record for each event, in the words of the kernel's tracepoints.

use super::thread::Thread;
use fairlab_machine::observer::KernelPath;
use fairlab_sched::ctx::{IpiKind, PrevState};
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::{BalanceDecision, KickDecision};
use fairlab_sched::told::wakeup::WakeupDecision;
use fairlab_sched::units::Nanos;
use fairlab_sched::words::pelt::SchedAvg;
use fairlab_workload::step::LoopPlace;

/// Something that happened, on a CPU, while a thread ran there.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// When, on the machine's clock. Records come in the order of time.
    pub at: Nanos,
    /// On which CPU.
    pub cpu: CpuId,
    /// Who ran there.
    pub current: Thread,
    /// What.
    pub what: What<'a>,
}

/// Declares the groups of events once: name, meaning.
macro_rules! groups {
    ($($(#[$attribute:meta])* $group:ident $name:literal $meaning:literal)*) => {
        /// A group of events, which a trace may have or not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Group {
            $(#[doc = $meaning] $(#[$attribute])* $group,)*
        }

        impl Group {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$group,)*];

            /// The name, as on the command line.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$group => $name,)* }
            }

            /// What is in it.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$group => $meaning,)* }
            }
        }
    };
}

groups! {
    Sched "sched" "Switches, wake-ups, migrations, forks and ends of tasks, inherited priorities."
    Stat "stat" "Run and waiting times of tasks (sched_stat_runtime, sched_stat_wait)."
    Idle "idle" "CPUs enter and leave idle states."
    Frequency "freq" "Frequencies of CPUs change."
    Ipi "ipi" "Interrupts from CPU to CPU."
    Pelt "pelt" "Refreshed averages of tasks and CPUs, and what is remembered of tasks' utilisation."
    Counters "counters" "Utilisation, runnable tasks and capacity of CPUs over time, and limits of searches."
    Decisions "decisions" "Why a CPU was selected, what a pass of load balancing found, who was kicked."
    Paths "paths" "What CPUs do in the kernel, and their waiting for locks, where kernel code takes time."
    Markers "markers" "Markers of rt-app: when threads, and loops of their phases, begin and end."
}

/// A set of groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Groups(u16);

impl Groups {
    /// These.
    pub const fn of(groups: &[Group]) -> Self {
        let (mut bits, mut place) = (0, 0);
        while place < groups.len() {
            bits |= 1 << groups[place] as u16;
            place += 1;
        }
        Self(bits)
    }

    /// Whether a group is in it.
    #[inline]
    pub const fn has(self, group: Group) -> bool {
        self.0 & 1 << group as u16 != 0
    }

    /// What is in either of two.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// A CPU has another current task: `sched_switch`.
    Switch {
        /// The one before.
        prev: Thread,
        /// Why it stopped.
        prev_state: PrevState,
        /// The one from now on.
        next: Thread,
    },
    /// Somebody begins to wake a task: `sched_waking`.
    Waking {
        /// The task.
        thread: Thread,
        /// The CPU that it used before.
        target_cpu: CpuId,
        /// Whether a timer or a device does, rather than the running thread.
        by_interrupt: bool,
    },
    /// A task is runnable: `sched_wakeup`, `sched_wakeup_new`.
    Wakeup {
        /// The task.
        thread: Thread,
        /// Where it is queued.
        target_cpu: CpuId,
        /// Whether it was forked a moment ago.
        is_new: bool,
    },
    /// A task belongs to another CPU: `sched_migrate_task`.
    Migrate {
        /// The task.
        thread: Thread,
        /// Where it was.
        orig_cpu: CpuId,
        /// Where it is.
        dest_cpu: CpuId,
    },
    /// A task is forked: `sched_process_fork`.
    Fork {
        /// By whom.
        parent: Thread,
        /// The new one.
        child: Thread,
    },
    /// A task ends: `sched_process_exit`.
    Exit {
        /// The task.
        thread: Thread,
    },
    /// A task inherits a priority: `sched_pi_setprio`.
    Setprio {
        /// The task.
        thread: Thread,
        /// The priority before.
        oldprio: i32,
        /// The priority from now on.
        newprio: i32,
    },
    /// A task has had a CPU: `sched_stat_runtime`.
    StatRuntime {
        /// The task.
        thread: Thread,
        /// Since it was told last.
        runtime: Nanos,
    },
    /// A task that was runnable gets a CPU: `sched_stat_wait`.
    StatWait {
        /// The task.
        thread: Thread,
        /// How long it has waited.
        delay: Nanos,
    },
    /// A CPU begins to wait in an idle state, or ends that: `cpu_idle`.
    Idle {
        /// Which CPU.
        cpu_id: CpuId,
        /// Which state; `None`: it has left it.
        state: Option<u32>,
    },
    /// A CPU has another frequency: `cpu_frequency`.
    Frequency {
        /// Which CPU.
        cpu_id: CpuId,
        /// The frequency.
        khz: u64,
    },
    /// A CPU interrupts another one: `ipi_raise`.
    Ipi {
        /// The other one.
        target: CpuId,
        /// Why.
        kind: IpiKind,
    },
    /// Averages of a task's entity were refreshed.
    PeltSe {
        /// The task; `None`: the entity is that of a group.
        thread: Option<Thread>,
        /// Its CPU.
        of: CpuId,
        /// The averages.
        avg: &'a SchedAvg,
    },
    /// Averages of the fair tasks of a CPU, or of a group there, were refreshed.
    PeltCfs {
        /// The CPU.
        of: CpuId,
        /// Whether they are those of all of its tasks.
        is_root: bool,
        /// The averages.
        avg: &'a SchedAvg,
    },
    /// A figure of a CPU has another value.
    Counter {
        /// The CPU, or the first one of a cache.
        of: CpuId,
        /// Which figure.
        counter: Counter,
        /// Its value from now on.
        value: u64,
    },
    /// A CPU was selected for a task.
    Selected {
        /// The task.
        thread: Thread,
        /// Why, and how.
        decision: &'a WakeupDecision,
    },
    /// A pass of load balancing is over.
    Balanced(&'a BalanceDecision),
    /// A tick has thought of tickless CPUs.
    Kicked(&'a KickDecision),
    /// A phase of a path of the kernel has begun. It is told in the middle: what it waits for is over, its work is to come.
    Path {
        /// The path.
        path: KernelPath,
        /// When it began.
        began: Nanos,
        /// How long it takes without waiting.
        took: Nanos,
        /// How long it has waited for locks.
        waited: Nanos,
        /// Whether the path is over with it.
        ends: bool,
    },
    /// A thread of rt-app, or rt-app itself, tells where it is.
    Marker(Marker),
}

/// A figure of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// Utilisation of its fair tasks.
    UtilAvg,
    /// Runnable tasks.
    NrRunning,
    /// What is left of its capacity for fair tasks.
    Capacity,
    /// At how many CPUs of its cache a search looks; told of the first CPU of each cache.
    NrIdleScan,
}

impl Counter {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::UtilAvg, Self::NrRunning, Self::Capacity, Self::NrIdleScan];

    /// The kernel's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UtilAvg => "util_avg",
            Self::NrRunning => "nr_running",
            Self::Capacity => "cpu_capacity",
            Self::NrIdleScan => "nr_idle_scan",
        }
    }
}

/// A marker, as rt-app writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// rt-app begins or ends.
    Main {
        /// Whether it begins.
        starts: bool,
    },
    /// The first thread has taken the time from which rt-app's logs count.
    ClockRef {
        /// The thread.
        thread: Thread,
        /// That time, on the machine's clock.
        time: Nanos,
    },
    /// A thread begins or ends.
    Task {
        /// The thread.
        thread: Thread,
        /// Whether it begins.
        starts: bool,
    },
    /// A loop of a phase begins or ends.
    Loop {
        /// The thread.
        thread: Thread,
        /// Whether it begins.
        starts: bool,
        /// Which loop.
        place: LoopPlace,
    },
}

impl Marker {
    /// Its text.
    pub fn text(self) -> String {
        let event = |starts| if starts { "start" } else { "end" };
        match self {
            Self::Main { starts } => format!("rtapp_main: event={}", event(starts)),
            Self::ClockRef { time, .. } => format!("rtapp_main: event=clock_ref data={}", time.0 / 1000),
            Self::Task { starts, .. } => format!("rtapp_task: event={}", event(starts)),
            Self::Loop { starts, place: LoopPlace { thread_loop, phase, phase_loop }, .. } => {
                let event = event(starts);
                format!("rtapp_loop: event={event} thread_loop={thread_loop} phase={phase} phase_loop={phase_loop}")
            }
        }
    }
}

impl What<'_> {
    /// In which context it happens, as the kernel's common flags tell it: `TRACE_FLAG_IRQS_OFF` and `TRACE_FLAG_HARDIRQ`.
    pub const fn flags(&self) -> u8 {
        match self {
            Self::Waking { by_interrupt: true, .. } => 0x09,
            _ => 0,
        }
    }

    /// The group to which it belongs.
    pub const fn group(&self) -> Group {
        match self {
            Self::Switch { .. }
            | Self::Waking { .. }
            | Self::Wakeup { .. }
            | Self::Migrate { .. }
            | Self::Fork { .. }
            | Self::Exit { .. }
            | Self::Setprio { .. } => Group::Sched,
            Self::StatRuntime { .. } | Self::StatWait { .. } => Group::Stat,
            Self::Idle { .. } => Group::Idle,
            Self::Frequency { .. } => Group::Frequency,
            Self::Ipi { .. } => Group::Ipi,
            Self::PeltSe { .. } | Self::PeltCfs { .. } => Group::Pelt,
            Self::Counter { .. } => Group::Counters,
            Self::Selected { .. } | Self::Balanced(_) | Self::Kicked(_) => Group::Decisions,
            Self::Path { .. } => Group::Paths,
            Self::Marker(_) => Group::Markers,
        }
    }
}
