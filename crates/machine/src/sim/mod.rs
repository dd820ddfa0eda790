// SPDX-License-Identifier: GPL-2.0-or-later
//! The simulated machine: it owns time, and lets the scheduler and the tasks of a workload act on it.
//!
//! The rules are those of the oracle's host: an event is handled on its CPU, then the CPU *settles* (it reschedules, idles
//! or lets its task go on, until only the passing of time is left to do). [`settle`](Machine::settle) is the heart;
//! [`tasks`] has work and time, [`steps`] what tasks do, [`sync`] what they share, [`effects`] what the scheduler wants,
//! [`changes`] what others change while they run, [`idle`] the idle states, [`speed`] how fast CPUs are, [`governor`] the threads and
//! drivers of frequencies. Where kernel code has prices, [`kernel`] lets it
//! take time, [`phases`] has its paths, [`locks`] those for which CPUs wait, and
//! [`lines`] the cache lines that they look at; [`softirq`] has what waits for its CPU's ksoftirqd.

mod changes;
mod checks;
mod effects;
mod futex;
mod governor;
mod idle;
mod inherit;
mod kernel;
mod lines;
mod locks;
mod phases;
mod residency;
mod setup;
mod softirq;
mod speed;
mod stall;
mod steps;
mod sync;
mod tasks;
mod tracer;

pub use effects::{CpuCounters, MachineCounters};
pub use idle::IdleResidency;
pub use residency::{CpuKind, Residency, StateTime};
pub use setup::{Setup, SetupError};
pub use stall::{BlockedOn, BlockedTask};
pub use tasks::{SimTask, instance_name};

use crate::digest::Digest;
use crate::engine::Engine;
use crate::event::{Event, EventKind, EventQueue, Lane};
use crate::hardware::Hardware;
use crate::observer::{Interest, KernelPath, MachineEvent, Observer};
use effects::CountingObserver;
use fairlab_sched::ctx::{Ctx, Effect};
use fairlab_sched::ids::{CpuId, CpusetId, GroupId};
use fairlab_sched::interface::policy::{PolicyRequest, PolicySlot};
use fairlab_sched::paths::entry::Entry;
use fairlab_sched::paths::idle::IdleTick;
use fairlab_sched::sched::Sched;
use fairlab_sched::state::snapshot::CpuAction;
use fairlab_sched::units::{CAPACITY_SHIFT, Capacity, Nanos};
use fairlab_sched::work::{KernelOp, OpCounts};
use fairlab_workload::workload::Workload;
use kernel::Progress;
use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use sync::SyncObjects;

/// When a run starts, on every clock.
pub const START: Nanos = Nanos(1_000_000_000);
/// When the boot begins: so long before the start that it is over by then. Waking the stoppers takes 2 us for each CPU.
const fn boot_start(nr_cpus: usize) -> Nanos {
    let needed = 3_000 * nr_cpus as u64;
    Nanos(START.0 - if needed > 1_000_000 { needed } else { 1_000_000 })
}
/// A program that takes so many steps at one instant will never end.
const MAX_ROUNDS: u32 = 100_000;
/// So many events at one instant mean that there is no progress.
const MAX_EVENTS_AT_ONCE: u64 = 1_000_000;

/// What the machine knows of a CPU.
#[derive(Clone, Debug)]
pub(crate) struct SimCpu {
    idle_loop: IdleLoop,
    /// The task of the workload that the last switch has brought.
    task: Option<u32>,
    /// Frequency, of 1024; above that where few busy cores let the hardware go beyond full capacity.
    freq: Capacity,
    /// What the other threads of its core leave it, of 1024.
    share: u64,
    /// Both together, of 1024.
    rate: u64,
    /// Version of the frequency to which its driver was told to switch.
    speed_version: u32,
    /// Version of the programmed timer.
    timer_version: u32,
    /// What the timer is programmed for.
    timer_at: Nanos,
    idle: idle::CpuIdleState,
    /// What it does in the kernel, where that takes time.
    kernel: kernel::KernelState,
}

impl SimCpu {
    /// After its frequency or its part of a core has changed.
    fn set_rate(&mut self) {
        self.rate = (self.freq * self.share) >> CAPACITY_SHIFT;
    }
}

