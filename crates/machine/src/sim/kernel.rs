// SPDX-License-Identifier: GPL-2.0-or-later
//! Time of kernel code: a call of the scheduler keeps its CPU busy while other CPUs continue.
//!
//! A call of the scheduler is a *phase*. It reads and changes state at its start; then its CPU is busy for
//! the cost of the operations that the phase counted. Interrupts that the phase sends leave at its end.
//! Rules, in order, for a CPU at the end of a phase:
//! 1. A scheduler path that has yielded with interrupts off resumes.
//! 2. Interrupts that have arrived are served in order of arrival.
//! 3. An interrupted phase resumes, then its path (the balancing softirq, which runs with interrupts on),
//!    then the network softirq ([`super::softirq`]).
//! 4. The remaining work of the running task's system call is done ([`super::phases`]). A system call is not
//!    preempted.
//! 5. The CPU settles: it reschedules, idles, or continues its task.
//!
//! The running task does no work of its own during kernel code, but the time counts as its runtime, as in a
//! kernel. Zero-cost kernel code takes the same path in no time: a phase ends when it begins, and paths need
//! not yield.

use super::phases::KernelWork;
use super::softirq::NetSoftirq;
use super::tasks::{FULL_SPEED, whole_units, work_in};
use super::{Machine, RunError};
use crate::engine::Engine;
use crate::event::EventKind;
use crate::observer::{KernelPath, MachineEvent, Observer};
use fairlab_sched::ids::CpuId;
use fairlab_sched::paths::resumable::{PathKind, PhaseLock, YieldedPath};
use fairlab_sched::units::Nanos;
use std::collections::VecDeque;

/// Kernel code in progress on a CPU, and the work that waits for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelState {
    /// Whether the CPU is in a phase or spins for a lock.
    is_busy: bool,
    /// Start of the busy time that is not yet accounted.
    since: Nanos,
    /// End of the phase; [`Nanos::NEVER`] while the CPU spins.
    until: Nanos,
    /// Version of the event that ends the phase.
    version: u32,
    /// Start of the wait for a lock, which may be the wait that preceded the next phase.
    pub(super) waits_since: Option<Nanos>,
    pub(super) spins_since: Nanos,
    /// Work to add to the next phase: a remainder below 1 ns, or work that came while the CPU spun.
    pub(super) carried_work: u128,
    pub(super) irqs_on: bool,
    /// Whether the CPU has spun for one interval and may check the lock again.
    pub(super) has_spun: bool,
    /// Rest of a phase that interrupts have interrupted.
    suspended: Nanos,
    /// Interrupts in order of arrival.
    interrupts: VecDeque<EventKind>,
    /// Remaining work of system calls, and work that the scenario requests.
    pub(super) work: VecDeque<KernelWork>,
    /// Whether the running task's completion must be planned again once it resumes.
    pub(super) needs_plan: bool,
    /// Whether an idle CPU enters its idle state as soon as its work is done.
    pub(super) will_sleep: bool,
    /// Runqueue locks that the CPU holds until the end of the phase.
    pub(super) held: Vec<CpuId>,
    /// Backlog and rounds of the network softirq.
    pub(super) net: NetSoftirq,
}

/// Initial capacity of the queues of a CPU.
const QUEUE_CAPACITY: usize = 16;
/// Initial capacity of the list of held locks: the CPU's own runqueue and another one, with reserve.
const HELD_LOCKS_CAPACITY: usize = 4;

impl KernelState {
    /// Returns the state of a CPU without work, with capacity reserved for a busy CPU.
    pub(super) fn with_capacity() -> Self {
        Self {
            interrupts: VecDeque::with_capacity(QUEUE_CAPACITY),
            work: VecDeque::with_capacity(QUEUE_CAPACITY),
            held: Vec::with_capacity(HELD_LOCKS_CAPACITY),
            ..Self::default()
        }
    }

