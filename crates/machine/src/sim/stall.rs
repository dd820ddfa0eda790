// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks that wait for other tasks, and detection of tasks that can never continue.
//!
//! Programs are known in advance if they can list the steps that may still come ([`fairlab_workload::step::Behaviour::future_steps`]). A task
//! waits for ever if no step of a task that continues can wake it. Tasks whose wake-ups are lost do not continue.
//!
//! Not examined: waits for messages and futexes, which only models of benchmarks have, and the order and number of
//! steps. A step that comes too early or too rarely counts as a wake-up.

use crate::engine::Engine;
use crate::parts::sync::BlockedOn;
use crate::parts::tasks::SimTask;
use crate::state::Machine;
use fairlab_sched::units::Nanos;
use fairlab_workload::step::{ObjectId, Step, TaskIndex};
use fairlab_workload::workload::Workload;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Whether the program can list its steps. A recorded task waits at the end of its recording, and tasks of
    /// benchmarks wait for requests.
    pub has_known_program: bool,
}

/// Tasks that continue, and what their steps can wake.
#[derive(Debug, Default)]
struct Wakers {
    /// Tasks that continue, which may release their mutexes.
    owners: BTreeSet<usize>,
    /// Targets of wake-ups.
    targets: BTreeSet<TaskIndex>,
    conds: BTreeSet<ObjectId>,
    semaphores: BTreeSet<ObjectId>,
    resumes: BTreeSet<ObjectId>,
    /// Number of tasks that may arrive at a barrier. A template that is forked counts as enough of them.
    arrivals: BTreeMap<ObjectId, usize>,
    /// Templates that may be forked.
    templates: BTreeSet<TaskIndex>,
}

impl Wakers {
    /// Adds the steps of a task, and those of the tasks that it may fork. Returns false if some are not known.
    fn add(&mut self, workload: &Workload, steps: impl Iterator<Item = Step>) -> bool {
        let mut forks = self.add_steps(steps, 1);
        while let Some(template) = forks.pop() {
            if self.templates.insert(template) {
                let Some(steps) = (workload.tasks[template].behaviour)(0).future_steps() else { return false };
                forks.extend(self.add_steps(steps.into_iter(), usize::MAX));
            }
        }
        true
    }

    /// Adds the steps of `nr_tasks` tasks. Returns the templates that they fork.
    fn add_steps(&mut self, steps: impl Iterator<Item = Step>, nr_tasks: usize) -> Vec<TaskIndex> {
        let (mut forks, mut barriers) = (Vec::new(), BTreeSet::new());
        for step in steps {
            match step {
                Step::Wake { target, .. } => _ = self.targets.insert(target),
                Step::CondSignal(cond) | Step::CondBroadcast(cond) | Step::CondSync { cond, .. } => {
                    self.conds.insert(cond);
                }
                Step::SemPost(semaphore) => _ = self.semaphores.insert(semaphore),
                Step::Resume(name) => _ = self.resumes.insert(name),
                Step::Barrier(barrier) => _ = barriers.insert(barrier),
                Step::Fork(template) => forks.push(template),
                _ => {}
            }
        }
        for barrier in barriers {
            let arrivals = self.arrivals.entry(barrier).or_default();
            *arrivals = arrivals.saturating_add(nr_tasks);
        }
        forks
    }

    fn may_wake(&self, task: usize, blocked_on: BlockedOn) -> bool {
        match blocked_on {
            BlockedOn::Mutex { owner, .. } => owner.is_none_or(|owner| self.owners.contains(&owner)),
            BlockedOn::Cond(cond) => self.conds.contains(&cond),
            BlockedOn::Barrier { barrier, arrived, participants } => {
                self.arrivals.get(&barrier).is_some_and(|&more| more.saturating_add(arrived) >= participants as usize)
            }
            BlockedOn::Semaphore(semaphore) => self.semaphores.contains(&semaphore),
            BlockedOn::Resume(name) => self.resumes.contains(&name),
            BlockedOn::Wake => self.targets.contains(&task),
            BlockedOn::Message(_) | BlockedOn::Room(_) | BlockedOn::Futex(_) => true,
        }
    }
}

/// Number of ticks after which a wake-up is no longer in progress.
const LOST_AFTER_TICKS: u64 = 4;

