// SPDX-License-Identifier: GPL-2.0-or-later
//! What programs build from futexes themselves, as schbench does: a word that is armed, posted and waited for; lists of tasks
//! that wait to be posted; locks of CPUs that are waited for busily.

use super::Machine;
use super::sync::{Resume, StepOutcome};
use super::tasks::FULL_SPEED;
use crate::engine::Engine;
use crate::observer::{MachineEvent, Observer};
use fairlab_sched::ids::CpuId;
use fairlab_workload::step::ObjectId;

/// More work than any run has time for, in units of work: for who is busy until another one says stop.
const ENDLESS: u128 = u64::MAX as u128;

/// A futex: a word, and who waits for it to be posted.
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

/// The lock of a CPU: who has it, and who is busy waiting for it.
#[derive(Clone, Debug, Default)]
pub(super) struct CpuLock {
    owner: Option<usize>,
    spinners: Vec<usize>,
}

impl<E: Engine> Machine<E> {
    /// From now on a futex is not posted.
    pub(super) fn arm_futex(&mut self, futex: ObjectId) {
        self.sync.futexes[futex].is_armed = true;
    }

    /// Posts a futex, which wakes its waiter. A waker that does not say it will sleep, as `futex()`.
    pub(super) fn post_futex(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, futex: ObjectId) {
        let object = &mut self.sync.futexes[futex];
        object.is_armed = false;
        if let Some(waiter) = object.waiter.take() {
            self.wake(observer, cpu, waiter, false);
        }
    }

    /// The running task waits for a futex, unless it is posted.
    pub(super) fn wait_for_futex(&mut self, task: usize, futex: ObjectId) -> StepOutcome {
        let object = &mut self.sync.futexes[futex];
        if !object.is_armed {
            return StepOutcome::GoesOn;
        }
        debug_assert!(object.waiter.is_none(), "one task waits for a futex");
        object.waiter = Some(task);
        StepOutcome::Waits
    }

    /// The running task enters itself into a list.
    pub(super) fn enlist(&mut self, task: usize, list: ObjectId, futex: ObjectId) {
        self.sync.lists[list].push((task, futex));
    }

    /// The running task takes a list, notes the time for its entries, and posts the first futex.
    pub(super) fn post_all(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        list: ObjectId,
    ) -> StepOutcome {
        for (waiter, futex) in self.sync.lists[list].drain(..) {
            observer.machine_event(self.now, &MachineEvent::TimeNoted { task: waiter });
            self.tasks[task].to_post.push(futex);
        }
        self.post_next(observer, cpu, task)
    }

    /// Posts the next futex of those that a task has taken. Each is a system call, so it may be preempted between two.
    pub(super) fn post_next(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) -> StepOutcome {
        if let Some(futex) = self.tasks[task].to_post.pop() {
            if !self.tasks[task].to_post.is_empty() {
                self.tasks[task].resume = Resume::Post;
            }
            self.post_futex(observer, cpu, futex);
        }
        StepOutcome::GoesOn
    }

    /// The running task takes the lock of a CPU, or is busy until it may try again. A task that was moved meanwhile gives it
    /// back and takes the one of its present CPU.
    pub(super) fn lock_cpu(&mut self, task: usize, of: CpuId) -> StepOutcome {
        if self.sync.cpu_locks.is_empty() {
            self.sync.cpu_locks = vec![CpuLock::default(); self.hardware.nr_cpus()];
        }
        let lock = &mut self.sync.cpu_locks[of.index()];
        if lock.owner.is_some() {
            lock.spinners.push(task);
            self.tasks[task].resume = Resume::LockCpu(of);
            return StepOutcome::Spins;
        }
        let here = self.tasks[task].cpu;
        if here == of {
            lock.owner = Some(task);
            self.tasks[task].locked_cpu = Some(of);
            return StepOutcome::GoesOn;
        }
        self.stop_spinning(of);
        self.lock_cpu(task, here)
    }

    /// The running task releases the lock that it has of a CPU.
    pub(super) fn unlock_cpu(&mut self, task: usize) {
        if let Some(of) = self.tasks[task].locked_cpu.take() {
            self.sync.cpu_locks[of.index()].owner = None;
            self.stop_spinning(of);
        }
    }

    /// A lock is free: all who are busy waiting for it try again as soon as they run.
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

    /// The running task is busy until another one stops it.
    pub(super) fn spin(&mut self, task: usize) {
        self.tasks[task].work_left = ENDLESS * u128::from(FULL_SPEED);
        self.plan(task);
    }
}
