// SPDX-License-Identifier: GPL-2.0-or-later
//! Where real-time tasks wait: a queue for each priority, and the list of those that could run elsewhere.
//!
//! Models `struct rt_prio_array` and the ordered list (`plist`) of pushable tasks (6.1).

use crate::state::prio::{MAX_RT_PRIO, Prio};
use crate::state::rq::ROOM;
use crate::state::rt::NO_PRIO;
use crate::state::task::Task;
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

/// Both ends of the queue of a priority.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    head: Option<TaskId>,
    tail: Option<TaskId>,
}

/// Queues by priority; the links are in the tasks.
#[derive(Clone, Debug)]
pub(crate) struct PriorityQueues {
    queues: Box<[Queue]>,
    /// Bit by bit, which queues are not empty.
    occupied: u128,
}

impl Default for PriorityQueues {
    fn default() -> Self {
        Self { queues: vec![Queue::default(); MAX_RT_PRIO as usize].into_boxed_slice(), occupied: 0 }
    }
}

impl PriorityQueues {
    /// Puts a task behind or before the others of its priority.
    pub(crate) fn insert(&mut self, tasks: &mut [Task], task: TaskId, at_head: bool) {
        let prio = tasks[task.index()].prio();
        let queue = &mut self.queues[prio as usize];
        let links = if at_head {
            RtLinks { before: None, behind: queue.head.replace(task) }
        } else {
            RtLinks { before: queue.tail.replace(task), behind: None }
        };
        tasks[task.index()].rt.links = links;
        match links.before {
            Some(before) => tasks[before.index()].rt.links.behind = Some(task),
            None => queue.head = Some(task),
        }
        match links.behind {
            Some(behind) => tasks[behind.index()].rt.links.before = Some(task),
            None => queue.tail = Some(task),
        }
        self.occupied |= 1 << prio;
    }

    /// Takes a task out, wherever it stands.
    pub(crate) fn remove(&mut self, tasks: &mut [Task], task: TaskId) {
        let p = &mut tasks[task.index()];
        let prio = p.prio();
        let RtLinks { before, behind } = core::mem::replace(&mut p.rt.links, RtLinks::NONE);
        let queue = &mut self.queues[prio as usize];
        match before {
            Some(before) => tasks[before.index()].rt.links.behind = behind,
            None => queue.head = behind,
        }
        match behind {
            Some(behind) => tasks[behind.index()].rt.links.before = before,
            None => queue.tail = before,
        }
        if queue.head.is_none() {
            self.occupied &= !(1 << prio);
        }
    }

    /// The highest priority of a queued task.
    pub(crate) fn highest(&self) -> Prio {
        if self.occupied == 0 { NO_PRIO } else { self.occupied.trailing_zeros() as Prio }
    }

    /// The first task of the highest priority.
    pub(crate) fn first(&self) -> Option<TaskId> {
        self.queues[self.highest() as usize].head
    }

    /// All tasks, from the highest priority on and in the order of its queue.
    pub(crate) fn iter<'a>(&'a self, tasks: &'a [Task]) -> impl Iterator<Item = TaskId> + 'a {
        let behind = |&task: &TaskId| tasks[task.index()].rt.links.behind;
        self.queues.iter().flat_map(move |queue| core::iter::successors(queue.head, behind))
    }

    /// Whether no other task of a priority is queued.
    pub(crate) fn is_alone(&self, prio: Prio) -> bool {
        let queue = &self.queues[prio as usize];
        queue.head == queue.tail
    }
}

/// Tasks by priority, among equals in the order in which they came.
#[derive(Clone, Debug)]
pub(crate) struct Pushable {
    tasks: Vec<(Prio, TaskId)>,
}

impl Default for Pushable {
    fn default() -> Self {
        Self { tasks: Vec::with_capacity(ROOM) }
    }
}

impl Pushable {
    /// Puts a task behind those of its priority; if it is there already, it moves there.
    pub(crate) fn insert(&mut self, prio: Prio, task: TaskId) {
        self.remove(task);
        let place = self.tasks.partition_point(|&(other, _)| other <= prio);
        self.tasks.insert(place, (prio, task));
    }

    /// Takes a task out, if it is there.
    pub(crate) fn remove(&mut self, task: TaskId) {
        if let Some(place) = self.tasks.iter().position(|&(_, other)| other == task) {
            self.tasks.remove(place);
        }
    }

    /// The first of the highest priority.
    pub(crate) fn first(&self) -> Option<(Prio, TaskId)> {
        self.tasks.first().copied()
    }

    /// The tasks in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Prio, TaskId)> + '_ {
        self.tasks.iter().copied()
    }
}
