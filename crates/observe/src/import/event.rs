// SPDX-License-Identifier: GPL-2.0-or-later
//! The one stream of events that comes of every format, and what is noted besides: names, and what is missing.

use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// A thread's id where the trace does not tell it.
pub const UNKNOWN_PID: i32 = -1;

/// A name by its place in [`Names`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct InternedName(u32);

/// Names of threads. The first one is empty.
#[derive(Clone, Debug, Default)]
pub struct NameTable {
    list: Vec<String>,
    places: HashMap<String, InternedName>,
}

impl NameTable {
    /// The place of a name, which may be new.
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

    /// The name.
    pub fn get(&self, name: InternedName) -> &str {
        self.list.get(name.0 as usize).map_or("", String::as_str)
    }
}

/// A thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadRef {
    /// Its id; 0 for idle tasks.
    pub pid: i32,
    /// Its name at that time.
    pub comm: InternedName,
    /// Its priority as the kernel counts; `None` where it is not told.
    pub prio: Option<i32>,
}

/// In which context an event was traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Context {
    /// The trace does not tell.
    #[default]
    Unknown,
    /// The running thread itself.
    Thread,
    /// A hardware interrupt.
    Interrupt,
    /// A softirq.
    Softirq,
}

impl Context {
    /// From the common flags of a tracepoint: the kernel's `TRACE_FLAG_HARDIRQ`, `TRACE_FLAG_SOFTIRQ` and `TRACE_FLAG_NMI`.
    pub const fn from_flags(flags: u8) -> Self {
        match flags {
            flags if flags & 0x48 != 0 => Self::Interrupt,
            flags if flags & 0x10 != 0 => Self::Softirq,
            _ => Self::Thread,
        }
    }
}

/// How a thread is when it leaves its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadState {
    /// It wants to go on.
    Runnable,
    /// It waits for something.
    Blocked,
    /// It has ended.
    Dead,
}

impl ThreadState {
    /// From the bits of `prev_state`. The lowest eight are told by all kernels alike; those above say of a thread whose lower ones are
    /// zero that it was preempted, at different places in different releases.
    pub const fn from_bits(bits: i64) -> Self {
        match bits & 0xff {
            0 => Self::Runnable,
            low if low & 0x30 != 0 => Self::Dead,
            _ => Self::Blocked,
        }
    }

    /// From letters, as tracepoints print them: `R`, `R+`, `S`, `D|K`, `x`, or from a number.
    pub fn from_text(text: &str) -> Option<Self> {
        if let Ok(bits) = text.parse::<i64>() {
            return Some(Self::from_bits(bits));
        }
        match text.chars().next()? {
            'R' => Some(Self::Runnable),
            'x' | 'X' | 'Z' => Some(Self::Dead),
            'S' | 'D' | 'T' | 't' | 'I' | 'P' | 'K' | 'W' | 'N' | 'n' => Some(Self::Blocked),
            _ => None,
        }
    }
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// When, in nanoseconds of the trace's clock.
    pub at: u64,
    /// On which CPU.
    pub cpu: u32,
    /// Which thread ran there.
    pub pid: i32,
    /// In which context.
    pub context: Context,
    /// What.
    pub kind: TraceEventKind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEventKind {
    /// `sched_switch`.
    Switch {
        /// Who leaves; its id is unknown where the format tells only who comes.
        prev: ThreadRef,
        /// How.
        state: ThreadState,
        /// Who comes.
        next: ThreadRef,
    },
    /// `sched_waking`.
    Waking {
        /// Who is woken.
        who: ThreadRef,
    },
    /// `sched_wakeup`, `sched_wakeup_new`.
    Wakeup {
        /// Who was woken.
        who: ThreadRef,
        /// Where it is queued.
        cpu: u32,
        /// Whether it was forked a moment ago.
        is_new: bool,
    },
    /// `sched_migrate_task`.
    Migrate {
        /// Who.
        pid: i32,
        /// To which CPU.
        to: u32,
    },
    /// `sched_process_fork`.
    Fork {
        /// By whom.
        parent: i32,
        /// The new thread.
        child: ThreadRef,
    },
    /// `sched_process_exec`.
    Exec {
        /// Who.
        pid: i32,
    },
    /// `sched_process_exit`.
    Exit {
        /// Who.
        pid: i32,
    },
    /// `task_rename`.
    Rename {
        /// Who, with the new name.
        who: ThreadRef,
    },
    /// `cgroup_attach_task`.
    Attach {
        /// Who.
        pid: i32,
        /// In which hierarchy: 0 is that of cgroup v2.
        root: i32,
        /// To which cgroup of it: its path.
        path: InternedName,
    },
    /// `cpu_idle`.
    Idle {
        /// The CPU.
        cpu: u32,
        /// Its state; `None`: it has left it.
        state: Option<u32>,
    },
    /// `cpu_frequency`.
    Frequency {
        /// The CPU.
        cpu: u32,
        /// Its frequency from now on.
        khz: u64,
    },
    /// Events of this CPU were lost before this one.
    Lost {
        /// How many, if that is known.
        nr: Option<u64>,
    },
}

/// Kinds of events, for counts.
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
    /// Of which kind it is.
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

/// Something in a file that could not be used: how often, and where first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportProblem {
    /// How often.
    pub count: u64,
    /// The first place: a byte of the file, or a line.
    pub first: String,
}

/// What comes of a file.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The format of the file.
    pub format: &'static str,
    /// The events, in the order in which they happened.
    pub events: Vec<TraceEvent>,
    /// Names of threads.
    pub names: NameTable,
    /// Names that the format tells apart from events.
    pub threads: BTreeMap<i32, InternedName>,
    /// How many CPUs the machine has, as far as the trace tells.
    pub nr_cpus: u32,
    /// What could not be used.
    pub problems: BTreeMap<String, ImportProblem>,
    /// Events of other kinds, which are not used.
    pub others: u64,
    /// Events that the recorder itself says were lost, beyond those that have their place among the events.
    pub overrun: u64,
}

impl Recording {
    /// Adds an event.
    pub(super) fn push(&mut self, event: TraceEvent) {
        self.nr_cpus = self.nr_cpus.max(event.cpu.saturating_add(1).min(MAX_CPUS));
        if event.cpu >= MAX_CPUS {
            return self.record_problem("a CPU above 4095", || format!("{} ns", event.at));
        }
        self.events.push(event);
    }

    /// Notes what could not be used.
    pub(super) fn record_problem(&mut self, what: &str, place: impl FnOnce() -> String) {
        if let Some(problem) = self.problems.get_mut(what) {
            problem.count += 1;
            return;
        }
        self.problems.insert(what.to_owned(), ImportProblem { count: 1, first: place() });
    }

    /// How many events there are of each kind.
    pub fn counts(&self) -> BTreeMap<TraceEventName, u64> {
        let mut counts = BTreeMap::new();
        for event in &self.events {
            *counts.entry(event.kind.name()).or_default() += 1;
        }
        counts
    }

    /// When the first and the last event happened.
    pub fn span(&self) -> Option<(u64, u64)> {
        Some((self.events.first()?.at, self.events.last()?.at))
    }
}

/// As many CPUs as a machine may have.
pub(super) const MAX_CPUS: u32 = 4096;
