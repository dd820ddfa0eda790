// SPDX-License-Identifier: GPL-2.0-or-later
//! Queue of kernel work on a CPU: the rest of a system call, and requests of the scenario.
//!
//! A step that wakes many tasks wakes them one after the other, because each wake-up is a path of the
//! scheduler that takes time. The rest of the step, such as blocking, follows the wake-ups.

use super::{Machine, RunError};
use crate::engine::Engine;
use crate::event::EventKind;
use crate::observer::{KernelPath, Observer};
use fairlab_sched::ids::CpuId;
use fairlab_sched::paths::entry::Entry;

/// A piece of kernel work of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelWork {
    Wake {
        /// Index of the machine's task.
        target: usize,
        /// The waker is about to sleep.
        sync: bool,
        /// If the target is awake, its next wait returns at once.
        is_remembered: bool,
    },
    /// Give a new task its deadline policy, because deadline tasks cannot be forked.
    BecomeDeadline {
        /// Index of the machine's task.
        task: usize,
    },
    /// Block the running task, unless it was woken since.
    Block {
        /// Index of the machine's task.
        task: usize,
    },
    /// Execute `sched_yield()` of the running task.
    Yield,
    /// Execute `exec()` of the running task.
    Exec,
    Exit,
    /// Run pending softirqs in ksoftirqd, which is the running task.
    Softirqs,
    /// Execute a request of the scenario: a fork or a change.
    Serve(EventKind),
}

impl<E: Engine> Machine<E> {
    /// Returns the scheduler call with which a piece of work begins, if the call takes a lock.
    pub(super) fn entry_of_work(work: &KernelWork) -> Option<Entry> {
        match work {
            KernelWork::Wake { .. } => Some(Entry::Wakeup),
            KernelWork::Block { .. } => Some(Entry::Block),
            KernelWork::Yield => Some(Entry::Yield),
            KernelWork::Exec => Some(Entry::Exec),
            KernelWork::Exit => Some(Entry::Exit),
            KernelWork::BecomeDeadline { .. } | KernelWork::Softirqs | KernelWork::Serve(_) => None,
        }
    }

    /// Returns the scheduler call with which an interrupt begins, if the call takes a lock.
    pub(super) fn entry_of_interrupt(&self, cpu: CpuId, kind: EventKind) -> Option<Entry> {
        match kind {
            EventKind::Tick(_) if self.is_tickless(cpu) => None,
            EventKind::Tick(_) => Some(Entry::Tick),
            EventKind::Timer(..) => Some(Entry::Timer),
            EventKind::Ipi(_, ipi) => Some(Entry::Ipi(ipi)),
            _ => Some(Entry::Wakeup),
        }
    }

    /// Executes a piece of work. The lock of its first phase is held.
    pub(super) fn perform(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        work: KernelWork,
    ) -> Result<(), RunError> {
        match work {
            KernelWork::Wake { target, sync, is_remembered } => {
                self.wake_now(observer, cpu, target, sync, is_remembered);
            }
            KernelWork::BecomeDeadline { task } => self.become_deadline(observer, cpu, task)?,
            KernelWork::Block { task } => {
                debug_assert_eq!(self.running_task(cpu), Some(task), "a system call is not preempted");
                let host = &mut self.tasks[task];
                host.will_block = false;
                if core::mem::take(&mut host.is_woken_early) {
                    host.waits_for_io = false;
                } else {
                    host.blocked_since = Some(self.now);
                    self.block_now(observer, cpu, task);
                }
            }
            KernelWork::Yield => {
                self.enter(observer, cpu, KernelPath::Schedule, |sched, ctx| sched.handle_yield(ctx));
            }
            KernelWork::Exec => {
                self.enter(observer, cpu, KernelPath::Select, |sched, ctx| sched.handle_exec(ctx));
            }
            KernelWork::Exit => {
                self.enter(observer, cpu, KernelPath::Schedule, |sched, ctx| sched.handle_exit(ctx));
            }
            KernelWork::Softirqs => self.run_ksoftirqd(observer, cpu),
            KernelWork::Serve(kind) => {
                self.serve_event(observer, cpu, kind)?;
            }
        }
        Ok(())
    }

    /// Executes the wake-ups at the head of a CPU's work queue until the CPU is busy.
    pub(super) fn run_pending_wakeups(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        while let Some(&KernelWork::Wake { target, sync, is_remembered }) = self.cpus[cpu.index()].kernel.work.front()
            && !self.resume_irqs_off_paths(observer, cpu)
        {
            self.cpus[cpu.index()].kernel.work.pop_front();
            self.wake_now(observer, cpu, target, sync, is_remembered);
        }
    }

    /// Wakes a task from a running task.
    pub(super) fn wake_now(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        target: usize,
        sync: bool,
        is_remembered: bool,
    ) {
        let Some(id) = self.tasks[target].id else { return };
        if self.enter(observer, cpu, KernelPath::Select, |sched, ctx| sched.handle_wakeup(ctx, id, sync)) {
            // If the task slept until a time, that sleep is over.
            let host = &mut self.tasks[target];
            (host.sleep_version, host.blocked_since) = (host.sleep_version.wrapping_add(1), None);
        } else {
            self.handle_already_awake(target, is_remembered);
        }
    }

    /// Wakes a task from an interrupt.
    pub(super) fn wake_by_interrupt(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, target: usize) {
        let id = self.tasks[target].id.expect("a task that sleeps was forked");
        if self.enter(observer, cpu, KernelPath::Select, |sched, ctx| sched.handle_wakeup_interrupt(ctx, id)) {
            self.tasks[target].blocked_since = None;
        } else {
            self.handle_already_awake(target, false);
        }
    }

    /// Handles a wake-up whose target is awake. A target that is about to block does not block; for others
    /// the wake-up may be remembered.
    pub(super) fn handle_already_awake(&mut self, target: usize, is_remembered: bool) {
        let host = &mut self.tasks[target];
        if host.will_block {
            host.is_woken_early = true;
        } else if is_remembered {
            host.is_wake_pending = true;
        }
    }
}
