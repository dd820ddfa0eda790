// SPDX-License-Identifier: GPL-2.0-or-later
//! Mutexes, and the order of their waiters.

use std::collections::VecDeque;

/// A mutex, with indices of the machine's tasks.
#[derive(Debug, Default)]
pub(crate) struct Mutex {
    owner: Option<usize>,
    waiters: VecDeque<usize>,
}

impl Mutex {
    /// Task that holds the mutex.
    pub(crate) fn owner(&self) -> Option<usize> {
        self.owner
    }

    /// First waiter.
    pub(crate) fn first_waiter(&self) -> Option<usize> {
        self.waiters.front().copied()
    }

    /// Takes the mutex for a task if it is free.
    pub(crate) fn try_lock(&mut self, task: usize) -> bool {
        let is_free = self.owner.is_none();
        if is_free {
            self.owner = Some(task);
        }
        is_free
    }

    /// Releases the mutex if the task holds it.
    pub(crate) fn try_unlock(&mut self, task: usize) -> bool {
        let is_owner = self.owner == Some(task);
        if is_owner {
            self.owner = None;
        }
        is_owner
    }

    /// Queues a task behind all waiters.
    pub(crate) fn queue(&mut self, task: usize) {
        self.waiters.push_back(task);
    }

    /// Queues a task behind the first waiters for which `precedes` holds.
    pub(crate) fn queue_behind(&mut self, task: usize, precedes: impl Fn(usize) -> bool) {
        let place = self.waiters.iter().take_while(|&&waiter| precedes(waiter)).count();
        self.waiters.insert(place, task);
    }

    /// Removes a task from the waiters.
    pub(crate) fn unqueue(&mut self, task: usize) {
        self.waiters.retain(|&waiter| waiter != task);
    }

    /// Removes and returns the longest waiter, which must try again.
    pub(crate) fn pop_waiter(&mut self) -> Option<usize> {
        self.waiters.pop_front()
    }

    /// Makes the first waiter the owner and returns it.
    pub(crate) fn hand_over(&mut self) -> Option<usize> {
        let next = self.waiters.pop_front()?;
        self.owner = Some(next);
        Some(next)
    }
}
