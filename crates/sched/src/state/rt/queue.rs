// SPDX-License-Identifier: GPL-2.0-or-later
//! Queues of real-time tasks: one for each priority, and the list of tasks that another CPU could run.
//!
//! Models `struct rt_prio_array` and the ordered list (`plist`) of pushable tasks (6.1).

use crate::state::prio::{MAX_RT_PRIO, Prio};
use crate::state::rq::QUEUE_CAPACITY;
use crate::state::rt::NO_PRIO;
use crate::state::task::Tasks;
use crate::types::ids::TaskId;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Neighbours of a task in the queue of its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RtLinks {
    before: Option<TaskId>,
    behind: Option<TaskId>,
}

impl RtLinks {
    pub(crate) const NONE: Self = Self { before: None, behind: None };
}

/// Both ends of the queue of one priority.
#[derive(Clone, Copy, Debug, Default)]
struct PrioQueue {
    head: Option<TaskId>,
    tail: Option<TaskId>,
}

/// Queues by priority. The links are stored in the tasks.
#[derive(Clone, Debug)]
pub(crate) struct RtPrioArray {
    queues: Box<[PrioQueue]>,
    /// One bit for each queue that is not empty.
    occupied: u128,
}

impl Default for RtPrioArray {
    fn default() -> Self {
        Self { queues: vec![PrioQueue::default(); MAX_RT_PRIO as usize].into_boxed_slice(), occupied: 0 }
    }
}

impl RtPrioArray {
    /// Inserts a task behind the other tasks of its priority, or before them with `at_head`.
    pub(crate) fn insert(&mut self, tasks: &mut Tasks, task: TaskId, at_head: bool) {
        let prio = tasks[task].prio();
        let queue = &mut self.queues[prio as usize];
        let links = if at_head {
            RtLinks { before: None, behind: queue.head.replace(task) }
        } else {
            RtLinks { before: queue.tail.replace(task), behind: None }
        };
        tasks[task].rt.links = links;
        match links.before {
            Some(before) => tasks[before].rt.links.behind = Some(task),
            None => queue.head = Some(task),
        }
        match links.behind {
            Some(behind) => tasks[behind].rt.links.before = Some(task),
            None => queue.tail = Some(task),
        }
        self.occupied |= 1 << prio;
    }

    /// Removes a task from any position.
    pub(crate) fn remove(&mut self, tasks: &mut Tasks, task: TaskId) {
        let p = &mut tasks[task];
        let prio = p.prio();
        let RtLinks { before, behind } = core::mem::replace(&mut p.rt.links, RtLinks::NONE);
        let queue = &mut self.queues[prio as usize];
        match before {
            Some(before) => tasks[before].rt.links.behind = behind,
            None => queue.head = behind,
        }
        match behind {
            Some(behind) => tasks[behind].rt.links.before = before,
            None => queue.tail = before,
        }
        if queue.head.is_none() {
            self.occupied &= !(1 << prio);
        }
    }

    /// Highest priority of a queued task, or [`NO_PRIO`].
    pub(crate) fn highest(&self) -> Prio {
        if self.occupied == 0 { NO_PRIO } else { self.occupied.trailing_zeros() as Prio }
    }

    /// First task of the highest priority.
    pub(crate) fn first(&self) -> Option<TaskId> {
        self.queues[self.highest() as usize].head
    }

    /// All tasks, from the highest priority on, in the order of their queues.
    pub(crate) fn iter<'a>(&'a self, tasks: &'a Tasks) -> impl Iterator<Item = TaskId> + 'a {
        let behind = |&task: &TaskId| tasks[task].rt.links.behind;
        self.queues.iter().flat_map(move |queue| core::iter::successors(queue.head, behind))
    }

    /// Whether at most one task of a priority is queued.
    pub(crate) fn is_alone(&self, prio: Prio) -> bool {
        let queue = &self.queues[prio as usize];
        queue.head == queue.tail
    }
}

/// Tasks sorted by priority; tasks of equal priority in the order in which they were inserted.
#[derive(Clone, Debug)]
pub(crate) struct PushableTasks {
    tasks: Vec<(Prio, TaskId)>,
}

impl Default for PushableTasks {
    fn default() -> Self {
        Self { tasks: Vec::with_capacity(QUEUE_CAPACITY) }
    }
}

impl PushableTasks {
    /// Inserts a task behind those of its priority. A task that is in the list already moves there.
    pub(crate) fn insert(&mut self, prio: Prio, task: TaskId) {
        self.remove(task);
        let place = self.tasks.partition_point(|&(other, _)| other <= prio);
        self.tasks.insert(place, (prio, task));
    }

    /// Removes a task, if it is in the list.
    pub(crate) fn remove(&mut self, task: TaskId) {
        if let Some(place) = self.tasks.iter().position(|&(_, other)| other == task) {
            self.tasks.remove(place);
        }
    }

    /// First task of the highest priority, with that priority.
    pub(crate) fn first(&self) -> Option<(Prio, TaskId)> {
        self.tasks.first().copied()
    }

    /// Tasks in the order of the list.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Prio, TaskId)> + '_ {
        self.tasks.iter().copied()
    }
}