impl BlockedTask {
    /// Whether the wait is a mistake of the workload: a deadlock, or a wait of a known program.
    pub const fn is_mistake(&self) -> bool {
        self.is_deadlocked || self.has_known_program
    }
}

impl<E: Engine> Machine<E> {
    /// Returns the tasks of the workload that can never continue.
    ///
    /// Rules, in order:
    /// 1. A task that waits for a time or for a CPU always continues.
    /// 2. A task that waits for a mutex is deadlocked if the owner has ended or is itself deadlocked; the
    ///    owner may be the task itself.
    /// 3. If every living task waits for another one, none can continue.
    /// 4. Otherwise a task continues if a task that continues may take a step that wakes it, or has steps that are not
    ///    known.
    pub fn stuck(&self) -> Vec<BlockedTask> {
        let of_workload = (0..self.tasks.count()).filter(|&task| !self.is_kthread(task));
        let waiting: Vec<BlockedTask> = of_workload.filter_map(|task| self.blocked_task(task)).collect();
        let deadlocked = self.deadlocked(&waiting);
        let is_anybody_left = self.tasks.all().iter().enumerate().any(|(task, host)| {
            let starts = host.id.is_none() && self.workload.tasks[host.spec].start_at.is_some();
            let lives = host.id.is_some() && !host.is_dead && !self.is_kthread(task);
            starts || (lives && !waiting.iter().any(|waiting| waiting.task == task))
        });
        let never_woken = if is_anybody_left { self.never_woken(&waiting) } else { BTreeSet::new() };
        let marked = waiting.into_iter().map(|waiting| {
            let is_deadlocked = deadlocked.contains(&waiting.task);
            BlockedTask { is_deadlocked, ..waiting }
        });
        let is_stuck = |task: &BlockedTask| task.is_deadlocked || !is_anybody_left || never_woken.contains(&task.task);
        marked.filter(is_stuck).collect()
    }

    /// Returns the waiting tasks that no step of a task that continues can wake.
    fn never_woken(&self, waiting: &[BlockedTask]) -> BTreeSet<usize> {
        let packets: BTreeSet<usize> =
            self.workload.packets.iter().flat_map(|load| load.targets.iter().copied()).collect();
        let is_being_woken = |task| self.cpus.iter().any(|cpu| cpu.kernel.has_wakeup_of(task));
        let is_candidate = |waiting: &&BlockedTask| {
            let is_examined =
                !matches!(waiting.blocked_on, BlockedOn::Message(_) | BlockedOn::Room(_) | BlockedOn::Futex(_));
            is_examined && !packets.contains(&waiting.task) && !is_being_woken(waiting.task)
        };
        let mut stuck: BTreeMap<usize, BlockedOn> =
            waiting.iter().filter(is_candidate).map(|waiting| (waiting.task, waiting.blocked_on)).collect();
        if stuck.is_empty() {
            return BTreeSet::new();
        }
        let lost: BTreeSet<usize> = self.lost_wakeups().into_iter().map(|(task, _)| task).collect();
        let continues = |task: &usize| {
            let host = &self.tasks[*task];
            let starts = host.id.is_some() || self.workload.tasks[host.spec].start_at.is_some();
            starts && !host.is_dead && !self.is_kthread(*task) && !lost.contains(task) && !stuck.contains_key(task)
        };
        let mut pending: Vec<usize> = (0..self.tasks.count()).filter(continues).collect();
        let mut wakers = Wakers::default();
        while !pending.is_empty() {
            for task in pending.drain(..) {
                let host = &self.tasks[task];
                wakers.owners.insert(task);
                let Some(steps) = host.behaviour.future_steps() else { return BTreeSet::new() };
                if !wakers.add(&self.workload, std::iter::once(host.step).chain(steps)) {
                    return BTreeSet::new();
                }
            }
            stuck.retain(|&task, &mut blocked_on| {
                let is_woken = wakers.may_wake(task, blocked_on);
                pending.extend(is_woken.then_some(task));
                !is_woken
            });
        }
        stuck.into_keys().collect()
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
        let has_known_program = host.behaviour.future_steps().is_some();
        Some(BlockedTask { task, since, blocked_on, is_deadlocked: false, has_known_program })
    }
}