/// Where a CPU's idle task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdleLoop {
    /// It has not entered its loop since the last context switch.
    Outside,
    /// In its loop: the tick is stopped.
    Inside,
    /// In its loop, and the tick goes on.
    Ticking,
    /// It has left the loop to reschedule.
    Left,
}

impl IdleLoop {
    /// Whether the idle task is in its loop, with its tick or without.
    const fn is_inside(self) -> bool {
        matches!(self, Self::Inside | Self::Ticking)
    }
}

/// Why a run cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A program neither runs nor blocks.
    NoProgress {
        /// Where.
        cpu: CpuId,
        /// When, from the start of the run.
        at: Nanos,
        /// Whose program; none if something else comes again and again.
        task: Option<String>,
    },
    /// A template was forked too often.
    ForkLimit {
        /// The template.
        task: String,
        /// How often it may be.
        limit: u32,
    },
    /// A task did something that the programs it stands for cannot do.
    Misuse {
        /// The task.
        task: String,
        /// What it did.
        what: String,
    },
    /// The policy that selects CPUs at wake-ups has answered what cannot be used.
    Policy {
        /// About what it was asked: where a task is to wake up, what a CPU is to pull, how deep one is to sleep.
        asked: String,
        /// When, from the start of the run.
        at: Nanos,
        /// What it has answered.
        what: String,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgress { cpu, at, task: Some(task) } => write!(
                f,
                "no progress after {at} on CPU {}: the program of task {task} neither runs nor blocks; give it a run or sleep step",
                cpu.0
            ),
            Self::NoProgress { cpu, at, task: None } => write!(
                f,
                "no progress after {at} on CPU {}: no end of events at that instant; give tasks that wake each other a run step, and \
                 what comes again and again a longer period",
                cpu.0
            ),
            Self::ForkLimit { task, limit } => {
                write!(f, "task {task} is forked more than {limit} times, which is as often as rt-app allows")
            }
            Self::Misuse { task, what } => write!(f, "task {task} {what}"),
            Self::Policy { asked, at, what } => write!(f, "the policy, asked after {at} {asked}, {what}"),
        }
    }
}

impl std::error::Error for RunError {}

/// A machine with a workload on it.
pub struct Machine<E = Sched> {
    pub(crate) sched: E,
    pub(crate) hardware: Hardware,
    pub(crate) workload: Workload,
    pub(crate) now: Nanos,
    /// How far the scheduler's clocks have run ahead during this event.
    ahead: Nanos,
    events: EventQueue,
    pub(crate) cpus: Vec<SimCpu>,
    pub(crate) tasks: Vec<SimTask>,
    /// Place of each of the scheduler's tasks among the machine's.
    sim_index: Vec<Option<u32>>,
    groups: Vec<GroupId>,
    cpusets: Vec<CpusetId>,
    sync: SyncObjects,
    effects: Vec<Effect>,
    meter: OpCounts,
    pub(crate) total_work: OpCounts,
    pub(crate) digest: Digest,
    pub(crate) counters: MachineCounters,
    end: Nanos,
    /// No more events than that happen.
    most_events: u64,
    snapshot_every: Option<Nanos>,
    /// Whether kernel code takes time: not before the run begins, and never on a machine on which all its operations are free.
    kernel_takes_time: bool,
    /// Whose tick advances the time of the machine: the kernel's `tick_do_timer_cpu`. It gives that up when it goes idle, and
    /// the next CPU to tick takes it.
    timekeeper: Option<CpuId>,
    /// Whether the observer wants to hear of kernel paths.
    wants_kernel_paths: bool,
    /// Whether the observer wants to hear what each call of the scheduler counts.
    wants_work: bool,
    /// Locks of the runqueues.
    locks: Vec<locks::RqLock>,
    /// Cache lines of the runqueues.
    lines: lines::RqLines,
    tracer: tracer::Tracer,
    paces: speed::CpuSpeeds,
    /// Which kinds of CPUs there are.
    kinds: residency::CpuKinds,
    /// Place of the first ksoftirqd among the workload's tasks; those of other CPUs follow. Only where kernel code has prices.
    first_ksoftirqd: usize,
    /// Threads of frequency domains, in their order.
    governor_threads: Vec<governor::GovernorThread>,
    /// What PM QoS asks of idle states.
    cpu_dma_latency: idle::LatencyRequests,
    /// CPUs to which a lock has come during this event.
    granted: VecDeque<CpuId>,
    /// Who selects CPUs at wake-ups in the place of the kernel's rules.
    policy: Option<PolicySlot>,
    /// What the observer wants.
    wants: Interest,
    checks: Option<checks::Checks>,
}