    /// Whether the CPU is in a phase or spins for a lock.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Whether no path is in progress: at most interrupts and requests of the scenario are left.
    fn is_between_paths(&self) -> bool {
        let is_idle = !self.is_busy && self.suspended == Nanos::ZERO && !self.net.is_running();
        is_idle && self.work.iter().all(|work| matches!(work, KernelWork::Serve(_)))
    }

    #[inline]
    fn has_no_work(&self) -> bool {
        let is_quiet = !self.is_busy && self.interrupts.is_empty() && self.work.is_empty();
        is_quiet && self.suspended == Nanos::ZERO && !self.net.is_running()
    }

    /// Whether no work is left and no lock is held.
    pub(super) fn is_quiescent(&self) -> bool {
        self.is_between_paths() && self.work.is_empty() && self.interrupts.is_empty() && self.held.is_empty()
    }
}

/// Result of one step of a CPU's kernel work.
pub(super) enum KernelProgress {
    /// The CPU is busy; an event must come first.
    Busy,
    /// A step was done; more may follow.
    Done,
    /// No work is left; the CPU may settle.
    Nothing,
}

impl<E: Engine> Machine<E> {
    /// Delivers an interrupt. It is served at once unless the CPU is busy with interrupts off.
    pub(super) fn handle_interrupt(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        kind: EventKind,
    ) -> Result<(), RunError> {
        self.interrupt_phase(cpu);
        let is_first = self.cpus[cpu.index()].kernel.interrupts.is_empty();
        if !is_first || self.resume_irqs_off_paths(observer, cpu) {
            self.cpus[cpu.index()].kernel.interrupts.push_back(kind);
            return self.settle(observer, cpu);
        }
        match self.serve_interrupt(observer, cpu, kind)? {
            KernelProgress::Busy => Ok(()),
            KernelProgress::Done | KernelProgress::Nothing => self.settle(observer, cpu),
        }
    }

    /// Interrupts a phase that runs with interrupts on. The rest of the phase follows the interrupts.
    fn interrupt_phase(&mut self, cpu: CpuId) {
        let now = self.now;
        let kernel = &mut self.cpus[cpu.index()].kernel;
        if kernel.is_busy && kernel.irqs_on && kernel.until > now {
            kernel.suspended = kernel.until - now;
            kernel.version = kernel.version.wrapping_add(1);
            self.exit_kernel(cpu);
        }
    }

    /// Resumes a phase that was interrupted.
    fn resume_suspended(&mut self, cpu: CpuId) {
        let left = core::mem::take(&mut self.cpus[cpu.index()].kernel.suspended);
        self.extend_kernel_time(cpu, left);
        self.cpus[cpu.index()].kernel.irqs_on = true;
    }

    /// Queues a request of the scenario. A process on that CPU executes it after the work that is already
    /// queued.
    pub(super) fn queue_process_work(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        kind: EventKind,
    ) -> Result<(), RunError> {
        self.push_work(cpu, KernelWork::Serve(kind));
        self.settle(observer, cpu)
    }

