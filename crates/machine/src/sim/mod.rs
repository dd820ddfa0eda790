// SPDX-License-Identifier: GPL-2.0-or-later
//! The simulated machine: it owns the simulated time and lets the scheduler and the tasks of a workload act
//! on it.
//!
//! Rules of the event loop, which the reference kernel's test machine shares:
//! 1. An event is handled on its CPU.
//! 2. Then the CPU *settles*: it reschedules, idles or continues its task until only the passing of time is
//!    left ([`settle`](Machine::settle)).
//!
//! Modules:
//! - [`tasks`]: work of tasks, and the time that it takes; [`steps`]: steps of task programs; [`sync`] and
//!   [`futex`]: shared objects.
//! - [`effects`]: requests of the scheduler; [`changes`]: changes by the scenario during the run.
//! - [`idle`]: idle states; [`speed`]: CPU speeds; [`governor`]: threads and drivers of frequency domains.
//! - [`kernel`]: time of kernel code on a machine with a cost model; [`phases`]: its paths; [`locks`]:
//!   runqueue locks; [`lines`]: cache lines; [`softirq`]: network softirq and ksoftirqd.

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
pub use residency::{CpuKind, OperatingPointTime, Residency};
pub use setup::{Setup, SetupError};
pub use stall::{BlockedOn, BlockedTask};
pub use tasks::{SimTask, instance_name};

use crate::digest::Digest;
use crate::engine::Engine;
use crate::event::{EventKind, EventQueue, Lane, QueuedEvent};
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
use fairlab_sched::units::{Capacity, Nanos, SCHED_CAPACITY_SHIFT};
use fairlab_sched::work::{KernelOp, OpCounts};
use fairlab_workload::workload::Workload;
use kernel::KernelProgress;
use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use sync::SyncObjects;

/// Start of a run, on every clock: 1 s.
pub const START: Nanos = Nanos(1_000_000_000);
/// Returns the start of the boot, which must end before [`START`]. Waking the stoppers takes 2 us for each
/// CPU.
const fn boot_start(nr_cpus: usize) -> Nanos {
    let needed = 3_000 * nr_cpus as u64;
    Nanos(START.0 - if needed > 1_000_000 { needed } else { 1_000_000 })
}
/// Number of steps of one CPU at one instant after which its task's program is considered endless.
const MAX_STEPS_AT_ONCE: u32 = 100_000;
/// Number of events at one instant after which the run is considered to make no progress.
const MAX_EVENTS_AT_ONCE: u64 = 1_000_000;

/// State of a simulated CPU.
#[derive(Clone, Debug)]
pub(crate) struct SimCpu {
    idle_loop: IdleLoop,
    /// The task of the workload that the last switch has brought.
    task: Option<u32>,
    /// Frequency as a fraction of full frequency (1024); above 1024 in turbo with few busy cores.
    freq: Capacity,
    /// Throughput that the other threads of the core leave to this CPU, as a fraction of 1024.
    share: u64,
    /// Product of frequency and share, as a fraction of 1024.
    rate: u64,
    /// Version of the latest frequency switch that the driver has started.
    speed_version: u32,
    /// Version of the programmed timer.
    timer_version: u32,
    /// Expiry of the programmed timer.
    timer_at: Nanos,
    idle: idle::CpuIdleState,
    /// Kernel code in progress on this CPU, if kernel code takes time.
    kernel: kernel::KernelState,
}

impl SimCpu {
    /// Recomputes the rate after a change of the frequency or of the share.
    fn update_rate(&mut self) {
        self.rate = (self.freq * self.share) >> SCHED_CAPACITY_SHIFT;
    }
}

/// Position of a CPU's idle task relative to its idle loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdleLoop {
    /// The idle task has not entered its loop since the last context switch.
    Outside,
    /// In the loop, with the tick stopped.
    Inside,
    /// In the loop, with the tick running.
    Ticking,
    /// The idle task has left the loop to reschedule.
    Left,
}

