// SPDX-License-Identifier: GPL-2.0-or-later
//! Who waits for what, and who waits in vain.

use super::Machine;
use super::sync::Resume;
use crate::engine::Engine;
use fairlab_sched::units::Nanos;
use fairlab_workload::step::ObjectId;
use std::collections::BTreeSet;

/// For what a task waits that another one has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockedOn {
    /// A mutex.
    Mutex {
        /// Its place among the workload's mutexes.
        mutex: ObjectId,
        /// Who has it, by the place among the machine's tasks.
        owner: Option<usize>,
    },
    /// A condition.
    Cond(ObjectId),
    /// The others at a barrier.
    Barrier {
        /// Its place among the workload's barriers.
        barrier: ObjectId,
        /// How many are there.
        arrived: usize,
        /// How many it waits for.
        participants: u32,
    },
    /// A semaphore.
    Semaphore(ObjectId),
    /// To be resumed under a name.
    Resume(ObjectId),
    /// A message from a channel.
    Message(ObjectId),
    /// Room in a channel.
    Room(ObjectId),
    /// A futex.
    Futex(ObjectId),
    /// To be woken by a task.
    Wake,
}

/// A task that waits for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedTask {
    /// Its place among the machine's tasks.
    pub task: usize,
    /// Since when, on the machine's clock.
    pub since: Nanos,
    /// For what.
    pub what: BlockedOn,
    /// Whether it waits for a mutex that it will never get, since its owner has ended or waits in vain too.
    pub is_deadlocked: bool,
}

impl<E: Engine> Machine<E> {
    /// The tasks of the workload that wait in vain.
    ///
    /// Rules, in order:
    /// 1. Nobody waits in vain for a time, or for a CPU.
    /// 2. Who waits for a mutex does so in vain if its owner has ended, or waits for a mutex in vain, itself perhaps.
    /// 3. If there is nobody who does not wait for another one, all do so in vain. Otherwise somebody may still come: what the
    ///    others will do is not known.
    pub fn stuck(&self) -> Vec<BlockedTask> {
        let of_workload = (0..self.tasks.len()).filter(|&task| !self.is_kthread(task));
        let waiting: Vec<BlockedTask> = of_workload.filter_map(|task| self.waiting(task)).collect();
        let deadlocked = self.deadlocked(&waiting);
        let is_anybody_left = self.tasks.iter().enumerate().any(|(task, host)| {
            let starts = host.id.is_none() && self.workload.tasks[host.spec].start_at.is_some();
            let lives = host.id.is_some() && !host.dead && !self.is_kthread(task);
            starts || (lives && !waiting.iter().any(|waiting| waiting.task == task))
        });
        let marked = waiting.into_iter().map(|waiting| {
            let is_deadlocked = deadlocked.contains(&waiting.task);
            BlockedTask { is_deadlocked, ..waiting }
        });
        marked.filter(|waiting| waiting.is_deadlocked || !is_anybody_left).collect()
    }

    fn deadlocked(&self, waiting: &[BlockedTask]) -> BTreeSet<usize> {
        let owner_of = |waiting: &BlockedTask| match waiting.what {
            BlockedOn::Mutex { owner, .. } => owner.map(|owner| (waiting.task, owner)),
            _ => None,
        };
        let edges: Vec<(usize, usize)> = waiting.iter().filter_map(owner_of).collect();
        let mut stuck: BTreeSet<usize> = edges.iter().map(|&(task, _)| task).collect();
        loop {
            let gets_on = |&&(task, owner): &&(usize, usize)| {
                stuck.contains(&task) && !stuck.contains(&owner) && !self.tasks[owner].dead
            };
            let Some(&(task, _)) = edges.iter().find(gets_on) else { return stuck };
            stuck.remove(&task);
        }
    }

    /// What a task waits for, if it waits for another one.
    fn waiting(&self, task: usize) -> Option<BlockedTask> {
        let host = &self.tasks[task];
        let since = host.blocked_since.filter(|_| host.sleeps_until.is_none() && !host.dead)?;
        Some(BlockedTask { task, since, what: self.waits_for(task), is_deadlocked: false })
    }

    fn waits_for(&self, task: usize) -> BlockedOn {
        let sync = &self.sync;
        if let Some(cond) = sync.conds.iter().position(|waiters| waiters.contains(&task)) {
            return BlockedOn::Cond(cond);
        }
        match self.tasks[task].resume {
            Resume::Lock(mutex) => return BlockedOn::Mutex { mutex, owner: sync.mutexes[mutex].owner },
            Resume::SemWait(semaphore) => return BlockedOn::Semaphore(semaphore),
            Resume::Send(channel) => return BlockedOn::Room(channel),
            Resume::Receive(channel) => return BlockedOn::Message(channel),
            Resume::Nothing | Resume::Post | Resume::LockCpu(_) => {}
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
