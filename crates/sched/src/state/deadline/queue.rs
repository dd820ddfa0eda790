// SPDX-License-Identifier: GPL-2.0-or-later
//! Deadline tasks of a CPU in the order of their deadlines, and the state that all CPUs share.
//!
//! Models `struct dl_rq` and the deadline part of `struct root_domain` (6.1). The kernel's red-black trees
//! are sorted ring buffers here; of equal deadlines, the one inserted first goes first.

use crate::state::deadline::cpudeadline::CpuDl;
use crate::state::deadline::entity::time_before;
use crate::state::rq::QUEUE_CAPACITY;
use crate::types::cpumask::CpuMask;
use crate::types::ids::TaskId;
use alloc::collections::VecDeque;

/// Tasks in the order of their deadlines.
#[derive(Clone, Debug)]
pub(crate) struct DeadlineQueue {
    entries: VecDeque<(u64, TaskId)>,
}

impl Default for DeadlineQueue {
    fn default() -> Self {
        Self { entries: VecDeque::with_capacity(QUEUE_CAPACITY) }
    }
}

impl DeadlineQueue {
    /// Adds a task behind all whose deadline is not later. Returns whether the task is the first one.
    pub(crate) fn insert(&mut self, deadline: u64, task: TaskId) -> bool {
        let last = self.entries.iter().rposition(|&(other, _)| !time_before(deadline, other));
        let place = last.map_or(0, |last| last + 1);
        self.entries.insert(place, (deadline, task));
        place == 0
    }

    /// Adds a task before all others.
    pub(crate) fn insert_first(&mut self, deadline: u64, task: TaskId) {
        self.entries.push_front((deadline, task));
    }

    /// Removes a task. Returns whether it was the first one.
    ///
    /// # Panics
    /// If the task is not in the queue, or was added with another deadline.
    pub(crate) fn remove(&mut self, deadline: u64, task: TaskId) -> bool {
        let place = self.entries.iter().position(|&entry| entry == (deadline, task));
        let place = place.unwrap_or_else(|| panic!("{task:?} with deadline {deadline} is not queued"));
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
    /// Runnable tasks including the running one, without throttled ones.
    pub(crate) tasks: DeadlineQueue,
    /// Tasks that may be moved: not the running one, and none that may use only one CPU.
    pub(crate) pushable: DeadlineQueue,
    /// Number of runnable tasks, including the running one.
    pub nr_running: u32,
    /// Number of runnable tasks that may use more than one CPU.
    pub nr_migratory: u32,
    /// Whether another CPU could take tasks, by a push or a pull.
    pub overloaded: bool,
    /// Earliest deadline; 0 without tasks (`earliest_dl.curr`).
    pub earliest_curr: u64,
    /// Earliest deadline of a task that may be moved, as of the last time that there was one
    /// (`earliest_dl.next`).
    pub earliest_next: u64,
    /// Bandwidth of the active tasks, in units of 2^-20: they run, wait, or have slept for less than their
    /// zero-lag time.
    pub running_bw: u64,
    /// Bandwidth of all tasks of this CPU, in units of 2^-20.
    pub this_bw: u64,
}

impl DlRq {
    /// Whether a task has the earliest deadline.
    pub(crate) fn is_leftmost(&self, task: TaskId) -> bool {
        self.tasks.first().is_some_and(|(_, first)| first == task)
    }
}

/// State of deadline scheduling that all CPUs share: part of the kernel's `struct root_domain`.
#[derive(Clone, Debug)]
pub struct DlRoot {
    /// Admitted bandwidth of all tasks, in units of 2^-20 (`dl_bw.total_bw`).
    pub total_bw: u64,
    /// Part of `total_bw` that is the bandwidth of fair servers.
    pub(crate) server_bw: u64,
    /// Bandwidth in use that `total_bw` lacks.
    pub(crate) forgotten_bw: u64,
    /// Share of the admitted bandwidth of each CPU, in units of 2^-20.
    pub admitted_per_cpu: u64,
    /// CPUs with tasks that could be pulled (`dlo_mask`).
    pub overloaded_cpus: CpuMask,
    /// Heap of the CPUs' earliest deadlines, with the latest of them on top.
    pub cpudl: CpuDl,
    /// Heap of the root domain for CPUs without sched domains (`def_root_domain`).
    ///
    /// All CPUs pass through it when sched domains are rebuilt, and no online CPU stays. A search of it finds
    /// the latest deadline that was there last.
    pub(crate) default_cpudl: CpuDl,
    /// Scratch mask that each search for a CPU refills.
    pub(crate) later_mask: CpuMask,
}

impl DlRoot {
    /// Marks all CPUs as offline. The admitted bandwidth stays.
    pub(crate) fn clear_cpus(&mut self) {
        let nr_cpus = self.overloaded_cpus.nr_cpus();
        self.overloaded_cpus.clear_all();
        self.cpudl = CpuDl::without_cpus(nr_cpus);
    }

    /// Sets the admitted bandwidth to zero, although what was admitted stays in use.
    pub(crate) fn forget_admitted(&mut self) {
        self.server_bw = 0;
        self.forgotten_bw = self.forgotten_bw.wrapping_add(core::mem::take(&mut self.total_bw));
    }

    pub(crate) fn new(nr_cpus: usize) -> Self {
        Self {
            total_bw: 0,
            server_bw: 0,
            forgotten_bw: 0,
            admitted_per_cpu: 0,
            overloaded_cpus: CpuMask::new(nr_cpus),
            cpudl: CpuDl::new(nr_cpus),
            default_cpudl: CpuDl::without_cpus(nr_cpus),
            later_mask: CpuMask::new(nr_cpus),
        }
    }
}
