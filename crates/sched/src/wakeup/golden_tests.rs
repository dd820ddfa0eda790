// SPDX-License-Identifier: GPL-2.0-or-later
//! Selections of a CPU in random states of seven machines, as Linux 6.1.192 made them.
//!
//! The recordings come from the kernel's own `fair.c`, run as a program: each line `state` says what every CPU was like, the
//! lines `wake` that follow say which task was woken or forked and what came out. The numbers were put into the kernel's
//! structures as they are, so they are put into ours in the same way here.

use super::WakeFlags;
use super::decision::WakeupDecision;
use crate::cpumask::CpuMask;
use crate::ctx::{Ctx, Effect};
use crate::fork::NewTask;
use crate::ids::{CpuId, GroupId, TaskId};
use crate::probe::NoProbe;
use crate::sched::{Sched, SchedConfig};
use crate::task::{Policy, SchedClass, TaskState};
use crate::topology::{CpuPlace, MachineTopology, SdFlags, TopologyLevel};
use crate::units::{Capacity, Nanos};
use crate::work::WorkMeter;
use serde_json::Value;
use std::format;
use std::path::Path;
use std::string::String;
use std::vec::Vec;

/// Some time far from 0.
const NOW: u64 = 1_000_000_000;

/// A machine by the number of CPUs in each kind of unit.
struct Shape {
    name: &'static str,
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

const FLAT8: Shape = Shape {
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
const SMT16: Shape = Shape {
    name: "smt16",
    nr_cpus: 16,
    smt: 2,
    package: 16,
    node: 16,
    capacity: &[1024; 16],
    levels: SMT_LEVELS,
    ..FLAT8
};
const BIGLITTLE8: Shape =
    Shape { name: "biglittle8", capacity: &[446, 446, 446, 446, 1024, 1024, 1024, 1024], ..FLAT8 };
const TRI8: Shape = Shape { name: "tri8", capacity: &[160, 160, 160, 160, 498, 498, 1024, 1024], ..FLAT8 };
const NUMA32: Shape = Shape {
    name: "numa32",
    nr_cpus: 32,
    smt: 2,
    capacity: &[1024; 32],
    levels: SMT_LEVELS,
    distances: &[&[10, 16, 22, 16], &[16, 10, 16, 22], &[22, 16, 10, 16], &[16, 22, 16, 10]],
    ..FLAT8
};
const SRV64: Shape = Shape {
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
const CLUSTER24: Shape = Shape {
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

impl Shape {
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

/// The columns of a CPU in a line `state`.
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
        let task = &mut sched.tasks[runner.index()];
        task.class = if is_rt { SchedClass::RealTime } else { SchedClass::Fair };
        task.policy = match (is_rt, idle_h_nr) {
            (true, _) => Policy::Fifo(1),
            (false, 0) => Policy::Normal,
            (false, _) => Policy::Idle,
        };
        let rq = &mut sched.rqs[cpu.index()];
        rq.curr = if is_idle == 1 { rq.idle } else { runner };
        rq.nr_running = nr as u32;
        rq.ttwu_pending = ttwu == 1;
        rq.misfit_task_load = misfit;
        rq.avg_rt.util_avg = rt_util;
        rq.cpu_capacity = capacity;
        rq.idle_stamp = if idle_ns == 0 { 0 } else { NOW * 1000 - idle_ns };
        let cfs_rq = &mut sched.cfs_rqs[cpu.index()];
        (cfs_rq.nr_running, cfs_rq.h_nr_running) = (h_nr as u32, h_nr as u32);
        cfs_rq.idle_h_nr_running = idle_h_nr as u32;
        cfs_rq.avg.util_avg = util;
        cfs_rq.avg.runnable_avg = runnable;
        cfs_rq.avg.load_avg = load;
        cfs_rq.avg.util_est.enqueued = util_est as u32;
        cfs_rq.avg.last_update_time = NOW;
        cfs_rq.last_h_load_update = 0;
        if let Some(shared) = sched.domains.cpus[cpu.index()].sd_llc_shared {
            let shared = &mut sched.domains.shared[shared];
            (shared.has_idle_cores, shared.nr_idle_scan, shared.nr_busy_cpus) = (cores == 1, scan as i32, busy as i32);
        }
    }
}

/// A machine whose CPUs each have a task that runs there when the state says so, and one task to be woken.
struct Fixture {
    sched: Sched,
    runners: Vec<TaskId>,
    wakee: TaskId,
    effects: Vec<Effect>,
    work: WorkMeter,
}

impl Fixture {
    fn new(shape: &Shape) -> Self {
        let topology = shape.topology();
        let mut sched = Sched::new(SchedConfig { topology, tick_ns: 4_000_000, jiffies: 1 }).expect("a machine");
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
            };
            // All tasks count as if they were new on CPU 0: the kernel's were copies of one such task.
            sched.new_task(new, CpuId(0))
        };
        let runners = (0..nr_cpus).map(|_| new_task(&mut sched)).collect();
        let wakee = new_task(&mut sched);
        for cpu in sched.cpu_ids() {
            let idle = sched.tasks[sched.rqs[cpu.index()].idle.index()].se;
            // The kernel's idle tasks had no load there.
            sched.entities[idle.index()].avg.load_avg = 0;
        }
        Self { sched, runners, wakee, effects: Vec::new(), work: WorkMeter::default() }
    }

    /// Puts the machine into a state; the capacities of groups follow from those of CPUs.
    fn enter(&mut self, line: &Value) {
        self.sched.jiffies += 1;
        let states: Vec<_> = line["cpu"].as_array().expect("CPUs").iter().map(CpuState::parse).collect();
        for (cpu, state) in self.sched.cpu_ids().zip(&states) {
            state.set(&mut self.sched, cpu, self.runners[cpu.index()]);
        }
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
            let ours = domains.capacities[domains.groups[domains.domains[sd].groups].capacity];
            let ours = [ours.capacity, ours.min_capacity, ours.max_capacity].map(Value::from);
            assert_eq!(ours, numbers, "capacity of group {recorded}");
        }
    }

