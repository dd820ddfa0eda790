// SPDX-License-Identifier: GPL-2.0-or-later
//! A search for an idle CPU sees each CPU as it is when it comes to it.

use crate::interface::ctx::Ctx;
use crate::interface::policy::{CpuSample, WakeChoice, WakeRequest};
use crate::interface::wakeup::WakeRule;
use crate::paths::resumable::tests::host::{PAUSING, PathTestMachine};
use crate::paths::resumable::{PathKind, PhaseLock};
use crate::rules::wakeup::search::{IdleScan, Selection};
use crate::state::State;
use crate::state::task::TaskState;
use crate::state::topology::TopologyLevel;
use crate::test_machine::machine;
use crate::types::features::Feature;
use crate::types::ids::{CpuId, TaskId};
use crate::types::work::KernelOp;
use std::vec::Vec;

type TestPolicy = fn(&WakeRequest<'_>, Option<&CpuSample>) -> WakeChoice;

/// Twelve CPUs, all busy but CPU 9; a task that used CPU 0 sleeps, and CPU 0 has begun to wake it, which searches from CPU 1
/// on. Returns the host, the tasks of all CPUs, and the one that is woken.
fn searching() -> (PathTestMachine, Vec<TaskId>, TaskId) {
    searching_with(None)
}

/// The same with a policy.
fn searching_with(policy: Option<TestPolicy>) -> (PathTestMachine, Vec<TaskId>, TaskId) {
    let mut host = PathTestMachine::new(machine(12, 1, 12, &[TopologyLevel::Mc]));
    host.sched.features.set(Feature::NiRandom, false);
    host.sched.features.set(Feature::SisUtil, false);
    let sleeper = host.fork(0);
    host.on(CpuId(0), |sched, ctx| sched.handle_block(ctx));
    host.allow(sleeper);
    let tasks: Vec<TaskId> = (0..12).map(|cpu| host.fork(cpu)).collect();
    block(&mut host, 9);
    host.wait(8);
    host.sched.set_pausing(PAUSING);
    host.policy = policy;
    assert!(host.on(CpuId(0), |sched, ctx| sched.handle_wakeup(ctx, sleeper, false)), "the task sleeps");
    assert!(is_searching(&host));
    assert_eq!(host.sched.waking_cpu(sleeper), Some(CpuId(0)));
    (host, tasks, sleeper)
}

fn block(host: &mut PathTestMachine, cpu: u32) {
    host.on(CpuId(cpu), |sched, ctx| sched.handle_block(ctx));
}

fn is_searching(host: &PathTestMachine) -> bool {
    host.paused(CpuId(0)).is_some_and(|pause| pause.path == PathKind::Search)
}

fn look(host: &mut PathTestMachine, nr_phases: usize) {
    for _ in 0..nr_phases {
        host.resume(CpuId(0));
    }
}

/// The search that CPU 0 is in the middle of.
fn search(host: &mut PathTestMachine) -> &mut IdleScan {
    let wake = host.sched.walks.of_mut(CpuId(0)).and_then(|walks| walks.wake.as_mut()).expect("a wake-up is under way");
    wake.walk.search().expect("it searches")
}

/// What it has found so far.
fn found_so_far(host: &mut PathTestMachine) -> CpuId {
    search(host).decision.cpu
}

/// Where the search ends.
fn end(host: &mut PathTestMachine, sleeper: TaskId) -> CpuId {
    while is_searching(host) {
        look(host, 1);
    }
    assert_eq!(host.paused(CpuId(0)).map(|pause| pause.path), Some(PathKind::Wakeup));
    while host.paused(CpuId(0)).is_some() {
        host.resume(CpuId(0));
    }
    assert_eq!(host.sched.waking_cpu(sleeper), None);
    host.sched.task(sleeper).cpu
}

/// A made-up rule: not the CPU that was found, but the one after it.
fn take_the_next_one(_state: &mut State, _ctx: &mut Ctx<'_>, search: IdleScan) -> Selection {
    let mut decision = search.decision;
    decision.choose(CpuId(decision.cpu.0 + 1), WakeRule::IdleCpu);
    Selection::Chosen(decision)
}

#[test]
fn a_rule_behind_the_scan_counts_where_the_search_pauses_and_where_it_does_not() {
    let (mut host, _, sleeper) = searching();
    let at_once = {
        let begun = *search(&mut host);
        let selection = Selection::Search(begun.with_rule_behind(take_the_next_one));
        host.on(CpuId(1), |sched, ctx| sched.search_at_once(ctx, selection))
    };
    assert_eq!(at_once.cpu, CpuId(10));
    let begun = *search(&mut host);
    *search(&mut host) = begun.with_rule_behind(take_the_next_one);
    assert_eq!(end(&mut host, sleeper), CpuId(10));
}

/// The idle CPU with the highest number, from above; the kernel's rules if there is none.
fn from_above(request: &WakeRequest<'_>, seen: Option<&CpuSample>) -> WakeChoice {
    match seen {
        None => WakeChoice::Look(CpuId(request.allowed.nr_cpus() as u32 - 1)),
        Some(look) if look.is_idle => WakeChoice::Cpu(look.cpu),
        Some(look) => look.cpu.0.checked_sub(1).map_or(WakeChoice::Kernel, |next| WakeChoice::Look(CpuId(next))),
    }
}

#[test]
fn a_policy_sees_each_cpu_as_it_is_when_it_comes_to_it() {
    let (mut host, _, sleeper) = searching_with(Some(from_above));
    assert_eq!(end(&mut host, sleeper), CpuId(9));
    let (mut host, tasks, sleeper) = searching_with(Some(|request, seen| match seen.map(|look| look.cpu) {
        // It looks at CPU 9 in its second phase.
        None => WakeChoice::Look(CpuId(0)),
        Some(CpuId(8)) => from_above(request, None),
        Some(cpu) if cpu < CpuId(8) => WakeChoice::Look(CpuId(cpu.0 + 1)),
        Some(_) => from_above(request, seen),
    }));
    look(&mut host, 1);
    host.wake(CpuId(9), tasks[9]);
    block(&mut host, 10);
    assert_eq!(end(&mut host, sleeper), CpuId(10), "CPU 9 was taken before it came there");
}

#[test]
fn behind_a_policy_that_leaves_it_to_the_kernel_the_kernels_search_begins() {
    let (mut host, tasks, sleeper) = searching_with(Some(from_above));
    host.wake(CpuId(9), tasks[9]);
    look(&mut host, 3);
    // All twelve were busy; the kernel's search, which follows, begins behind its target.
    look(&mut host, 1);
    block(&mut host, 2);
    assert_eq!(end(&mut host, sleeper), CpuId(2));
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
    while found_so_far(&mut host) != CpuId(9) {
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

#[test]
fn a_wake_up_shows_when_its_enqueueing_is_over_so_a_second_one_meets_it() {
    let (mut host, _, sleeper) = searching();
    // Otherwise the wake-up is left to the idle CPU.
    host.sched.features.set(Feature::TtwuQueue, false);
    while is_searching(&host) {
        look(&mut host, 1);
    }
    let next = |host: &PathTestMachine| host.paused(CpuId(0)).map(|pause| pause.next);
    assert_eq!(next(&host), Some(PhaseLock::Rq(CpuId(9))), "CPU 9 is chosen");
    let counted = host.work.of(KernelOp::Enqueue);
    host.resume(CpuId(0));
    // The lock is taken and what comes before the stores is paid; nobody sees anything of it yet.
    assert_eq!(next(&host), Some(PhaseLock::Held(CpuId(9))));
    assert_eq!(host.work.of(KernelOp::Enqueue), counted + 1);
    let rq = &host.sched.rqs[9];
    assert!(rq.nr_running == 0 && !rq.need_resched && host.sched.is_idle_task_running(CpuId(9)));
    assert_eq!(host.sched.task(sleeper).state, TaskState::Waking);
    host.resume(CpuId(0));
    assert_eq!((next(&host), host.sched.rqs[9].nr_running), (None, 1));
    assert_eq!(host.work.of(KernelOp::Enqueue), counted + 1, "it is paid once");
}
