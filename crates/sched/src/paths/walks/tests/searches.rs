// SPDX-License-Identifier: GPL-2.0-or-later
//! A search for an idle CPU sees each CPU as it is when it comes to it.

use crate::lab::machine;
use crate::paths::walks::PausedPath;
use crate::paths::walks::tests::host::{Host, PAUSING};
use crate::state::topology::TopologyLevel;
use crate::words::features::Feature;
use crate::words::ids::{CpuId, TaskId};
use std::vec::Vec;

/// Twelve CPUs, all busy but CPU 9; a task that used CPU 0 sleeps, and CPU 0 has begun to wake it, which searches from CPU 1
/// on. Returns the host, the tasks of all CPUs, and the one that is woken.
fn searching() -> (Host, Vec<TaskId>, TaskId) {
    let mut host = Host::new(machine(12, 1, 12, &[TopologyLevel::Mc]));
    host.sched.features.set(Feature::NiRandom, false);
    host.sched.features.set(Feature::SisUtil, false);
    let sleeper = host.fork(0);
    host.on(CpuId(0), |sched, ctx| sched.handle_block(ctx));
    host.allow(sleeper);
    let tasks: Vec<TaskId> = (0..12).map(|cpu| host.fork(cpu)).collect();
    block(&mut host, 9);
    host.wait(8);
    host.sched.set_pausing(PAUSING);
    assert!(host.on(CpuId(0), |sched, ctx| sched.handle_wakeup(ctx, sleeper, false)), "the task sleeps");
    assert!(is_searching(&host));
    assert_eq!(host.sched.waking_cpu(sleeper), Some(CpuId(0)));
    (host, tasks, sleeper)
}

fn block(host: &mut Host, cpu: u32) {
    host.on(CpuId(cpu), |sched, ctx| sched.handle_block(ctx));
}

fn is_searching(host: &Host) -> bool {
    host.paused(CpuId(0)).is_some_and(|pause| pause.path == PausedPath::Search)
}

fn look(host: &mut Host, nr_phases: usize) {
    for _ in 0..nr_phases {
        host.resume(CpuId(0));
    }
}

/// What the search has found so far.
fn found_so_far(host: &Host) -> CpuId {
    let wake = host.sched.walks.of(CpuId(0)).and_then(|walks| walks.wake.as_ref()).expect("a wake-up is under way");
    wake.walk.search().expect("it searches").decision.cpu
}

/// Where the search ends.
fn end(host: &mut Host, sleeper: TaskId) -> CpuId {
    while is_searching(host) {
        look(host, 1);
    }
    assert_eq!(host.paused(CpuId(0)).map(|pause| pause.path), Some(PausedPath::Wakeup));
    host.resume(CpuId(0));
    assert_eq!(host.sched.waking_cpu(sleeper), None);
    host.sched.task(sleeper).cpu
}

#[test]
fn undisturbed_it_finds_the_only_idle_cpu() {
    let (mut host, _, sleeper) = searching();
    assert_eq!(end(&mut host, sleeper), CpuId(9));
}

#[test]
fn it_finds_a_cpu_that_becomes_idle_in_front_of_it() {
    let (mut host, _, sleeper) = searching();
    look(&mut host, 1);
    block(&mut host, 6);
    assert_eq!(end(&mut host, sleeper), CpuId(6));
}

#[test]
fn it_misses_a_cpu_that_becomes_idle_behind_it() {
    let (mut host, _, sleeper) = searching();
    look(&mut host, 2);
    block(&mut host, 1);
    assert_eq!(end(&mut host, sleeper), CpuId(9));
}

#[test]
fn it_passes_a_cpu_that_is_taken_before_it_comes_there() {
    let (mut host, tasks, sleeper) = searching();
    look(&mut host, 1);
    host.wake(CpuId(9), tasks[9]);
    assert_eq!(end(&mut host, sleeper), CpuId(0), "nothing is idle: the target");
}

#[test]
fn it_cannot_know_that_a_cpu_was_taken_after_it_looked() {
    let (mut host, tasks, sleeper) = searching();
    while found_so_far(&host) != CpuId(9) {
        look(&mut host, 1);
    }
    assert!(is_searching(&host), "the time of the last looks has not passed");
    host.wake(CpuId(9), tasks[9]);
    assert_eq!(end(&mut host, sleeper), CpuId(9));
}

#[test]
fn a_change_of_domains_ends_its_looks() {
    let (mut host, _, sleeper) = searching();
    look(&mut host, 1);
    host.on(CpuId(0), |sched, ctx| sched.take_cpu_offline(ctx, CpuId(11))).expect("others are left");
    block(&mut host, 6);
    assert_eq!(end(&mut host, sleeper), CpuId(9), "as it was when the domains changed");
}