impl<E: Engine> Machine<E> {
    /// Runs to the end. Afterwards the clock stands there.
    ///
    /// # Errors
    /// If a task's program makes no progress or does what it cannot do.
    pub fn run(&mut self, observer: &mut dyn Observer<E>) -> Result<(), RunError> {
        self.start(observer)?;
        while self.advance(observer, Nanos(u64::MAX))? {}
        self.finish(observer);
        Ok(())
    }

    /// Before the first event: task groups are made, first events pushed, and all CPUs go idle.
    ///
    /// # Errors
    /// As for [`Machine::run`].
    pub fn start(&mut self, observer: &mut dyn Observer<E>) -> Result<(), RunError> {
        self.wants_kernel_paths = observer.wants_kernel_paths();
        self.wants = observer.wants();
        self.wants_work = observer.wants_work();
        self.create_groups(observer);
        self.start_governor_threads(observer)?;
        self.meter.drain_into(&mut self.total_work);
        self.meter.clear_touches();
        self.kernel_takes_time = !self.hardware.prices.is_free();
        self.push_first_events();
        for cpu in self.sched.cpu_ids() {
            self.settle(observer, cpu)?;
        }
        self.check(None);
        Ok(())
    }

    /// Handles the events up to a time (or the end of the run, if that is earlier). Returns whether any are left before the
    /// end.
    ///
    /// # Errors
    /// As for [`Machine::run`].
    pub fn advance(&mut self, observer: &mut dyn Observer<E>, until: Nanos) -> Result<bool, RunError> {
        self.wants = observer.wants();
        let mut nr_at_once = 0;
        if self.counters.events >= self.most_events {
            return Ok(false);
        }
        while let Some(event) = self.events.pop_until(until.min(self.end)) {
            nr_at_once = if event.key.at == self.now { nr_at_once + 1 } else { 0 };
            if nr_at_once > MAX_EVENTS_AT_ONCE {
                return Err(self.no_progress(event.kind));
            }
            self.now = event.key.at;
            self.ahead = Nanos::ZERO;
            self.counters.events += 1;
            self.handle(observer, event)?;
            while let Some(cpu) = self.granted.pop_front() {
                self.settle(observer, cpu)?;
            }
            self.check(Some(event.kind));
            if self.policy.is_some() {
                self.check_policy()?;
            }
            if self.counters.events >= self.most_events {
                self.end_at(self.now);
                return Ok(false);
            }
        }
        Ok(until < self.end)
    }

    /// The run ends with this event if nothing else ends it before, perhaps in the middle of an instant.
    pub fn limit_events(&mut self, most: u64) {
        self.most_events = most;
    }

    /// Ends the run if the policy has answered what cannot be used.
    fn check_policy(&self) -> Result<(), RunError> {
        let Some((whom, refusal)) = self.policy.as_ref().and_then(PolicySlot::refused) else { return Ok(()) };
        let asked = match whom {
            PolicyRequest::Wakeup(id) => {
                let host = self.sim_index.get(id.index()).copied().flatten();
                let task = host.map_or_else(|| format!("{}", id.0), |host| self.tasks[host as usize].name.clone());
                format!("where task {task} is to wake up")
            }
            PolicyRequest::Balancing(cpu) => format!("what CPU {} is to pull", cpu.0),
            PolicyRequest::Idling(cpu) => format!("how deep CPU {} is to sleep", cpu.0),
        };
        Err(RunError::Policy { asked, at: self.elapsed(), what: refusal.to_string() })
    }

