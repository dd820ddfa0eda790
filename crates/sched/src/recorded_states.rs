// SPDX-License-Identifier: GPL-2.0-or-later
//! Test support: machines in random states, as recorded from Linux 6.1.192.
//!
//! The recordings come from the kernel's own `fair.c`, run as a program. Each line `state` describes every
//! CPU; the lines after it contain the results of a function in that state. The numbers were written directly
//! into the kernel's structures, and are written into fairlab's in the same way here.

use crate::interface::ctx::{Ctx, Effect};
use crate::interface::probe::NoSchedObserver;
use crate::paths::sched::{Sched, SchedConfig};
use crate::state::new_task::NewTask;
use crate::state::task::{Policy, SchedClass};
use crate::state::topology::{CpuPlace, MachineTopology, TopologyLevel};
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CfsRqId, CpuId, GroupId, TaskId};
use crate::types::series::KernelSeries;
use crate::types::units::{Capacity, Nanos};
use crate::types::work::OpCounts;
use serde_json::Value;
use std::format;
use std::path::Path;
use std::string::String;
use std::vec::Vec;

/// Present time of all states, in ns, far from 0.
pub(crate) const NOW: u64 = 1_000_000_000;

/// Machine described by the number of CPUs in each kind of unit.
pub(crate) struct TopologyShape {
    pub(crate) name: &'static str,
    nr_cpus: u32,
    smt: u32,
    cluster: u32,
    llc: u32,
    package: u32,
    node: u32,
    capacity: &'static [Capacity],
    levels: &'static [TopologyLevel],
    distances: &'static [&'static [u32]],
}

pub(crate) const FLAT8: TopologyShape = TopologyShape {
    name: "flat8",
    nr_cpus: 8,
    smt: 1,
    cluster: 1,
    llc: 8,
    package: 8,
    node: 8,
    capacity: &[1024; 8],
    levels: &[TopologyLevel::Mc],
    distances: &[&[10]],
};
const SMT_LEVELS: &[TopologyLevel] = &[TopologyLevel::Smt, TopologyLevel::Mc, TopologyLevel::Package];
pub(crate) const SMT16: TopologyShape = TopologyShape {
    name: "smt16",
    nr_cpus: 16,
    smt: 2,
    package: 16,
    node: 16,
    capacity: &[1024; 16],
    levels: SMT_LEVELS,
    ..FLAT8
};
pub(crate) const BIGLITTLE8: TopologyShape =
    TopologyShape { name: "biglittle8", capacity: &[446, 446, 446, 446, 1024, 1024, 1024, 1024], ..FLAT8 };
pub(crate) const TRI8: TopologyShape =
    TopologyShape { name: "tri8", capacity: &[160, 160, 160, 160, 498, 498, 1024, 1024], ..FLAT8 };
pub(crate) const NUMA32: TopologyShape = TopologyShape {
    name: "numa32",
    nr_cpus: 32,
    smt: 2,
    capacity: &[1024; 32],
    levels: SMT_LEVELS,
    distances: &[&[10, 16, 22, 16], &[16, 10, 16, 22], &[22, 16, 10, 16], &[16, 22, 16, 10]],
    ..FLAT8
};
pub(crate) const SRV64: TopologyShape = TopologyShape {
    name: "srv64",
    nr_cpus: 64,
    smt: 2,
    llc: 16,
    package: 32,
    node: 32,
    capacity: &[1024; 64],
    levels: SMT_LEVELS,
    distances: &[&[10, 20], &[20, 10]],
    ..FLAT8
};
pub(crate) const CLUSTER24: TopologyShape = TopologyShape {
    name: "cluster24",
    nr_cpus: 24,
    cluster: 4,
    llc: 24,
    package: 24,
    node: 24,
    capacity: &[1024; 24],
    levels: &[TopologyLevel::Cluster, TopologyLevel::Mc],
    ..FLAT8
};

impl TopologyShape {
    fn topology(&self) -> MachineTopology {
        let place = |cpu| CpuPlace {
            core: cpu / self.smt,
            cluster: cpu / self.cluster,
            llc: cpu / self.llc,
            package: cpu / self.package,
            node: cpu / self.node,
        };
        MachineTopology {
            cpus: (0..self.nr_cpus).map(place).collect(),
            capacity: self.capacity.to_vec(),
            levels: self.levels.to_vec(),
            distances: self.distances.iter().map(|row| row.to_vec()).collect(),
        }
    }
}

/// Columns of a CPU in a line `state`.
struct CpuState([u64; 16]);

impl CpuState {
    fn parse(value: &Value) -> Self {
        let numbers = value.as_array().expect("an array for each CPU");
        let mut columns = [0; 16];
        for (column, number) in columns.iter_mut().zip(numbers) {
            // Machines without a cache domain have -1 in its columns.
            *column = number.as_i64().expect("a whole number") as u64;
        }
        Self(columns)
    }

