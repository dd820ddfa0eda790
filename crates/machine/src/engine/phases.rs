// SPDX-License-Identifier: GPL-2.0-or-later
//! Paths of the kernel in phases: what a system call or an interrupt has to do one after the other.
//!
//! A wake-up selects a CPU, which takes time, and then enqueues the task there, under the lock of that CPU's runqueue;
//! meanwhile another waker may have chosen the same idle CPU. A fork likewise. A step that wakes many wakes one after the
//! other. The rest of a step, such as blocking, comes after them.

use super::{Machine, RunError};
use crate::event::EventKind;
use crate::observer::{KernelPath, Observer};
use fairlab_sched::ctx::IpiKind;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::wakeup::PendingWakeup;

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
    /// Enqueue a task for which a CPU was selected.
    FinishWakeup {
        /// The wake-up.
        pending: PendingWakeup,
        /// It is an interrupt that wakes, not a task.
        in_interrupt: bool,
    },
    /// Enqueue a new task for which a CPU was selected.
    FinishFork {
        /// Its place among the machine's tasks.
        task: usize,
        /// Its first wake-up.
        pending: PendingWakeup,
    },
    /// An interrupt that has woken tasks ends: a softirq may run.
    EndInterrupt,
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
    /// Somebody from outside wants something: a fork, or a change.
    Serve(EventKind),
}

impl Machine {
    /// Whether a wake-up still searches for a CPU; then it looks at some more.
    pub(super) fn searches_on(&mut self, observer: &mut dyn Observer, cpu: CpuId, work: &KernelWork) -> bool {
        let KernelWork::FinishWakeup { pending, in_interrupt } = *work else { return false };
        if !pending.is_searching() {
            return false;
        }
        let pending = self.enter(observer, cpu, KernelPath::Select, |sched, ctx| sched.search_on(ctx, pending));
        self.cpus[cpu.index()].kernel.section = Some(KernelWork::FinishWakeup { pending, in_interrupt });
        true
    }

    /// Whether a CPU holds the locks that it needs for a piece of work, now that it wants them. If not it spins.
    pub(super) fn has_locks_for(&mut self, cpu: CpuId, work: &KernelWork) -> bool {
        let lock = match *work {
            KernelWork::FinishWakeup { ref pending, .. } | KernelWork::FinishFork { ref pending, .. } => {
                self.sched.wakeup_lock(cpu, pending)
            }
            KernelWork::Block { .. } | KernelWork::Yield | KernelWork::Exec | KernelWork::Exit => Some(cpu),
            KernelWork::Wake { .. } | KernelWork::EndInterrupt | KernelWork::Serve(_) => None,
        };
        lock.is_none_or(|lock| self.take_lock(cpu, lock))
    }

    /// The same for an interrupt.
    pub(super) fn has_locks_for_interrupt(&mut self, cpu: CpuId, kind: EventKind) -> bool {
        match kind {
            EventKind::Tick(_) if self.is_tickless(cpu) => true,
            EventKind::Tick(_) | EventKind::Timer(..) | EventKind::Ipi(_, IpiKind::CallFunction) => {
                self.take_lock(cpu, cpu)
            }
            _ => true,
        }
    }

    /// Does a piece of work whose locks are held.
    pub(super) fn perform(
        &mut self,
        observer: &mut dyn Observer,
        cpu: CpuId,
        work: KernelWork,
    ) -> Result<(), RunError> {
        match work {
            KernelWork::Wake { target, sync, is_remembered } => {
                self.begin_wakeup(observer, cpu, target, sync, is_remembered);
            }
            KernelWork::FinishWakeup { pending, in_interrupt } => {
                self.tasks_in_wakeup_done(pending.task());
                self.enter(observer, cpu, KernelPath::Wake, |sched, ctx| sched.finish_wakeup(ctx, pending));
                if in_interrupt {
                    self.cpus[cpu.index()].kernel.section = Some(KernelWork::EndInterrupt);
                }
            }
            KernelWork::FinishFork { task, pending } => {
                self.tasks[task].woken_by = None;
                self.finish_fork(observer, cpu, task, pending)?;
            }
            KernelWork::EndInterrupt => {
                if self.sched.is_softirq_pending(cpu) {
                    self.enter(observer, cpu, KernelPath::Softirq, |sched, ctx| sched.handle_interrupt_end(ctx));
                }
            }
            KernelWork::Block { task } => {
                debug_assert_eq!(self.running_task(cpu), Some(task), "a system call is not preempted");
                let host = &mut self.tasks[task];
                host.will_block = false;
                if core::mem::take(&mut host.is_woken_early) {
                    host.waits_for_io = false;
                } else {
                    self.leave_to_others(observer, cpu, task);
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
            KernelWork::Serve(kind) => {
                self.serve(observer, cpu, kind)?;
            }
        }
        Ok(())
    }

    /// The first phase of a wake-up by a task.
    fn begin_wakeup(
        &mut self,
        observer: &mut dyn Observer,
        cpu: CpuId,
        target: usize,
        sync: bool,
        is_remembered: bool,
    ) {
        let Some(id) = self.tasks[target].id else { return };
        let pending = self.enter(observer, cpu, KernelPath::Select, |sched, ctx| sched.begin_wakeup(ctx, id, sync));
        match pending {
            Some(pending) => {
                self.tasks[target].sleep = self.tasks[target].sleep.wrapping_add(1);
                self.go_on_waking(cpu, target, pending, false);
            }
            None => self.found_awake(target, is_remembered),
        }
    }

    /// The first phase of a wake-up by an interrupt.
    pub(super) fn begin_wakeup_by_interrupt(&mut self, observer: &mut dyn Observer, cpu: CpuId, target: usize) {
        let id = self.tasks[target].id.expect("a task that sleeps was forked");
        let pending = self.enter(observer, cpu, KernelPath::Select, |sched, ctx| {
            ctx.charge(fairlab_sched::work::Op::IpiReceive);
            sched.begin_wakeup_interrupt(ctx, id)
        });
        match pending {
            Some(pending) => self.go_on_waking(cpu, target, pending, true),
            None => {
                self.found_awake(target, false);
                self.cpus[cpu.index()].kernel.section = Some(KernelWork::EndInterrupt);
            }
        }
    }

    fn go_on_waking(&mut self, cpu: CpuId, target: usize, pending: PendingWakeup, in_interrupt: bool) {
        self.tasks[target].woken_by = Some(cpu);
        self.cpus[cpu.index()].kernel.section = Some(KernelWork::FinishWakeup { pending, in_interrupt });
    }

    /// A wake-up has found its task awake: one that is about to block does not, and of others it may be remembered.
    fn found_awake(&mut self, target: usize, is_remembered: bool) {
        let host = &mut self.tasks[target];
        if host.will_block {
            host.is_woken_early = true;
        } else if is_remembered {
            host.is_wake_pending = true;
        }
    }

    fn tasks_in_wakeup_done(&mut self, id: TaskId) {
        if let Some(task) = self.host_of.get(id.index()).copied().flatten() {
            self.tasks[task as usize].woken_by = None;
        }
    }
}
