// SPDX-License-Identifier: GPL-2.0-or-later
//! Test support for load balancing: small machines with real tasks on their runqueues.

use crate::interface::balance::{BalanceDecision, KickDecision};
use crate::interface::ctx::{Ctx, Effect};
use crate::interface::policy::PolicySlot;
use crate::interface::probe::{Event, SchedObserver};
use crate::paths::load_balance::LbPassResult;
use crate::paths::sched::{Sched, SchedConfig};
use crate::state::new_task::NewTask;
use crate::state::task::Policy;
use crate::state::topology::{CpuPlace, DomainId, MachineTopology, TopologyLevel};
use crate::types::cpumask::CpuMask;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::{CpuId, GroupId, TaskId};
use crate::types::series::KernelSeries;
use crate::types::units::Nanos;
use crate::types::work::OpCounts;
use crate::work::KernelOp;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

/// Events that a test evaluates.
#[derive(Default)]
pub(crate) struct EventLog {
    pub(crate) passes: Vec<BalanceDecision>,
    pub(crate) kicks: Vec<KickDecision>,
    pub(crate) counters: Vec<(String, i64)>,
}

impl SchedObserver for EventLog {
    fn event(&mut self, _now: Nanos, event: &Event<'_>) {
        match event {
            Event::BalanceDecision(decision) => self.passes.push(**decision),
            Event::KickDecision(decision) => self.kicks.push(**decision),
            Event::DomainStat { counter, amount, .. } => self.counters.push(((*counter).to_string(), *amount)),
            _ => {}
        }
    }
}

/// Machine whose CPUs have run only the tasks that the test forks. Ticks take 4 ms; the time is 4 s, jiffy
/// 1000.
pub(crate) struct TestMachine {
    pub(crate) sched: Sched,
    pub(crate) effects: Vec<Effect>,
    pub(crate) heard: EventLog,
    pub(crate) work: OpCounts,
    pub(crate) now: Nanos,
    pub(crate) newidle_pass_cost: Nanos,
    pub(crate) policy: Option<PolicySlot>,
}

/// Returns a topology with `smt` CPUs for each core, `llc` CPUs for each cache, and these levels.
pub(crate) fn machine(nr_cpus: u32, smt: u32, llc: u32, levels: &[TopologyLevel]) -> MachineTopology {
    let place = |cpu| CpuPlace { core: cpu / smt, cluster: cpu, llc: cpu / llc, package: 0, node: 0 };
    MachineTopology {
        cpus: (0..nr_cpus).map(place).collect(),
        capacity: vec![1024; nr_cpus as usize],
        levels: levels.to_vec(),
        distances: vec![vec![10]],
    }
}

/// Creates a machine of `nr_cpus` CPUs under one cache.
pub(crate) fn flat(nr_cpus: u32) -> TestMachine {
    TestMachine::new(machine(nr_cpus, 1, nr_cpus, &[TopologyLevel::Mc]))
}

/// Creates a machine of two cores with two CPUs each, under one cache.
pub(crate) fn smt() -> TestMachine {
    TestMachine::new(machine(4, 2, 4, &[TopologyLevel::Smt, TopologyLevel::Mc]))
}

/// Creates a machine of two small and two big CPUs under one cache.
pub(crate) fn big_little() -> TestMachine {
    TestMachine::new(MachineTopology { capacity: vec![446, 446, 1024, 1024], ..machine(4, 1, 4, &[TopologyLevel::Mc]) })
}

impl TestMachine {
    pub(crate) fn new(topology: MachineTopology) -> Self {
        Self::of_series(topology, KernelSeries::V6_1)
    }

    pub(crate) fn of_series(topology: MachineTopology, series: KernelSeries) -> Self {
        let config = SchedConfig { topology, tick_ns: 4_000_000, jiffies: 1000, series };
        let sched = Sched::new(config).expect("a machine");
        let now = Nanos::from_secs(4);
        let (effects, heard, work) = (Vec::new(), EventLog::default(), OpCounts::default());
        let mut machine = Self { sched, effects, heard, work, now, newidle_pass_cost: Nanos::ZERO, policy: None };
        for cpu in machine.sched.cpu_ids() {
            machine.on(cpu.0, |sched, ctx| {
                let _rq = sched.rq_lock_clocked(ctx, cpu);
            });
        }
        machine
    }

    /// Calls the scheduler on a CPU.
    pub(crate) fn on<R>(&mut self, cpu: u32, act: impl FnOnce(&mut Sched, &mut Ctx<'_>) -> R) -> R {
        let ctx = &mut Ctx {
            cpu: CpuId(cpu),
            now: self.now,
            clock_offset: Nanos::ZERO,
            self_timed: Some((KernelOp::NewidlePass, self.newidle_pass_cost)),
            effects: &mut self.effects,
            observer: &mut self.heard,
            wants_accounting: false,
            wants_lags: false,
            op_counts: &mut self.work,
            policy: self.policy.as_mut(),
        };
        // Tests write into runqueues directly.
        self.sched.lb_cache.mark_all_dirty();
        act(&mut self.sched, ctx)
    }

    /// Puts a task on a CPU, where it runs if no other task does. Afterwards it may use any of `allowed`.
    pub(crate) fn task(&mut self, cpu: u32, allowed: &[u32]) -> TaskId {
        let nr_cpus = self.sched.nr_cpus();
        let mask = |cpus: &[u32]| CpuMask::from_cpus(nr_cpus, cpus.iter().map(|&cpu| CpuId(cpu)));
        let (policy, group, uclamp) = (Policy::Normal, GroupId::ROOT, None);
        let new = NewTask { pid: 1000, policy, nice: 0, group, cpus_allowed: mask(&[cpu]), uclamp, slice: None };
        let task = self.on(cpu, |sched, ctx| {
            let task = sched.handle_fork(ctx, new);
            if sched.need_resched(ctx.cpu) {
                sched.handle_reschedule(ctx);
            }
            task
        });
        let p = &mut self.sched.tasks[task];
        (p.cpus_allowed, p.nr_cpus_allowed) = (mask(allowed), allowed.len() as u32);
        self.heard = EventLog::default();
        task
    }

    /// Advances time and jiffies, without a tick on any CPU.
    pub(crate) fn wait_ms(&mut self, ms: u64) {
        self.now += Nanos::from_millis(ms);
        let jiffies = self.sched.jiffies + ms / 4;
        self.sched.handle_jiffy(jiffies);
        for cpu in self.sched.cpu_ids() {
            self.on(cpu.0, |sched, ctx| {
                let _rq = sched.rq_lock_clocked(ctx, cpu);
            });
        }
    }

    /// Domain of a CPU by its position in the chain; 0 is the narrowest.
    pub(crate) fn sd(&self, cpu: u32, place: usize) -> DomainId {
        self.sched.domains.chain(CpuId(cpu)).nth(place).expect("a domain")
    }

    /// Runs one pass over a domain of a CPU, executed by that CPU.
    pub(crate) fn pass(&mut self, cpu: u32, place: usize, idle: CpuIdleType) -> (LbPassResult, BalanceDecision) {
        let sd = self.sd(cpu, place);
        self.heard = EventLog::default();
        let result = self.on(cpu, |sched, ctx| sched.load_balance(ctx, CpuId(cpu), sd, idle));
        (result, self.heard.passes[0])
    }

    /// Names of the counters that were increased.
    pub(crate) fn counted(&self) -> Vec<&str> {
        self.heard.counters.iter().map(|(name, _)| name.as_str()).collect()
    }

    pub(crate) fn cpu_of(&self, task: TaskId) -> u32 {
        self.sched.task(task).cpu.0
    }
}
