// SPDX-License-Identifier: GPL-2.0-or-later
//! Deadline tasks of a CPU, and their bandwidth.
//!
//! Models `struct dl_rq`, `__enqueue_dl_entity()`, `__dequeue_dl_entity()`, `enqueue_pushable_dl_task()`,
//! `dequeue_pushable_dl_task()` and `update_dl_migration()` (6.1 and 6.12).

use crate::state::deadline::entity::{BW_SHIFT, DlEntity, time_before};
use crate::state::deadline::queue::DeadlineQueue;
use crate::state::deadline::root::DlRoot;
use crate::state::rq::Rq;
use crate::state::rt::RtRoot;
use crate::state::task::Task;
use crate::types::getters::getters;
use crate::types::ids::TaskId;
use crate::types::kernel_rules::KernelRules;
use crate::types::units::{Capacity, SCHED_CAPACITY_SHIFT};

/// Deadline tasks of a CPU: the kernel's `struct dl_rq`.
#[derive(Clone, Debug, Default)]
pub struct DlRq {
    /// Runnable tasks including the running one, without throttled ones.
    pub(crate) tasks: DeadlineQueue,
    /// Tasks that may be moved: not the running one, and none that may use only one CPU.
    pushable: DeadlineQueue,
    /// Number of runnable tasks, including the running one.
    nr_running: u32,
    /// Number of runnable tasks that may use more than one CPU.
    pub(crate) nr_migratory: u32,
    /// Whether another CPU could take tasks, by a push or a pull.
    overloaded: bool,
    /// Earliest deadline; 0 without tasks (`earliest_dl.curr`).
    earliest_curr: u64,
    /// Earliest deadline of a task that may be moved, as of the last time that there was one
    /// (`earliest_dl.next`).
    earliest_next: u64,
    /// Bandwidth of the active tasks, in units of 2^-20: they run, wait, or have slept for less than their
    /// zero-lag time.
    running_bw: u64,
    /// Bandwidth of all tasks of this CPU, in units of 2^-20.
    this_bw: u64,
}

impl DlRq {
    getters!(nr_running: u32, overloaded: bool, earliest_curr: u64, running_bw: u64, this_bw: u64);

    /// Tasks that may be moved, in the order of their deadlines.
    pub(crate) fn pushable(&self) -> &DeadlineQueue {
        &self.pushable
    }

    /// Whether a task has the earliest deadline.
    pub(crate) fn is_leftmost(&self, task: TaskId) -> bool {
        self.tasks.first().is_some_and(|(_, first)| first == task)
    }

    /// Whether a task would have the earliest deadline here (`dl_task_is_earliest_deadline()`).
    pub(crate) fn would_be_earliest(&self, dl: &DlEntity) -> bool {
        self.nr_running == 0 || time_before(dl.deadline, self.earliest_curr)
    }

    /// Whether there may be a waiting task with an earlier deadline than all tasks of `other`.
    pub(crate) fn may_have_earlier(&self, other: &Self) -> bool {
        other.nr_running == 0 || !time_before(other.earliest_curr, self.earliest_next)
    }

    /// Adds the bandwidth of a task to that of the CPU.
    pub(crate) fn add_rq_bw(&mut self, bw: u64) {
        self.this_bw += bw;
    }

    /// Subtracts the bandwidth of a task from that of the CPU.
    pub(crate) fn sub_rq_bw(&mut self, bw: u64) {
        self.this_bw = self.this_bw.saturating_sub(bw);
    }

    /// Adds the bandwidth of a task that becomes active.
    pub(crate) fn add_running_bw(&mut self, bw: u64) {
        self.running_bw += bw;
    }

    /// Subtracts the bandwidth of a task that is no longer active.
    pub(crate) fn sub_running_bw(&mut self, bw: u64) {
        self.running_bw = self.running_bw.saturating_sub(bw);
    }

    /// Capacity that the active tasks need: `cpu_bw_dl()`.
    pub(crate) fn cpu_bw(&self) -> Capacity {
        (self.running_bw << SCHED_CAPACITY_SHIFT) >> BW_SHIFT
    }
}

