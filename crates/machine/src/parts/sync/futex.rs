// SPDX-License-Identifier: GPL-2.0-or-later
//! Futexes, lists of tasks that wait for a post, and per-CPU spinlocks.

use fairlab_workload::step::ObjectId;

/// A futex: a word, and the task that waits for a post.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Futex {
    is_armed: bool,
    waiter: Option<usize>,
}

impl Default for Futex {
    fn default() -> Self {
        Self { is_armed: true, waiter: None }
    }
}

impl Futex {
    /// Task that waits for a post.
    pub(crate) fn waiter(&self) -> Option<usize> {
        self.waiter
    }

    /// Whether the futex is not posted.
    pub(crate) fn is_armed(&self) -> bool {
        self.is_armed
    }

    /// Arms the futex: it counts as not posted.
    pub(crate) fn arm(&mut self) {
        self.is_armed = true;
    }

    /// Posts the futex. Removes and returns its waiter.
    pub(crate) fn post(&mut self) -> Option<usize> {
        self.is_armed = false;
        self.waiter.take()
    }

    /// Makes a task wait for a post. Returns false if the futex is posted already.
    pub(crate) fn wait(&mut self, task: usize) -> bool {
        if self.is_armed {
            debug_assert!(self.waiter.is_none(), "one task waits for a futex");
            self.waiter = Some(task);
        }
        self.is_armed
    }
}

/// Tasks that wait for a post, each with its futex.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaiterList(Vec<(usize, ObjectId)>);

impl WaiterList {
    /// Adds a task.
    pub(crate) fn join(&mut self, task: usize, futex: ObjectId) {
        self.0.push((task, futex));
    }

    /// Whether no task waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes and returns all entries.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (usize, ObjectId)> {
        self.0.drain(..)
    }
}

/// A per-CPU lock with its spinning tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuLock {
    owner: Option<usize>,
    spinners: Vec<usize>,
}

impl CpuLock {
    /// Adds a task to those that spin if the lock is held. Returns whether it is.
    pub(crate) fn must_spin(&mut self, task: usize) -> bool {
        let is_held = self.owner.is_some();
        if is_held {
            self.spinners.push(task);
        }
        is_held
    }

    /// Takes the free lock for a task.
    pub(crate) fn take(&mut self, task: usize) {
        self.owner = Some(task);
    }

    /// Releases the lock. The spinning tasks must be stopped.
    pub(crate) fn release(&mut self) {
        self.owner = None;
    }

    /// Removes and returns the spinning tasks, each of which must try again.
    pub(crate) fn take_spinners(&mut self) -> Vec<usize> {
        core::mem::take(&mut self.spinners)
    }
}