impl IdleLoop {
    /// Whether the idle task is in its loop, with or without a tick.
    const fn is_inside(self) -> bool {
        matches!(self, Self::Inside | Self::Ticking)
    }
}

/// Reason why a run cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub enum RunError {
    /// A program neither runs nor blocks.
    NoProgress {
        cpu: CpuId,
        /// Time since the start of the run.
        at: Nanos,
        /// Task of the program; `None` if other events repeat.
        task: Option<String>,
    },
    /// A template was forked too often.
    ForkLimit {
        task: String,
        /// Maximum number of forks.
        limit: u32,
    },
    /// A task did something that the programs it models cannot do.
    Misuse {
        task: String,
        /// Predicate of the message, whose subject is the task.
        what: String,
    },
    /// A custom policy returned an unusable choice.
    Policy {
        /// The request: a wake-up, a balancing pass or an idle-state choice.
        asked: String,
        /// Time since the start of the run.
        at: Nanos,
        /// Description of the unusable choice.
        what: String,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgress { cpu, at, task: Some(task) } => write!(
                f,
                "no progress after {at} on CPU {}: the program of task {task} neither runs nor blocks\n\
                 help: give it a run or sleep step",
                cpu.0
            ),
            Self::NoProgress { cpu, at, task: None } => write!(
                f,
                "no progress after {at} on CPU {}: events at that instant do not end\n\
                 help: give tasks that wake each other a run step, and periodic events a longer period",
                cpu.0
            ),
            Self::ForkLimit { task, limit } => {
                write!(f, "task {task} is forked more than {limit} times, the limit of rt-app")
            }
            Self::Misuse { task, what } => write!(f, "task {task} {what}"),
            Self::Policy { asked, at, what } => write!(f, "the policy, asked after {at} {asked}, {what}"),
        }
    }
}

impl std::error::Error for RunError {}

/// A simulated machine with a workload.
pub struct Machine<E = Sched> {
    pub(crate) sched: E,
    pub(crate) hardware: Hardware,
    pub(crate) workload: Workload,
    pub(crate) now: Nanos,
    /// Lead of the scheduler's clocks over `now` during this event.
    clock_offset: Nanos,
    events: EventQueue,
    pub(crate) cpus: Vec<SimCpu>,
    pub(crate) tasks: Vec<SimTask>,
    /// Index in `tasks` for each task number of the scheduler.
    sim_index: Vec<Option<u32>>,
    groups: Vec<GroupId>,
    cpusets: Vec<CpusetId>,
    sync: SyncObjects,
    effects: Vec<Effect>,
    op_counts: OpCounts,
    pub(crate) total_op_counts: OpCounts,
    pub(crate) digest: Digest,
    pub(crate) counters: MachineCounters,
    end: Nanos,
    /// Number of events after which the run ends.
    max_events: u64,
    snapshot_every: Option<Nanos>,
    /// Whether kernel code takes time: only after the start of the run, and only with a cost model that is
    /// not zero-cost.
    kernel_takes_time: bool,
    /// CPU whose tick advances the time of the machine (`tick_do_timer_cpu`). It gives up the duty when it
    /// goes idle, and the next CPU that ticks takes it.
    timekeeper: Option<CpuId>,
    /// Whether the observer wants kernel paths.
    wants_kernel_paths: bool,
    /// Whether the observer wants the operation counts of each scheduler call.
    wants_ops: bool,
    /// Locks of the runqueues.
    locks: Vec<locks::RqLock>,
    /// Cache lines of the runqueues.
    lines: lines::RqLines,
    tracer: tracer::Tracer,
    speeds: speed::CpuSpeeds,
    /// Kinds of CPUs: equal capacity and frequency domain.
    kinds: residency::CpuKinds,
    /// Index of the first ksoftirqd among the workload's tasks; those of the other CPUs follow. Used only
    /// with a cost model.
    first_ksoftirqd: usize,
    /// Threads of the frequency domains, in the order of the domains.
    governor_threads: Vec<governor::GovernorThread>,
    /// PM QoS latency requests.
    cpu_dma_latency: idle::LatencyRequests,
    /// CPUs that were granted a lock during this event and must settle.
    granted: VecDeque<CpuId>,
    /// Custom policy that replaces some of the kernel's rules.
    policy_slot: Option<PolicySlot>,
    /// Event kinds that the observer wants.
    interest: Interest,
    checks: Option<checks::Checks>,
}

