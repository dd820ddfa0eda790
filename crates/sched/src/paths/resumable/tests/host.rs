// SPDX-License-Identifier: GPL-2.0-or-later
//! Test machine for resumable paths: delivers interrupts when the test requests it, and lets CPUs settle.

use crate::check::InvariantChecker;
use crate::interface::ctx::{Ctx, Effect, IpiKind};
use crate::interface::policy::{CpuSample, PolicySlot, WakeChoice, WakeRequest};
use crate::interface::probe::{BalanceDecision, Event, KickDecision, SchedObserver};
use crate::paths::idle::IdleTick;
use crate::paths::resumable::{PathKind, YieldMode, YieldedPath};
use crate::paths::sched::{Sched, SchedConfig};
use crate::state::new_task::NewTask;
use crate::state::snapshot::CpuAction;
use crate::state::task::{Policy, TaskState};
use crate::state::topology::MachineTopology;
use crate::types::arena::Arena;
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpuId, GroupId, TaskId};
use crate::types::series::KernelSeries;
use crate::types::units::Nanos;
use crate::types::work::OpCounts;
use std::boxed::Box;
use std::format;
use std::string::String;
use std::vec::Vec;

/// Yield mode of the simulated machine.
pub(crate) const YIELDING: YieldMode = YieldMode::On { cpus_per_phase: 4 };

/// Events that the observer of the test machine has received.
#[derive(Clone, Default)]
pub(crate) struct ObservedEvents {
    pub(crate) log: Vec<String>,
    pub(crate) passes: Vec<BalanceDecision>,
    pub(crate) kicks: Vec<KickDecision>,
}

impl SchedObserver for ObservedEvents {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.log.push(format!("{now} {event:?}"));
        match event {
            Event::BalanceDecision(decision) => self.passes.push(**decision),
            Event::KickDecision(decision) => self.kicks.push(**decision),
            _ => {}
        }
    }
}

#[derive(Clone)]
pub(crate) struct PathTestMachine {
    pub(crate) sched: Sched,
    pub(crate) now: Nanos,
    pub(crate) observed: ObservedEvents,
    pub(crate) work: OpCounts,
    /// Interrupts that were sent and have not arrived yet.
    pub(crate) ipis: Vec<(CpuId, IpiKind)>,
    in_idle: Arena<CpuId, bool>,
    effects: Vec<Effect>,
    checker: InvariantChecker,
    /// Completes paths at once, inside the call that begins them.
    pub(crate) resumes_at_once: bool,
    /// Number of phases of idle scans.
    pub(crate) nr_search_phases: usize,
    /// Policy hook that replaces the kernel's selection rules.
    pub(crate) policy: Option<fn(&WakeRequest<'_>, Option<&CpuSample>) -> WakeChoice>,
}

impl PathTestMachine {
    pub(crate) fn new(topology: MachineTopology) -> Self {
        let nr_cpus = topology.cpus.len();
        let mut sched =
            Sched::new(SchedConfig { topology, tick_ns: 4_000_000, jiffies: 1000, series: KernelSeries::V6_1 })
                .expect("a machine");
        let now = Nanos::from_secs(4);
        sched.boot(Nanos(now.0 - 1_000_000));
        let mut host = Self {
            sched,
            now,
            observed: ObservedEvents::default(),
            work: OpCounts::default(),
            ipis: Vec::new(),
            in_idle: Arena::filled(false, nr_cpus),
            effects: Vec::new(),
            checker: InvariantChecker::default(),
            resumes_at_once: false,
            nr_search_phases: 0,
            policy: None,
        };
        for cpu in host.sched.cpu_ids() {
            host.settle(cpu);
        }
        host
    }

    pub(crate) fn paused(&self, cpu: CpuId) -> Option<YieldedPath> {
        self.sched.yielded_path(cpu)
    }

    /// Whether a CPU can handle an interrupt.
    pub(crate) fn takes_irqs(&self, cpu: CpuId) -> bool {
        self.paused(cpu).is_none_or(|pause| pause.irqs_on)
    }

