// SPDX-License-Identifier: GPL-2.0-or-later
//! Minimal test machine: jobs that are released at given times, ticks, timers and interrupts that take no
//! time.

use crate::check::InvariantChecker;
use crate::interface::ctx::{Ctx, Effect, IpiKind};
use crate::interface::probe::NoSchedObserver;
use crate::paths::idle::IdleTick;
use crate::paths::sched::{Sched, SchedConfig};
use crate::state::new_task::NewTask;
use crate::state::snapshot::CpuAction;
use crate::state::task::Policy;
use crate::state::topology::{CpuPlace, MachineTopology, TopologyLevel};
use crate::types::arena::Arena;
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpuId, GroupId, TaskId};
use crate::types::series::KernelSeries;
use crate::types::units::Nanos;
use crate::types::work::OpCounts;
use alloc::vec;
use alloc::vec::Vec;

pub(crate) const US: u64 = 1_000;
pub(crate) const MS: u64 = 1_000_000;
/// Start of a test in ns; the boot precedes it.
pub(crate) const START: u64 = 1_000_000_000;
const TICK_NS: u64 = 4 * MS;

/// Returns a deadline policy; times are in ns.
pub(crate) fn dl(runtime: u64, deadline: u64, period: u64) -> Policy {
    Policy::Deadline { runtime: Nanos(runtime), deadline: Nanos(deadline), period: Nanos(period) }
}

#[derive(Clone, Copy, Debug)]
enum DlJobEvent {
    Tick(CpuId),
    Timer(CpuId, u32),
    Ipi(CpuId, IpiKind),
    Release(TaskId, Job),
}

/// Work of a task in ns, with its due time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub work: u64,
    pub due: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct DlTimer {
    at: Option<u64>,
    version: u32,
}

pub(crate) struct DlTestMachine {
    pub sched: Sched,
    pub now: u64,
    /// Runtime of each task in ns.
    pub ran: Arena<TaskId, u64>,
    /// Jobs that ended late: task and time.
    pub misses: Vec<(TaskId, u64)>,
    /// Number of timer interrupts that were served.
    pub nr_timer_interrupts: u32,
    pub checks: bool,
    checker: InvariantChecker,
    /// Sorted by time, then by order of insertion.
    events: Vec<(u64, DlJobEvent)>,
    timers: Arena<CpuId, DlTimer>,
    jobs: Arena<TaskId, Option<Job>>,
    is_idle: Arena<CpuId, bool>,
    effects: Vec<Effect>,
}

impl DlTestMachine {
    /// Returns a machine whose CPUs have these capacities and share one cache.
    pub(crate) fn new(capacity: &[u64]) -> Self {
        let nr_cpus = capacity.len();
        let place = |cpu| CpuPlace { core: cpu, cluster: cpu, llc: 0, package: 0, node: 0 };
        let topology = MachineTopology {
            cpus: (0..nr_cpus as u32).map(place).collect(),
            capacity: capacity.to_vec(),
            levels: vec![TopologyLevel::Mc, TopologyLevel::All],
            distances: vec![vec![10]],
        };
        let mut sched =
            Sched::new(SchedConfig { topology, tick_ns: TICK_NS, jiffies: 249, series: KernelSeries::V6_1 })
                .expect("a machine");
        sched.boot(Nanos(START - MS));
        sched.handle_jiffy(250);
        let mut machine = Self {
            sched,
            now: START,
            ran: Arena::new(),
            misses: Vec::new(),
            nr_timer_interrupts: 0,
            checks: true,
            checker: InvariantChecker::default(),
            events: Vec::new(),
            timers: Arena::filled(DlTimer::default(), nr_cpus),
            jobs: Arena::new(),
            is_idle: Arena::filled(false, nr_cpus),
            effects: Vec::new(),
        };
        for cpu in machine.sched.cpu_ids() {
            machine.push(START + TICK_NS, DlJobEvent::Tick(cpu));
        }
        machine.settle_all();
        machine
    }

