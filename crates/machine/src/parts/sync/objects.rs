// SPDX-License-Identifier: GPL-2.0-or-later
//! All shared objects of a workload.

use super::channel::ChannelState;
use super::futex::{CpuLock, Futex, WaiterList};
use super::mutex::Mutex;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use fairlab_workload::step::ObjectId;
use fairlab_workload::workload::Objects;
use std::collections::VecDeque;

#[derive(Debug, Default)]
struct Semaphore {
    count: u64,
    waiters: VecDeque<usize>,
}

/// Tasks that have arrived at a barrier.
#[derive(Debug)]
struct Barrier {
    participants: u32,
    waiting: Vec<usize>,
}

/// Shared objects of a workload. Tasks are indices of the machine's tasks.
#[derive(Debug, Default)]
pub(crate) struct SyncObjects {
    mutexes: Vec<Mutex>,
    conds: Vec<VecDeque<usize>>,
    barriers: Vec<Barrier>,
    semaphores: Vec<Semaphore>,
    suspended: Vec<Vec<usize>>,
    channels: Vec<ChannelState>,
    futexes: Vec<Futex>,
    lists: Vec<WaiterList>,
    /// Per-CPU locks, created at the first use.
    cpu_locks: Vec<CpuLock>,
    /// Last expiry of each shared timer; `None` before its first use.
    timers: Vec<Option<Nanos>>,
}

impl SyncObjects {
    /// Returns unused objects.
    pub(crate) fn new(objects: &Objects) -> Self {
        let times = |count: usize| core::iter::repeat_n((), count);
        let barrier = |participants| Barrier { participants, waiting: Vec::new() };
        Self {
            mutexes: times(objects.mutexes.len()).map(|()| Mutex::default()).collect(),
            conds: times(objects.conds.len()).map(|()| VecDeque::new()).collect(),
            barriers: objects.barriers.iter().map(|&(_, participants)| barrier(participants)).collect(),
            semaphores: times(objects.semaphores.len()).map(|()| Semaphore::default()).collect(),
            suspended: times(objects.suspends.len()).map(|()| Vec::new()).collect(),
            channels: objects.channels.iter().map(ChannelState::new).collect(),
            futexes: times(objects.futexes).map(|()| Futex::default()).collect(),
            lists: times(objects.lists).map(|()| WaiterList::default()).collect(),
            cpu_locks: Vec::new(),
            timers: vec![None; objects.timers.len()],
        }
    }

    /// All mutexes, by their index.
    pub(crate) fn mutexes(&self) -> &[Mutex] {
        &self.mutexes
    }

    /// Returns a mutex.
    #[inline]
    pub(crate) fn mutex(&mut self, mutex: ObjectId) -> &mut Mutex {
        &mut self.mutexes[mutex]
    }

    /// Returns a channel.
    #[inline]
    pub(crate) fn channel(&mut self, channel: ObjectId) -> &mut ChannelState {
        &mut self.channels[channel]
    }

    /// Returns a futex.
    #[inline]
    pub(crate) fn futex(&mut self, futex: ObjectId) -> &mut Futex {
        &mut self.futexes[futex]
    }

    /// Returns a waiter list.
    #[inline]
    pub(crate) fn list(&mut self, list: ObjectId) -> &mut WaiterList {
        &mut self.lists[list]
    }

    /// Returns the last expiry of a shared timer.
    #[inline]
    pub(crate) fn timer(&mut self, timer: usize) -> &mut Option<Nanos> {
        &mut self.timers[timer]
    }

    /// Returns the per-CPU lock of a CPU. The locks are created at the first use.
    pub(crate) fn cpu_lock(&mut self, cpu: CpuId, nr_cpus: usize) -> &mut CpuLock {
        if self.cpu_locks.is_empty() {
            self.cpu_locks = vec![CpuLock::default(); nr_cpus];
        }
        &mut self.cpu_locks[cpu.index()]
    }

    /// Queues a task for a condition.
    pub(crate) fn queue_for_cond(&mut self, task: usize, cond: ObjectId) {
        self.conds[cond].push_back(task);
    }

    /// Number of tasks that wait for a condition.
    pub(crate) fn nr_cond_waiters(&self, cond: ObjectId) -> usize {
        self.conds[cond].len()
    }

    /// Removes and returns the longest waiter of a condition.
    pub(crate) fn pop_cond_waiter(&mut self, cond: ObjectId) -> Option<usize> {
        self.conds[cond].pop_front()
    }

    /// Lets a task arrive at a barrier. Returns the other tasks if it is the last one; otherwise it must wait.
    pub(crate) fn arrive(&mut self, task: usize, barrier: ObjectId) -> Option<Vec<usize>> {
        let Barrier { participants, waiting } = &mut self.barriers[barrier];
        if waiting.len() as u32 + 1 < *participants || *participants == 0 {
            waiting.push(task);
            return None;
        }
        Some(core::mem::take(waiting))
    }

    /// Whether a wait for a semaphore would block, and whether tasks wait for it.
    pub(crate) fn semaphore_state(&self, semaphore: ObjectId) -> (bool, bool) {
        let object = &self.semaphores[semaphore];
        (object.count == 0, !object.waiters.is_empty())
    }

    /// Increments a semaphore. Removes and returns the longest waiter.
    #[inline]
    pub(crate) fn post_semaphore(&mut self, semaphore: ObjectId) -> Option<usize> {
        let object = &mut self.semaphores[semaphore];
        object.count += 1;
        object.waiters.pop_front()
    }

    /// Decrements a semaphore, or queues the task for it. Returns whether it was decremented.
    #[inline]
    pub(crate) fn decrement_or_queue(&mut self, task: usize, semaphore: ObjectId) -> bool {
        let object = &mut self.semaphores[semaphore];
        if object.count == 0 {
            object.waiters.push_back(task);
            return false;
        }
        object.count -= 1;
        true
    }

    /// Suspends a task under a name.
    pub(crate) fn suspend(&mut self, task: usize, name: ObjectId) {
        self.suspended[name].push(task);
    }

    /// Removes and returns the tasks that are suspended under a name.
    pub(crate) fn take_suspended_tasks(&mut self, name: ObjectId) -> Vec<usize> {
        core::mem::take(&mut self.suspended[name])
    }

    /// Returns the condition for which a task waits.
    pub(super) fn cond_of(&self, task: usize) -> Option<ObjectId> {
        self.conds.iter().position(|waiters| waiters.contains(&task))
    }

    /// Returns the barrier at which a task waits, with the numbers of arrived tasks and of participants.
    pub(super) fn barrier_of(&self, task: usize) -> Option<(ObjectId, usize, u32)> {
        let barrier = self.barriers.iter().position(|barrier| barrier.waiting.contains(&task))?;
        let Barrier { participants, waiting } = &self.barriers[barrier];
        Some((barrier, waiting.len(), *participants))
    }

    /// Returns the name under which a task is suspended.
    pub(super) fn suspension_of(&self, task: usize) -> Option<ObjectId> {
        self.suspended.iter().position(|waiting| waiting.contains(&task))
    }

    /// Returns the futex for which a task waits.
    pub(super) fn futex_of(&self, task: usize) -> Option<ObjectId> {
        self.futexes.iter().position(|futex| futex.waiter() == Some(task))
    }
}