    fn set(&self, sched: &mut Sched, cpu: CpuId, runner: TaskId) {
        let [
            nr,
            h_nr,
            idle_h_nr,
            is_idle,
            ttwu,
            util,
            runnable,
            load,
            util_est,
            misfit,
            rt_util,
            capacity,
            cores,
            scan,
            busy,
            idle_ns,
        ] = self.0;
        let is_rt = nr > 0 && h_nr == 0;
        let task = &mut sched.tasks[runner];
        task.class = if is_rt { SchedClass::RealTime } else { SchedClass::Fair };
        task.policy = match (is_rt, idle_h_nr) {
            (true, _) => Policy::Fifo(1),
            (false, 0) => Policy::Normal,
            (false, _) => Policy::Idle,
        };
        let rq = &mut sched.rqs[cpu];
        rq.curr = if is_idle == 1 { rq.idle } else { runner };
        rq.nr_running = nr as u32;
        rq.ttwu_pending = ttwu == 1;
        rq.misfit_task_load = misfit;
        rq.avg_rt.util_avg = rt_util;
        rq.cpu_capacity = capacity;
        rq.idle_stamp = if idle_ns == 0 { 0 } else { NOW * 1000 - idle_ns };
        let cfs_rq = &mut sched.fair.cfs_rqs[CfsRqId::root(cpu)];
        (cfs_rq.nr_running, cfs_rq.h_nr_running, cfs_rq.h_nr_runnable) = (h_nr as u32, h_nr as u32, h_nr as u32);
        cfs_rq.idle_h_nr_running = idle_h_nr as u32;
        cfs_rq.avg.util_avg = util;
        cfs_rq.avg.runnable_avg = runnable;
        cfs_rq.avg.load_avg = load;
        cfs_rq.avg.util_est.enqueued = util_est as u32;
        cfs_rq.avg.last_update_time = NOW;
        cfs_rq.last_h_load_update = 0;
        if let Some(shared) = sched.domains.cpus[cpu].sd_llc_shared {
            let shared = &mut sched.domains.shared[shared];
            (shared.has_idle_cores, shared.nr_idle_scan, shared.nr_busy_cpus) = (cores == 1, scan as i32, busy as i32);
        }
    }
}

/// Machine with one task for each CPU, which runs there if the state requires it, and one task to be woken.
pub(crate) struct RecordedState {
    pub(crate) sched: Sched,
    runners: Vec<TaskId>,
    pub(crate) wakee: TaskId,
    effects: Vec<Effect>,
    work: OpCounts,
}

impl RecordedState {
    pub(crate) fn new(shape: &TopologyShape) -> Self {
        let topology = shape.topology();
        let mut sched =
            Sched::new(SchedConfig { topology, tick_ns: 4_000_000, jiffies: 1, series: KernelSeries::V6_1 })
                .expect("a machine");
        let nr_cpus = shape.nr_cpus as usize;
        let new_task = |sched: &mut Sched| {
            let cpus_allowed = CpuMask::full(nr_cpus);
            let new = NewTask {
                pid: 1000,
                policy: Policy::Normal,
                nice: 0,
                group: GroupId::ROOT,
                cpus_allowed,
                uclamp: None,
                slice: None,
            };
            // All tasks count as new on CPU 0, because the kernel's tasks were copies of one such task.
            sched.new_task(new, CpuId(0))
        };
        let runners = (0..nr_cpus).map(|_| new_task(&mut sched)).collect();
        let wakee = new_task(&mut sched);
        for cpu in sched.cpu_ids() {
            let idle = sched.tasks[sched.rqs[cpu].idle].se;
            // The kernel's idle tasks had no load there.
            sched.fair.entities[idle].avg.load_avg = 0;
        }
        Self { sched, runners, wakee, effects: Vec::new(), work: OpCounts::default() }
    }

    /// Puts the machine into a state. The capacities of groups follow from those of the CPUs.
    pub(crate) fn enter(&mut self, line: &Value) {
        self.sched.jiffies += 1;
        let states: Vec<_> = line["cpu"].as_array().expect("CPUs").iter().map(CpuState::parse).collect();
        for (cpu, state) in self.sched.cpu_ids().zip(&states) {
            state.set(&mut self.sched, cpu, self.runners[cpu.index()]);
        }
        self.sched.lb_cache.mark_all_dirty();
        let domains = &mut self.sched.domains;
        for group in domains.groups.iter() {
            let capacities = || group.span.iter().map(|cpu| states[cpu.index()].0[11]);
            let capacity = &mut domains.capacities[group.capacity];
            capacity.capacity = capacities().sum();
            capacity.min_capacity = capacities().min().expect("a group has CPUs");
            capacity.max_capacity = capacities().max().expect("a group has CPUs");
        }
        for recorded in line["groups"].as_array().expect("groups") {
            let [cpu, level, numbers @ ..] = &recorded.as_array().expect("numbers")[..] else { panic!("{recorded}") };
            let cpu = CpuId(cpu.as_u64().expect("a CPU") as u32);
            let sd = domains.chain(cpu).nth(level.as_u64().expect("a level") as usize).expect("a domain");
            let actual = domains.capacities[domains.groups[domains.domains[sd].groups].capacity];
            let actual = [actual.capacity, actual.min_capacity, actual.max_capacity].map(Value::from);
            assert_eq!(actual, numbers, "capacity of group {recorded}");
        }
    }

    pub(crate) fn ctx(&mut self, cpu: CpuId, act: impl FnOnce(&mut Sched, &mut Ctx<'_>, TaskId)) {
        let (effects, work) = (&mut self.effects, &mut self.work);
        let ctx = &mut Ctx {
            cpu,
            now: Nanos(NOW),
            clock_offset: Nanos::ZERO,
            self_timed: None,
            effects,
            observer: &mut NoSchedObserver,
            wants_accounting: false,
            wants_lags: false,
            op_counts: work,
            policy: None,
        };
        act(&mut self.sched, ctx, self.wakee);
    }
}

/// Reads the lines of a recording.
pub(crate) fn recording(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/kernel/{name}-6.1.jsonl.zst"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = String::from_utf8(zstd::decode_all(&bytes[..]).expect("compressed")).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}
