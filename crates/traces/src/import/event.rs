// SPDX-License-Identifier: GPL-2.0-or-later
//! Event stream of an imported trace, independent of its format, with thread names and the problems of the
//! file.

use super::file_order::{EventSource, FileOrder, TimeStamp};
use fairlab_sched::ctx::PrevState;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Pid of a thread that the trace does not report.
pub const UNKNOWN_PID: i32 = -1;

/// Index of a name in a [`NameTable`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct InternedName(u32);

/// Distinct names of threads and cgroups. The first entry is the empty name.
#[derive(Clone, Debug, Default)]
pub struct NameTable {
    list: Vec<String>,
    places: HashMap<String, InternedName>,
}

impl NameTable {
    /// Returns the index of a name, and adds the name if it is new.
    pub fn intern(&mut self, name: &str) -> InternedName {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        if self.list.is_empty() && !name.is_empty() {
            self.intern("");
        }
        let place = InternedName(u32::try_from(self.list.len()).expect("fewer names than 2^32"));
        self.list.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        place
    }

    /// Returns the name with this index; empty if there is none.
    pub fn get(&self, name: InternedName) -> &str {
        self.list.get(name.0 as usize).map_or("", String::as_str)
    }
}

/// Thread in an event, with its name at that time.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadRef {
    /// Thread id; 0 for idle tasks, [`UNKNOWN_PID`] if unknown.
    pub pid: i32,
    pub comm: InternedName,
    /// Kernel priority; `None` if the event does not contain it.
    pub prio: Option<i32>,
}

/// Context in which an event was traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Context {
    /// The trace does not contain the context.
    #[default]
    Unknown,
    /// Process context of the running thread.
    Thread,
    /// Hardware interrupt or NMI.
    Interrupt,
    /// Softirq, on interrupt exit or in ksoftirqd.
    Softirq,
}

impl Context {
    /// Returns the context in a tracepoint's common flags (`TRACE_FLAG_HARDIRQ`, `_SOFTIRQ`, `_NMI`).
    pub const fn from_flags(flags: u8) -> Self {
        match flags {
            flags if flags & 0x48 != 0 => Self::Interrupt,
            flags if flags & 0x10 != 0 => Self::Softirq,
            _ => Self::Thread,
        }
    }
}

/// Returns the state in the bits of `prev_state`.
///
/// The lowest eight bits have the same meaning in all kernels. A bit above them marks a preempted thread
/// whose lower bits are zero; its position differs between releases.
pub(super) const fn state_from_bits(bits: i64) -> PrevState {
    match bits & 0xff {
        0 => PrevState::Runnable,
        low if low & 0x30 != 0 => PrevState::Dead,
        _ => PrevState::Blocked,
    }
}

/// Returns the state in letters, as tracepoints print them (`R`, `R+`, `S`, `D|K`, `x`), or in a number.
pub(super) fn state_from_text(text: &str) -> Option<PrevState> {
    if let Ok(bits) = text.parse::<i64>() {
        return Some(state_from_bits(bits));
    }
    match text.chars().next()? {
        'R' => Some(PrevState::Runnable),
        'x' | 'X' | 'Z' => Some(PrevState::Dead),
        'S' | 'D' | 'T' | 't' | 'I' | 'P' | 'K' | 'W' | 'N' | 'n' => Some(PrevState::Blocked),
        _ => None,
    }
}

/// Event of a trace.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Time in nanoseconds of the trace's clock.
    pub at: u64,
    /// CPU on which the event was traced.
    pub cpu: u32,
    /// Pid of the thread that ran there, or [`UNKNOWN_PID`].
    pub pid: i32,
    pub context: Context,
    pub kind: TraceEventKind,
}

/// Kind of an event, with its data.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEventKind {
    /// A CPU switches to another thread: `sched_switch`. Some formats contain only `next`.
    Switch { prev: ThreadRef, state: PrevState, next: ThreadRef },
    /// A wake-up of a thread begins: `sched_waking`.
    Waking { thread_ref: ThreadRef },
    /// A thread becomes runnable on a CPU: `sched_wakeup`, or `sched_wakeup_new` after its fork.
    Wakeup { thread_ref: ThreadRef, cpu: u32, is_new: bool },
    /// A thread is moved to another CPU: `sched_migrate_task`.
    Migrate { pid: i32, to: u32 },
    /// A thread forks another one: `sched_process_fork`.
    Fork { parent: i32, child: ThreadRef },
    /// A thread executes a new program: `sched_process_exec`.
    Exec { pid: i32 },
    /// A thread exits: `sched_process_exit`.
    Exit { pid: i32 },
    /// A thread has a new name: `task_rename`.
    Rename { thread_ref: ThreadRef },
    /// A thread is moved to another cgroup: `cgroup_attach_task`. Hierarchy 0 is cgroup v2.
    Attach { pid: i32, root: i32, path: InternedName },
    /// A CPU enters an idle state, or leaves it (`None`): `cpu_idle`.
    Idle { cpu: u32, state: Option<u32> },
    /// The frequency of a CPU changes: `cpu_frequency`.
    Frequency { cpu: u32, khz: u64 },
    /// Events of this CPU were lost before this one; the number may be unknown.
    Lost { nr: Option<u64> },
}