impl Rq {
    /// Adds a task to the queue and counts it (`__enqueue_dl_entity()`).
    pub(crate) fn queue_dl(&mut self, dl_root: &mut DlRoot, rt_root: &mut RtRoot, task: TaskId, p: &mut Task) {
        p.dl.is_queued = true;
        let (dl, deadline) = (&mut self.dl, p.dl.deadline);
        dl.tasks.insert(deadline, task);
        dl.nr_running += 1;
        dl.nr_migratory += u32::from(p.nr_cpus_allowed > 1);
        let is_only = dl.earliest_curr == 0;
        if is_only || time_before(deadline, dl.earliest_curr) {
            dl.earliest_curr = deadline;
            if self.online {
                dl_root.cpudl.set(self.cpu, deadline);
            }
        }
        if is_only {
            self.set_cpupri_of_deadline(rt_root, true);
        }
    }

    /// Removes a task from the queue and counts it out (`__dequeue_dl_entity()`). Returns whether it was queued.
    pub(crate) fn unqueue_dl(
        &mut self,
        dl_root: &mut DlRoot,
        rt_root: &mut RtRoot,
        task: TaskId,
        p: &mut Task,
    ) -> bool {
        if !core::mem::take(&mut p.dl.is_queued) {
            return false;
        }
        let dl = &mut self.dl;
        dl.tasks.remove(p.dl.deadline, task);
        dl.nr_running -= 1;
        dl.nr_migratory -= u32::from(p.nr_cpus_allowed > 1);
        if let Some((first, _)) = dl.tasks.first() {
            dl.earliest_curr = first;
            if self.online {
                dl_root.cpudl.set(self.cpu, first);
            }
        } else {
            (dl.earliest_curr, dl.earliest_next) = (0, 0);
            dl_root.cpudl.clear(self.cpu, self.online);
            self.set_cpupri_of_deadline(rt_root, false);
        }
        true
    }

    /// Adds a waiting task to the pushable tasks, if it may use more than one CPU. A governor's thread goes first.
    pub(crate) fn add_pushable_dl(&mut self, root: &mut DlRoot, rules: &KernelRules, task: TaskId, p: &mut Task) {
        if p.nr_cpus_allowed <= 1 {
            return;
        }
        debug_assert!(!p.dl.is_pushable, "{task:?} can be pushed already");
        p.dl.is_pushable = true;
        let (dl, deadline) = (&mut self.dl, p.dl.deadline);
        let is_first = if p.dl.is_special {
            dl.pushable.insert_first(deadline, task);
            true
        } else {
            dl.pushable.insert(deadline, task)
        };
        if is_first {
            dl.earliest_next = deadline;
        }
        if rules.dl_overload_by_pushable {
            self.update_dl_overload(root, rules);
        }
    }

    /// Removes a task from the pushable tasks, if it is one of them.
    pub(crate) fn remove_pushable_dl(&mut self, root: &mut DlRoot, rules: &KernelRules, task: TaskId, p: &mut Task) {
        if !core::mem::take(&mut p.dl.is_pushable) {
            return;
        }
        let dl = &mut self.dl;
        let was_first = dl.pushable.remove(p.dl.deadline, task);
        if let Some((deadline, _)) = dl.pushable.first().filter(|_| was_first) {
            dl.earliest_next = deadline;
        }
        if rules.dl_overload_by_pushable {
            self.update_dl_overload(root, rules);
        }
    }

    /// Updates whether the CPU is overloaded: it has several deadline tasks, and at least one may migrate
    /// (`update_dl_migration()`). In 6.12 it has pushable ones.
    pub(crate) fn update_dl_overload(&mut self, root: &mut DlRoot, rules: &KernelRules) {
        let dl = &mut self.dl;
        let is_overloaded = if rules.dl_overload_by_pushable {
            !dl.pushable.is_empty()
        } else {
            dl.nr_migratory > 0 && dl.nr_running > 1
        };
        if core::mem::replace(&mut dl.overloaded, is_overloaded) != is_overloaded && self.online {
            root.set_overload(self.cpu, is_overloaded);
        }
    }

    /// Adds the deadline tasks of a runqueue to its root domain (`rq_online_dl()`).
    pub(crate) fn dl_online(&self, root: &mut DlRoot) {
        if self.dl.overloaded {
            root.set_overload(self.cpu, true);
        }
        if self.dl.nr_running > 0 {
            root.cpudl.set(self.cpu, self.dl.earliest_curr);
        } else {
            root.cpudl.clear(self.cpu, true);
        }
    }
}
