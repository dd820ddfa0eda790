// SPDX-License-Identifier: GPL-2.0-or-later
//! Records that all trace formats share: one for each event, named after the kernel's tracepoints where one
//! exists.

use super::thread::ThreadId;
use fairlab_machine::observer::KernelPath;
use fairlab_measure::episodes::Episode;
use fairlab_sched::ctx::{IpiKind, PrevState};
use fairlab_sched::ids::CpuId;
use fairlab_sched::interface::lag::{EntityLag, LagMoment, QueueLag};
use fairlab_sched::interface::wakeup::WakeupDecision;
use fairlab_sched::probe::{BalanceDecision, KickDecision};
use fairlab_sched::types::pelt::SchedAvg;
use fairlab_sched::units::Nanos;
use fairlab_workload::step::LoopPlace;

/// Event on a CPU, with the thread that ran there.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug)]
pub struct TraceRecord<'a> {
    /// Time on the machine's clock; records are in the order of time.
    pub at: Nanos,
    pub cpu: CpuId,
    pub current: ThreadId,
    pub what: RecordKind<'a>,
}

macro_rules! groups {
    ($($(#[$attribute:meta])* $group:ident $name:literal $meaning:literal)*) => {
        /// Group of events that a trace may include.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Group {
            $(#[doc = $meaning] $(#[$attribute])* $group,)*
        }

        impl Group {
            /// All groups, in the order of the help.
            pub const ALL: &'static [Self] = &[$(Self::$group,)*];

            /// Name on the command line.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$group => $name,)* }
            }

            /// Description for help texts.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$group => $meaning,)* }
            }
        }
    };
}

groups! {
    Sched "sched" "Switches, wake-ups, migrations, forks and exits of tasks, and inherited priorities."
    Stat "stat" "Run times and runqueue latencies of tasks (sched_stat_runtime, sched_stat_wait)."
    Idle "idle" "CPU idle states: entries and exits."
    Frequency "freq" "CPU frequency changes."
    Ipi "ipi" "Inter-processor interrupts."
    Pelt "pelt" "PELT averages of tasks and CPUs at each update, and estimated utilisation (util_est)."
    Counters "counters" "Utilisation, runnable tasks and capacity of CPUs over time, and scan limits (nr_idle_scan)."
    Decisions "decisions" "Reasons of CPU selections, load-balance passes and NOHZ kicks."
    Paths "paths" "Kernel paths of CPUs and their lock waits; needs a cost model for kernel code."
    Lags "lags" "Virtual runtimes, lags, deadlines and slices of fair tasks at wake-ups and switches (kernels with EEVDF)."
    Markers "markers" "Markers of rt-app: start and end of threads and of the loops of their phases."
}

/// Set of groups of events, one bit per group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventGroups(u16);

impl EventGroups {
    /// Returns the set of the given groups.
    pub const fn from_slice(groups: &[Group]) -> Self {
        let (mut bits, mut place) = (0, 0);
        while place < groups.len() {
            bits |= 1 << groups[place] as u16;
            place += 1;
        }
        Self(bits)
    }

    /// Whether the set includes `group`.
    #[inline]
    pub const fn contains(self, group: Group) -> bool {
        self.0 & 1 << group as u16 != 0
    }