/// Kind of an event, for counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is the tracepoint of its name")]
pub enum TraceEventName {
    SchedSwitch,
    SchedWaking,
    SchedWakeup,
    SchedWakeupNew,
    SchedMigrateTask,
    SchedProcessFork,
    SchedProcessExec,
    SchedProcessExit,
    TaskRename,
    CgroupAttachTask,
    CpuIdle,
    CpuFrequency,
    Lost,
}

impl TraceEventKind {
    /// Returns the kind of the event.
    pub const fn name(&self) -> TraceEventName {
        match self {
            Self::Switch { .. } => TraceEventName::SchedSwitch,
            Self::Waking { .. } => TraceEventName::SchedWaking,
            Self::Wakeup { is_new: false, .. } => TraceEventName::SchedWakeup,
            Self::Wakeup { is_new: true, .. } => TraceEventName::SchedWakeupNew,
            Self::Migrate { .. } => TraceEventName::SchedMigrateTask,
            Self::Fork { .. } => TraceEventName::SchedProcessFork,
            Self::Exec { .. } => TraceEventName::SchedProcessExec,
            Self::Exit { .. } => TraceEventName::SchedProcessExit,
            Self::Rename { .. } => TraceEventName::TaskRename,
            Self::Attach { .. } => TraceEventName::CgroupAttachTask,
            Self::Idle { .. } => TraceEventName::CpuIdle,
            Self::Frequency { .. } => TraceEventName::CpuFrequency,
            Self::Lost { .. } => TraceEventName::Lost,
        }
    }
}

/// Part of a file that could not be used: number of occurrences, and the position of the first.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportProblem {
    pub count: u64,
    pub first: String,
}

/// Content of a trace file.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub format: &'static str,
    /// Events, in the order in which they happened.
    pub events: Vec<TraceEvent>,
    pub names: NameTable,
    /// Thread names that the format stores outside of events, by pid.
    pub threads: BTreeMap<i32, InternedName>,
    /// Number of CPUs: the largest that the file's header or its events imply.
    pub nr_cpus: u32,
    /// Parts of the file that could not be used, by description.
    pub problems: BTreeMap<String, ImportProblem>,
    /// Number of events of other kinds, which are not used.
    pub others: u64,
    /// Time of the last event or packet that is not used, in ns. The recording lasts at least until then.
    pub last_other: u64,
    /// Number of lost events that the recorder reports without their position in the stream.
    pub overrun: u64,
    pub(crate) order: FileOrder,
}

impl Recording {
    /// Adds an event, or records a problem if its CPU number is too large.
    pub(super) fn push(&mut self, event: TraceEvent, position: usize, stamp: TimeStamp) {
        self.nr_cpus = self.nr_cpus.max(event.cpu.saturating_add(1).min(MAX_CPUS));
        if event.cpu >= MAX_CPUS {
            return self.record_problem("a CPU above 4095", || format!("{} ns", event.at));
        }
        self.events.push(event);
        self.order.sources.push(EventSource { position, stamp });
    }

    /// Counts an event of another kind.
    pub(super) fn push_other(&mut self, at: u64) {
        self.others += 1;
        self.last_other = self.last_other.max(at);
    }

    pub(super) fn push_lost(&mut self, at: u64, cpu: u32, nr: Option<u64>, position: usize, stamp: TimeStamp) {
        let kind = TraceEventKind::Lost { nr };
        self.push(TraceEvent { at, cpu, pid: UNKNOWN_PID, context: Context::Unknown, kind }, position, stamp);
    }

    pub(super) fn record_problem(&mut self, what: &str, place: impl FnOnce() -> String) {
        self.record_problems(what, 1, place);
    }

    /// Records occurrences of a problem. `place` is the position of the first.
    pub(super) fn record_problems(&mut self, what: &str, nr: u64, place: impl FnOnce() -> String) {
        match self.problems.get_mut(what) {
            Some(problem) => problem.count += nr,
            None => drop(self.problems.insert(what.to_owned(), ImportProblem { count: nr, first: place() })),
        }
    }

    /// Number of events of each kind.
    pub fn counts(&self) -> BTreeMap<TraceEventName, u64> {
        let mut counts = BTreeMap::new();
        for event in &self.events {
            *counts.entry(event.kind.name()).or_default() += 1;
        }
        counts
    }

    /// Returns the times of the first and the last event in ns.
    ///
    /// Events that are not used do not count; [`Self::end`] includes them.
    pub fn span(&self) -> Option<(u64, u64)> {
        Some((self.events.first()?.at, self.events.last()?.at))
    }

    /// Returns the time up to which the recording lasts, in ns.
    pub fn end(&self) -> u64 {
        self.span().map_or(0, |(_, last)| last.max(self.last_other))
    }
}

pub(super) const MAX_CPUS: u32 = 4096;
