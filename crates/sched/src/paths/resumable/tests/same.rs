// SPDX-License-Identifier: GPL-2.0-or-later
//! Random runs: yielding without delay gives the same run as no yielding, and with yields of any length all
//! invariants hold.

use crate::paths::resumable::YieldMode;
use crate::paths::resumable::tests::host::{PathTestMachine, YIELDING};
use crate::state::topology::{CpuPlace, MachineTopology, TopologyLevel};
use crate::test_machine::machine;
use crate::types::ids::{CpuId, TaskId};
use crate::types::units::Nanos;
use std::vec;
use std::vec::Vec;

/// SplitMix64 generator.
struct TestRng(u64);

impl TestRng {
    pub(crate) fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

/// Builds a topology of two nodes with four CPUs each, in cores of two.
fn numa() -> MachineTopology {
    let place = |cpu: u32| CpuPlace { core: cpu / 2, cluster: cpu, llc: cpu / 4, package: cpu / 4, node: cpu / 4 };
    MachineTopology {
        cpus: (0..8).map(place).collect(),
        capacity: vec![1024; 8],
        levels: vec![TopologyLevel::Smt, TopologyLevel::Mc],
        distances: vec![vec![10, 20], vec![20, 10]],
    }
}

fn machines() -> [MachineTopology; 4] {
    let flat = machine(4, 1, 4, &[TopologyLevel::Mc]);
    let big_little = MachineTopology { capacity: vec![446, 446, 1024, 1024], ..flat.clone() };
    [flat, big_little, machine(4, 2, 4, &[TopologyLevel::Smt, TopologyLevel::Mc]), numa()]
}

fn prepare(topology: MachineTopology, seed: u64) -> (PathTestMachine, Vec<TaskId>) {
    let mut host = PathTestMachine::new(topology);
    let nr_cpus = host.sched.nr_cpus() as u64;
    let changes = &mut host.sched.tunables.changes;
    (changes.newidle_blocked, changes.redo_emptied, changes.kick_next) = (seed & 1 != 0, seed & 2 != 0, seed & 4 != 0);
    let mut rng = TestRng(seed);
    let mut tasks = Vec::new();
    for _ in 0..nr_cpus + 3 {
        let task = host.fork(rng.below(nr_cpus) as u32);
        if rng.below(6) > 0 {
            host.allow(task);
        }
        tasks.push(task);
    }
    (host, tasks)
}

/// Runs one random action. Paths may have yielded at any point.
fn act(host: &mut PathTestMachine, tasks: &[TaskId], rng: &mut TestRng) {
    let cpu = CpuId(rng.below(host.sched.nr_cpus() as u64) as u32);
    let task = tasks[rng.below(tasks.len() as u64) as usize];
    match rng.below(16) {
        0..3 => {
            host.now += Nanos(rng.below(2_000_000));
            host.sched.handle_jiffy(host.now.0 / 4_000_000);
        }
        3..6 => host.tick(cpu),
        6..9 if host.runs(cpu).is_some() => host.on(cpu, |sched, ctx| sched.handle_block(ctx)),
        9..13 if host.sleeps(task) && host.takes_irqs(cpu) => host.wake(cpu, task),
        13 if host.runs(cpu).is_some() => host.on(cpu, |sched, ctx| sched.handle_yield(ctx)),
        14 if host.runs(cpu).is_some() => {
            let nice = rng.below(40) as i8 - 20;
            host.on(cpu, |sched, ctx| sched.set_nice(ctx, task, nice));
        }
        _ => {}
    }
}

fn deliver_all(host: &mut PathTestMachine) {
    while !host.ipis.is_empty() {
        host.deliver(0);
    }
}

#[test]
fn with_pauses_that_take_no_time_a_run_is_the_same_as_without() {
    let (mut nr_passes, mut nr_kicks, mut nr_search_phases) = (0, 0, 0);
    for (index, topology) in machines().into_iter().enumerate() {
        for seed in 0..24 {
            let run = |pausing: bool| {
                let (mut host, tasks) = prepare(topology.clone(), seed);
                host.resumes_at_once = pausing;
                host.sched.set_yield_mode(if pausing { YIELDING } else { YieldMode::Off });
                let mut rng = TestRng(1000 + seed);
                for _ in 0..600 {
                    act(&mut host, &tasks, &mut rng);
                    deliver_all(&mut host);
                }
                host
            };
            let (plain, paused) = (run(false), run(true));
            for (a, b) in plain.observed.log.iter().zip(&paused.observed.log) {
                assert_eq!(a, b, "machine {index}, seed {seed}");
            }
            assert_eq!(plain.observed.log.len(), paused.observed.log.len());
            assert_eq!(plain.work.counts(), paused.work.counts(), "machine {index}, seed {seed}");
            assert_eq!(plain.nr_search_phases, 0);
            nr_search_phases += paused.nr_search_phases;
            nr_passes += plain.observed.passes.len();
            nr_kicks += plain.observed.kicks.iter().filter(|kick| kick.kicked).count();
        }
    }
    assert!(nr_passes > 2000 && nr_kicks > 100, "{nr_passes} passes and {nr_kicks} kicks are too few");
    assert!(nr_search_phases > 1000, "{nr_search_phases} phases of scans are too few");
}

#[test]
fn with_pauses_of_any_length_all_invariants_hold() {
    let (mut nr_paused, mut nr_emptied) = (0, 0);
    for topology in machines() {
        for seed in 0..24 {
            let (mut host, tasks) = prepare(topology.clone(), seed);
            host.sched.set_yield_mode(YIELDING);
            let mut rng = TestRng(2000 + seed);
            for _ in 0..1500 {
                act(&mut host, &tasks, &mut rng);
                let cpu = CpuId(rng.below(host.sched.nr_cpus() as u64) as u32);
                if host.paused(cpu).is_some() {
                    nr_paused += 1;
                    host.resume(cpu);
                }
                if !host.ipis.is_empty() {
                    let index = rng.below(host.ipis.len() as u64) as usize;
                    host.deliver(index);
                }
            }
            // All paths must complete without leaving any state.
            for _ in 0..10_000 {
                let Some(cpu) = host.sched.cpu_ids().find(|&cpu| host.paused(cpu).is_some()) else { break };
                host.resume(cpu);
            }
            assert!(host.sched.cpu_ids().all(|cpu| host.paused(cpu).is_none()));
            assert!(!host.sched.balancing);
            deliver_all_resuming(&mut host);
            nr_emptied += host.observed.passes.iter().map(|pass| pass.emptied).sum::<u32>();
        }
    }
    assert!(nr_paused > 10_000 && nr_emptied > 0, "{nr_paused} yields, {nr_emptied} emptied runqueues");
}

fn deliver_all_resuming(host: &mut PathTestMachine) {
    while !host.ipis.is_empty() {
        host.deliver(0);
        while let Some(cpu) = host.sched.cpu_ids().find(|&cpu| host.paused(cpu).is_some()) {
            host.resume(cpu);
        }
    }
}
