// SPDX-License-Identifier: GPL-2.0-or-later
//! Steps on mutexes, conditions, barriers and semaphores, and on names for suspend and resume.

use crate::engine::Engine;
use crate::interface::observation::{Activity, KeepingObject};
use crate::observer::Observer;
use crate::parts::sync::{ResumeAction, StepOutcome, Waiter};
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::state::snapshot::WaiterKey;
use fairlab_workload::step::ObjectId;

impl<E: Engine> Machine<E> {
    /// Takes a mutex for the running task, or queues the task for it. A task that takes a mutex twice waits
    /// for ever, as with a plain pthread mutex.
    pub(crate) fn lock(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        mutex: ObjectId,
    ) -> StepOutcome {
        if self.sync.mutex(mutex).try_lock(task) {
            return StepOutcome::Continue;
        }
        self.report_activity(observer, Activity::ReachedLock { task });
        if self.workload.objects.priority_inheritance {
            self.wait_for_owner(observer, cpu, task, mutex);
            return StepOutcome::Wait;
        }
        // A task that something else has woken waits again, behind the others.
        self.sync.mutex(mutex).unqueue(task);
        self.sync.mutex(mutex).queue(Waiter { task, key: WaiterKey::default() });
        self.tasks[task].resume = ResumeAction::Lock(mutex);
        StepOutcome::Wait
    }

    /// Releases a mutex and wakes the longest waiter. Does nothing if the task does not hold the mutex.
    pub(crate) fn unlock(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize, mutex: ObjectId) {
        if !self.sync.mutex(mutex).try_unlock(task) {
            return;
        }
        if self.workload.objects.priority_inheritance {
            return self.hand_over_mutex(observer, cpu, task, mutex);
        }
        if let Some(waiter) = self.sync.mutex(mutex).pop_waiter() {
            self.wake_by_futex(observer, cpu, waiter);
        }
    }

    /// Blocks the running task on a condition and releases the mutex, which the task takes again afterwards.
    pub(crate) fn wait_for_cond(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        cond: ObjectId,
        mutex: ObjectId,
    ) {
        self.unlock(observer, cpu, task, mutex);
        self.sync.queue_for_cond(task, cond);
        self.tasks[task].resume = ResumeAction::Lock(mutex);
    }

    /// Wakes one waiter of a condition, or all.
    pub(crate) fn signal(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, cond: ObjectId, all: bool) {
        let nr_woken = if all { self.sync.nr_cond_waiters(cond) } else { 1 };
        for _ in 0..nr_woken {
            let waiter = self.sync.pop_cond_waiter(cond);
            self.report_activity(observer, Activity::Hand { task: self.running_task(cpu), to: waiter });
            let Some(waiter) = waiter else { return };
            self.wake_by_futex(observer, cpu, waiter);
        }
    }

    /// Lets the running task arrive at a barrier. The last task wakes the others.
    pub(crate) fn arrive_at_barrier(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        barrier: ObjectId,
    ) -> StepOutcome {
        let waiting = self.sync.arrive(task, barrier);
        self.report_activity(observer, Activity::Arrived { task, is_last: waiting.is_some() });
        let Some(waiting) = waiting else { return StepOutcome::Wait };
        for waiter in waiting {
            self.report_activity(observer, Activity::Hand { task: Some(task), to: Some(waiter) });
            self.wake_by_futex(observer, cpu, waiter);
        }
        StepOutcome::Continue
    }

    /// Increments a semaphore and wakes the longest waiter.
    pub(crate) fn post(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, semaphore: ObjectId) {
        if let Some(waiter) = self.sync.post_semaphore(semaphore) {
            self.wake_by_futex(observer, cpu, waiter);
        }
    }

    /// Decrements a semaphore, or queues the running task for it.
    pub(crate) fn take_semaphore(
        &mut self,
        observer: &mut dyn Observer<E>,
        task: usize,
        semaphore: ObjectId,
    ) -> StepOutcome {
        if self.sync.decrement_or_queue(task, semaphore) {
            self.report_activity(observer, Activity::Take { task, object: KeepingObject::Semaphore(semaphore) });
            return StepOutcome::Continue;
        }
        self.tasks[task].resume = ResumeAction::SemWait(semaphore);
        StepOutcome::Wait
    }

    /// Wakes all tasks that are suspended under a name.
    pub(crate) fn resume_all(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, name: ObjectId) {
        let suspended = self.sync.take_suspended_tasks(name);
        let waker = self.running_task(cpu);
        if suspended.is_empty() {
            self.report_activity(observer, Activity::Hand { task: waker, to: None });
        }
        for task in suspended {
            self.report_activity(observer, Activity::Hand { task: waker, to: Some(task) });
            self.wake(observer, cpu, task, false);
        }
    }
}
