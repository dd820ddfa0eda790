// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernel code takes time on the CPU that runs it, while other CPUs go on.
//!
//! A handler of the scheduler is a *phase*: it reads and changes state at its start, and then its CPU is busy for the price
//! of the work that it metered. What the phase sends to other CPUs leaves at its end. Rules, in order, for what a CPU does
//! when a phase is over:
//! 1. A path of the scheduler that has paused with interrupts off goes on.
//! 2. Interrupts that have come meanwhile are served, first come, first served.
//! 3. A phase that they have interrupted goes on, and then its path (the balancing softirq, which leaves interrupts on), and then the
//!    network's softirq ([`super::softirq`]).
//! 4. What the running task's system call still has to do is done ([`super::phases`]). Such a call is not preempted.
//! 5. The CPU settles as ever: it reschedules, idles, or lets its task go on.
//!
//! A task that runs does no work of its own meanwhile, but the time counts as its own, as in a kernel. Kernel code that is free
//! takes the same way in no time: its phases are over when they begin, and paths need not pause.

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

/// What a CPU does in the kernel, and what waits for that.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelState {
    /// It is in a phase, or waits for a lock.
    is_busy: bool,
    /// Since when, or since when that has been accounted.
    since: Nanos,
    /// When the phase is over; [`Nanos::NEVER`] while it spins.
    until: Nanos,
    /// Version of the end of the phase.
    version: u32,
    /// Since when it waits for a lock, or has waited for that of its next phase.
    pub(super) waits_since: Option<Nanos>,
    /// Since when it spins.
    pub(super) spins_since: Nanos,
    /// Work that the next phase has to do beside its own: what was too little for a nanosecond, or came while it spun.
    pub(super) rest: u128,
    /// Interrupts may come during the phase.
    pub(super) irqs_on: bool,
    /// It has spun for what it waits for, and may look now.
    pub(super) has_spun: bool,
    /// What is left of a phase that interrupts have interrupted.
    suspended: Nanos,
    /// Interrupts, in the order in which they came.
    interrupts: VecDeque<EventKind>,
    /// What is left to do of system calls, and what somebody from outside wants.
    pub(super) work: VecDeque<KernelWork>,
    /// The running task's plan has to be made anew once it goes on.
    pub(super) needs_plan: bool,
    /// An idle CPU waits for interrupts as soon as its work is done.
    pub(super) will_sleep: bool,
    /// Locks of runqueues that it holds until the end of the phase.
    pub(super) held: Vec<CpuId>,
    /// What the network has for it.
    pub(super) net: NetSoftirq,
}

/// As much may wait on a CPU before its queues have to grow.
const ROOM: usize = 16;
/// As many locks are held at a time: that of the own runqueue and that of another.
const LOCKS: usize = 4;

impl KernelState {
    /// Nothing to do, with room for what a busy CPU has to do.
    pub(super) fn with_room() -> Self {
        Self {
            interrupts: VecDeque::with_capacity(ROOM),
            work: VecDeque::with_capacity(ROOM),
            held: Vec::with_capacity(LOCKS),
            ..Self::default()
        }
    }

    /// Whether the CPU is in a phase, or waits for a lock.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Whether the CPU is in the middle of nothing: at most interrupts and what comes from outside are left to do.
    fn is_between_paths(&self) -> bool {
        let is_idle = !self.is_busy && self.suspended == Nanos::ZERO && !self.net.is_running();
        is_idle && self.work.iter().all(|work| matches!(work, KernelWork::Serve(_)))
    }

    /// Whether nothing waits to be done.
    #[inline]
    fn has_nothing(&self) -> bool {
        let is_quiet = !self.is_busy && self.interrupts.is_empty() && self.work.is_empty();
        is_quiet && self.suspended == Nanos::ZERO && !self.net.is_running()
    }

    /// Whether nothing is left to do and nothing is held.
    pub(super) fn is_clear(&self) -> bool {
        self.is_between_paths() && self.work.is_empty() && self.interrupts.is_empty() && self.held.is_empty()
    }
}

/// How a look at the kernel's work of a CPU has ended.
pub(super) enum Progress {
    /// The CPU is busy: something has to happen first.
    Busy,
    /// Something was done: look again.
    Done,
    /// Nothing is left: the CPU may settle.
    Nothing,
}

impl<E: Engine> Machine<E> {
    /// An interrupt. It is served at once unless the CPU is busy with interrupts off.
    pub(super) fn interrupt(
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
        match self.take_interrupt(observer, cpu, kind)? {
            Progress::Busy => Ok(()),
            Progress::Done | Progress::Nothing => self.settle(observer, cpu),
        }
    }

    /// Interrupts a phase, if it leaves interrupts on. What is left of it comes after the interrupts.
    fn interrupt_phase(&mut self, cpu: CpuId) {
        let now = self.now;
        let kernel = &mut self.cpus[cpu.index()].kernel;
        if kernel.is_busy && kernel.irqs_on && kernel.until > now {
            kernel.suspended = kernel.until - now;
            kernel.version = kernel.version.wrapping_add(1);
            self.exit_kernel(cpu);
        }
    }