    /// Runs `act` on a CPU and lets the CPU settle, unless it has yielded.
    pub(crate) fn on<R>(&mut self, cpu: CpuId, act: impl FnOnce(&mut Sched, &mut Ctx<'_>) -> R) -> R {
        let result = self.enter(cpu, act);
        self.settle(cpu);
        self.check();
        result
    }

    fn enter<R>(&mut self, cpu: CpuId, act: impl FnOnce(&mut Sched, &mut Ctx<'_>) -> R) -> R {
        let mut seat = self.policy.map(|policy| PolicySlot::new(Box::new(policy)));
        let mut ctx = Ctx {
            cpu,
            now: self.now,
            clock_offset: Nanos::ZERO,
            self_timed: None,
            effects: &mut self.effects,
            observer: &mut self.observed,
            wants_accounting: false,
            wants_lags: false,
            op_counts: &mut self.work,
            policy: seat.as_mut(),
        };
        let result = act(&mut self.sched, &mut ctx);
        while self.resumes_at_once && self.sched.yielded_path(cpu).is_some() {
            self.sched.handle_resume(&mut ctx);
        }
        for effect in self.effects.drain(..) {
            match effect {
                Effect::SendIpi { cpu, kind } => self.ipis.push((cpu, kind)),
                Effect::Switch { cpu, .. } => self.in_idle[cpu] = false,
                Effect::ArmTimer { .. } | Effect::SetFrequency { .. } | Effect::WakeGovernor { .. } => {}
            }
        }
        result
    }

    /// Lets a CPU reschedule and idle until only time can pass.
    fn settle(&mut self, cpu: CpuId) {
        for _ in 0..1000 {
            if self.paused(cpu).is_some() {
                return;
            }
            if self.sched.need_resched(cpu) {
                let is_idle = self.sched.is_idle_task_running(cpu);
                self.enter(cpu, |sched, ctx| {
                    if is_idle {
                        sched.handle_idle_exit(ctx);
                    }
                    sched.handle_reschedule(ctx);
                });
            } else if self.sched.next_action(cpu) == CpuAction::Stopper {
                self.enter(cpu, |sched, ctx| sched.handle_stopper(ctx));
            } else if self.sched.is_idle_task_running(cpu) && !self.in_idle[cpu] {
                let paused = |host: &Self| host.paused(cpu).map(|pause| pause.path) == Some(PathKind::IdleLoop);
                self.enter(cpu, |sched, ctx| sched.handle_idle_enter(ctx, IdleTick::Stop));
                if self.resumes_at_once && !self.sched.rqs[cpu].tick_stopped && !self.sched.need_resched(cpu) {
                    // The path was completed, so the loop must be entered again.
                    continue;
                }
                self.in_idle[cpu] = !paused(self);
            } else {
                return;
            }
        }
        panic!("{cpu:?} does not settle in 1000 steps");
    }

    /// Panics if an invariant does not hold.
    pub(crate) fn check(&mut self) {
        if let Err(broken) = self.checker.check(&self.sched) {
            let paused: Vec<_> = self.sched.cpu_ids().map(|cpu| self.sched.yielded_path(cpu)).collect();
            panic!("{broken}; yielded paths: {paused:?}; last event: {:#?}", self.observed.log.last());
        }
    }

    /// Runs one phase of a CPU's path.
    pub(crate) fn resume(&mut self, cpu: CpuId) {
        self.on(cpu, |sched, ctx| sched.handle_resume(ctx));
    }

    /// Runs a CPU's path until `at` holds or the path is complete.
    pub(crate) fn resume_until(&mut self, cpu: u32, at: impl Fn(&Self) -> bool) {
        while self.paused(CpuId(cpu)).is_some() && !at(self) {
            self.resume(CpuId(cpu));
        }
    }

    /// Forks a fair task that may only use `cpu` until [`PathTestMachine::allow`].
    pub(crate) fn fork(&mut self, cpu: u32) -> TaskId {
        let cpus_allowed = CpuMask::from_cpus(self.sched.nr_cpus(), [CpuId(cpu)]);
        let (policy, group, uclamp) = (Policy::Normal, GroupId::ROOT, None);
        let new = NewTask { pid: 1000, policy, nice: 0, group, cpus_allowed, uclamp, slice: None };
        self.on(CpuId(cpu), |sched, ctx| sched.handle_fork(ctx, new))
    }

    /// Allows a task to use all CPUs.
    pub(crate) fn allow(&mut self, task: TaskId) {
        let nr_cpus = self.sched.rqs.len() as u32;
        let p = &mut self.sched.tasks[task];
        p.cpus_allowed.set_all();
        p.nr_cpus_allowed = nr_cpus;
    }

    /// Advances time and jiffies without ticks.
    pub(crate) fn wait(&mut self, ms: u64) {
        self.now += Nanos::from_millis(ms);
        self.sched.handle_jiffy(self.now.0 / 4_000_000);
    }

    /// Wakes a task by an interrupt on a CPU, and completes the wake-up.
    pub(crate) fn wake(&mut self, cpu: CpuId, task: TaskId) {
        self.carry_wakeup(cpu, |sched, ctx| sched.handle_wakeup_interrupt(ctx, task));
    }

    /// Wakes a task by the running task of a CPU, and completes the wake-up.
    pub(crate) fn wake_from_task(&mut self, cpu: CpuId, task: TaskId) {
        self.carry_wakeup(cpu, |sched, ctx| sched.handle_wakeup(ctx, task, false));
    }

    fn carry_wakeup(&mut self, cpu: CpuId, begin: impl FnOnce(&mut Sched, &mut Ctx<'_>) -> bool) {
        let mut nr_phases = 0;
        self.on(cpu, |sched, ctx| {
            begin(sched, ctx);
            while let Some(YieldedPath { path, .. }) = sched.yielded_path(cpu)
                && [PathKind::Search, PathKind::Wakeup, PathKind::InterruptEnd].contains(&path)
            {
                nr_phases += usize::from(path == PathKind::Search);
                sched.handle_resume(ctx);
            }
        });
        self.nr_search_phases += nr_phases;
    }

    /// Delivers an interrupt if its CPU accepts it.
    pub(crate) fn deliver(&mut self, index: usize) {
        let (cpu, kind) = self.ipis[index];
        if self.takes_irqs(cpu) {
            self.ipis.remove(index);
            self.on(cpu, |sched, ctx| sched.handle_ipi(ctx, kind));
        }
    }

    pub(crate) fn tick(&mut self, cpu: CpuId) {
        let is_tickless = self.sched.is_idle_task_running(cpu) && self.in_idle[cpu];
        if self.takes_irqs(cpu) && !is_tickless {
            self.on(cpu, |sched, ctx| sched.handle_tick(ctx));
        }
    }

    /// Returns the current task of a CPU if it is a task of the test that can act.
    pub(crate) fn runs(&self, cpu: CpuId) -> Option<TaskId> {
        let curr = self.sched.curr(cpu);
        let rq = &self.sched.rqs[cpu];
        (self.paused(cpu).is_none() && curr != rq.idle && curr != rq.stop).then_some(curr)
    }

    pub(crate) fn sleeps(&self, task: TaskId) -> bool {
        self.sched.tasks[task].state == TaskState::Interruptible
    }
}
