// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects for which blocked tasks wait.

use super::action::ResumeAction;
use super::objects::SyncObjects;
use fairlab_workload::step::ObjectId;

/// Event that another task must cause before a blocked task continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockedOn {
    /// A mutex, and the task that holds it.
    Mutex {
        /// Index among the workload's mutexes.
        mutex: ObjectId,
        /// Owner, as an index of the machine's tasks; `None` if the mutex is free.
        owner: Option<usize>,
    },
    /// A condition, by its index.
    Cond(ObjectId),
    /// The other tasks of a barrier.
    Barrier {
        /// Index among the workload's barriers.
        barrier: ObjectId,
        /// Number of tasks that have arrived.
        arrived: usize,
        /// Number of tasks that the barrier waits for.
        participants: u32,
    },
    /// A semaphore, by its index.
    Semaphore(ObjectId),
    /// A resume step for a name, by its index.
    Resume(ObjectId),
    /// A message from a channel, by its index.
    Message(ObjectId),
    /// Space in a channel, by its index.
    Room(ObjectId),
    /// A post of a futex, by its index.
    Futex(ObjectId),
    /// A wake step of another task.
    Wake,
}

impl SyncObjects {
    /// Returns the event for which a blocked task waits, given the rest of its step.
    pub(crate) fn blocked_on(&self, task: usize, resume: ResumeAction) -> BlockedOn {
        if let Some(cond) = self.cond_of(task) {
            return BlockedOn::Cond(cond);
        }
        match resume {
            ResumeAction::Lock(mutex) => return BlockedOn::Mutex { mutex, owner: self.mutexes()[mutex].owner() },
            ResumeAction::SemWait(semaphore) => return BlockedOn::Semaphore(semaphore),
            ResumeAction::Send(channel, _) => return BlockedOn::Room(channel),
            ResumeAction::Receive(channel) => return BlockedOn::Message(channel),
            ResumeAction::Nothing | ResumeAction::Post | ResumeAction::LockCpu(_) | ResumeAction::EndCall => {}
        }
        if let Some((barrier, arrived, participants)) = self.barrier_of(task) {
            return BlockedOn::Barrier { barrier, arrived, participants };
        }
        if let Some(name) = self.suspension_of(task) {
            return BlockedOn::Resume(name);
        }
        self.futex_of(task).map_or(BlockedOn::Wake, BlockedOn::Futex)
    }
}
