// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks that wait for other tasks, and detection of tasks that can never continue.

use crate::engine::Engine;
use crate::parts::sync::BlockedOn;
use crate::parts::tasks::SimTask;
use crate::state::Machine;
use fairlab_sched::units::Nanos;
use std::collections::BTreeSet;

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

/// Number of ticks after which a wake-up is no longer in progress.
const LOST_AFTER_TICKS: u64 = 4;

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
        let of_workload = (0..self.tasks.count()).filter(|&task| !self.is_kthread(task));
        let waiting: Vec<BlockedTask> = of_workload.filter_map(|task| self.blocked_task(task)).collect();
        let deadlocked = self.deadlocked(&waiting);
        let is_anybody_left = self.tasks.all().iter().enumerate().any(|(task, host)| {
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

    /// Returns the tasks whose wake-up the scheduler has lost, each with the time since which it should run: it has
    /// accepted the wake-up, but the task is on no runqueue. A wake-up that is still in progress takes less than
    /// [`LOST_AFTER_TICKS`] ticks.
    pub fn lost_wakeups(&self) -> Vec<(usize, Nanos)> {
        let tick = self.hardware.tick;
        let latest = Nanos(self.now.0.saturating_sub(LOST_AFTER_TICKS * tick.0));
        let is_lost = |host: &SimTask| {
            let is_queued = |id| self.sched.task_snapshot(id).on_rq != 0;
            !host.is_dead && !host.running && host.blocked_since.is_none() && host.id.is_some_and(|id| !is_queued(id))
        };
        let of_task = |(task, host): (usize, &SimTask)| {
            host.woken_at.filter(|&at| at < latest && is_lost(host)).map(|at| (task, at))
        };
        self.tasks.all().iter().enumerate().filter_map(of_task).collect()
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
        let blocked_on = self.sync.blocked_on(task, host.resume);
        Some(BlockedTask { task, since, blocked_on, is_deadlocked: false })
    }
}