    /// Returns the union of two sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Kind of an event, with its data.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug)]
pub enum RecordKind<'a> {
    /// A CPU switches to another task: `sched_switch`.
    Switch { prev: ThreadId, prev_state: PrevState, next: ThreadId },
    /// A wake-up of a task begins: `sched_waking`.
    Waking {
        thread: ThreadId,
        /// CPU on which the task ran last.
        target_cpu: CpuId,
        /// Whether a timer or a device wakes the task, rather than the running thread.
        by_interrupt: bool,
    },
    /// A task becomes runnable on the runqueue of a CPU: `sched_wakeup`, or `sched_wakeup_new` after its fork.
    Wakeup { thread: ThreadId, target_cpu: CpuId, is_new: bool },
    /// A task is moved to another CPU: `sched_migrate_task`.
    Migrate { thread: ThreadId, orig_cpu: CpuId, dest_cpu: CpuId },
    /// A task is forked: `sched_process_fork`.
    Fork { parent: ThreadId, child: ThreadId },
    /// A task ends: `sched_process_exit`.
    Exit { thread: ThreadId },
    /// A task inherits a priority: `sched_pi_setprio`.
    Setprio { thread: ThreadId, oldprio: i32, newprio: i32 },
    /// Run time of a task since its last record of this kind is accounted: `sched_stat_runtime`.
    StatRuntime { thread: ThreadId, runtime: Nanos },
    /// A task that waited on a runqueue gets a CPU: `sched_stat_wait`.
    StatWait { thread: ThreadId, delay: Nanos },
    /// The run ends. Trace formats without a record of it end with their last event.
    End,
    /// A wait of a task with one reason ends, or is open at the end of the run. No trace format has a record of it.
    Wait { thread: ThreadId, episode: Episode },
    /// A CPU enters an idle state, or leaves it (`None`): `cpu_idle`.
    Idle { cpu_id: CpuId, state: Option<u32> },
    /// The frequency of a CPU changes: `cpu_frequency`.
    Frequency { cpu_id: CpuId, khz: u64 },
    /// A CPU sends an interrupt to another CPU: `ipi_raise`.
    Ipi { target: CpuId, kind: IpiKind },
    /// The PELT averages of a scheduling entity on a CPU were updated: a task, or a group (`None`).
    PeltSe { thread: Option<ThreadId>, of: CpuId, avg: &'a SchedAvg },
    /// The PELT averages of a CPU's `cfs_rq` were updated. The root `cfs_rq` covers all fair tasks of the CPU.
    PeltCfs { of: CpuId, is_root: bool, avg: &'a SchedAvg },
    /// A counter of a CPU, or of the first CPU of a cache, changed.
    Counter { of: CpuId, counter: Counter, value: u64 },
    /// A CPU was selected for a task: the result of `select_task_rq()`.
    Selected { thread: ThreadId, decision: &'a WakeupDecision },
    /// A load-balance pass ended.
    BalancedReason(&'a BalanceDecision),
    /// A tick decided whether to kick a CPU for NOHZ idle balancing: `nohz_balancer_kick()`.
    Kicked(&'a KickDecision),
    /// A phase of a kernel path began. The record is written after the phase's lock wait and before its work.
    Path {
        path: KernelPath,
        began: Nanos,
        /// Duration without the lock wait.
        took: Nanos,
        waited: Nanos,
        /// Whether this is the last phase of the path.
        ends: bool,
    },
    /// Virtual times of a fair task at a wake-up or switch, on a kernel with EEVDF.
    Lag { thread: ThreadId, lag: TaskLag },
    /// An rt-app thread, or rt-app itself, writes a marker.
    Marker(Marker),
}

/// Virtual times of a fair task (EEVDF). All are in ns of a task with nice value 0.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskLag {
    pub moment: LagMoment,
    /// Whether the task sleeps and is still queued.
    pub is_delayed: bool,
    pub vruntime: i64,
    /// Virtual time of the task's cfs_rq.
    pub avg_vruntime: i64,
    /// Distance of a queued task to the virtual time; for a task that has left its queue, the lag that it keeps. Positive if
    /// the task is owed service.
    pub lag: i64,
    /// Virtual deadline; `None` for a task that is not queued.
    pub deadline: Option<i64>,
    /// Slice in ns.
    pub slice: u64,
    /// Weight at full resolution.
    pub weight: u64,
}

impl TaskLag {
    /// Returns the virtual times of an entity on its cfs_rq.
    pub fn new(moment: LagMoment, entity: &EntityLag, queue: &QueueLag) -> Self {
        let from_average = queue.avg_vruntime.wrapping_sub(entity.vruntime);
        Self {
            moment,
            is_delayed: entity.is_delayed,
            vruntime: entity.vruntime,
            avg_vruntime: queue.avg_vruntime,
            lag: if entity.on_rq { from_average } else { entity.vlag },
            deadline: entity.on_rq.then_some(entity.deadline),
            slice: entity.slice,
            weight: entity.weight,
        }
    }
}

/// Quantity of a CPU that is recorded over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// Utilisation of the CPU's fair tasks, 0 to 1024.
    UtilAvg,
    /// Number of runnable tasks, running or queued.
    NrRunning,
    /// Capacity left for fair tasks (`cpu_capacity`), 0 to 1024.
    Capacity,
    /// Limit on the number of CPUs that an idle-CPU scan of a cache domain checks (SIS_UTIL); recorded for the
    /// first CPU of each cache.
    NrIdleScan,
}

impl Counter {
    /// All counters, in the order of the enum.
    pub const ALL: [Self; 4] = [Self::UtilAvg, Self::NrRunning, Self::Capacity, Self::NrIdleScan];

    /// Name of the quantity in the kernel.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UtilAvg => "util_avg",
            Self::NrRunning => "nr_running",
            Self::Capacity => "cpu_capacity",
            Self::NrIdleScan => "nr_idle_scan",
        }
    }
}

/// Marker as rt-app writes it to the trace.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// Start or end of rt-app.
    Main { starts: bool },
    /// Reference time of rt-app's logs, taken by the first thread that starts.
    ClockRef { thread: ThreadId, time: Nanos },
    /// Start or end of a thread.
    Task { thread: ThreadId, starts: bool },
    /// Start or end of a loop of a phase.
    Loop { thread: ThreadId, starts: bool, place: LoopPlace },
}

impl Marker {
    /// Returns the text that rt-app writes to `trace_marker`.
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

impl RecordKind<'_> {
    /// Returns the kernel's common flags of the event's context: `TRACE_FLAG_IRQS_OFF` and
    /// `TRACE_FLAG_HARDIRQ` for a wake-up by an interrupt.
    pub const fn flags(&self) -> u8 {
        match self {
            Self::Waking { by_interrupt: true, .. } => 0x09,
            _ => 0,
        }
    }

    /// Returns the group to which the event belongs.
    pub const fn group(&self) -> Group {
        match self {
            Self::Switch { .. }
            | Self::Waking { .. }
            | Self::Wakeup { .. }
            | Self::Migrate { .. }
            | Self::Fork { .. }
            | Self::Exit { .. }
            | Self::Setprio { .. }
            | Self::End => Group::Sched,
            Self::StatRuntime { .. } | Self::StatWait { .. } | Self::Wait { .. } => Group::Stat,
            Self::Idle { .. } => Group::Idle,
            Self::Frequency { .. } => Group::Frequency,
            Self::Ipi { .. } => Group::Ipi,
            Self::PeltSe { .. } | Self::PeltCfs { .. } => Group::Pelt,
            Self::Counter { .. } => Group::Counters,
            Self::Selected { .. } | Self::BalancedReason(_) | Self::Kicked(_) => Group::Decisions,
            Self::Path { .. } => Group::Paths,
            Self::Lag { .. } => Group::Lags,
            Self::Marker(_) => Group::Markers,
        }
    }
}
