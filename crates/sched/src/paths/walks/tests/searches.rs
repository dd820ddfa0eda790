// SPDX-License-Identifier: GPL-2.0-or-later
//! A search for an idle CPU sees each CPU as it is when it comes to it.

use crate::lab::machine;
use crate::paths::wake::PendingWakeup;
use crate::paths::walks::tests::host::Host;
use crate::state::topology::TopologyLevel;
use crate::words::features::Feature;
use crate::words::ids::{CpuId, TaskId};
use std::vec::Vec;

/// Twelve CPUs, all busy but CPU 9; a task that used CPU 0 sleeps, and CPU 0 has begun to wake it. Returns the host, the tasks of all
/// CPUs, and the wake-up, whose search starts at CPU 1.
fn searching() -> (Host, Vec<TaskId>, PendingWakeup) {
    let mut host = Host::new(machine(12, 1, 12, &[TopologyLevel::Mc]));
    host.sched.features.set(Feature::NiRandom, false);
    host.sched.features.set(Feature::SisUtil, false);
    let sleeper = host.fork(0);
    host.on(CpuId(0), |sched, ctx| sched.handle_block(ctx));
    host.allow(sleeper);
    let tasks: Vec<TaskId> = (0..12).map(|cpu| host.fork(cpu)).collect();
    block(&mut host, 9);
    host.wait(8);
    host.sched.set_pausing(true);
    let pending = host.on(CpuId(0), |sched, ctx| sched.begin_wakeup(ctx, sleeper, false)).expect("the task sleeps");
    assert!(pending.is_searching() && host.sched.is_searching(CpuId(0)));
    (host, tasks, pending)
}

fn block(host: &mut Host, cpu: u32) {
    host.on(CpuId(cpu), |sched, ctx| sched.handle_block(ctx));
}

fn look(host: &mut Host, pending: &mut PendingWakeup, nr_phases: usize) {
    for _ in 0..nr_phases {
        *pending = host.on(CpuId(0), |sched, ctx| sched.search_on(ctx, *pending));
    }
}

/// Where the search ends.
fn end(host: &mut Host, mut pending: PendingWakeup) -> CpuId {
    while pending.is_searching() {
        look(host, &mut pending, 1);
    }
    assert!(!host.sched.is_searching(CpuId(0)));
    host.on(CpuId(0), |sched, ctx| sched.finish_wakeup(ctx, pending));
    pending.cpu()
}

#[test]
fn undisturbed_it_finds_the_only_idle_cpu() {
    let (mut host, _, pending) = searching();
    assert_eq!(end(&mut host, pending), CpuId(9));
}

#[test]
fn it_finds_a_cpu_that_becomes_idle_in_front_of_it() {
    let (mut host, _, mut pending) = searching();
    look(&mut host, &mut pending, 1);
    block(&mut host, 6);
    assert_eq!(end(&mut host, pending), CpuId(6));
}

#[test]
fn it_misses_a_cpu_that_becomes_idle_behind_it() {
    let (mut host, _, mut pending) = searching();
    look(&mut host, &mut pending, 2);
    block(&mut host, 1);
    assert_eq!(end(&mut host, pending), CpuId(9));
}

#[test]
fn it_passes_a_cpu_that_is_taken_before_it_comes_there() {
    let (mut host, tasks, mut pending) = searching();
    look(&mut host, &mut pending, 1);
    host.on(CpuId(9), |sched, ctx| sched.handle_wakeup_interrupt(ctx, tasks[9]));
    assert_eq!(end(&mut host, pending), CpuId(0), "nothing is idle: the target");
}

#[test]
fn it_cannot_know_that_a_cpu_was_taken_after_it_looked() {
    let (mut host, tasks, mut pending) = searching();
    while host.sched.paths.cpus[0].search.is_some_and(|search| search.decision.cpu != CpuId(9)) {
        look(&mut host, &mut pending, 1);
    }
    assert!(pending.is_searching(), "the time of the last looks has not passed");
    host.on(CpuId(9), |sched, ctx| sched.handle_wakeup_interrupt(ctx, tasks[9]));
    assert_eq!(end(&mut host, pending), CpuId(9));
}

#[test]
fn a_change_of_domains_ends_its_looks() {
    let (mut host, _, mut pending) = searching();
    look(&mut host, &mut pending, 1);
    host.on(CpuId(0), |sched, ctx| sched.take_cpu_offline(ctx, CpuId(11))).expect("others are left");
    block(&mut host, 6);
    assert_eq!(end(&mut host, pending), CpuId(9), "as it was when the domains changed");
}
