// SPDX-License-Identifier: GPL-2.0-or-later
//! Synchronisation that programs build on futexes, as schbench does: a word that is armed, posted and waited
//! for; lists of tasks that wait for a post; per-CPU spinlocks.

use super::Machine;
use super::sync::{ResumeAction, StepOutcome};
use super::tasks::FULL_SPEED;
use crate::engine::Engine;
use crate::observer::{MachineEvent, Observer};
use fairlab_sched::ids::CpuId;
use fairlab_workload::step::ObjectId;

/// Work that exceeds any run, for a task that spins until another task stops it.
const ENDLESS_WORK: u128 = u64::MAX as u128;

/// A futex: a word, and the task that waits for a post.
#[derive(Clone, Copy, Debug)]
pub(super) struct Futex {
    is_armed: bool,
    pub(super) waiter: Option<usize>,
}

impl Default for Futex {
    fn default() -> Self {
        Self { is_armed: true, waiter: None }
    }
}

/// A per-CPU lock with its spinning tasks.
#[derive(Clone, Debug, Default)]
pub(super) struct CpuLock {
    owner: Option<usize>,
    spinners: Vec<usize>,
}

impl<E: Engine> Machine<E> {
    /// Arms a futex: it counts as not posted.
    pub(super) fn arm_futex(&mut self, futex: ObjectId) {
        self.sync.futexes[futex].is_armed = true;
    }

    /// Posts a futex and wakes its waiter. The wake-up is not synchronous (`WF_SYNC`), as in `futex()`.
    pub(super) fn post_futex(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, futex: ObjectId) {
        let object = &mut self.sync.futexes[futex];
        object.is_armed = false;
        if let Some(waiter) = object.waiter.take() {
            self.wake(observer, cpu, waiter, false);
        }
    }

    /// Blocks the running task on a futex, unless the futex is posted.
    pub(super) fn wait_for_futex(&mut self, task: usize, futex: ObjectId) -> StepOutcome {
        let object = &mut self.sync.futexes[futex];
        if !object.is_armed {
            return StepOutcome::Continue;
        }
        debug_assert!(object.waiter.is_none(), "one task waits for a futex");
        object.waiter = Some(task);
        StepOutcome::Wait
    }

    /// Adds the running task to a waiter list.
    pub(super) fn join_waiter_list(&mut self, task: usize, list: ObjectId, futex: ObjectId) {
        self.sync.lists[list].push((task, futex));
    }

    /// Takes all entries of a waiter list, records the time for them, and posts the first futex.
    pub(super) fn post_all(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        list: ObjectId,
    ) -> StepOutcome {
        for (waiter, futex) in self.sync.lists[list].drain(..) {
            observer.machine_event(self.now, &MachineEvent::TimeRecorded { task: waiter });
            self.tasks[task].to_post.push(futex);
        }
        self.post_next(observer, cpu, task)
    }

    /// Posts the next futex that a task has taken from a list. Each post is a system call, so the task can be
    /// preempted between two posts.
    pub(super) fn post_next(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) -> StepOutcome {
        if let Some(futex) = self.tasks[task].to_post.pop() {
            if !self.tasks[task].to_post.is_empty() {
                self.tasks[task].resume = ResumeAction::Post;
            }
            self.post_futex(observer, cpu, futex);
        }
        StepOutcome::Continue
    }

    /// Takes the per-CPU lock for the running task, or lets the task spin. A task that has migrated while it
    /// spun releases the lock and takes that of its present CPU.
    pub(super) fn lock_cpu(&mut self, task: usize, of: CpuId) -> StepOutcome {
        if self.sync.cpu_locks.is_empty() {
            self.sync.cpu_locks = vec![CpuLock::default(); self.hardware.nr_cpus()];
        }
        let lock = &mut self.sync.cpu_locks[of.index()];
        if lock.owner.is_some() {
            lock.spinners.push(task);
            self.tasks[task].resume = ResumeAction::LockCpu(of);
            return StepOutcome::Spin;
        }
        let here = self.tasks[task].cpu;
        if here == of {
            lock.owner = Some(task);
            self.tasks[task].locked_cpu = Some(of);
            return StepOutcome::Continue;
        }
        self.stop_spinning(of);
        self.lock_cpu(task, here)
    }

    /// Releases the per-CPU lock that the running task holds.
    pub(super) fn unlock_cpu(&mut self, task: usize) {
        if let Some(of) = self.tasks[task].locked_cpu.take() {
            self.sync.cpu_locks[of.index()].owner = None;
            self.stop_spinning(of);
        }
    }

    /// Stops the tasks that spin for a lock. Each tries again as soon as it runs.
    fn stop_spinning(&mut self, of: CpuId) {
        for spinner in core::mem::take(&mut self.sync.cpu_locks[of.index()].spinners) {
            if self.tasks[spinner].running {
                self.account(spinner);
                self.tasks[spinner].work_left = 0;
                self.plan(spinner);
            } else {
                self.tasks[spinner].work_left = 0;
            }
        }
    }

    /// Keeps the running task busy until another task stops it.
    pub(super) fn spin(&mut self, task: usize) {
        self.tasks[task].work_left = ENDLESS_WORK * u128::from(FULL_SPEED);
        self.plan(task);
    }
}