    fn place_wakee(&mut self, case: &Case<'_>) {
        let prev = case.cpu("prev");
        let [low, high] = case.pair("allow");
        let p = &mut self.sched.tasks[self.wakee.index()];
        p.cpus_allowed.clear_all();
        (low..=high).for_each(|cpu| p.cpus_allowed.set(CpuId(cpu)));
        p.nr_cpus_allowed = high - low + 1;
        (p.cpu, p.wake_cpu, p.state) = (prev, prev, TaskState::Waking);
        p.recent_used_cpu = case.cpu("recent");
        let [waker_flips, flips] = case.pair("flips");
        p.wakee_flips = flips;
        let (wakee, jiffies) = (self.wakee, self.sched.jiffies);
        let curr = self.sched.curr(case.cpu("this"));
        let waker = &mut self.sched.tasks[curr.index()];
        (waker.wakee_flips, waker.last_wakee, waker.wakee_flip_decay_ts) = (waker_flips, Some(wakee), jiffies);
        let se = &mut self.sched.entities[self.sched.tasks[wakee.index()].se.index()];
        se.cfs_rq = crate::ids::CfsRqId(prev.0);
        se.avg = Default::default();
        se.avg.util_avg = case.number("util") as u64;
        se.avg.runnable_avg = se.avg.util_avg;
        se.avg.load_avg = case.number("load") as u64;
        se.avg.last_update_time = NOW;
    }