    /// Calls the scheduler on a CPU and applies its effects.
    pub(crate) fn on<R>(&mut self, cpu: CpuId, act: impl FnOnce(&mut Sched, &mut Ctx<'_>) -> R) -> R {
        let mut effects = core::mem::take(&mut self.effects);
        let mut ctx = Ctx {
            cpu,
            now: Nanos(self.now),
            clock_offset: Nanos::ZERO,
            self_timed: None,
            effects: &mut effects,
            observer: &mut NoSchedObserver,
            wants_accounting: false,
            wants_lags: false,
            op_counts: &mut OpCounts::default(),
            policy: None,
        };
        let result = act(&mut self.sched, &mut ctx);
        for effect in effects.drain(..) {
            match effect {
                Effect::SendIpi { cpu, kind } => self.push(self.now, DlJobEvent::Ipi(cpu, kind)),
                Effect::ArmTimer { cpu, at } => self.arm(cpu, at),
                Effect::Switch { .. } | Effect::SetFrequency { .. } | Effect::WakeGovernor { .. } => {}
            }
        }
        self.effects = effects;
        result
    }

    /// Forks a task on a CPU. It runs for ever unless it gets a job.
    pub(crate) fn fork(&mut self, cpu: CpuId, cpus_allowed: Option<&[CpuId]>) -> TaskId {
        let nr_cpus = self.sched.nr_cpus();
        let new = NewTask {
            pid: 1000,
            policy: Policy::Normal,
            nice: 0,
            group: GroupId::ROOT,
            cpus_allowed: match cpus_allowed {
                Some(cpus) => CpuMask::from_cpus(nr_cpus, cpus.iter().copied()),
                None => CpuMask::full(nr_cpus),
            },
            uclamp: None,
            slice: None,
        };
        let task = self.on(cpu, |sched, ctx| sched.handle_fork(ctx, new));
        self.ran.fill_up(task.index() + 1, 0);
        self.jobs.fill_up(task.index() + 1, None);
        self.jobs[task] = Some(Job { work: u64::MAX, due: u64::MAX });
        task
    }

    /// Forks a task and makes it a deadline task.
    pub(crate) fn fork_deadline(&mut self, cpu: CpuId, policy: Policy) -> TaskId {
        let task = self.fork(cpu, None);
        self.on(cpu, |sched, ctx| sched.set_policy(ctx, task, policy)).unwrap();
        task
    }

    /// Forks a task and makes it a governor's thread with a deadline policy.
    pub(crate) fn fork_special(&mut self, cpu: CpuId, policy: Policy) -> TaskId {
        let task = self.fork(cpu, None);
        self.sched.set_dl_special(task);
        self.on(cpu, |sched, ctx| sched.set_policy(ctx, task, policy)).unwrap();
        task
    }

    /// Sets the present job of a task.
    pub(crate) fn set_job(&mut self, task: TaskId, job: Job) {
        self.jobs[task] = Some(job);
    }

    /// Queues the release of a job, which wakes its task.
    pub(crate) fn release(&mut self, at: u64, task: TaskId, job: Job) {
        self.push(at, DlJobEvent::Release(task, job));
    }

    /// Simulates up to a time.
    pub(crate) fn run_until(&mut self, until: u64) {
        self.settle_all();
        loop {
            let next_event = self.events.first().map_or(u64::MAX, |&(at, _)| at);
            let next_end = self.running().map(|(_, task)| self.end_of(task)).min().unwrap_or(u64::MAX);
            let next = next_event.min(next_end).min(until);
            for (_, task) in self.running().collect::<Vec<_>>() {
                self.account(task, next - self.now);
            }
            self.now = next;
            if next_end == next {
                self.settle_all();
            } else if next_event == next {
                let (_, what) = self.events.remove(0);
                self.handle(what);
                if self.checks {
                    self.checker.check(&self.sched).unwrap();
                }
            } else {
                return;
            }
        }
    }

    fn end_of(&self, task: TaskId) -> u64 {
        self.now.saturating_add(self.jobs[task].expect("a running task has a job").work)
    }

    fn account(&mut self, task: TaskId, time: u64) {
        self.ran[task] += time;
        let job = self.jobs[task].as_mut().expect("a running task has a job");
        job.work = if job.work == u64::MAX { u64::MAX } else { job.work - time };
    }

    /// Returns the CPUs whose current task has a job, with that task.
    fn running(&self) -> impl Iterator<Item = (CpuId, TaskId)> + '_ {
        let current = self.sched.cpu_ids().map(|cpu| (cpu, self.sched.curr(cpu)));
        current.filter(|&(_, task)| self.jobs.get(task).is_some_and(Option::is_some))
    }

