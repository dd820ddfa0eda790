// SPDX-License-Identifier: GPL-2.0-or-later
//! What a system call or somebody from outside still wants of a CPU's kernel, one after the other.
//!
//! A step that wakes many tasks wakes one after the other: each wake-up is a path of the scheduler that takes its time. The rest
//! of a step, such as blocking, comes after them.

use super::{Machine, RunError};
use crate::engine::Engine;
use crate::event::EventKind;
use crate::observer::{KernelPath, Observer};
use fairlab_sched::ids::CpuId;
use fairlab_sched::paths::entry::Entry;

/// Something that a CPU's kernel has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelWork {
    /// Wake a task.
    Wake {
        /// Its place among the machine's tasks.
        target: usize,
        /// The waker is about to sleep.
        sync: bool,
        /// If it does not sleep, it will not the next time that it waits.
        is_remembered: bool,
    },
    /// Give a new task its deadline policy: such tasks cannot be forked.
    BecomeDeadline {
        /// Its place among the machine's tasks.
        task: usize,
    },
    /// The running task blocks, unless it was woken meanwhile.
    Block {
        /// Its place among the machine's tasks.
        task: usize,
    },
    /// The running task gives way.
    Yield,
    /// The running task begins another program.
    Exec,
    /// The running task ends.
    Exit,
    /// ksoftirqd, which runs, does what is pending.
    Softirqs,
    /// Somebody from outside wants something: a fork, or a change.
    Serve(EventKind),
}

impl<E: Engine> Machine<E> {
    /// With which call into the scheduler a piece of work begins, if that takes a lock.
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

    /// The same for an interrupt.
    pub(super) fn entry_of_interrupt(&self, cpu: CpuId, kind: EventKind) -> Option<Entry> {
        match kind {
            EventKind::Tick(_) if self.is_tickless(cpu) => None,
            EventKind::Tick(_) => Some(Entry::Tick),
            EventKind::Timer(..) => Some(Entry::Timer),
            EventKind::Ipi(_, ipi) => Some(Entry::Ipi(ipi)),
            _ => Some(Entry::Wakeup),
        }
    }

    /// Does a piece of work whose locks are held.
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
                    self.yield_to_others(observer, cpu, task);
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
                self.serve(observer, cpu, kind)?;
            }
        }
        Ok(())
    }

    /// Does those wake-ups that a CPU has to do and can do now.
    pub(super) fn wake_on(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        while let Some(&KernelWork::Wake { target, sync, is_remembered }) = self.cpus[cpu.index()].kernel.work.front()
            && !self.resume_irqs_off_paths(observer, cpu)
        {
            self.cpus[cpu.index()].kernel.work.pop_front();
            self.wake_now(observer, cpu, target, sync, is_remembered);
        }
    }

    /// A task wakes another one.
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
            // If it slept for a time, that is over.
            let host = &mut self.tasks[target];
            (host.sleep, host.blocked_since) = (host.sleep.wrapping_add(1), None);
        } else {
            self.found_awake(target, is_remembered);
        }
    }

    /// An interrupt wakes a task.
    pub(super) fn wake_by_interrupt(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, target: usize) {
        let id = self.tasks[target].id.expect("a task that sleeps was forked");
        if self.enter(observer, cpu, KernelPath::Select, |sched, ctx| sched.handle_wakeup_interrupt(ctx, id)) {
            self.tasks[target].blocked_since = None;
        } else {
            self.found_awake(target, false);
        }
    }

    /// A wake-up has found its task awake: one that is about to block does not, and of others it may be remembered.
    pub(super) fn found_awake(&mut self, target: usize, is_remembered: bool) {
        let host = &mut self.tasks[target];
        if host.will_block {
            host.is_woken_early = true;
        } else if is_remembered {
            host.is_wake_pending = true;
        }
    }
}
