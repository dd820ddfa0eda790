// SPDX-License-Identifier: GPL-2.0-or-later
//! A case: a machine and what runs on it, of few parts, each of which can be taken away.

use fairlab_sched::features::Feature;

/// A machine and what runs on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuzzCase {
    /// What it runs on.
    pub machine: CaseMachine,
    /// Task groups, all below the root group.
    pub groups: Vec<CaseGroup>,
    /// Sets of tasks that are alike.
    pub tasks: Vec<TaskSet>,
    /// Features that are not as ever.
    pub features: Vec<(Feature, bool)>,
    /// Tunables that are not as ever, of those that a scenario can set.
    pub tunables: Vec<(&'static str, i64)>,
    /// How long it is run.
    pub end_ms: u64,
}

/// What a case runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseMachine {
    /// The machine of a machine file: as it is named, and how many CPUs it has.
    Named(String, u32),
    /// A shape of its own.
    Shape(MachineShape),
}

/// CPUs and how they belong together: how many there are in a core, in a cache, in a node, each a multiple of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineShape {
    /// All CPUs.
    pub nr_cpus: u32,
    /// In a core.
    pub smt: u32,
    /// Behind a last-level cache.
    pub llc: u32,
    /// In a NUMA node.
    pub node: u32,
    /// How many of the first CPUs are little ones; they have half of the capacity.
    pub nr_little: u32,
}

/// A task group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaseGroup {
    /// `cpu.shares`.
    pub shares: u32,
    /// CPU time in each 100 ms, if it is limited.
    pub quota_ms: Option<u32>,
}

/// Tasks that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSet {
    /// How many.
    pub number: u32,
    /// What each does.
    pub program: CaseProgram,
    /// Its class.
    pub class: CasePolicy,
    /// Its nice value.
    pub nice: i8,
    /// The CPUs that it may use, the first and the last, if not all.
    pub mask: Option<(u32, u32)>,
    /// The place of its group, if not the root group.
    pub group: Option<usize>,
    /// When it is forked.
    pub start_ms: u64,
    /// On which CPU it is forked.
    pub cpu: u32,
}

/// What a task does, again and again. Times are of work at full capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseProgram {
    /// It never stops.
    Hog,
    /// It runs and sleeps.
    Sleeper {
        /// Runs so long.
        run_us: u64,
        /// Then sleeps so long.
        sleep_us: u64,
    },
    /// It runs, wakes a partner, who runs as long, and sleeps.
    Waker {
        /// Both run so long.
        run_us: u64,
        /// Then the waker sleeps so long.
        sleep_us: u64,
    },
}

/// A scheduling policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CasePolicy {
    /// SCHED_OTHER.
    Normal,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
    /// SCHED_FIFO.
    Fifo,
}

impl CaseMachine {
    /// How many CPUs it has.
    pub const fn nr_cpus(&self) -> u32 {
        match self {
            Self::Named(_, nr_cpus) => *nr_cpus,
            Self::Shape(shape) => shape.nr_cpus,
        }
    }
}

impl MachineShape {
    /// CPUs without any order among them.
    pub const fn flat(nr_cpus: u32) -> Self {
        Self { nr_cpus, smt: 1, llc: nr_cpus, node: nr_cpus, nr_little: 0 }
    }

    /// The same with so many CPUs: what does not divide becomes one.
    #[must_use]
    pub fn with_cpus(self, nr_cpus: u32) -> Self {
        let fit = |size: u32, of: u32| if size <= of && of.is_multiple_of(size) { size } else { of };
        let node = fit(self.node, nr_cpus);
        let llc = fit(self.llc, node);
        let smt = if llc.is_multiple_of(self.smt) { self.smt } else { 1 };
        Self { nr_cpus, smt, llc, node, nr_little: self.nr_little.min(nr_cpus - 1) }
    }
}

impl TaskSet {
    /// A task as ordinary as can be.
    pub const fn new(number: u32, program: CaseProgram) -> Self {
        Self { number, program, class: CasePolicy::Normal, nice: 0, mask: None, group: None, start_ms: 0, cpu: 0 }
    }
}

impl FuzzCase {
    /// How many tasks there are.
    pub fn nr_tasks(&self) -> u32 {
        self.tasks
            .iter()
            .map(|set| set.number * if matches!(set.program, CaseProgram::Waker { .. }) { 2 } else { 1 })
            .sum()
    }

    /// The same on a machine with so many CPUs, where it has a shape: masks and places shrink with it.
    #[must_use]
    pub fn with_cpus(&self, nr_cpus: u32) -> Self {
        let mut case = self.clone();
        if let CaseMachine::Shape(shape) = &mut case.machine {
            *shape = shape.with_cpus(nr_cpus);
            for set in &mut case.tasks {
                set.cpu = set.cpu.min(nr_cpus - 1);
                set.mask = set.mask.map(|(first, last)| (first.min(nr_cpus - 1), last.min(nr_cpus - 1)));
                set.mask = set.mask.filter(|&mask| mask != (0, nr_cpus - 1));
            }
        }
        case
    }

    /// The same without a group: its tasks are in the root group.
    #[must_use]
    pub fn without_group(&self, gone: usize) -> Self {
        let mut case = self.clone();
        case.groups.remove(gone);
        for set in &mut case.tasks {
            set.group = match set.group {
                Some(place) if place == gone => None,
                Some(place) if place > gone => Some(place - 1),
                other => other,
            };
        }
        case
    }
}
