// SPDX-License-Identifier: GPL-2.0-or-later
//! Time of kernel code: a call of the scheduler keeps its CPU busy while other CPUs continue.
//!
//! A call of the scheduler is a *phase*. It reads and changes state at its start; then its CPU is busy for
//! the cost of the operations that the phase counted. Interrupts that the phase sends leave at its end.
//! Rules, in order, for a CPU at the end of a phase:
//! 1. A scheduler path that has yielded with interrupts off resumes.
//! 2. Interrupts that have arrived are served in order of arrival.
//! 3. An interrupted phase resumes, then its path (the balancing softirq, which runs with interrupts on),
//!    then the network softirq (`net_rx_step`).
//! 4. The remaining work of the running task's system call is done ([`KernelWork`]). A system call is not
//!    preempted.
//! 5. The CPU settles: it reschedules, idles, or continues its task.
//!
//! The running task does no work of its own during kernel code, but the time counts as its runtime, as in a
//! kernel. Zero-cost kernel code takes the same path in no time: a phase ends when it begins, and paths need
//! not yield.

use crate::engine::Engine;
use crate::event::EventKind;
use crate::interface::error::SimResult;
use crate::interface::observation::KernelPath;
use crate::observer::Observer;
use crate::parts::kernel::KernelWork;
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::paths::entry::Entry;

/// Result of one step of a CPU's kernel work.
pub(crate) enum KernelProgress {
    /// The CPU is busy; an event must come first.
    Busy,
    /// A step was done; more may follow.
    Done,
    /// No work is left; the CPU may settle.
    Nothing,
}

impl<E: Engine> Machine<E> {
    /// Delivers an interrupt. It is served at once unless the CPU is busy with interrupts off.
    pub(crate) fn handle_interrupt(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        kind: EventKind,
    ) -> SimResult {
        self.interrupt_phase(cpu);
        let is_first = !self.cpus[cpu.index()].kernel.has_interrupts();
        if !is_first || self.resume_irqs_off_paths(observer, cpu) {
            self.cpus[cpu.index()].kernel.push_interrupt(kind);
            return self.settle(observer, cpu);
        }
        match self.serve_interrupt(observer, cpu, kind)? {
            KernelProgress::Busy => Ok(()),
            KernelProgress::Done | KernelProgress::Nothing => self.settle(observer, cpu),
        }
    }

    /// Queues a request of the scenario. A process on that CPU executes it after the work that is already
    /// queued.
    pub(crate) fn queue_process_work(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        kind: EventKind,
    ) -> SimResult {
        self.push_work(cpu, KernelWork::Serve(kind));
        self.settle(observer, cpu)
    }

    /// Ends a phase, unless the phase was extended since (`version`).
    pub(crate) fn end_phase(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, version: u32) -> SimResult {
        if !self.cpus[cpu.index()].kernel.is_current(version) {
            return Ok(());
        }
        self.exit_kernel(cpu);
        self.release_locks(cpu);
        self.settle(observer, cpu)
    }

    /// Executes the next step of a CPU's kernel work.
    #[inline]
    pub(crate) fn kernel_step(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> SimResult<KernelProgress> {
        if self.cpus[cpu.index()].kernel.has_no_work() && !self.sched.is_in_path(cpu) {
            return Ok(KernelProgress::Nothing);
        }
        self.run_next(observer, cpu)
    }

    #[inline(never)]
    fn run_next(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> SimResult<KernelProgress> {
        if self.resume_irqs_off_paths(observer, cpu) {
            return Ok(KernelProgress::Busy);
        }
        if let Some(kind) = self.cpus[cpu.index()].kernel.pop_interrupt() {
            return self.serve_interrupt(observer, cpu, kind);
        } else if self.cpus[cpu.index()].kernel.is_suspended() {
            self.resume_suspended(cpu);
            return Ok(KernelProgress::Busy);
        } else if let Some(pause) = self.sched.yielded_path(cpu) {
            self.resume_path(observer, cpu, pause);
            return Ok(KernelProgress::Done);
        } else if self.cpus[cpu.index()].kernel.net.is_running() {
            if self.net_rx_step(observer, cpu) {
                return Ok(KernelProgress::Busy);
            }
        } else if let Some(work) = self.cpus[cpu.index()].kernel.pop_work() {
            if work.entry().is_some_and(|entry| !self.try_enter(cpu, entry)) {
                self.cpus[cpu.index()].kernel.push_first_work(work);
                return Ok(KernelProgress::Busy);
            }
            self.perform(observer, cpu, work)?;
        } else {
            return Ok(KernelProgress::Nothing);
        }
        if !self.cpus[cpu.index()].kernel.is_busy() {
            self.release_locks(cpu);
        }
        Ok(KernelProgress::Done)
    }

    /// Performs the work that a step has queued, up to work before which something else comes. Only for kernel code that takes
    /// no time.
    pub(crate) fn perform_work(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> SimResult {
        while !self.sched.is_in_path(cpu)
            && let Some(work) = self.cpus[cpu.index()].kernel.pop_next_work()
        {
            self.perform(observer, cpu, work)?;
        }
        Ok(())
    }

    /// Serves the first interrupt of a CPU, or queues it until the CPU has the lock that the handler takes
    /// first.
    fn serve_interrupt(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        kind: EventKind,
    ) -> SimResult<KernelProgress> {
        if self.entry_of_interrupt(cpu, kind).is_some_and(|entry| !self.try_enter(cpu, entry)) {
            self.cpus[cpu.index()].kernel.return_interrupt(kind);
            return Ok(KernelProgress::Busy);
        }
        self.serve_event(observer, cpu, kind)?;
        if !self.is_leaving_idle_state(cpu) {
            self.invoke_net_rx(cpu);
        }
        // An interrupt that is deferred to the end of the idle exit returns as an event; nothing else happens
        // on this CPU before.
        if self.is_leaving_idle_state(cpu) && !self.cpus[cpu.index()].kernel.has_interrupts() {
            self.release_locks(cpu);
            return Ok(KernelProgress::Busy);
        }
        if !self.cpus[cpu.index()].kernel.is_busy() {
            self.release_locks(cpu);
        }
        Ok(KernelProgress::Done)
    }

    /// Returns the scheduler call with which an interrupt begins, if the call takes a lock.
    pub(crate) fn entry_of_interrupt(&self, cpu: CpuId, kind: EventKind) -> Option<Entry> {
        match kind {
            EventKind::Tick(_) if self.is_tickless(cpu) => None,
            EventKind::Tick(_) => Some(Entry::Tick),
            EventKind::Timer(..) => Some(Entry::Timer),
            EventKind::Ipi(_, ipi) => Some(Entry::Ipi(ipi)),
            _ => Some(Entry::Wakeup),
        }
    }

    /// Executes a piece of work. The lock of its first phase is held.
    pub(crate) fn perform(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, work: KernelWork) -> SimResult {
        match work {
            KernelWork::Wake { target, sync, source } => {
                self.wake_now(observer, cpu, target, sync, source);
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
}
