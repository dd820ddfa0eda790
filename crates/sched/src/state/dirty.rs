// SPDX-License-Identifier: GPL-2.0-or-later
//! Setters for values that the cached load-balance statistics contain ([`crate::state::lb_cache`]). Each
//! marks its CPU dirty.
//!
//! Averages of cfs_rqs have no setter, because they change in the middle of other sums. Code that changes
//! them calls `mark_cfs_rq_dirty()`.

use crate::state::State;
use crate::types::ids::{CfsRqId, CpuId, TaskId};
use crate::types::units::Capacity;

/// Number of queued tasks that a cfs_rq gains or loses.
#[derive(Clone, Copy)]
pub(crate) struct TaskCounts {
    pub(crate) all: u32,
    /// Those that count as idle: with the policy SCHED_IDLE, and above an idle group all.
    pub(crate) idle: u32,
    /// Those whose dequeue was delayed, which are not runnable (6.12).
    pub(crate) delayed: u32,
}

impl State {
    /// Adds runnable tasks to a CPU: `add_nr_running()`. From two tasks on other CPUs might want to pull, so
    /// the root domain becomes overloaded.
    #[inline]
    pub(crate) fn add_nr_running(&mut self, cpu: CpuId, nr: u32) {
        self.lb_cache.mark_dirty(cpu);
        let rq = &mut self.rqs[cpu];
        let before = rq.nr_running;
        rq.nr_running += nr;
        // A CPU that goes offline is no longer in the root domain.
        if before < 2 && rq.nr_running >= 2 && self.domains.root.span.contains(cpu) {
            self.domains.root.overload = true;
        }
    }

    /// Removes runnable tasks from a CPU: `sub_nr_running()`.
    #[inline]
    pub(crate) fn sub_nr_running(&mut self, cpu: CpuId, nr: u32) {
        self.lb_cache.mark_dirty(cpu);
        self.rqs[cpu].nr_running -= nr;
    }

    /// Adds tasks to a cfs_rq.
    ///
    /// Marks nothing dirty: tasks that reach the root cfs_rq are runnable tasks of the CPU too, and
    /// [`State::add_nr_running`] marks it.
    #[inline]
    pub(crate) fn count_tasks_in(&mut self, cfs_rq: CfsRqId, tasks: TaskCounts) {
        let queue = &mut self.cfs_rqs[cfs_rq];
        queue.h_nr_running += tasks.all;
        queue.h_nr_runnable += tasks.all - tasks.delayed;
        queue.idle_h_nr_running += tasks.idle;
    }

    /// Removes tasks from a cfs_rq, as [`State::count_tasks_in`] adds them.
    #[inline]
    pub(crate) fn count_tasks_out(&mut self, cfs_rq: CfsRqId, tasks: TaskCounts) {
        let queue = &mut self.cfs_rqs[cfs_rq];
        queue.h_nr_running -= tasks.all;
        queue.h_nr_runnable -= tasks.all - tasks.delayed;
        queue.idle_h_nr_running -= tasks.idle;
    }

    /// Sets the running task of a CPU.
    #[inline]
    pub(crate) fn set_curr(&mut self, cpu: CpuId, task: TaskId) {
        self.lb_cache.mark_dirty(cpu);
        self.rqs[cpu].curr = task;
    }

    /// Sets whether a wake-up waits in a CPU's call-function queue.
    #[inline]
    pub(crate) fn set_ttwu_pending(&mut self, cpu: CpuId, pending: bool) {
        self.lb_cache.mark_dirty(cpu);
        self.rqs[cpu].ttwu_pending = pending;
    }

    /// Sets the capacity that other classes and interrupts leave of a CPU.
    #[inline]
    pub(crate) fn set_cpu_capacity(&mut self, cpu: CpuId, capacity: Capacity) {
        let rq = &mut self.rqs[cpu];
        if rq.cpu_capacity != capacity {
            rq.cpu_capacity = capacity;
            self.lb_cache.mark_dirty(cpu);
        }
    }
}
