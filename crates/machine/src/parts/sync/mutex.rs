// SPDX-License-Identifier: GPL-2.0-or-later
//! Mutexes, and the order of their waiters.

use fairlab_sched::state::snapshot::WaiterKey;
use std::collections::VecDeque;

/// Task that waits for a mutex, by its index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) task: usize,
    /// Position with priority inheritance, as of the time when the task was queued; equal for all without.
    pub(crate) key: WaiterKey,
}

/// A mutex, with indices of the machine's tasks.
#[derive(Debug, Default)]
pub(crate) struct Mutex {
    owner: Option<usize>,
    waiters: VecDeque<Waiter>,
}

impl Mutex {
    /// Task that holds the mutex.
    pub(crate) fn owner(&self) -> Option<usize> {
        self.owner
    }

    /// First waiter.
    pub(crate) fn first_waiter(&self) -> Option<Waiter> {
        self.waiters.front().copied()
    }

    /// Whether a task is the first waiter.
    pub(crate) fn is_first_waiter(&self, task: usize) -> bool {
        self.first_waiter().is_some_and(|waiter| waiter.task == task)
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

    /// Queues a waiter behind those of its position.
    pub(crate) fn queue(&mut self, waiter: Waiter) {
        let place = self.waiters.iter().take_while(|other| !waiter.key.precedes(other.key)).count();
        self.waiters.insert(place, waiter);
    }

    /// Removes a task from the waiters.
    pub(crate) fn unqueue(&mut self, task: usize) {
        self.waiters.retain(|waiter| waiter.task != task);
    }

    /// Returns the position of a waiting task.
    pub(crate) fn key_of(&self, task: usize) -> Option<WaiterKey> {
        self.waiters.iter().find(|waiter| waiter.task == task).map(|waiter| waiter.key)
    }

    /// Removes and returns the first waiter, which must try again.
    pub(crate) fn pop_waiter(&mut self) -> Option<usize> {
        self.waiters.pop_front().map(|waiter| waiter.task)
    }

    /// Makes the first waiter the owner and returns it.
    pub(crate) fn hand_over(&mut self) -> Option<usize> {
        let next = self.pop_waiter()?;
        self.owner = Some(next);
        Some(next)
    }
}