    /// Events come again and again without time passing.
    fn no_progress(&self, event: EventKind) -> RunError {
        let (cpu, task) = match event {
            EventKind::Completion(cpu, task, _) | EventKind::SleepEnd(cpu, task, _) => {
                (cpu, Some(self.tasks[task as usize].name.clone()))
            }
            EventKind::Ipi(cpu, _) | EventKind::Timer(cpu, _) | EventKind::KernelDone(cpu, _) => (cpu, None),
            _ => (CpuId(0), None),
        };
        RunError::NoProgress { cpu, at: self.elapsed(), task }
    }

    /// The run ends at this time instead of later: everything up to there has happened.
    pub fn end_at(&mut self, until: Nanos) {
        self.end = self.end.min(until.max(self.now));
    }

    /// After the last event: the clock goes to the end and everything that runs is accounted.
    pub fn finish(&mut self, observer: &mut dyn Observer<E>) {
        self.now = self.end;
        self.ahead = Nanos::ZERO;
        observer.snapshot(self);
        for task in 0..self.tasks.len() {
            if self.tasks[task].running {
                self.account(task);
            }
        }
        for cpu in self.sched.cpu_ids() {
            self.account_kernel(cpu);
            self.account_idle(cpu);
            self.leave_idle_state(cpu);
        }
        self.meter.drain_into(&mut self.total_work);
    }

    /// The scheduler.
    pub fn sched(&self) -> &E {
        &self.sched
    }

    /// The same machine, if its scheduler is the built-in one: for what only that one shows.
    pub fn built_in(&self) -> Option<&Machine<Sched>> {
        (self as &dyn Any).downcast_ref()
    }

    /// The machine's description.
    pub fn hardware(&self) -> &Hardware {
        &self.hardware
    }

    /// The workload.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// The tasks of the workload, those that were forked from templates at the end.
    pub fn tasks(&self) -> &[SimTask] {
        &self.tasks
    }

    /// Task groups in the scheduler, by their places in the workload.
    pub fn groups(&self) -> &[GroupId] {
        &self.groups
    }

    /// When the next event comes, if the run has one left. To ask changes nothing of the run.
    pub fn next_event_at(&mut self) -> Option<Nanos> {
        self.events.next_at().filter(|&at| at <= self.end)
    }

    /// The time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Time since the start of the run.
    pub fn elapsed(&self) -> Nanos {
        self.now - START
    }

    /// Length of the run.
    pub fn duration(&self) -> Nanos {
        self.end - START
    }

    /// The hash over everything that the scheduler has done.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// What has been counted.
    pub fn counters(&self) -> &MachineCounters {
        &self.counters
    }

    /// Operations of the scheduler's paths so far.
    pub fn work(&self) -> OpCounts {
        let mut work = self.total_work.clone();
        self.meter.clone().drain_into(&mut work);
        work
    }

    /// The work that a CPU does in a nanosecond at its present pace, in units of 2^-20 ns at full speed.
    #[inline]
    fn speed_of(&self, cpu: CpuId) -> u64 {
        if self.hardware.scale_work {
            self.hardware.topology.capacity[cpu.index()] * self.cpus[cpu.index()].rate
        } else {
            tasks::FULL_SPEED
        }
    }

