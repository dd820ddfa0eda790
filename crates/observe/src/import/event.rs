// SPDX-License-Identifier: GPL-2.0-or-later
//! The one stream of events that comes of every format, and what is noted besides: names, and what is missing.

use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// A thread's id where the trace does not tell it.
pub const UNKNOWN_PID: i32 = -1;

/// A name by its place in [`Names`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(u32);

/// Names of threads. The first one is empty.
#[derive(Clone, Debug, Default)]
pub struct Names {
    list: Vec<String>,
    places: HashMap<String, Name>,
}

impl Names {
    /// The place of a name, which may be new.
    pub fn of(&mut self, name: &str) -> Name {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        if self.list.is_empty() && !name.is_empty() {
            self.of("");
        }
        let place = Name(u32::try_from(self.list.len()).expect("fewer names than 2^32"));
        self.list.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        place
    }

    /// The name.
    pub fn get(&self, name: Name) -> &str {
        self.list.get(name.0 as usize).map_or("", String::as_str)
    }
}

/// A thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Who {
    /// Its id; 0 for idle tasks.
    pub pid: i32,
    /// Its name at that time.
    pub comm: Name,
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
    pub const fn of_flags(flags: u8) -> Self {
        match flags {
            flags if flags & 0x48 != 0 => Self::Interrupt,
            flags if flags & 0x10 != 0 => Self::Softirq,
            _ => Self::Thread,
        }
    }
}

/// How a thread is when it leaves its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It wants to go on.
    Runnable,
    /// It waits for something.
    Blocked,
    /// It has ended.
    Dead,
}

impl State {
    /// From the bits of `prev_state`. The lowest eight are told by all kernels alike; those above say of a thread whose lower ones are
    /// zero that it was preempted, at different places in different releases.
    pub const fn of_bits(bits: i64) -> Self {
        match bits & 0xff {
            0 => Self::Runnable,
            low if low & 0x30 != 0 => Self::Dead,
            _ => Self::Blocked,
        }
    }

    /// From letters, as tracepoints print them: `R`, `R+`, `S`, `D|K`, `x`, or from a number.
    pub fn of_text(text: &str) -> Option<Self> {
        if let Ok(bits) = text.parse::<i64>() {
            return Some(Self::of_bits(bits));
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
pub struct Event {
    /// When, in nanoseconds of the trace's clock.
    pub at: u64,
    /// On which CPU.
    pub cpu: u32,
    /// Which thread ran there.
    pub pid: i32,
    /// In which context.
    pub context: Context,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// `sched_switch`.
    Switch {
        /// Who leaves; its id is unknown where the format tells only who comes.
        prev: Who,
        /// How.
        state: State,
        /// Who comes.
        next: Who,
    },
    /// `sched_waking`.
    Waking {
        /// Who is woken.
        who: Who,
    },
    /// `sched_wakeup`, `sched_wakeup_new`.
    Wakeup {
        /// Who was woken.
        who: Who,
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
        child: Who,
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
        who: Who,
    },
    /// `cgroup_attach_task`.
    Attach {
        /// Who.
        pid: i32,
        /// In which hierarchy: 0 is that of cgroup v2.
        root: i32,
        /// To which cgroup of it: its path.
        path: Name,
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
pub enum Kind {
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

impl What {
    /// Of which kind it is.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Switch { .. } => Kind::SchedSwitch,
            Self::Waking { .. } => Kind::SchedWaking,
            Self::Wakeup { is_new: false, .. } => Kind::SchedWakeup,
            Self::Wakeup { is_new: true, .. } => Kind::SchedWakeupNew,
            Self::Migrate { .. } => Kind::SchedMigrateTask,
            Self::Fork { .. } => Kind::SchedProcessFork,
            Self::Exec { .. } => Kind::SchedProcessExec,
            Self::Exit { .. } => Kind::SchedProcessExit,
            Self::Rename { .. } => Kind::TaskRename,
            Self::Attach { .. } => Kind::CgroupAttachTask,
            Self::Idle { .. } => Kind::CpuIdle,
            Self::Frequency { .. } => Kind::CpuFrequency,
            Self::Lost { .. } => Kind::Lost,
        }
    }
}

/// Something in a file that could not be used: how often, and where first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Problem {
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
    pub events: Vec<Event>,
    /// Names of threads.
    pub names: Names,
    /// Names that the format tells apart from events.
    pub threads: BTreeMap<i32, Name>,
    /// How many CPUs the machine has, as far as the trace tells.
    pub nr_cpus: u32,
    /// What could not be used.
    pub problems: BTreeMap<String, Problem>,
    /// Events of other kinds, which are not used.
    pub others: u64,
    /// Events that the recorder itself says were lost, beyond those that have their place among the events.
    pub overrun: u64,
}

impl Recording {
    /// Adds an event.
    pub(super) fn push(&mut self, event: Event) {
        self.nr_cpus = self.nr_cpus.max(event.cpu.saturating_add(1).min(MAX_CPUS));
        if event.cpu >= MAX_CPUS {
            return self.problem("a CPU above 4095", || format!("{} ns", event.at));
        }
        self.events.push(event);
    }

    /// Notes what could not be used.
    pub(super) fn problem(&mut self, what: &str, place: impl FnOnce() -> String) {
        if let Some(problem) = self.problems.get_mut(what) {
            problem.count += 1;
            return;
        }
        self.problems.insert(what.to_owned(), Problem { count: 1, first: place() });
    }

    /// How many events there are of each kind.
    pub fn counts(&self) -> BTreeMap<Kind, u64> {
        let mut counts = BTreeMap::new();
        for event in &self.events {
            *counts.entry(event.what.kind()).or_default() += 1;
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