    /// Whether no kernel path is in progress on a CPU.
    pub(super) fn is_between_paths(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].kernel.is_between_paths() && self.sched.yielded_path(cpu).is_none()
    }

    /// Whether a CPU has no kernel work, so that a request of the scenario is executed at once.
    pub(super) fn is_kernel_quiescent(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].kernel.is_quiescent() && !self.sched.is_in_path(cpu)
    }

    /// Ends a phase, unless the phase was extended since (`version`).
    pub(super) fn end_phase(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        version: u32,
    ) -> Result<(), RunError> {
        if version != self.cpus[cpu.index()].kernel.version {
            return Ok(());
        }
        self.exit_kernel(cpu);
        self.release_locks(cpu);
        self.settle(observer, cpu)
    }

    /// Executes the next step of a CPU's kernel work.
    #[inline]
    pub(super) fn kernel_step(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
    ) -> Result<KernelProgress, RunError> {
        if self.cpus[cpu.index()].kernel.has_no_work() && !self.sched.is_in_path(cpu) {
            return Ok(KernelProgress::Nothing);
        }
        self.run_next(observer, cpu)
    }

    fn run_next(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> Result<KernelProgress, RunError> {
        if self.resume_irqs_off_paths(observer, cpu) {
            return Ok(KernelProgress::Busy);
        }
        if let Some(kind) = self.cpus[cpu.index()].kernel.interrupts.pop_front() {
            return self.serve_interrupt(observer, cpu, kind);
        } else if self.cpus[cpu.index()].kernel.suspended > Nanos::ZERO {
            self.resume_suspended(cpu);
            return Ok(KernelProgress::Busy);
        } else if let Some(pause) = self.sched.yielded_path(cpu) {
            self.resume_path(observer, cpu, pause);
            return Ok(KernelProgress::Done);
        } else if self.cpus[cpu.index()].kernel.net.is_running() {
            match self.net_rx_step(observer, cpu) {
                KernelProgress::Busy => return Ok(KernelProgress::Busy),
                KernelProgress::Done | KernelProgress::Nothing => {}
            }
        } else if let Some(work) = self.cpus[cpu.index()].kernel.work.pop_front() {
            if Self::entry_of_work(&work).is_some_and(|entry| !self.try_enter(cpu, entry)) {
                self.cpus[cpu.index()].kernel.work.push_front(work);
                return Ok(KernelProgress::Busy);
            }
            self.perform(observer, cpu, work)?;
        } else {
            return Ok(KernelProgress::Nothing);
        }
        if !self.cpus[cpu.index()].kernel.is_busy {
            self.release_locks(cpu);
        }
        Ok(KernelProgress::Done)
    }

    /// Serves the first interrupt of a CPU, or queues it until the CPU has the lock that the handler takes
    /// first.
    fn serve_interrupt(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        kind: EventKind,
    ) -> Result<KernelProgress, RunError> {
        if self.entry_of_interrupt(cpu, kind).is_some_and(|entry| !self.try_enter(cpu, entry)) {
            self.cpus[cpu.index()].kernel.interrupts.push_front(kind);
            return Ok(KernelProgress::Busy);
        }
        self.serve_event(observer, cpu, kind)?;
        if !self.is_leaving_idle_state(cpu) {
            self.invoke_net_rx(cpu);
        }
        // An interrupt that is deferred to the end of the idle exit returns as an event; nothing else happens
        // on this CPU before.
        if self.is_leaving_idle_state(cpu) && self.cpus[cpu.index()].kernel.interrupts.is_empty() {
            self.release_locks(cpu);
            return Ok(KernelProgress::Busy);
        }
        if !self.cpus[cpu.index()].kernel.is_busy {
            self.release_locks(cpu);
        }
        Ok(KernelProgress::Done)
    }

    /// Resumes paths that have yielded with interrupts off, until the CPU is busy or none is left. Returns
    /// whether the CPU is busy.
    #[inline]
    pub(super) fn resume_irqs_off_paths(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> bool {
        if self.sched.is_in_path(cpu) {
            self.resume_with_irqs_off(observer, cpu)
        } else {
            self.cpus[cpu.index()].kernel.is_busy
        }
    }

    fn resume_with_irqs_off(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> bool {
        while !self.cpus[cpu.index()].kernel.is_busy {
            let Some(pause) = self.sched.yielded_path(cpu).filter(|pause| !pause.irqs_on) else { return false };
            self.resume_path(observer, cpu, pause);
        }
        true
    }

    /// Resumes a yielded path of the scheduler once the CPU has the lock of its next phase.
    fn resume_path(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, pause: YieldedPath) {
        if !self.acquire_or_spin(cpu, pause.next) {
            return;
        }
        self.enter(observer, cpu, path_of(pause), |sched, ctx| sched.handle_resume(ctx));
        let kernel = &mut self.cpus[cpu.index()].kernel;
        kernel.irqs_on = pause.irqs_on && pause.next == PhaseLock::None;
        if !kernel.is_busy {
            self.release_locks(cpu);
        }
        self.defer_softirqs(observer, cpu);
    }

    /// Whether kernel work is queued on a CPU.
    #[inline]
    pub(super) fn has_work(&self, cpu: CpuId) -> bool {
        !self.cpus[cpu.index()].kernel.work.is_empty()
    }

    /// Queues kernel work on a CPU.
    pub(super) fn push_work(&mut self, cpu: CpuId, work: KernelWork) {
        self.cpus[cpu.index()].kernel.work.push_back(work);
    }

    /// Keeps a CPU busy for the cost of the operations that a call has counted. Returns the duration.
    pub(super) fn charge(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, path: KernelPath) -> Nanos {
        let ps = self.hardware.costs.total(&self.op_counts);
        self.op_counts.drain_into(&mut self.total_op_counts);
        let speed = self.speed_of(cpu);
        let waited = self.cpus[cpu.index()].kernel.waits_since.take();
        let lines = self.charge_lines(cpu, ps) + self.charge_remote_enqueue(cpu, path);
        let lines = if path == KernelPath::Select { lines + self.charge_tracer(cpu, ps, lines) } else { lines };
        let kernel = &mut self.cpus[cpu.index()].kernel;
        let work = work_in(ps, FULL_SPEED) + work_in(lines, speed) + kernel.carried_work;
        let is_spinning = kernel.is_busy && kernel.until == Nanos::NEVER;
        let took = if is_spinning { Nanos::ZERO } else { Nanos(whole_units(work, speed)) };
        kernel.carried_work = work - u128::from(took.0) * u128::from(speed);
        if took > Nanos::ZERO {
            self.extend_kernel_time(cpu, took);
        }
        if self.wants_kernel_paths {
            let began = waited.unwrap_or(self.now);
            let waited = self.now - began;
            let ends = !self.sched.yielded_path(cpu).is_some_and(|pause| has_more(path, pause));
            let event = MachineEvent::Kernel { cpu, path, began, took, waited, ends };
            observer.machine_event(self.now, &event);
        }
        if !self.cpus[cpu.index()].kernel.is_busy {
            self.release_locks(cpu);
        }
        took
    }

    /// Converts a time at full speed to the time on a CPU at its present speed. Both have the same unit.
    fn wall_time(&self, cpu: CpuId, ps: u64) -> u64 {
        match self.speed_of(cpu) {
            FULL_SPEED => ps,
            speed => whole_units(u128::from(ps) * u128::from(FULL_SPEED), speed),
        }
    }

    /// Time that the tracer adds at the end of a search, in picoseconds of wall time.
    fn charge_tracer(&mut self, cpu: CpuId, ps: u64, lines: u64) -> u64 {
        if !self.tracer.is_on() {
            return 0;
        }
        let own_ps = self.wall_time(cpu, ps);
        let searches_on = self.sched.yielded_path(cpu).is_some_and(|pause| pause.path == PathKind::Search);
        self.tracer.record_selection(cpu.index(), searches_on, self.now.0 * 1000 + own_ps + lines)
    }

    /// Time that a wake-up waits before its first store to another CPU's runqueue, in picoseconds of wall
    /// time.
    fn charge_remote_enqueue(&self, cpu: CpuId, path: KernelPath) -> u64 {
        if path != KernelPath::Wake {
            return 0;
        }
        let Some(pause) = self.sched.yielded_path(cpu) else { return 0 };
        let is_remote = match pause.next {
            PhaseLock::Held(target) => target != cpu,
            // A compiled-kernel engine that has stored already.
            PhaseLock::None if pause.path == PathKind::Wakeup => {
                self.cpus[cpu.index()].kernel.held.iter().any(|&lock| lock != cpu)
            }
            _ => false,
        };
        if is_remote { self.hardware.costs.remote_enqueue_ps() } else { 0 }
    }

    /// Time that cache-line transfers add to a phase, in picoseconds of wall time.
    fn charge_lines(&mut self, cpu: CpuId, ps: u64) -> u64 {
        if !self.lines.is_enabled() {
            return 0;
        }
        let other_ps = self.wall_time(cpu, ps);
        let sum = self.lines.touch_all(cpu, self.op_counts.touches(), self.now.0 * 1000, other_ps);
        self.op_counts.clear_touches();
        let counters = &mut self.counters.per_cpu[cpu.index()];
        counters.line_transfers += sum.count;
        counters.line_wait_ps += sum.waited_ps;
        sum.ps + sum.waited_ps
    }

    /// Keeps a CPU busy for `time`, or extends its present busy time.
    pub(super) fn extend_kernel_time(&mut self, cpu: CpuId, time: Nanos) {
        if self.cpus[cpu.index()].kernel.is_busy {
            self.cpus[cpu.index()].kernel.until += time;
        } else {
            self.enter_kernel(cpu, self.now + time);
        }
        let kernel = &mut self.cpus[cpu.index()].kernel;
        kernel.version = kernel.version.wrapping_add(1);
        let (until, version) = (kernel.until, kernel.version);
        self.events.push(until, EventKind::KernelDone(cpu, version));
    }

    /// Marks a CPU as busy in the kernel until `until`, or until a lock is granted. Its task does no work
    /// meanwhile.
    pub(super) fn enter_kernel(&mut self, cpu: CpuId, until: Nanos) {
        if let Some(task) = self.cpus[cpu.index()].task {
            self.account(task as usize);
            let host = &mut self.tasks[task as usize];
            host.completion_version = host.completion_version.wrapping_add(1);
        }
        self.wake_from_idle_state(cpu);
        let kernel = &mut self.cpus[cpu.index()].kernel;
        (kernel.is_busy, kernel.since, kernel.until, kernel.needs_plan) = (true, self.now, until, true);
        kernel.irqs_on = false;
    }

    /// Marks the end of a CPU's busy time: a phase has ended, or a lock was granted.
    pub(super) fn exit_kernel(&mut self, cpu: CpuId) {
        self.account_kernel(cpu);
        self.cpus[cpu.index()].kernel.is_busy = false;
    }

    /// Adds the kernel time of a CPU up to now to its counters.
    pub(super) fn account_kernel(&mut self, cpu: CpuId) {
        let host = &mut self.cpus[cpu.index()];
        if !host.kernel.is_busy {
            return;
        }
        let time = self.now - core::mem::replace(&mut host.kernel.since, self.now);
        let task = host.task;
        let counters = &mut self.counters.per_cpu[cpu.index()];
        counters.kernel += time;
        if counters.idle_since.is_some() {
            counters.kernel_in_idle += time;
        }
        if let Some(task) = task {
            self.account(task as usize);
        }
    }
}

/// Returns the kernel path to which a yielded path belongs.
const fn path_of(pause: YieldedPath) -> KernelPath {
    match pause.path {
        PathKind::Search => KernelPath::Select,
        PathKind::Wakeup => KernelPath::Wake,
        PathKind::InterruptEnd => KernelPath::Softirq,
        PathKind::NewIdle => KernelPath::NewIdle,
        PathKind::Softirq => KernelPath::Softirq,
        PathKind::IdleLoop => KernelPath::NohzIdle,
        PathKind::NohzKick => KernelPath::Tick,
        PathKind::Interrupt => KernelPath::Interrupt,
        PathKind::Schedule => KernelPath::Schedule,
        PathKind::Stopper => KernelPath::Stopper,
    }
}

/// Whether `path` is incomplete because of the path that has yielded.
fn has_more(path: KernelPath, pause: YieldedPath) -> bool {
    path == path_of(pause) || (path == KernelPath::Schedule && pause.path == PathKind::NewIdle)
}
