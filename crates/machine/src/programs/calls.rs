// SPDX-License-Identifier: GPL-2.0-or-later
//! System calls of steps without a channel, and their costs: futexes, sleeps, `sched_yield()`.
//!
//! Only machines whose costs follow from a count sheet charge them. Mutexes, conditions, semaphores and barriers
//! enter the kernel if they wait, or wake a task, as in the C library.

use crate::engine::Engine;
use crate::parts::sync::ResumeAction;
use crate::parts::units::{FULL_SPEED, work_in};
use crate::state::Machine;
use fairlab_board::{CallCost, Preemption};
use fairlab_sched::ids::CpuId;
use fairlab_workload::step::{ObjectId, Step};

/// System call of a step.
#[derive(Clone, Copy)]
enum Call {
    FutexWake,
    FutexWait,
    Sleep,
    Yield,
}

impl<E: Engine> Machine<E> {
    /// Charges what a task executes before its system call has an effect. Returns whether that takes time.
    pub(crate) fn charge_before_call(&mut self, task: usize) -> bool {
        if self.tasks[task].has_charged {
            return false;
        }
        let Some(CallCost { before_ps, after_ps }) = self.call_cost(task) else { return false };
        let host = &mut self.tasks[task];
        host.has_charged = true;
        host.after_call_ps = after_ps;
        host.work_left = work_in(before_ps, FULL_SPEED);
        self.replan(task);
        self.tasks[task].work_left > 0
    }

    /// Charges what a task executes after its system call has had its effect. A task that blocks executes it
    /// once it runs again.
    #[inline]
    pub(crate) fn charge_after_call(&mut self, task: usize) {
        if self.tasks[task].after_call_ps > 0 {
            self.charge_call_end(task);
        }
    }

    #[cold]
    fn charge_call_end(&mut self, task: usize) {
        let ps = core::mem::take(&mut self.tasks[task].after_call_ps);
        if self.tasks[task].will_block {
            self.charge_at_resume(task, ps);
        } else {
            self.charge_return(task, ps);
        }
    }

    /// Charges the return from a system call. Without full preemption, the task keeps its CPU meanwhile.
    #[inline]
    pub(crate) fn charge_return(&mut self, task: usize, ps: u64) {
        let can_defer =
            self.hardware.preemption != Preemption::Full && self.tasks[task].resume == ResumeAction::Nothing;
        if ps == 0 || !can_defer {
            return self.delay(task, ps);
        }
        self.account(task);
        let host = &mut self.tasks[task];
        host.resume = ResumeAction::EndCall;
        host.deferred_work = host.work_left;
        host.work_left = work_in(ps, FULL_SPEED);
        self.plan(task);
    }

    /// Returns the running task of a CPU if the kernel does not preempt it: it is in a system call, and preemption
    /// is not full.
    #[inline]
    pub(crate) fn unpreemptible_task(&self, cpu: CpuId) -> Option<usize> {
        if self.hardware.preemption == Preemption::Full {
            return None;
        }
        let task = self.running_task(cpu)?;
        let host = &self.tasks[task];
        (host.has_charged || host.resume == ResumeAction::EndCall).then_some(task)
    }

    /// Adds work that a task executes before anything else once it runs again, in picoseconds at full capacity.
    pub(crate) fn charge_at_resume(&mut self, task: usize, ps: u64) {
        self.tasks[task].work_left += work_in(ps, FULL_SPEED);
    }

    fn call_cost(&mut self, task: usize) -> Option<CallCost> {
        let call = self.call(task)?;
        let calls = self.hardware.costs.calls()?;
        Some(match call {
            Call::FutexWake => calls.futex_wake,
            Call::FutexWait => calls.futex_wait,
            Call::Sleep => calls.sleep,
            Call::Yield => calls.sched_yield,
        })
    }

    /// Returns the system call that the step of a task makes in the present state of its object.
    fn call(&mut self, task: usize) -> Option<Call> {
        let wakes = |wakes: bool| wakes.then_some(Call::FutexWake);
        let waits = |waits: bool| waits.then_some(Call::FutexWait);
        match self.tasks[task].step {
            Step::Sleep(_) | Step::WaitIo(_) | Step::AwaitOrigin | Step::Timer { .. } => Some(Call::Sleep),
            Step::Yield => Some(Call::Yield),
            Step::FutexPost(futex) => wakes(self.sync.futex(futex).is_armed()),
            Step::FutexWait(futex) => waits(self.sync.futex(futex).is_armed()),
            Step::PostAll(list) => wakes(!self.sync.list(list).is_empty()),
            Step::SemPost(semaphore) => wakes(self.sync.semaphore_state(semaphore).1),
            Step::SemWait(semaphore) => waits(self.sync.semaphore_state(semaphore).0),
            Step::Lock(mutex) => waits(self.sync.mutex(mutex).owner().is_some()),
            Step::Unlock(mutex) => wakes(self.has_waiter(mutex)),
            Step::CondWait { .. } | Step::CondSync { .. } | Step::Barrier(_) => Some(Call::FutexWait),
            Step::CondSignal(cond) | Step::CondBroadcast(cond) => wakes(self.sync.nr_cond_waiters(cond) > 0),
            _ => None,
        }
    }

    fn has_waiter(&mut self, mutex: ObjectId) -> bool {
        self.sync.mutex(mutex).first_waiter().is_some()
    }
}
