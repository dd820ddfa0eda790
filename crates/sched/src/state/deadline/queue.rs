// SPDX-License-Identifier: GPL-2.0-or-later
//! Deadline tasks in the order of their deadlines.
//!
//! The kernel's red-black trees are sorted ring buffers here; of equal deadlines, the one inserted first goes first.

use crate::state::deadline::entity::time_before;
use crate::state::rq::QUEUE_CAPACITY;
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
