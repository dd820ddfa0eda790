// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks that wait for other tasks, and detection of tasks that can never continue.

use super::Machine;
use super::sync::ResumeAction;
use crate::engine::Engine;
use fairlab_sched::units::Nanos;
use fairlab_workload::step::ObjectId;
use std::collections::BTreeSet;

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

/// A task that waits for another task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedTask {
    /// Index of the machine's task.
    pub task: usize,
    /// Start of the wait, on the machine's clock.
    pub since: Nanos,
    /// Event that the task waits for.
    pub blocked_on: BlockedOn,
    /// Whether the task waits for a mutex that it can never get, because the owner has ended or is deadlocked
    /// too.
    pub is_deadlocked: bool,
}

impl<E: Engine> Machine<E> {
    /// Returns the tasks of the workload that can never continue.
    ///
    /// Rules, in order:
    /// 1. A task that waits for a time or for a CPU always continues.
    /// 2. A task that waits for a mutex is deadlocked if the owner has ended or is itself deadlocked; the
    ///    owner may be the task itself.
    /// 3. If every living task waits for another one, none can continue. Otherwise the running tasks may
    ///    still wake the others, because their future steps are not known.
    pub fn stuck(&self) -> Vec<BlockedTask> {
        let of_workload = (0..self.tasks.len()).filter(|&task| !self.is_kthread(task));
        let waiting: Vec<BlockedTask> = of_workload.filter_map(|task| self.blocked_task(task)).collect();
        let deadlocked = self.deadlocked(&waiting);
        let is_anybody_left = self.tasks.iter().enumerate().any(|(task, host)| {
            let starts = host.id.is_none() && self.workload.tasks[host.spec].start_at.is_some();
            let lives = host.id.is_some() && !host.is_dead && !self.is_kthread(task);
            starts || (lives && !waiting.iter().any(|waiting| waiting.task == task))
        });
        let marked = waiting.into_iter().map(|waiting| {
            let is_deadlocked = deadlocked.contains(&waiting.task);
            BlockedTask { is_deadlocked, ..waiting }
        });
        marked.filter(|waiting| waiting.is_deadlocked || !is_anybody_left).collect()
    }

    fn deadlocked(&self, waiting: &[BlockedTask]) -> BTreeSet<usize> {
        let owner_of = |waiting: &BlockedTask| match waiting.blocked_on {
            BlockedOn::Mutex { owner, .. } => owner.map(|owner| (waiting.task, owner)),
            _ => None,
        };
        let edges: Vec<(usize, usize)> = waiting.iter().filter_map(owner_of).collect();
        let mut stuck: BTreeSet<usize> = edges.iter().map(|&(task, _)| task).collect();
        loop {
            let gets_on = |&&(task, owner): &&(usize, usize)| {
                stuck.contains(&task) && !stuck.contains(&owner) && !self.tasks[owner].is_dead
            };
            let Some(&(task, _)) = edges.iter().find(gets_on) else { return stuck };
            stuck.remove(&task);
        }
    }

    /// Returns the event that a task waits for, if another task must cause it.
    fn blocked_task(&self, task: usize) -> Option<BlockedTask> {
        let host = &self.tasks[task];
        let since = host.blocked_since.filter(|_| host.sleeps_until.is_none() && !host.is_dead)?;
        Some(BlockedTask { task, since, blocked_on: self.blocked_on(task), is_deadlocked: false })
    }

    fn blocked_on(&self, task: usize) -> BlockedOn {
        let sync = &self.sync;
        if let Some(cond) = sync.conds.iter().position(|waiters| waiters.contains(&task)) {
            return BlockedOn::Cond(cond);
        }
        match self.tasks[task].resume {
            ResumeAction::Lock(mutex) => return BlockedOn::Mutex { mutex, owner: sync.mutexes[mutex].owner },
            ResumeAction::SemWait(semaphore) => return BlockedOn::Semaphore(semaphore),
            ResumeAction::Send(channel) => return BlockedOn::Room(channel),
            ResumeAction::Receive(channel) => return BlockedOn::Message(channel),
            ResumeAction::Nothing | ResumeAction::Post | ResumeAction::LockCpu(_) => {}
        }
        if let Some(barrier) = sync.barriers.iter().position(|(_, waiting)| waiting.contains(&task)) {
            let (participants, waiting) = &sync.barriers[barrier];
            return BlockedOn::Barrier { barrier, arrived: waiting.len(), participants: *participants };
        }
        if let Some(name) = sync.suspended.iter().position(|waiting| waiting.contains(&task)) {
            return BlockedOn::Resume(name);
        }
        sync.futexes.iter().position(|futex| futex.waiter == Some(task)).map_or(BlockedOn::Wake, BlockedOn::Futex)
    }
}