    /// Goes on with a phase that was interrupted.
    fn resume_suspended(&mut self, cpu: CpuId) {
        let left = core::mem::take(&mut self.cpus[cpu.index()].kernel.suspended);
        self.stay_in_kernel(cpu, left);
        self.cpus[cpu.index()].kernel.irqs_on = true;
    }

    /// Something that comes from outside and is no interrupt: it is done by a process on that CPU, after what it does already.
    pub(super) fn queue_process_work(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        kind: EventKind,
    ) -> Result<(), RunError> {
        self.push_work(cpu, KernelWork::Serve(kind));
        self.settle(observer, cpu)
    }

    /// Whether a CPU is in the middle of no path of the kernel.
    pub(super) fn is_between_paths(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].kernel.is_between_paths() && self.sched.paused(cpu).is_none()
    }

    /// Whether a CPU has nothing to do in the kernel, so that what comes from outside is done at once.
    pub(super) fn is_lock_free_for_others(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].kernel.is_clear() && !self.sched.is_in_path(cpu)
    }

    /// A phase is over, unless it was lengthened (version).
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

    /// Does the next thing that a CPU's kernel has to do.
    #[inline]
    pub(super) fn kernel_step(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> Result<Progress, RunError> {
        if self.cpus[cpu.index()].kernel.has_nothing() && !self.sched.is_in_path(cpu) {
            return Ok(Progress::Nothing);
        }
        self.do_next(observer, cpu)
    }

    fn do_next(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> Result<Progress, RunError> {
        if self.resume_irqs_off_paths(observer, cpu) {
            return Ok(Progress::Busy);
        }
        if let Some(kind) = self.cpus[cpu.index()].kernel.interrupts.pop_front() {
            return self.take_interrupt(observer, cpu, kind);
        } else if self.cpus[cpu.index()].kernel.suspended > Nanos::ZERO {
            self.resume_suspended(cpu);
            return Ok(Progress::Busy);
        } else if let Some(pause) = self.sched.paused(cpu) {
            self.resume_path(observer, cpu, pause);
            return Ok(Progress::Done);
        } else if self.cpus[cpu.index()].kernel.net.is_running() {
            match self.net_rx_step(observer, cpu) {
                Progress::Busy => return Ok(Progress::Busy),
                Progress::Done | Progress::Nothing => {}
            }
        } else if let Some(work) = self.cpus[cpu.index()].kernel.work.pop_front() {
            if Self::entry_of_work(&work).is_some_and(|entry| !self.try_enter(cpu, entry)) {
                self.cpus[cpu.index()].kernel.work.push_front(work);
                return Ok(Progress::Busy);
            }
            self.perform(observer, cpu, work)?;
        } else {
            return Ok(Progress::Nothing);
        }
        if !self.cpus[cpu.index()].kernel.is_busy {
            self.release_locks(cpu);
        }
        Ok(Progress::Done)
    }

    /// Serves the first interrupt of a CPU, or has it wait until the CPU has the lock that it begins with.
    fn take_interrupt(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        kind: EventKind,
    ) -> Result<Progress, RunError> {
        if self.entry_of_interrupt(cpu, kind).is_some_and(|entry| !self.try_enter(cpu, entry)) {
            self.cpus[cpu.index()].kernel.interrupts.push_front(kind);
            return Ok(Progress::Busy);
        }
        self.serve(observer, cpu, kind)?;
        if !self.is_leaving_idle_state(cpu) {
            self.invoke_net_rx(cpu);
        }
        // An interrupt that is put off until the CPU is awake will be back; nothing else happens there before.
        if self.is_leaving_idle_state(cpu) && self.cpus[cpu.index()].kernel.interrupts.is_empty() {
            self.release_locks(cpu);
            return Ok(Progress::Busy);
        }
        if !self.cpus[cpu.index()].kernel.is_busy {
            self.release_locks(cpu);
        }
        Ok(Progress::Done)
    }

    /// Carries on what has paused with interrupts off, until the CPU is busy or nothing of that kind is left. Returns whether it
    /// is busy.
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
            let Some(pause) = self.sched.paused(cpu).filter(|pause| !pause.irqs_on) else { return false };
            self.resume_path(observer, cpu, pause);
        }
        true
    }

    /// Carries on a path of the scheduler that has paused, as soon as the CPU has the lock of its next phase.
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
        self.hand_over_softirqs(observer, cpu);
    }

    /// Whether something is left to be done by a CPU's kernel after what it does already.
    #[inline]
    pub(super) fn has_work(&self, cpu: CpuId) -> bool {
        !self.cpus[cpu.index()].kernel.work.is_empty()
    }

    /// Leaves something to be done by a CPU's kernel after what it does already.
    pub(super) fn push_work(&mut self, cpu: CpuId, work: KernelWork) {
        self.cpus[cpu.index()].kernel.work.push_back(work);
    }

    /// A handler was called on a CPU: it is busy for the price of what was metered. Returns how long.
    pub(super) fn charge(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, path: KernelPath) -> Nanos {
        let ps = self.hardware.prices.total(&self.meter);
        self.meter.drain_into(&mut self.total_work);
        let speed = self.speed_of(cpu);
        let waited = self.cpus[cpu.index()].kernel.waits_since.take();
        let lines = self.charge_lines(cpu, ps) + self.charge_remote_enqueue(cpu, path);
        let lines = if path == KernelPath::Select { lines + self.charge_tracer(cpu, ps, lines) } else { lines };
        let kernel = &mut self.cpus[cpu.index()].kernel;
        let work = work_in(ps, FULL_SPEED) + work_in(lines, speed) + kernel.rest;
        let is_spinning = kernel.is_busy && kernel.until == Nanos::NEVER;
        let took = if is_spinning { Nanos::ZERO } else { Nanos(whole_units(work, speed)) };
        kernel.rest = work - u128::from(took.0) * u128::from(speed);
        if took > Nanos::ZERO {
            self.stay_in_kernel(cpu, took);
        }
        if self.wants_kernel_paths {
            let began = waited.unwrap_or(self.now);
            let waited = self.now - began;
            let ends = !self.sched.paused(cpu).is_some_and(|pause| has_more(path, pause));
            let event = MachineEvent::Kernel { cpu, path, began, took, waited, ends };
            observer.machine_event(self.now, &event);
        }
        if !self.cpus[cpu.index()].kernel.is_busy {
            self.release_locks(cpu);
        }
        took
    }

    /// How long a CPU takes for what takes so long at full speed.
    fn wall_time(&self, cpu: CpuId, ps: u64) -> u64 {
        match self.speed_of(cpu) {
            FULL_SPEED => ps,
            speed => whole_units(u128::from(ps) * u128::from(FULL_SPEED), speed),
        }
    }

    /// What the tracer takes at the end of a search, in picoseconds of wall time.
    fn charge_tracer(&mut self, cpu: CpuId, ps: u64, lines: u64) -> u64 {
        if !self.tracer.is_on() {
            return 0;
        }
        let own_ps = self.wall_time(cpu, ps);
        let searches_on = self.sched.paused(cpu).is_some_and(|pause| pause.path == PathKind::Search);
        self.tracer.selected(cpu.index(), searches_on, self.now.0 * 1000 + own_ps + lines)
    }

    /// What a wake-up waits for when it has another CPU's lock and is about to store, in picoseconds of wall time.
    fn charge_remote_enqueue(&self, cpu: CpuId, path: KernelPath) -> u64 {
        if path != KernelPath::Wake {
            return 0;
        }
        let Some(pause) = self.sched.paused(cpu) else { return 0 };
        let is_remote = match pause.next {
            PhaseLock::Held(target) => target != cpu,
            // An engine that has stored already.
            PhaseLock::None if pause.path == PathKind::Wakeup => {
                self.cpus[cpu.index()].kernel.held.iter().any(|&lock| lock != cpu)
            }
            _ => false,
        };
        if is_remote { self.hardware.prices.remote_enqueue_ps() } else { 0 }
    }

    /// What the looks of a phase at runqueues take beside its other work, in picoseconds of wall time.
    fn charge_lines(&mut self, cpu: CpuId, ps: u64) -> u64 {
        if !self.lines.are_priced() {
            return 0;
        }
        let other_ps = self.wall_time(cpu, ps);
        let sum = self.lines.touch_all(cpu, self.meter.touches(), self.now.0 * 1000, other_ps);
        self.meter.clear_touches();
        let counters = &mut self.counters.per_cpu[cpu.index()];
        counters.line_transfers += sum.count;
        counters.line_waiting_ps += sum.waited_ps;
        sum.ps + sum.waited_ps
    }

    /// A CPU is busy for some time, or for so much longer if it is busy already.
    pub(super) fn stay_in_kernel(&mut self, cpu: CpuId, time: Nanos) {
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

    /// What runs on a CPU does no work of its own, until some time or until a lock comes.
    pub(super) fn enter_kernel(&mut self, cpu: CpuId, until: Nanos) {
        if let Some(task) = self.cpus[cpu.index()].task {
            self.account(task as usize);
            let host = &mut self.tasks[task as usize];
            host.completion = host.completion.wrapping_add(1);
        }
        self.wake_from_idle_state(cpu);
        let kernel = &mut self.cpus[cpu.index()].kernel;
        (kernel.is_busy, kernel.since, kernel.until, kernel.needs_plan) = (true, self.now, until, true);
        kernel.irqs_on = false;
    }

    /// The kernel's work on a CPU is done for now, or its lock has come.
    pub(super) fn exit_kernel(&mut self, cpu: CpuId) {
        self.account_kernel(cpu);
        self.cpus[cpu.index()].kernel.is_busy = false;
    }

    /// Adds the time of a CPU in the kernel up to now to its counts.
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

/// The path to which what is paused belongs.
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

/// Whether a path is not over because of what is paused now.
fn has_more(path: KernelPath, pause: YieldedPath) -> bool {
    path == path_of(pause) || (path == KernelPath::Schedule && pause.path == PathKind::NewIdle)
}