    fn handle(&mut self, what: DlJobEvent) {
        match what {
            DlJobEvent::Tick(cpu) => {
                self.push(self.now + TICK_NS, what);
                self.on(cpu, |sched, ctx| {
                    sched.handle_jiffy(250 + (ctx.now.0 - START) / TICK_NS);
                    if !sched.is_idle_task_running(cpu) {
                        sched.handle_tick(ctx);
                    }
                });
                self.settle(cpu);
            }
            DlJobEvent::Timer(cpu, version) => {
                if version == self.timers[cpu].version {
                    self.timers[cpu].at = None;
                    self.nr_timer_interrupts += 1;
                    self.on(cpu, |sched, ctx| sched.handle_timer(ctx));
                    self.settle(cpu);
                }
            }
            DlJobEvent::Ipi(cpu, kind) => {
                self.on(cpu, |sched, ctx| sched.handle_ipi(ctx, kind));
                self.settle(cpu);
            }
            DlJobEvent::Release(task, job) => {
                assert!(self.jobs[task].is_none(), "{task:?} has not done its last job at {}", self.now);
                self.jobs[task] = Some(job);
                let cpu = self.sched.task(task).cpu;
                self.on(cpu, |sched, ctx| sched.handle_wakeup_interrupt(ctx, task));
                self.settle(cpu);
            }
        }
    }

    fn settle_all(&mut self) {
        for cpu in self.sched.cpu_ids() {
            self.settle(cpu);
        }
    }

    fn settle(&mut self, cpu: CpuId) {
        loop {
            let curr = self.sched.curr(cpu);
            if self.sched.need_resched(cpu) {
                if self.sched.is_idle_task_running(cpu) {
                    self.is_idle[cpu] = false;
                    self.on(cpu, |sched, ctx| sched.handle_idle_exit(ctx));
                }
                self.on(cpu, |sched, ctx| sched.handle_reschedule(ctx));
            } else if self.sched.next_action(cpu) == CpuAction::Stopper {
                self.on(cpu, |sched, ctx| sched.handle_stopper(ctx));
            } else if self.sched.is_idle_task_running(cpu) {
                if core::mem::replace(&mut self.is_idle[cpu], true) {
                    return;
                }
                self.on(cpu, |sched, ctx| sched.handle_idle_enter(ctx, IdleTick::Stop));
            } else if let Some(job) = self.jobs[curr].filter(|job| job.work == 0) {
                self.jobs[curr] = None;
                if self.now > job.due {
                    self.misses.push((curr, self.now));
                }
                self.on(cpu, |sched, ctx| sched.handle_block(ctx));
            } else {
                return;
            }
        }
    }

    fn push(&mut self, at: u64, what: DlJobEvent) {
        let place = self.events.partition_point(|&(other, _)| other <= at);
        self.events.insert(place, (at, what));
    }

    fn arm(&mut self, cpu: CpuId, at: Nanos) {
        let timer = &mut self.timers[cpu];
        let at = Some(at.0).filter(|&at| at < Nanos::NEVER.0);
        if timer.at != at {
            timer.version += 1;
            timer.at = at;
            let version = timer.version;
            if let Some(at) = at {
                self.push(at.max(self.now), DlJobEvent::Timer(cpu, version));
            }
        }
    }
}
