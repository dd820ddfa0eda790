// SPDX-License-Identifier: GPL-2.0-or-later
//! List of a runqueue's fair tasks, newest first: the kernel's `rq->cfs_tasks`.
//!
//! Load balancing goes through it from the end, where the tasks are that have not run for the longest time.
//! The links are stored in the tasks.

use crate::state::task::Tasks;
use crate::types::ids::TaskId;

/// Neighbours of a task in the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskLinks {
    newer: Option<TaskId>,
    older: Option<TaskId>,
}

/// Both ends of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskList {
    newest: Option<TaskId>,
    oldest: Option<TaskId>,
}

impl TaskList {
    /// Task at the head of the list.
    #[inline]
    pub fn newest(&self) -> Option<TaskId> {
        self.newest
    }

    /// Task at the end of the list.
    #[inline]
    pub fn oldest(&self) -> Option<TaskId> {
        self.oldest
    }

    /// Task before another one, towards the newest.
    pub fn newer(tasks: &Tasks, task: TaskId) -> Option<TaskId> {
        tasks[task].links.newer
    }

    /// Whether the list has no tasks.
    pub fn is_empty(&self) -> bool {
        self.newest.is_none()
    }

    /// Adds a task as the newest.
    pub fn push_newest(&mut self, tasks: &mut Tasks, task: TaskId) {
        tasks[task].links = TaskLinks { newer: None, older: self.newest };
        match self.newest {
            Some(second) => tasks[second].links.newer = Some(task),
            None => self.oldest = Some(task),
        }
        self.newest = Some(task);
    }

    /// Removes a task from any position.
    pub fn remove(&mut self, tasks: &mut Tasks, task: TaskId) {
        let TaskLinks { newer, older } = core::mem::take(&mut tasks[task].links);
        match newer {
            Some(newer) => tasks[newer].links.older = older,
            None => self.newest = older,
        }
        match older {
            Some(older) => tasks[older].links.newer = newer,
            None => self.oldest = newer,
        }
    }

    /// Makes a task that is in the list the newest.
    #[inline]
    pub fn move_to_newest(&mut self, tasks: &mut Tasks, task: TaskId) {
        if self.newest != Some(task) {
            self.remove(tasks, task);
            self.push_newest(tasks, task);
        }
    }

    /// Tasks from the oldest to the newest.
    pub fn iter_from_oldest<'a>(&self, tasks: &'a Tasks) -> impl Iterator<Item = TaskId> + 'a {
        core::iter::successors(self.oldest, |task| tasks[*task].links.newer)
    }
}
