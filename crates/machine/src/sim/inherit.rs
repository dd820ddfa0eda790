// SPDX-License-Identifier: GPL-2.0-or-later
//! Mutexes with priority inheritance (rt-app's `pi_enabled`): who waits for whom, and the chains that this makes.
//!
//! Stands for the kernel's `rtmutex.c` and futexes of the kind PI (6.1): waiters stand in the order of their priorities, and
//! the owner hands the mutex over to the first.
//
// DIFFERS: a task that comes between the unlocking and the moment when the new owner runs does not get the mutex, even if
// it is more important.

use super::Machine;
use super::sync::Resume;
use crate::engine::Engine;
use crate::observer::Observer;
use crate::sim::KernelPath;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_workload::step::ObjectId;

impl<E: Engine> Machine<E> {
    /// The running task waits for a mutex, and its owner inherits its priority, as do those for whom the owner waits.
    ///
    /// One that waits for itself does so for ever.
    pub(super) fn wait_for_owner(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize, mutex: ObjectId) {
        self.tasks[task].resume = Resume::Lock(mutex);
        if self.sync.mutexes[mutex].owner == Some(task) {
            return;
        }
        self.tasks[task].blocked_on = Some(mutex);
        self.queue_waiter(task, mutex);
        self.adjust_chain(observer, cpu, mutex);
    }

    /// A mutex goes from its owner to the first that waits for it, which is woken. The old owner inherits less from now on.
    pub(super) fn hand_over(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, owner: usize, mutex: ObjectId) {
        let Some(next) = self.sync.mutexes[mutex].waiters.pop_front() else { return };
        self.sync.mutexes[mutex].owner = Some(next);
        self.tasks[next].blocked_on = None;
        self.tasks[next].resume = Resume::Nothing;
        self.inherit(observer, cpu, owner);
        self.inherit(observer, cpu, next);
        self.wake(observer, cpu, next, false);
    }

    /// Puts a task among the waiters of a mutex, behind those that go before it or are equal.
    fn queue_waiter(&mut self, task: usize, mutex: ObjectId) {
        let id = self.id_of(task);
        let waiters = &self.sync.mutexes[mutex].waiters;
        let is_before = |&other: &usize| !self.sched.waits_before(id, self.id_of(other));
        let place = waiters.iter().take_while(|other| is_before(other)).count();
        self.sync.mutexes[mutex].waiters.insert(place, task);
    }

    /// The waiters of a mutex have changed: its owner inherits, and if it waits too, so does the owner of what it waits for,
    /// and so on. A circle ends where it began.
    fn adjust_chain(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, mutex: ObjectId) {
        let mut mutex = mutex;
        for _ in 0..self.sync.mutexes.len() {
            let Some(owner) = self.sync.mutexes[mutex].owner else { return };
            self.inherit(observer, cpu, owner);
            let Some(next) = self.tasks[owner].blocked_on else { return };
            self.sync.mutexes[next].waiters.retain(|&waiter| waiter != owner);
            self.queue_waiter(owner, next);
            mutex = next;
        }
    }

    /// A task inherits from the most important one that waits for a mutex of its own.
    fn inherit(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, owner: usize) {
        let owned = self.sync.mutexes.iter().filter(|mutex| mutex.owner == Some(owner));
        let first_waiters = owned.filter_map(|mutex| mutex.waiters.front()).map(|&waiter| self.id_of(waiter));
        let most = first_waiters.reduce(|a, b| if self.sched.waits_before(b, a) { b } else { a });
        let owner = self.id_of(owner);
        self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.inherit_priority(ctx, owner, most));
    }

    fn id_of(&self, task: usize) -> TaskId {
        self.tasks[task].id.expect("who takes or waits for a mutex was forked")
    }
}