impl<E: Engine> Machine<E> {
    /// Runs to the end and leaves the clock there.
    ///
    /// # Errors
    /// If a task's program makes no progress or does what the modelled program cannot do.
    pub fn run(&mut self, observer: &mut dyn Observer<E>) -> Result<(), RunError> {
        self.start(observer)?;
        while self.advance(observer, Nanos(u64::MAX))? {}
        self.finish(observer);
        Ok(())
    }

    /// Starts the run: creates task groups, pushes the first events, and lets all CPUs go idle.
    ///
    /// # Errors
    /// As for [`Machine::run`].
    pub fn start(&mut self, observer: &mut dyn Observer<E>) -> Result<(), RunError> {
        self.wants_kernel_paths = observer.wants_kernel_paths();
        self.interest = observer.wants();
        self.wants_ops = observer.wants_ops();
        self.create_groups(observer);
        self.start_governor_threads(observer)?;
        self.op_counts.drain_into(&mut self.total_op_counts);
        self.op_counts.clear_touches();
        self.kernel_takes_time = !self.hardware.costs.is_zero_cost();
        self.push_first_events();
        for cpu in self.sched.cpu_ids() {
            self.settle(observer, cpu)?;
        }
        self.check(None);
        Ok(())
    }

    /// Handles the events up to `until`, or up to the end of the run if that is earlier. Returns whether the
    /// run continues after `until`.
    ///
    /// # Errors
    /// As for [`Machine::run`].
    pub fn advance(&mut self, observer: &mut dyn Observer<E>, until: Nanos) -> Result<bool, RunError> {
        self.interest = observer.wants();
        let mut nr_at_once = 0;
        if self.counters.events >= self.max_events {
            return Ok(false);
        }
        while let Some(event) = self.events.pop_until(until.min(self.end)) {
            nr_at_once = if event.key.at == self.now { nr_at_once + 1 } else { 0 };
            if nr_at_once > MAX_EVENTS_AT_ONCE {
                return Err(self.no_progress(event.kind));
            }
            self.now = event.key.at;
            self.clock_offset = Nanos::ZERO;
            self.counters.events += 1;
            self.handle_event(observer, event)?;
            while let Some(cpu) = self.granted.pop_front() {
                self.settle(observer, cpu)?;
            }
            self.check(Some(event.kind));
            if self.policy_slot.is_some() {
                self.check_policy()?;
            }
            if self.counters.events >= self.max_events {
                self.end_at(self.now);
                return Ok(false);
            }
        }
        Ok(until < self.end)
    }

    /// Ends the run with this number of events, if nothing ends it earlier. Other events of the same instant
    /// may then be missing.
    pub fn limit_events(&mut self, most: u64) {
        self.max_events = most;
    }

