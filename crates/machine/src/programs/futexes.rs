// SPDX-License-Identifier: GPL-2.0-or-later
//! Synchronisation that programs build on futexes, as schbench does: a word that is armed, posted and waited
//! for; lists of tasks that wait for a post; per-CPU spinlocks.

use crate::engine::Engine;
use crate::interface::observation::MachineEvent;
use crate::observer::Observer;
use crate::parts::sync::{ResumeAction, StepOutcome};
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_workload::step::ObjectId;

impl<E: Engine> Machine<E> {
    /// Posts a futex and wakes its waiter. The wake-up is not synchronous (`WF_SYNC`), as in `futex()`.
    pub(crate) fn post_futex(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, futex: ObjectId) {
        if let Some(waiter) = self.sync.futex(futex).post() {
            self.wake_by_futex(observer, cpu, waiter);
        }
    }

    /// Blocks the running task on a futex, unless the futex is posted.
    pub(crate) fn wait_for_futex(&mut self, task: usize, futex: ObjectId) -> StepOutcome {
        if self.sync.futex(futex).wait(task) { StepOutcome::Wait } else { StepOutcome::Continue }
    }

    /// Takes all entries of a waiter list, records the time for them, and posts the first futex.
    pub(crate) fn post_all(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        list: ObjectId,
    ) -> StepOutcome {
        for (waiter, futex) in self.sync.list(list).drain() {
            observer.machine_event(self.now, &MachineEvent::TimeRecorded { task: waiter });
            self.tasks[task].to_post.push(futex);
        }
        self.post_next(observer, cpu, task)
    }

    /// Posts the next futex that a task has taken from a list. Each post is a system call, so the task can be
    /// preempted between two posts.
    pub(crate) fn post_next(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) -> StepOutcome {
        if let Some(futex) = self.tasks[task].to_post.pop() {
            if !self.tasks[task].to_post.is_empty() {
                self.tasks[task].resume = ResumeAction::Post;
                // The first post was charged with the step.
                if let Some(calls) = self.hardware.costs.calls() {
                    self.charge_at_resume(task, calls.futex_wake.before_ps + calls.futex_wake.after_ps);
                }
            }
            self.post_futex(observer, cpu, futex);
        }
        StepOutcome::Continue
    }

    /// Takes the per-CPU lock for the running task, or lets the task spin. A task that has migrated while it
    /// spun releases the lock and takes that of its present CPU.
    pub(crate) fn lock_cpu(&mut self, task: usize, of: CpuId) -> StepOutcome {
        let nr_cpus = self.hardware.nr_cpus();
        if self.sync.cpu_lock(of, nr_cpus).must_spin(task) {
            self.tasks[task].resume = ResumeAction::LockCpu(of);
            return StepOutcome::Spin;
        }
        let here = self.tasks[task].cpu;
        if here == of {
            self.sync.cpu_lock(of, nr_cpus).take(task);
            self.tasks[task].locked_cpu = Some(of);
            return StepOutcome::Continue;
        }
        self.stop_spinning(of);
        self.lock_cpu(task, here)
    }

    /// Releases the per-CPU lock that the running task holds.
    pub(crate) fn unlock_cpu(&mut self, task: usize) {
        if let Some(of) = self.tasks[task].locked_cpu.take() {
            let nr_cpus = self.hardware.nr_cpus();
            self.sync.cpu_lock(of, nr_cpus).release();
            self.stop_spinning(of);
        }
    }

    /// Stops the tasks that spin for a lock. Each tries again as soon as it runs.
    fn stop_spinning(&mut self, of: CpuId) {
        let nr_cpus = self.hardware.nr_cpus();
        for spinner in self.sync.cpu_lock(of, nr_cpus).take_spinners() {
            if self.tasks[spinner].running {
                self.account(spinner);
                self.tasks[spinner].work_left = 0;
                self.plan(spinner);
            } else {
                self.tasks[spinner].work_left = 0;
            }
        }
    }
}
