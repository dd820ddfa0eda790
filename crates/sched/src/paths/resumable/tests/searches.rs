// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of idle scans: each CPU counts with its state at the moment at which the scan samples it.

use crate::interface::ctx::Ctx;
use crate::interface::policy::{CpuSample, WakeChoice, WakeRequest};
use crate::interface::wakeup::WakeRule;
use crate::paths::resumable::tests::host::{PathTestMachine, YIELDING};
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

/// Builds a machine of twelve CPUs of which only CPU 9 is idle. CPU 0 has begun to wake a sleeping task that
/// used it before, and scans from CPU 1 on. Returns the machine, the tasks of all CPUs, and the task that is
/// woken.
fn searching() -> (PathTestMachine, Vec<TaskId>, TaskId) {
    searching_with(None)
}

/// Builds the machine of [`searching`] with a policy hook.
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
    host.sched.set_yield_mode(YIELDING);
    host.policy = policy;
    assert!(host.on(CpuId(0), |sched, ctx| sched.handle_wakeup(ctx, sleeper, false)), "the task was asleep");
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

/// Returns the scan that CPU 0 is executing.
fn search(host: &mut PathTestMachine) -> &mut IdleScan {
    let wake =
        host.sched.path_stacks.of_mut(CpuId(0)).and_then(|stack| stack.wake.as_mut()).expect("a wake-up in progress");
    wake.path.search().expect("the wake-up scans")
}

/// Returns the CPU that the scan has found so far.
fn found_so_far(host: &mut PathTestMachine) -> CpuId {
    search(host).decision.cpu
}

/// Completes the wake-up and returns the CPU of the task.
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

/// Test rule that selects the CPU after the one that the scan found.
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
        let selection = Selection::Search(begun.with_conclude(take_the_next_one));
        host.on(CpuId(1), |sched, ctx| sched.finish_selection(ctx, selection))
    };
    assert_eq!(at_once.cpu, CpuId(10));
    let begun = *search(&mut host);
    *search(&mut host) = begun.with_conclude(take_the_next_one);
    assert_eq!(end(&mut host, sleeper), CpuId(10));
}

/// Policy that samples CPUs from the highest number downwards and selects the first idle one; without one the
/// kernel decides.
fn from_above(request: &WakeRequest<'_>, seen: Option<&CpuSample>) -> WakeChoice {
    match seen {
        None => WakeChoice::Sample(CpuId(request.allowed.nr_cpus() as u32 - 1)),
        Some(look) if look.is_idle => WakeChoice::Cpu(look.cpu),
        Some(look) => look.cpu.0.checked_sub(1).map_or(WakeChoice::Kernel, |next| WakeChoice::Sample(CpuId(next))),
    }
}

#[test]
fn a_policy_sees_each_cpu_as_it_is_when_it_comes_to_it() {
    let (mut host, _, sleeper) = searching_with(Some(from_above));
    assert_eq!(end(&mut host, sleeper), CpuId(9));
    let (mut host, tasks, sleeper) = searching_with(Some(|request, seen| match seen.map(|look| look.cpu) {
        // CPU 9 is sampled in the second phase.
        None => WakeChoice::Sample(CpuId(0)),
        Some(CpuId(8)) => from_above(request, None),
        Some(cpu) if cpu < CpuId(8) => WakeChoice::Sample(CpuId(cpu.0 + 1)),
        Some(_) => from_above(request, seen),
    }));
    look(&mut host, 1);
    host.wake(CpuId(9), tasks[9]);
    block(&mut host, 10);
    assert_eq!(end(&mut host, sleeper), CpuId(10), "CPU 9 was taken before the scan reached it");
}

#[test]
fn behind_a_policy_that_leaves_it_to_the_kernel_the_kernels_search_begins() {
    let (mut host, tasks, sleeper) = searching_with(Some(from_above));
    host.wake(CpuId(9), tasks[9]);
    look(&mut host, 3);
    // All twelve CPUs were busy. The kernel's scan follows and begins after its target.
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
    assert_eq!(end(&mut host, sleeper), CpuId(0), "no CPU is idle, so the target is chosen");
}

#[test]
fn it_cannot_know_that_a_cpu_was_taken_after_it_looked() {
    let (mut host, tasks, sleeper) = searching();
    while found_so_far(&mut host) != CpuId(9) {
        look(&mut host, 1);
    }
    assert!(is_searching(&host), "the cost of the last samples has not elapsed");
    host.wake(CpuId(9), tasks[9]);
    assert_eq!(end(&mut host, sleeper), CpuId(9));
}

#[test]
fn a_change_of_domains_ends_its_looks() {
    let (mut host, _, sleeper) = searching();
    look(&mut host, 1);
    host.on(CpuId(0), |sched, ctx| sched.take_cpu_offline(ctx, CpuId(11))).expect("others are left");
    block(&mut host, 6);
    assert_eq!(end(&mut host, sleeper), CpuId(9), "the scan ended when the domains changed");
}

#[test]
fn a_wake_up_shows_when_its_enqueueing_is_over_so_a_second_one_meets_it() {
    let (mut host, _, sleeper) = searching();
    // With TTWU_QUEUE the wake-up would be queued on the idle CPU.
    host.sched.features.set(Feature::TtwuQueue, false);
    while is_searching(&host) {
        look(&mut host, 1);
    }
    let next = |host: &PathTestMachine| host.paused(CpuId(0)).map(|pause| pause.next);
    assert_eq!(next(&host), Some(PhaseLock::Rq(CpuId(9))), "CPU 9 is chosen");
    let counted = host.work.get(KernelOp::Enqueue);
    host.resume(CpuId(0));
    // The lock is held and the enqueue is charged; its effect is not visible yet.
    assert_eq!(next(&host), Some(PhaseLock::Held(CpuId(9))));
    assert_eq!(host.work.get(KernelOp::Enqueue), counted + 1);
    let rq = &host.sched.rqs[CpuId(9)];
    assert!(rq.nr_running == 0 && !rq.need_resched && host.sched.is_idle_task_running(CpuId(9)));
    assert_eq!(host.sched.task(sleeper).state, TaskState::Waking);
    host.resume(CpuId(0));
    assert_eq!((next(&host), host.sched.rqs[CpuId(9)].nr_running), (None, 1));
    assert_eq!(host.work.get(KernelOp::Enqueue), counted + 1, "the enqueue is charged once");
}
