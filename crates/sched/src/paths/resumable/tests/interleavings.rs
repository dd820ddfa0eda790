// SPDX-License-Identifier: GPL-2.0-or-later
//! Exhaustive tests of all orders of the phases of two CPUs' paths, on small machines.

use crate::paths::resumable::PathKind;
use crate::paths::resumable::tests::host::{PathTestMachine, YIELDING};
use crate::state::topology::TopologyLevel;
use crate::test_machine::machine;
use crate::types::ids::{CpuId, TaskId};
use std::vec::Vec;

/// Runs each order to its end and checks the invariants after each phase. Returns the number of orders.
fn explore(host: &PathTestMachine, tasks: &[TaskId], outcomes: &mut Vec<u32>) -> u32 {
    let paused: Vec<CpuId> = host.sched.cpu_ids().filter(|&cpu| host.paused(cpu).is_some()).collect();
    if paused.is_empty() {
        let moved: u32 = host.observed.passes.iter().map(|pass| pass.nr_moved).sum();
        outcomes.push(moved);
        let nr_queued: u32 = host.sched.rqs.iter().map(|rq| rq.nr_running).sum();
        let nr_runnable = tasks.iter().filter(|&&task| !host.sleeps(task)).count();
        let nr_stoppers = host.sched.rqs.iter().filter(|rq| host.sched.tasks[rq.stop].is_queued()).count();
        assert_eq!(nr_queued as usize, nr_runnable + nr_stoppers, "no task is lost");
        return 1;
    }
    paused
        .into_iter()
        .map(|cpu| {
            let mut next = host.clone();
            next.resume(cpu);
            explore(&next, tasks, outcomes)
        })
        .sum()
}

/// Builds a machine with `nr_on_first` tasks on CPU 0 and one on each of CPUs 1 and 2, which both block.
fn two_newly_idle(redo_emptied: bool, nr_on_first: usize) -> (PathTestMachine, Vec<TaskId>) {
    let mut host = PathTestMachine::new(machine(3, 1, 3, &[TopologyLevel::Mc]));
    host.sched.tunables.changes.redo_emptied = redo_emptied;
    host.sched.tunables.migration_cost_ns = 0;
    host.sched.features.set(crate::types::features::Feature::NiRandom, false);
    let mut tasks: Vec<_> = (0..nr_on_first).map(|_| host.fork(0)).collect();
    tasks.extend([1, 2].map(|cpu| host.fork(cpu)));
    tasks.iter().for_each(|&task| host.allow(task));
    host.wait(40);
    host.tick(CpuId(0));
    host.wait(4);
    host.sched.set_yield_mode(YIELDING);
    for cpu in [CpuId(1), CpuId(2)] {
        host.on(cpu, |sched, ctx| sched.handle_block(ctx));
        assert_eq!(host.paused(cpu).map(|pause| pause.path), Some(PathKind::NewIdle));
    }
    (host, tasks)
}

#[test]
fn two_cpus_that_run_out_of_work_share_what_there_is_in_every_order() {
    let (host, tasks) = two_newly_idle(false, 3);
    let mut outcomes = Vec::new();
    let nr_orders = explore(&host, &tasks, &mut outcomes);
    assert!(nr_orders > 100, "{nr_orders}");
    assert!(outcomes.iter().all(|&moved| moved == 2), "{outcomes:?}");
}

#[test]
fn one_task_for_two_cpus_goes_to_one_of_them_in_every_order() {
    for redo_emptied in [false, true] {
        let (host, tasks) = two_newly_idle(redo_emptied, 2);
        let mut outcomes = Vec::new();
        let nr_orders = explore(&host, &tasks, &mut outcomes);
        assert!(nr_orders > 100, "{nr_orders}");
        assert!(outcomes.iter().all(|&moved| moved == 1), "{outcomes:?}");
    }
}

#[test]
fn a_softirq_and_a_cpu_that_runs_out_of_work_meet_in_every_order() {
    let mut host = PathTestMachine::new(machine(3, 1, 3, &[TopologyLevel::Mc]));
    host.sched.tunables.migration_cost_ns = 0;
    host.sched.features.set(crate::types::features::Feature::NiRandom, false);
    let mut tasks: Vec<_> = (0..3).map(|_| host.fork(0)).collect();
    tasks.extend([1, 2].map(|cpu| host.fork(cpu)));
    tasks.iter().for_each(|&task| host.allow(task));
    host.wait(400);
    host.sched.set_yield_mode(YIELDING);
    host.tick(CpuId(1));
    host.resume_until(1, |host| host.paused(CpuId(1)).map(|pause| pause.path) == Some(PathKind::Softirq));
    assert!(host.paused(CpuId(1)).is_some());
    host.on(CpuId(2), |sched, ctx| sched.handle_block(ctx));
    assert!(host.paused(CpuId(2)).is_some());
    let mut outcomes = Vec::new();
    let nr_orders = explore(&host, &tasks, &mut outcomes);
    assert!(nr_orders > 50, "{nr_orders}");
    assert!(outcomes.iter().all(|&moved| moved >= 1), "{outcomes:?}");
}