    fn ctx(&mut self, cpu: CpuId, act: impl FnOnce(&mut Sched, &mut Ctx<'_>, TaskId)) {
        let (effects, work) = (&mut self.effects, &mut self.work);
        let ctx = &mut Ctx {
            cpu,
            now: Nanos(NOW),
            ahead: Nanos::ZERO,
            newidle_pass_cost: Nanos::ZERO,
            effects,
            probe: &mut NoProbe,
            work,
        };
        act(&mut self.sched, ctx, self.wakee);
    }

    /// Compares everything that a line says came out.
    fn check(&mut self, case: &Case<'_>) {
        self.place_wakee(case);
        let (this_cpu, prev) = (case.cpu("this"), case.cpu("prev"));
        let (sync, fork) = (case.number("sync") == 1, case.number("fork") == 1);
        let flags = WakeFlags { ttwu: !fork, fork, sync, ..WakeFlags::default() };
        let shared: Vec<_> = self.sched.domains.shared.iter().copied().collect();

        assert_eq!(i64::from(self.sched.wake_wide(this_cpu, self.wakee)), case.number("wide"), "wide: {case:?}");
        assert_eq!(self.affine_target(this_cpu, prev, sync), case.number("affine"), "affine: {case:?}");
        let mut chosen = None;
        self.ctx(this_cpu, |sched, ctx, task| chosen = Some(sched.select_task_rq_fair(ctx, task, prev, flags)));
        let chosen = chosen.expect("a selection");
        assert_eq!(i64::from(chosen.cpu.0), case.number("cpu"), "cpu: {case:?}, {chosen:?}");

        self.sched.domains.shared.iter_mut().zip(&shared).for_each(|(now, before)| *now = *before);
        if !fork {
            self.sched.tasks[self.wakee.index()].recent_used_cpu = case.cpu("recent");
            let mut decision = WakeupDecision::new(self.wakee, prev, this_cpu, flags);
            self.ctx(this_cpu, |sched, ctx, _| sched.select_idle_sibling(ctx, &mut decision, false));
            assert_eq!(i64::from(decision.cpu.0), case.number("sis_prev"), "sis_prev: {case:?}, {decision:?}");
        }
        for entry in case.0["hic"].as_array().expect("cache domains") {
            let cpu = entry[0].as_u64().expect("a CPU") as usize;
            let shared = self.sched.domains.cpus[cpu].sd_llc_shared.expect("a cache domain");
            let has_idle_cores = self.sched.domains.shared[shared].has_idle_cores;
            assert_eq!(i64::from(has_idle_cores), entry[1].as_i64().expect("a number"), "hic of {cpu}: {case:?}");
        }
        self.sched.domains.shared.iter_mut().zip(&shared).for_each(|(now, before)| *now = *before);
    }

    /// What `wake_affine()` says at the first domain for affine wake-ups that holds the previous CPU; -2 without one.
    fn affine_target(&mut self, this_cpu: CpuId, prev: CpuId, sync: bool) -> i64 {
        let domains = &self.sched.domains;
        let sd = domains.chain(this_cpu).find(|&sd| {
            let domain = &domains.domains[sd];
            domain.flags.contains(SdFlags::WAKE_AFFINE) && domain.span.contains(prev)
        });
        let Some(sd) = sd else { return -2 };
        let flags = WakeFlags { ttwu: true, sync, ..WakeFlags::default() };
        let mut decision = WakeupDecision::new(self.wakee, prev, this_cpu, flags);
        if this_cpu != prev {
            self.ctx(this_cpu, |sched, ctx, _| sched.wake_affine(ctx, sd, &mut decision));
        }
        i64::from(decision.target.0)
    }
}

/// A line `wake`.
#[derive(Debug)]
struct Case<'a>(&'a Value);

impl Case<'_> {
    fn number(&self, key: &str) -> i64 {
        self.0[key].as_i64().unwrap_or_else(|| panic!("{key} of {}", self.0))
    }

    fn cpu(&self, key: &str) -> CpuId {
        CpuId(self.number(key) as u32)
    }

    fn pair(&self, key: &str) -> [u32; 2] {
        [0, 1].map(|i| self.0[key][i].as_u64().unwrap_or_else(|| panic!("{key} of {}", self.0)) as u32)
    }
}

/// Compares all lines of a recording and returns how many selections there were.
fn compare(shape: &Shape) -> usize {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/kernel/vec-wake-{}-6.1.jsonl.zst", shape.name));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = String::from_utf8(zstd::decode_all(&bytes[..]).expect("compressed")).expect("text");
    let mut fixture = Fixture::new(shape);
    let mut nr_cases = 0;
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        if line.get("state").is_some() {
            fixture.enter(&line);
        } else {
            fixture.check(&Case(&line));
            nr_cases += 1;
        }
    }
    nr_cases
}

#[test]
fn selections_on_one_cache_equal_those_of_the_kernel() {
    assert_eq!(compare(&FLAT8), 4500);
}

#[test]
fn selections_with_smt_and_two_caches_equal_those_of_the_kernel() {
    assert_eq!(compare(&SMT16), 4500);
}

#[test]
fn selections_with_two_capacities_equal_those_of_the_kernel() {
    assert_eq!(compare(&BIGLITTLE8), 4500);
}

#[test]
fn selections_with_three_capacities_equal_those_of_the_kernel() {
    assert_eq!(compare(&TRI8), 4500);
}

#[test]
fn selections_on_a_ring_of_nodes_equal_those_of_the_kernel() {
    assert_eq!(compare(&NUMA32), 1500);
}

#[test]
fn selections_on_a_server_of_two_nodes_equal_those_of_the_kernel() {
    assert_eq!(compare(&SRV64), 1500);
}

#[test]
fn selections_with_clusters_equal_those_of_the_kernel() {
    assert_eq!(compare(&CLUSTER24), 1500);
}
