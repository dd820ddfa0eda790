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
use crate::parts::sync::{Mutex, ResumeAction};
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_workload::step::ObjectId;

impl<E: Engine> Machine<E> {
    /// Queues the running task for a mutex. Its owner inherits the task's priority, and so do the owners for
    /// which that one waits.
    ///
    /// A task that waits for its own mutex waits for ever.
    pub(crate) fn wait_for_owner(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize, mutex: ObjectId) {
        self.tasks[task].resume = ResumeAction::Lock(mutex);
        if self.sync.mutex(mutex).owner() == Some(task) {
            return;
        }
        self.tasks[task].blocked_on = Some(mutex);
        self.queue_waiter(task, mutex);
        self.adjust_chain(observer, cpu, mutex);
    }

    /// Hands a mutex over from its owner to the first waiter and wakes that waiter. The inherited priority of
    /// the old owner is recomputed.
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
        self.update_inheritance(observer, cpu, next);
        self.wake_by_futex(observer, cpu, next);
    }

    /// Inserts a task among the waiters of a mutex, behind waiters of equal or higher priority.
    fn queue_waiter(&mut self, task: usize, mutex: ObjectId) {
        let (id, tasks, sched) = (self.tasks.id(task), &self.tasks, &self.sched);
        self.sync.mutex(mutex).queue_behind(task, |waiter| !sched.waits_before(id, tasks.id(waiter)));
    }

    /// Updates the inheritance of a mutex owner after a change of the waiters, and then that of the owners
    /// for which it waits. A cycle ends where it began.
    fn adjust_chain(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, mutex: ObjectId) {
        let mut mutex = mutex;
        for _ in 0..self.sync.mutexes().len() {
            let Some(owner) = self.sync.mutex(mutex).owner() else { return };
            self.update_inheritance(observer, cpu, owner);
            let Some(next) = self.tasks[owner].blocked_on else { return };
            self.sync.mutex(next).unqueue(owner);
            self.queue_waiter(owner, next);
            mutex = next;
        }
    }

    /// Recomputes the priority that a task inherits: that of the first waiter of its mutexes.
    fn update_inheritance(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, owner: usize) {
        let owned = self.sync.mutexes().iter().filter(|mutex| mutex.owner() == Some(owner));
        let first_waiters = owned.filter_map(Mutex::first_waiter).map(|waiter| self.tasks.id(waiter));
        let most = first_waiters.reduce(|a, b| if self.sched.waits_before(b, a) { b } else { a });
        let owner = self.tasks.id(owner);
        self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.inherit_priority(ctx, owner, most));
    }
}