    /// Lets the scheduler do something on a CPU, and does what it wants. It takes time if it has a price.
    #[inline]
    fn enter<R>(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        path: KernelPath,
        act: impl FnOnce(&mut E, &mut Ctx<'_>) -> R,
    ) -> R {
        let (mut act, mut result) = (Some(act), None);
        self.enter_once(observer, cpu, path, &mut |sched, ctx| {
            if let Some(act) = act.take() {
                result = Some(act(sched, ctx));
            }
        });
        result.expect("the scheduler was called")
    }

    /// The same for all calls, so that what surrounds them is there only once: the caches for instructions are small.
    fn enter_once(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        path: KernelPath,
        act: &mut dyn FnMut(&mut E, &mut Ctx<'_>),
    ) {
        let mut tap =
            CountingObserver { digest: &mut self.digest, counters: &mut self.counters, observer, wants: self.wants };
        let mut ctx = Ctx {
            cpu,
            now: self.now,
            clock_offset: self.ahead,
            self_timed: Some((KernelOp::NewidlePass, self.hardware.newidle_cost)),
            effects: &mut self.effects,
            probe: &mut tap,
            work: &mut self.meter,
            policy: self.policy.as_mut(),
        };
        act(&mut self.sched, &mut ctx);
        self.ahead = ctx.clock_offset;
        if self.wants_work {
            self.report_ops(observer, cpu, path);
        }
        let took = if self.kernel_takes_time { self.charge(observer, cpu, path) } else { Nanos::ZERO };
        self.apply(took);
    }

    /// Where kernel code is free nobody takes the counts of a call from the meter, so that is done here.
    #[cold]
    fn report_ops(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, path: KernelPath) {
        observer.work(self.now, cpu, path, &self.meter);
        if !self.kernel_takes_time {
            self.meter.drain_into(&mut self.total_work);
        }
    }

    fn handle(&mut self, observer: &mut dyn Observer<E>, event: Event) -> Result<(), RunError> {
        let cpu = match event.kind {
            EventKind::Jiffy(number) => {
                self.sched.handle_jiffy(number);
                self.events.push_in_turn(Lane::Ticks, event.key.at + self.hardware.tick, EventKind::Jiffy(number + 1));
                return Ok(());
            }
            EventKind::Frequency(cpu, step) => {
                let (_, _, capacity) = self.hardware.frequency_steps[step as usize];
                self.sched.handle_frequency(cpu, capacity);
                self.change_speed(cpu, capacity);
                return Ok(());
            }
            EventKind::Turbo(package) => {
                self.choose_turbo(package as usize);
                return Ok(());
            }
            EventKind::Switched(cpu, part, version) => {
                if version == self.cpus[cpu.index()].speed_version {
                    self.change_speed(cpu, Capacity::from(part));
                }
                return Ok(());
            }
            EventKind::Completion(cpu, task, version) => {
                let host = &self.tasks[task as usize];
                if version != host.completion || !host.running {
                    return Ok(());
                }
                return self.settle(observer, cpu);
            }
            EventKind::KernelDone(cpu, version) => return self.end_phase(observer, cpu, version),
            EventKind::Interrupt(index) => {
                let load = self.hardware.interrupts[index as usize];
                self.events.push(event.key.at + load.every, event.kind);
                if !self.sched.is_online(load.cpu) {
                    return Ok(());
                }
                self.lose_time(load.cpu, load.duration, load.is_stolen);
                return self.settle(observer, load.cpu);
            }
            EventKind::Packets(index) => {
                let every = self.workload.packets[index as usize].every;
                self.events.push(event.key.at + every, event.kind);
                return self.packets_arrive(observer, index as usize);
            }
            EventKind::Snapshot => {
                observer.snapshot(self);
                let every = self.snapshot_every.expect("there is a snapshot, so there is a period");
                self.events.push(event.key.at + every, event.kind);
                return Ok(());
            }
            EventKind::Tick(cpu) => {
                let next = event.key.at + self.hardware.tick;
                self.events.push_in_turn(Lane::Ticks, next, event.kind);
                self.record_tick(cpu, next);
                cpu
            }
            EventKind::PollLimit(cpu) | EventKind::LateTick(cpu) | EventKind::GovernorWork(cpu, _) => cpu,
            EventKind::Ipi(cpu, _) | EventKind::Timer(cpu, _) | EventKind::NetRx(cpu) => cpu,
            EventKind::SleepEnd(_, task, _) => self.tasks[task as usize].sleep_cpu,
            EventKind::Fork(cpu, _) if self.sched.is_online(cpu) => cpu,
            EventKind::Fork(..) => self.first_online(),
            EventKind::Change(index) => self.cpu_of_change(index as usize),
        };
        match event.kind {
            kind if self.is_stale(cpu, kind) => Ok(()),
            // All CPUs settle after a change, each once.
            EventKind::Change(index) if self.is_lock_free_for_others(cpu) => self.make_change(observer, index as usize),
            kind @ (EventKind::Fork(..) | EventKind::Change(_)) => self.queue_process_work(observer, cpu, kind),
            EventKind::PollLimit(_) => {
                if self.end_polling(cpu) {
                    self.settle(observer, cpu)
                } else {
                    Ok(())
                }
            }
            EventKind::LateTick(_) => self.interrupt(observer, cpu, EventKind::Tick(cpu)),
            kind => self.interrupt(observer, cpu, kind),
        }
    }

    /// Whether an event does not come after all: the tick has stopped, the timer was programmed anew, or who was to be changed is
    /// not there. Then nobody is disturbed.
    fn is_stale(&self, cpu: CpuId, kind: EventKind) -> bool {
        match kind {
            EventKind::Tick(_) | EventKind::LateTick(_) => self.is_tickless(cpu),
            EventKind::Timer(_, version) => version != self.cpus[cpu.index()].timer_version,
            EventKind::SleepEnd(_, task, version) => version != self.tasks[task as usize].sleep,
            EventKind::Change(index) => self.changes_nobody(index as usize),
            _ => false,
        }
    }

    /// Does what an event wants from a CPU.
    fn serve(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, kind: EventKind) -> Result<(), RunError> {
        // It may have become so while the CPU was busy.
        if self.is_stale(cpu, kind) || self.defer_to_idle_exit(kind) {
            return Ok(());
        }
        match kind {
            EventKind::Tick(_) => {
                self.counters.per_cpu[cpu.index()].ticks += 1;
                observer.machine_event(self.now, &MachineEvent::Tick { cpu });
                self.read_clocks(cpu);
                let keeps_time = self.claim_timekeeper(cpu);
                self.enter(observer, cpu, KernelPath::Tick, |sched, ctx| {
                    if keeps_time {
                        ctx.charge(KernelOp::Timekeeping);
                    }
                    sched.handle_tick(ctx);
                });
                self.record_fit(cpu);
            }
            EventKind::Ipi(_, ipi) => {
                self.enter(observer, cpu, KernelPath::Interrupt, |sched, ctx| sched.handle_ipi(ctx, ipi));
            }
            EventKind::Timer(..) => {
                self.cpus[cpu.index()].timer_at = Nanos(u64::MAX);
                self.enter(observer, cpu, KernelPath::Interrupt, |sched, ctx| sched.handle_timer(ctx));
            }
            EventKind::SleepEnd(_, task, _) => {
                self.clear_sleeps(cpu);
                self.end_sleep(observer, cpu, task as usize);
            }
            EventKind::NetRx(_) => self.raise_net_rx(observer, cpu),
            EventKind::GovernorWork(_, domain) => self.wake_governor(observer, cpu, domain as usize),
            EventKind::Fork(_, task) => self.fork(observer, cpu, task as usize),
            EventKind::Change(index) => {
                let where_to = self.cpu_of_change(index as usize);
                if !self.is_between_paths(where_to) {
                    return self.queue_process_work(observer, where_to, kind);
                }
                self.make_change(observer, index as usize)?;
            }
            other => unreachable!("{other:?} is not the affair of one CPU's kernel"),
        }
        Ok(())
    }

    /// Whether the tick of a CPU advances the time of the machine.
    ///
    /// If nobody has that duty the first CPU to tick takes it. Of those that tick at this instant that is the fastest, since its
    /// interrupt gets there first; of equal ones the one of lowest number, which is an accident.
    fn claim_timekeeper(&mut self, cpu: CpuId) -> bool {
        let keeper = self.timekeeper.unwrap_or_else(|| {
            // Where nobody pays for the duty it does not matter who has it.
            let is_alone = self.hardware.prices.of(KernelOp::Timekeeping) == 0 || self.hardware.tick_skew > Nanos::ZERO;
            let ticking =
                self.sched.cpu_ids().filter(|&other| other == cpu || (!is_alone && self.ticks_later(other, cpu)));
            ticking.max_by_key(|&other| (self.speed_of(other), core::cmp::Reverse(other))).unwrap_or(cpu)
        });
        self.timekeeper = Some(keeper);
        keeper == cpu
    }

    /// Whether the tick of a CPU comes at this instant too, after that of another one.
    fn ticks_later(&self, cpu: CpuId, than: CpuId) -> bool {
        cpu > than && self.sched.is_online(cpu) && !self.is_tickless(cpu)
    }

    /// Whether the tick of a CPU is stopped: its idle task is in its loop.
    fn is_tickless(&self, cpu: CpuId) -> bool {
        self.sched.is_idle_task_running(cpu) && self.cpus[cpu.index()].idle_loop == IdleLoop::Inside
    }

    /// Lets a CPU reschedule, stop, idle and its task go on, until only the passing of time is left to do.
    fn settle(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> Result<(), RunError> {
        for _ in 0..MAX_ROUNDS {
            match self.kernel_step(observer, cpu)? {
                Progress::Busy => return Ok(()),
                Progress::Done => continue,
                Progress::Nothing => {}
            }
            match self.sched.duty(cpu) {
                CpuAction::Reschedule => {
                    if !self.reschedule(observer, cpu) {
                        return Ok(());
                    }
                }
                CpuAction::Stopper => {
                    if !self.try_enter(cpu, Entry::Stopper) {
                        return Ok(());
                    }
                    self.enter(observer, cpu, KernelPath::Stopper, |sched, ctx| sched.handle_stopper(ctx));
                }
                CpuAction::Idle => {
                    self.release_unused_locks(cpu);
                    if self.idles_on(cpu) {
                        if core::mem::take(&mut self.cpus[cpu.index()].kernel.will_sleep) {
                            self.enter_idle_state(observer, cpu);
                        }
                        return Ok(());
                    }
                    self.enter_idle_loop(observer, cpu);
                }
                CpuAction::Task(id) => {
                    self.release_unused_locks(cpu);
                    let Some(task) = self.running_host(id) else { return Ok(()) };
                    self.account(task);
                    if self.tasks[task].work_left > 0 {
                        self.plan_anew(cpu, task);
                        return Ok(());
                    }
                    self.step(observer, cpu, task)?;
                }
            }
        }
        let task = self.running_task(cpu).map(|task| self.tasks[task].name.clone());
        Err(RunError::NoProgress { cpu, at: self.elapsed(), task })
    }

    /// Whether a CPU executes its idle task's loop.
    fn is_in_idle_loop(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].idle_loop.is_inside() && self.sched.is_idle_task_running(cpu)
    }

    /// Whether the idle task of a CPU waits in its loop.
    fn idles_on(&mut self, cpu: CpuId) -> bool {
        if self.chooses_again(cpu) {
            self.cpus[cpu.index()].idle_loop = IdleLoop::Outside;
        }
        let place = &mut self.cpus[cpu.index()].idle_loop;
        if *place == IdleLoop::Left && self.hardware.idle_loop_once {
            *place = IdleLoop::Inside;
        }
        place.is_inside()
    }

    fn enter_idle_loop(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        let tick = self.choose_idle_state(cpu);
        let idles = self.enter(observer, cpu, KernelPath::IdleEnter, |sched, ctx| sched.handle_idle_enter(ctx, tick));
        let is_stopped = self.sched.is_tick_stopped(cpu);
        // One that has paused enters its loop again afterwards.
        let is_inside = self.sched.paused(cpu).is_none();
        let host = &mut self.cpus[cpu.index()];
        host.idle_loop = match (is_inside, is_stopped || tick == IdleTick::Stop) {
            (false, _) => IdleLoop::Outside,
            (true, true) => IdleLoop::Inside,
            (true, false) => IdleLoop::Ticking,
        };
        host.kernel.will_sleep = idles;
        if host.idle_loop != IdleLoop::Ticking && self.timekeeper == Some(cpu) {
            self.timekeeper = None;
        }
    }

    /// A CPU reschedules; an idle one leaves its loop first. Returns whether it could: it may have to wait for its own lock.
    #[inline]
    fn reschedule(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> bool {
        if self.is_in_idle_loop(cpu) {
            self.cpus[cpu.index()].idle_loop = IdleLoop::Left;
            self.enter(observer, cpu, KernelPath::IdleExit, |sched, ctx| sched.handle_idle_exit(ctx));
            return true;
        }
        if !self.try_enter(cpu, Entry::Reschedule) {
            return false;
        }
        self.enter(observer, cpu, KernelPath::Schedule, |sched, ctx| sched.handle_reschedule(ctx));
        true
    }
}
