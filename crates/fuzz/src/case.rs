// SPDX-License-Identifier: GPL-2.0-or-later
//! Fuzz cases: machines with workloads, built from few parts that can be removed one by one.

use fairlab_sched::features::Feature;

/// Machine and workload of a fuzz case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuzzCase {
    /// Machine of the case.
    pub machine: CaseMachine,
    /// Task groups, all children of the root group.
    pub groups: Vec<CaseGroup>,
    /// Sets of equal tasks.
    pub tasks: Vec<TaskSet>,
    /// Features that differ from their defaults.
    pub features: Vec<(Feature, bool)>,
    /// Tunables that differ from their defaults; only those that a scenario can set.
    pub tunables: Vec<(&'static str, i64)>,
    /// Length of the run, in milliseconds.
    pub end_ms: u64,
}

/// Machine of a fuzz case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseMachine {
    /// Machine from a machine file: its name, and its number of CPUs.
    Named(String, u32),
    /// Generated topology without a machine file.
    Shape(MachineShape),
}

/// Topology of a machine: numbers of CPUs in a core, in a last-level cache and in a node, each a multiple of
/// the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineShape {
    /// Total number of CPUs.
    pub nr_cpus: u32,
    /// Number of CPUs in a core.
    pub smt: u32,
    /// Number of CPUs that share a last-level cache.
    pub llc: u32,
    /// Number of CPUs in a NUMA node.
    pub node: u32,
    /// Number of little CPUs, which come first and have half of the capacity.
    pub nr_little: u32,
}

/// Task group of a fuzz case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaseGroup {
    /// Weight of the group (`cpu.shares`).
    pub shares: u32,
    /// CPU time per period of 100 ms, in milliseconds; `None` without a limit.
    pub quota_ms: Option<u32>,
}

/// Set of equal tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSet {
    /// Number of tasks in the set.
    pub number: u32,
    /// Program of each task.
    pub program: CaseProgram,
    /// Scheduling policy of each task.
    pub class: CasePolicy,
    /// Nice value, from -20 to 19.
    pub nice: i8,
    /// First and last CPU of the affinity mask; `None` for all CPUs.
    pub mask: Option<(u32, u32)>,
    /// Index of the task group; `None` for the root group.
    pub group: Option<usize>,
    /// Time of the fork since the start of the run, in milliseconds.
    pub start_ms: u64,
    /// CPU on which the tasks are forked.
    pub cpu: u32,
}

/// Loop that a task executes. Times are of work at full capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseProgram {
    /// The task never sleeps.
    Hog,
    /// The task alternately runs and sleeps.
    Sleeper {
        /// Run time, in microseconds.
        run_us: u64,
        /// Sleep time, in microseconds.
        sleep_us: u64,
    },
    /// The task runs, wakes a partner that runs as long, and sleeps.
    Waker {
        /// Run time of both tasks, in microseconds.
        run_us: u64,
        /// Sleep time of the waker, in microseconds.
        sleep_us: u64,
    },
}

/// Scheduling policy of a task set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CasePolicy {
    /// SCHED_NORMAL, also known as SCHED_OTHER.
    Normal,
    /// SCHED_BATCH, for tasks without interactive wake-ups.
    Batch,
    /// SCHED_IDLE, with the lowest weight.
    Idle,
    /// SCHED_FIFO with a real-time priority of 10.
    Fifo,
}

impl CaseMachine {
    /// Number of CPUs of the machine.
    pub const fn nr_cpus(&self) -> u32 {
        match self {
            Self::Named(_, nr_cpus) => *nr_cpus,
            Self::Shape(shape) => shape.nr_cpus,
        }
    }
}

impl MachineShape {
    /// Returns a topology in which all CPUs are cores of one cache and one node.
    pub const fn flat(nr_cpus: u32) -> Self {
        Self { nr_cpus, smt: 1, llc: nr_cpus, node: nr_cpus, nr_little: 0 }
    }

    /// Returns the topology with another number of CPUs. A level whose size does not divide the next larger
    /// one grows to it; cores become single-threaded.
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
    /// Returns a set of tasks with default attributes.
    pub const fn new(number: u32, program: CaseProgram) -> Self {
        Self { number, program, class: CasePolicy::Normal, nice: 0, mask: None, group: None, start_ms: 0, cpu: 0 }
    }
}

impl FuzzCase {
    /// Number of tasks, including the partners of wakers.
    pub fn nr_tasks(&self) -> u32 {
        self.tasks
            .iter()
            .map(|set| set.number * if matches!(set.program, CaseProgram::Waker { .. }) { 2 } else { 1 })
            .sum()
    }

    /// Returns the case on a machine with another number of CPUs; affinity masks and start CPUs are clipped.
    /// A named machine does not change.
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

    /// Returns the case without a group, whose tasks move to the root group.
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
