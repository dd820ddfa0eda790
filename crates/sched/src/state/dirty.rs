// SPDX-License-Identifier: GPL-2.0-or-later
//! Setters for values that the cached load-balance statistics contain ([`crate::state::lb_cache`]). Each
//! marks its CPU dirty.
//!
//! Averages of cfs_rqs have no setter, because they change in the middle of other sums. Code that changes
//! them calls `mark_cfs_rq_dirty()`.

use crate::state::lb_cache::LbCache;
use crate::state::rq::Rq;
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::topology::RootDomain;
use crate::types::ids::TaskId;
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

impl CfsRq {
    /// Adds tasks to the cfs_rq.
    ///
    /// Marks nothing dirty: tasks that reach the root cfs_rq are runnable tasks of the CPU too, and
    /// [`Rq::add_nr_running`] marks it.
    #[inline]
    pub(crate) fn count_tasks_in(&mut self, tasks: TaskCounts) {
        self.h_nr_running += tasks.all;
        self.h_nr_runnable += tasks.all - tasks.delayed;
        self.idle_h_nr_running += tasks.idle;
    }

    /// Removes tasks from the cfs_rq, as [`CfsRq::count_tasks_in`] adds them.
    #[inline]
    pub(crate) fn count_tasks_out(&mut self, tasks: TaskCounts) {
        self.h_nr_running -= tasks.all;
        self.h_nr_runnable -= tasks.all - tasks.delayed;
        self.idle_h_nr_running -= tasks.idle;
    }

    /// Adds tasks that reach the cfs_rq from below. Above an idle group all of them count as idle.
    #[inline]
    pub(crate) fn count_in(&mut self, tasks: &mut TaskCounts) {
        self.count_tasks_in(*tasks);
        if self.is_idle {
            tasks.idle = tasks.all;
        }
    }

    /// Removes tasks, as [`CfsRq::count_in`] adds them.
    #[inline]
    pub(crate) fn count_out(&mut self, tasks: &mut TaskCounts) {
        self.count_tasks_out(*tasks);
        if self.is_idle {
            tasks.idle = tasks.all;
        }
    }
}

impl Rq {
    /// Adds runnable tasks to the CPU: `add_nr_running()`. From two tasks on other CPUs might want to pull, so
    /// the root domain becomes overloaded.
    #[inline]
    pub(crate) fn add_nr_running(&mut self, lb_cache: &mut LbCache, root: &mut RootDomain, nr: u32) {
        lb_cache.mark_dirty(self.cpu);
        let before = self.nr_running;
        self.nr_running += nr;
        // A CPU that goes offline is no longer in the root domain.
        if before < 2 && self.nr_running >= 2 && root.span.contains(self.cpu) {
            root.overload = true;
        }
    }

    /// Removes runnable tasks from the CPU: `sub_nr_running()`.
    #[inline]
    pub(crate) fn sub_nr_running(&mut self, lb_cache: &mut LbCache, nr: u32) {
        lb_cache.mark_dirty(self.cpu);
        self.nr_running -= nr;
    }

    /// Sets the running task of the CPU.
    #[inline]
    pub(crate) fn set_curr(&mut self, lb_cache: &mut LbCache, task: TaskId) {
        lb_cache.mark_dirty(self.cpu);
        self.curr = task;
    }

    /// Sets whether a wake-up waits in the CPU's call-function queue.
    #[inline]
    pub(crate) fn set_ttwu_pending(&mut self, lb_cache: &mut LbCache, pending: bool) {
        lb_cache.mark_dirty(self.cpu);
        self.ttwu_pending = pending;
    }

    /// Sets the capacity that other classes and interrupts leave of the CPU.
    #[inline]
    pub(crate) fn set_cpu_capacity(&mut self, lb_cache: &mut LbCache, capacity: Capacity) {
        if self.cpu_capacity != capacity {
            self.cpu_capacity = capacity;
            lb_cache.mark_dirty(self.cpu);
        }
    }
}
