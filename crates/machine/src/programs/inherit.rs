// SPDX-License-Identifier: GPL-2.0-or-later
//! Mutexes with priority inheritance (rt-app's `pi_enabled`), and chains of owners that wait.
//!
//! Models the kernel's `rtmutex.c` and PI futexes (6.1): waiters are ordered by priority, and the owner hands
//! the mutex over to the first.
//
// DIFFERS: in fairlab, a task that tries to lock a PI mutex between the unlock and the first instruction of
// the new owner has to wait. A kernel gives it the mutex if its priority is higher.

use crate::engine::Engine;
use crate::interface::observation::KernelPath;
use crate::observer::Observer;
use crate::parts::sync::{Mutex, ResumeAction, Waiter};
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_workload::step::ObjectId;

impl<E: Engine> Machine<E> {
    /// Queues the running task for a mutex. Its owner inherits the task's priority, and so do the owners for
    /// which that one waits.
    ///
    /// A task that waits for its own mutex waits for ever. One that something else has woken keeps its place.
    pub(crate) fn wait_for_owner(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize, mutex: ObjectId) {
        self.tasks[task].resume = ResumeAction::Lock(mutex);
        if self.sync.mutex(mutex).owner() == Some(task) || self.tasks[task].blocked_on.is_some() {
            return;
        }
        self.tasks[task].blocked_on = Some(mutex);
        self.queue_waiter(task, mutex);
        if self.sync.mutex(mutex).is_first_waiter(task) {
            self.adjust_owner(observer, cpu, mutex);
        }
    }

    /// Hands a mutex over from its owner to the first waiter and wakes that waiter. The inherited priority of
    /// the old owner is recomputed. The new owner is at least as important as those who still wait.
    pub(crate) fn hand_over_mutex(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        owner: usize,
        mutex: ObjectId,
    ) {
        let Some(next) = self.sync.mutex(mutex).hand_over() else { return };
        self.tasks[next].blocked_on = None;
        self.tasks[next].resume = ResumeAction::Nothing;
        self.update_inheritance(observer, cpu, owner);
        self.wake_by_futex(observer, cpu, next);
    }

    /// Moves a task that waits for a mutex to the position that its present priority gives it, and adjusts the
    /// owner (`rt_mutex_adjust_pi()`). Does nothing if the position is the former one, or the task waits for none.
    pub(crate) fn requeue_waiter(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) {
        let Some(mutex) = self.tasks[task].blocked_on else { return };
        if self.sync.mutex(mutex).key_of(task) == Some(self.sched.waiter_key(self.tasks.id(task))) {
            return;
        }
        let was_first = self.sync.mutex(mutex).is_first_waiter(task);
        self.sync.mutex(mutex).unqueue(task);
        self.queue_waiter(task, mutex);
        if was_first || self.sync.mutex(mutex).is_first_waiter(task) {
            self.adjust_owner(observer, cpu, mutex);
        }
    }

    /// Queues a task among the waiters of a mutex by its present priority.
    fn queue_waiter(&mut self, task: usize, mutex: ObjectId) {
        let key = self.sched.waiter_key(self.tasks.id(task));
        self.sync.mutex(mutex).queue(Waiter { task, key });
    }

    /// Updates the inheritance of a mutex owner after a change of the first waiter, and then that of the owners
    /// for which it waits: `rt_mutex_adjust_prio_chain()`. A cycle ends when no position changes any more.
    fn adjust_owner(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, mutex: ObjectId) {
        let Some(owner) = self.sync.mutex(mutex).owner() else { return };
        self.update_inheritance(observer, cpu, owner);
        self.requeue_waiter(observer, cpu, owner);
    }

    /// Recomputes the priority that a task inherits: that of the first waiter of its mutexes.
    fn update_inheritance(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, owner: usize) {
        let owned = self.sync.mutexes().iter().filter(|mutex| mutex.owner() == Some(owner));
        let first_waiters = owned.filter_map(Mutex::first_waiter);
        let most = first_waiters.reduce(|a, b| if b.key.precedes(a.key) { b } else { a });
        let (owner, most) = (self.tasks.id(owner), most.map(|waiter| self.tasks.id(waiter.task)));
        self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.inherit_priority(ctx, owner, most));
    }
}
