// SPDX-License-Identifier: GPL-2.0-or-later
//! The deadline tasks of a CPU in the order of their deadlines, and what all CPUs know of each other.
//!
//! Models `struct dl_rq` and the deadline part of `struct root_domain` (6.1). The kernel's red-black trees are sorted ring
//! buffers here: among equal deadlines the one that came first goes first.

use crate::state::deadline::cpudeadline::CpuDl;
use crate::state::deadline::entity::time_before;
use crate::state::rq::ROOM;
use crate::types::cpumask::CpuMask;
use crate::types::ids::TaskId;
use alloc::collections::VecDeque;

/// Tasks in the order of their deadlines.
#[derive(Clone, Debug)]
pub(crate) struct ByDeadline {
    entries: VecDeque<(u64, TaskId)>,
}

impl Default for ByDeadline {
    fn default() -> Self {
        Self { entries: VecDeque::with_capacity(ROOM) }
    }
}

impl ByDeadline {
    /// Adds a task behind all whose deadline is not later. Returns whether it is the first.
    pub(crate) fn insert(&mut self, deadline: u64, task: TaskId) -> bool {
        let place = self.entries.partition_point(|&(other, _)| !time_before(deadline, other));
        self.entries.insert(place, (deadline, task));
        place == 0
    }

    /// Takes a task out. Returns whether it was the first.
    ///
    /// # Panics
    /// If it is not there, or was added with another deadline.
    pub(crate) fn remove(&mut self, deadline: u64, task: TaskId) -> bool {
        let first = self.entries.partition_point(|&(other, _)| time_before(other, deadline));
        let equals = self.entries.range(first..).position(|&(_, other)| other == task);
        let place = first + equals.unwrap_or_else(|| panic!("{task:?} with deadline {deadline} is not queued"));
        self.entries.remove(place);
        place == 0
    }

    pub(crate) fn first(&self) -> Option<(u64, TaskId)> {
        self.entries.front().copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.entries().map(|(_, task)| task)
    }

    /// Tasks with the deadlines with which they were added.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u64, TaskId)> + '_ {
        self.entries.iter().copied()
    }
}

/// Deadline tasks of a CPU: the kernel's `struct dl_rq`.
#[derive(Clone, Debug, Default)]
pub struct DlRq {
    /// Runnable tasks, the running one among them; throttled ones are not.
    pub(crate) tasks: ByDeadline,
    /// Those that may be moved: not the running one, nor such that may use only one CPU.
    pub(crate) pushable: ByDeadline,
    /// Number of runnable tasks.
    pub nr_running: u32,
    /// Number of those that may use more than one CPU.
    pub nr_migratory: u32,
    /// Whether tasks could be pushed away or pulled.
    pub overloaded: bool,
    /// The earliest deadline; 0 without tasks (`earliest_dl.curr`).
    pub earliest_curr: u64,
    /// The earliest deadline of a task that may be moved, as of when there was one last (`earliest_dl.next`).
    pub earliest_next: u64,
    /// Bandwidth of the tasks that are active: they run, wait, or slept for less than their zero-lag time.
    pub running_bw: u64,
    /// Bandwidth of all tasks of this CPU.
    pub this_bw: u64,
}

impl DlRq {
    /// Whether a task has the earliest deadline.
    pub(crate) fn is_leftmost(&self, task: TaskId) -> bool {
        self.tasks.first().is_some_and(|(_, first)| first == task)
    }
}

/// What the CPUs know of each other's deadline tasks.
#[derive(Clone, Debug)]
pub struct DlRoot {
    /// Admitted bandwidth (`dl_bw.total_bw`).
    pub total_bw: u64,
    /// Each CPU's part of that.
    pub admitted_per_cpu: u64,
    /// CPUs with tasks that could be pulled (`dlo_mask`).
    pub overloaded_cpus: CpuMask,
    /// The latest deadline among the CPUs.
    pub cpudl: CpuDl,
    /// The same of the root domain to which CPUs belong that are in no domain (`def_root_domain`). All pass through it when domains are built
    /// anew, and none stays that is online; but who looks finds the latest deadline that was there last.
    pub(crate) default_cpudl: CpuDl,
    /// Filled anew by each search for a CPU.
    pub(crate) later_mask: CpuMask,
}

impl DlRoot {
    /// All CPUs are offline; what was admitted stays.
    pub(crate) fn forget_cpus(&mut self) {
        let nr_cpus = self.overloaded_cpus.nr_cpus();
        self.overloaded_cpus.clear_all();
        self.cpudl = CpuDl::without_cpus(nr_cpus);
    }

    pub(crate) fn new(nr_cpus: usize) -> Self {
        Self {
            total_bw: 0,
            admitted_per_cpu: 0,
            overloaded_cpus: CpuMask::new(nr_cpus),
            cpudl: CpuDl::new(nr_cpus),
            default_cpudl: CpuDl::without_cpus(nr_cpus),
            later_mask: CpuMask::new(nr_cpus),
        }
    }
}