    /// Ends the run if the custom policy returned an unusable choice.
    fn check_policy(&self) -> Result<(), RunError> {
        let Some((whom, refusal)) = self.policy_slot.as_ref().and_then(PolicySlot::invalid_choice) else {
            return Ok(());
        };
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

    /// Returns the error for a run whose events repeat without time passing.
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

    /// Ends the run at `until` instead of later. All earlier events have been handled.
    pub fn end_at(&mut self, until: Nanos) {
        self.end = self.end.min(until.max(self.now));
    }

    /// Ends the run after its last event: advances the clock to the end and accounts everything that runs.
    pub fn finish(&mut self, observer: &mut dyn Observer<E>) {
        self.now = self.end;
        self.clock_offset = Nanos::ZERO;
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
        self.op_counts.drain_into(&mut self.total_op_counts);
    }

    /// Scheduler of the machine.
    pub fn sched(&self) -> &E {
        &self.sched
    }

    /// Returns this machine if its engine is the built-in scheduler, for state that other engines do not
    /// have.
    pub fn as_built_in(&self) -> Option<&Machine<Sched>> {
        (self as &dyn Any).downcast_ref()
    }

    /// Hardware of the machine.
    pub fn hardware(&self) -> &Hardware {
        &self.hardware
    }

    /// Workload of the run.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Tasks of the workload; instances of templates follow at the end.
    pub fn tasks(&self) -> &[SimTask] {
        &self.tasks
    }

    /// Task groups of the scheduler, by their index in the workload.
    pub fn groups(&self) -> &[GroupId] {
        &self.groups
    }

    /// Returns the time of the next event, if the run has one left. The call does not affect the run.
    pub fn next_event_at(&mut self) -> Option<Nanos> {
        self.events.next_at().filter(|&at| at <= self.end)
    }

    /// Current simulated time.
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

    /// Hash over everything that the scheduler has done.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Counters of the machine and of its CPUs.
    pub fn counters(&self) -> &MachineCounters {
        &self.counters
    }

    /// Number of kernel operations so far, by kind.
    pub fn total_ops(&self) -> OpCounts {
        let mut work = self.total_op_counts.clone();
        self.op_counts.clone().drain_into(&mut work);
        work
    }

    /// Work that a CPU does in 1 ns at its present speed, in units of 2^-20 ns of full speed.
    #[inline]
    fn speed_of(&self, cpu: CpuId) -> u64 {
        if self.hardware.scale_work {
            self.hardware.topology.capacity[cpu.index()] * self.cpus[cpu.index()].rate
        } else {
            tasks::FULL_SPEED
        }
    }

    /// Calls the scheduler on a CPU and applies its effects. The call takes time if a cost model is set.
    #[inline]
    fn enter<R>(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        path: KernelPath,
        act: impl FnOnce(&mut E, &mut Ctx<'_>) -> R,
    ) -> R {
        let (mut act, mut result) = (Some(act), None);
        self.enter_dyn(observer, cpu, path, &mut |sched, ctx| {
            if let Some(act) = act.take() {
                result = Some(act(sched, ctx));
            }
        });
        result.expect("the scheduler was called")
    }

    /// Calls the scheduler through a trait object. All calls share this code, because instruction caches are
    /// small.
    fn enter_dyn(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        path: KernelPath,
        act: &mut dyn FnMut(&mut E, &mut Ctx<'_>),
    ) {
        let mut tap = CountingObserver {
            digest: &mut self.digest,
            counters: &mut self.counters,
            observer,
            interest: self.interest,
        };
        let mut ctx = Ctx {
            cpu,
            now: self.now,
            clock_offset: self.clock_offset,
            self_timed: Some((KernelOp::NewidlePass, self.hardware.newidle_cost)),
            effects: &mut self.effects,
            observer: &mut tap,
            op_counts: &mut self.op_counts,
            policy: self.policy_slot.as_mut(),
        };
        act(&mut self.sched, &mut ctx);
        self.clock_offset = ctx.clock_offset;
        if self.wants_ops {
            self.report_ops(observer, cpu, path);
        }
        let took = if self.kernel_takes_time { self.charge(observer, cpu, path) } else { Nanos::ZERO };
        self.apply_effects(took);
    }

    /// Reports the operation counts of a call. Without a cost model it also drains them, because no charge
    /// does.
    #[cold]
    fn report_ops(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, path: KernelPath) {
        observer.work(self.now, cpu, path, &self.op_counts);
        if !self.kernel_takes_time {
            self.op_counts.drain_into(&mut self.total_op_counts);
        }
    }

    fn handle_event(&mut self, observer: &mut dyn Observer<E>, event: QueuedEvent) -> Result<(), RunError> {
        let cpu = match event.kind {
            EventKind::Jiffy(number) => {
                self.sched.handle_jiffy(number);
                self.events.push_in_lane(Lane::Ticks, event.key.at + self.hardware.tick, EventKind::Jiffy(number + 1));
                return Ok(());
            }
            EventKind::Frequency(cpu, step) => {
                let (_, _, capacity) = self.hardware.frequency_steps[step as usize];
                self.sched.handle_frequency(cpu, capacity);
                self.change_speed(cpu, capacity);
                return Ok(());
            }
            EventKind::Turbo(package) => {
                self.evaluate_turbo(package as usize);
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
                if version != host.completion_version || !host.running {
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
                self.charge_lost_time(load.cpu, load.duration, load.is_stolen);
                return self.settle(observer, load.cpu);
            }
            EventKind::Packets(index) => {
                let every = self.workload.packets[index as usize].every;
                self.events.push(event.key.at + every, event.kind);
                return self.handle_packets(observer, index as usize);
            }
            EventKind::Snapshot => {
                observer.snapshot(self);
                let every = self.snapshot_every.expect("there is a snapshot, so there is a period");
                self.events.push(event.key.at + every, event.kind);
                return Ok(());
            }
            EventKind::Tick(cpu) => {
                let next = event.key.at + self.hardware.tick;
                self.events.push_in_lane(Lane::Ticks, next, event.kind);
                self.record_tick(cpu, next);
                cpu
            }
            EventKind::PollLimit(cpu) | EventKind::LateTick(cpu) | EventKind::GovernorWork(cpu, _) => cpu,
            EventKind::Ipi(cpu, _) | EventKind::Timer(cpu, _) | EventKind::NetRx(cpu) => cpu,
            EventKind::SleepEnd(_, task, _) => self.tasks[task as usize].sleep_cpu,
            EventKind::Fork(cpu, _) if self.sched.is_online(cpu) => cpu,
            EventKind::Fork(..) => self.first_online_cpu(),
            EventKind::Change(index) => self.cpu_of_change(index as usize),
        };
        match event.kind {
            kind if self.is_stale(cpu, kind) => Ok(()),
            // All CPUs settle after a change, each once.
            EventKind::Change(index) if self.is_kernel_quiescent(cpu) => self.apply_change(observer, index as usize),
            kind @ (EventKind::Fork(..) | EventKind::Change(_)) => self.queue_process_work(observer, cpu, kind),
            EventKind::PollLimit(_) => {
                if self.end_polling(cpu) {
                    self.settle(observer, cpu)
                } else {
                    Ok(())
                }
            }
            EventKind::LateTick(_) => self.handle_interrupt(observer, cpu, EventKind::Tick(cpu)),
            kind => self.handle_interrupt(observer, cpu, kind),
        }
    }

    /// Whether an event must be ignored: the tick has stopped, the timer was programmed again, or the target
    /// of a change no longer exists.
    fn is_stale(&self, cpu: CpuId, kind: EventKind) -> bool {
        match kind {
            EventKind::Tick(_) | EventKind::LateTick(_) => self.is_tickless(cpu),
            EventKind::Timer(_, version) => version != self.cpus[cpu.index()].timer_version,
            EventKind::SleepEnd(_, task, version) => version != self.tasks[task as usize].sleep_version,
            EventKind::Change(index) => self.targets_no_task(index as usize),
            _ => false,
        }
    }

    /// Handles an event on its CPU.
    fn serve_event(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, kind: EventKind) -> Result<(), RunError> {
        // The event may have become stale while the CPU was busy.
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
            EventKind::GovernorWork(_, domain) => self.wake_governor_thread(observer, cpu, domain as usize),
            EventKind::Fork(_, task) => self.fork(observer, cpu, task as usize),
            EventKind::Change(index) => {
                let where_to = self.cpu_of_change(index as usize);
                if !self.is_between_paths(where_to) {
                    return self.queue_process_work(observer, where_to, kind);
                }
                self.apply_change(observer, index as usize)?;
            }
            other => unreachable!("{other:?} is not an event for one CPU's kernel"),
        }
        Ok(())
    }

    /// Whether the tick of a CPU advances the time of the machine. Assigns the duty if no CPU has it.
    ///
    /// The next CPU that ticks takes the duty. Among CPUs that tick at the same instant that is the fastest,
    /// whose interrupt arrives first. Among equally fast CPUs it is the one with the lowest number; that is
    /// an artefact of ordering.
    fn claim_timekeeper(&mut self, cpu: CpuId) -> bool {
        let keeper = self.timekeeper.unwrap_or_else(|| {
            // The choice does not matter if timekeeping has no cost.
            let is_alone =
                self.hardware.costs.op_ps(KernelOp::Timekeeping) == 0 || self.hardware.tick_skew > Nanos::ZERO;
            let ticking =
                self.sched.cpu_ids().filter(|&other| other == cpu || (!is_alone && self.ticks_later(other, cpu)));
            ticking.max_by_key(|&other| (self.speed_of(other), core::cmp::Reverse(other))).unwrap_or(cpu)
        });
        self.timekeeper = Some(keeper);
        keeper == cpu
    }

    /// Whether a CPU ticks at this instant as well, later in the order of events.
    fn ticks_later(&self, cpu: CpuId, than: CpuId) -> bool {
        cpu > than && self.sched.is_online(cpu) && !self.is_tickless(cpu)
    }

    /// Whether the tick of a CPU is stopped while its idle task is in its loop.
    fn is_tickless(&self, cpu: CpuId) -> bool {
        self.sched.is_idle_task_running(cpu) && self.cpus[cpu.index()].idle_loop == IdleLoop::Inside
    }

    /// Lets a CPU reschedule, run its stopper, idle and continue its task, until only the passing of time is
    /// left.
    fn settle(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> Result<(), RunError> {
        for _ in 0..MAX_STEPS_AT_ONCE {
            match self.kernel_step(observer, cpu)? {
                KernelProgress::Busy => return Ok(()),
                KernelProgress::Done => continue,
                KernelProgress::Nothing => {}
            }
            match self.sched.next_action(cpu) {
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
                    if self.stay_in_idle_loop(cpu) {
                        if core::mem::take(&mut self.cpus[cpu.index()].kernel.will_sleep) {
                            self.enter_idle_state(observer, cpu);
                        }
                        return Ok(());
                    }
                    self.enter_idle_loop(observer, cpu);
                }
                CpuAction::Task(id) => {
                    self.release_unused_locks(cpu);
                    let Some(task) = self.running_sim_index(id) else { return Ok(()) };
                    self.account(task);
                    if self.tasks[task].work_left > 0 {
                        self.replan_after_kernel(cpu, task);
                        return Ok(());
                    }
                    self.step(observer, cpu, task)?;
                }
            }
        }
        let task = self.running_task(cpu).map(|task| self.tasks[task].name.clone());
        Err(RunError::NoProgress { cpu, at: self.elapsed(), task })
    }

    /// Whether a CPU executes the loop of its idle task.
    fn is_in_idle_loop(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].idle_loop.is_inside() && self.sched.is_idle_task_running(cpu)
    }

    /// Whether the idle task of a CPU stays in its loop.
    fn stay_in_idle_loop(&mut self, cpu: CpuId) -> bool {
        if self.needs_idle_state_choice(cpu) {
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
        // A path that has yielded enters the loop again later.
        let is_inside = self.sched.yielded_path(cpu).is_none();
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

    /// Reschedules on a CPU; an idle CPU leaves its loop first. Returns false if the CPU must first wait for
    /// its own lock.
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
