// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of changes by other CPUs while a path has yielded.

use crate::interface::balance::{BalanceVerdict, KickReason};
use crate::paths::resumable::tests::host::{PathTestMachine, YIELDING};
use crate::paths::resumable::{PathKind, PhaseLock, YieldMode, YieldedPath};
use crate::paths::sched::Sched;
use crate::state::new_task::NewTask;
use crate::state::task::Policy;
use crate::state::topology::{CpuPlace, MachineTopology, TopologyLevel};
use crate::test_machine::machine;
use crate::types::cpumask::CpuMask;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::{CfsRqId, CpuId, GroupId, TaskId};
use std::vec;
use std::vec::Vec;

fn flat(nr_cpus: u32) -> PathTestMachine {
    let mut host = PathTestMachine::new(machine(nr_cpus, 1, nr_cpus, &[TopologyLevel::Mc]));
    host.sched.tunables.migration_cost_ns = 0;
    host.sched.features.set(crate::types::features::Feature::NiRandom, false);
    host
}

fn fork_all(host: &mut PathTestMachine, cpus: &[u32]) -> Vec<TaskId> {
    let tasks: Vec<_> = cpus.iter().map(|&cpu| host.fork(cpu)).collect();
    tasks.iter().for_each(|&task| host.allow(task));
    tasks
}

fn block(host: &mut PathTestMachine, cpu: u32) {
    host.on(CpuId(cpu), |sched, ctx| sched.handle_block(ctx));
}

fn finish(host: &mut PathTestMachine, cpu: u32) {
    host.resume_until(cpu, |_| false);
}

fn path(host: &PathTestMachine, cpu: u32) -> Option<PathKind> {
    host.paused(CpuId(cpu)).map(|pause| pause.path)
}

/// Builds a machine with two tasks on CPUs 0 and 3. CPU 1 is newly idle and about to lock the busiest
/// runqueue, whose CPU is returned.
fn about_to_lock(redo_emptied: bool) -> (PathTestMachine, CpuId) {
    let mut host = flat(4);
    host.sched.tunables.changes.redo_emptied = redo_emptied;
    fork_all(&mut host, &[0, 0, 1, 2, 3, 3]);
    host.wait(40);
    host.tick(CpuId(0));
    host.sched.set_yield_mode(YIELDING);
    block(&mut host, 1);
    assert_eq!(
        host.paused(CpuId(1)),
        Some(YieldedPath { path: PathKind::NewIdle, irqs_on: false, next: PhaseLock::Rq(CpuId(1)) })
    );
    let other = |host: &PathTestMachine| match host.paused(CpuId(1)).map(|pause| pause.next) {
        Some(PhaseLock::Rq(cpu)) if cpu != CpuId(1) => Some(cpu),
        _ => None,
    };
    host.resume_until(1, |host| other(host).is_some());
    let busiest = other(&host).expect("some CPU has two tasks");
    (host, busiest)
}

/// Returns the last load-balance pass for CPU 1.
fn last_pass(host: &PathTestMachine) -> crate::interface::balance::BalanceDecision {
    *host.observed.passes.iter().rev().find(|pass| pass.dst_cpu == CpuId(1)).expect("CPU 1 has run a pass")
}

#[test]
fn a_runqueue_that_lost_its_tasks_before_the_lock_ends_the_pass() {
    let (mut host, busiest) = about_to_lock(false);
    block(&mut host, busiest.0);
    finish(&mut host, 1);
    let pass = last_pass(&host);
    assert_eq!((pass.verdict, pass.emptied, pass.redos, pass.raced), (BalanceVerdict::Failed, 1, 0, 0));
    assert!(host.sched.is_idle_task_running(CpuId(1)));
}

#[test]
fn before_5_13_it_counted_as_one_with_pinned_tasks_and_the_pass_started_over() {
    let (mut host, busiest) = about_to_lock(true);
    block(&mut host, busiest.0);
    finish(&mut host, 1);
    let pass = last_pass(&host);
    assert_eq!((pass.verdict, pass.emptied, pass.redos, pass.raced), (BalanceVerdict::Moved, 1, 1, 1));
    assert_ne!(pass.busiest_queue, Some(busiest));
}

#[test]
fn a_limit_of_no_redos_holds_for_these_too() {
    let (mut host, busiest) = about_to_lock(true);
    host.sched.tunables.changes.redo_max = Some(0);
    block(&mut host, busiest.0);
    finish(&mut host, 1);
    let pass = last_pass(&host);
    assert_eq!((pass.verdict, pass.emptied, pass.redos), (BalanceVerdict::AllPinned, 1, 0));
}

#[test]
fn pinned_tasks_are_no_race() {
    let mut host = flat(3);
    host.sched.tunables.changes.redo_emptied = true;
    for cpu in [0, 0, 1, 2, 2] {
        host.fork(cpu);
    }
    host.wait(40);
    host.tick(CpuId(0));
    host.sched.set_yield_mode(YIELDING);
    block(&mut host, 1);
    finish(&mut host, 1);
    let pass = last_pass(&host);
    assert_eq!((pass.verdict, pass.emptied, pass.raced), (BalanceVerdict::AllPinned, 0, 0));
    assert!(pass.redos > 0);
}

#[test]
fn between_two_runqueues_a_task_is_on_neither_and_no_interrupt_arrives() {
    let (mut host, busiest) = about_to_lock(false);
    host.resume(CpuId(1));
    assert_eq!(
        host.paused(CpuId(1)),
        Some(YieldedPath { path: PathKind::NewIdle, irqs_on: false, next: PhaseLock::Rq(CpuId(1)) })
    );
    let nr = |host: &PathTestMachine, cpu: CpuId| host.sched.rqs[cpu].nr_running;
    assert_eq!((nr(&host, busiest), nr(&host, CpuId(1))), (1, 0));
    host.check();
    finish(&mut host, 1);
    assert_eq!(nr(&host, CpuId(1)), 1);
}

#[test]
fn who_changes_a_task_between_two_runqueues_waits_until_it_has_arrived() {
    let (mut host, busiest) = about_to_lock(false);
    let before: Vec<_> = host.sched.tasks.iter().map(|task| task.cpu).collect();
    host.resume(CpuId(1));
    let moved = host.sched.tasks.iter().zip(before).position(|(task, cpu)| task.cpu != cpu).expect("a detached task");
    let moved = TaskId::from_index(moved);
    host.on(busiest, |sched, ctx| sched.set_nice(ctx, moved, 5));
    assert_eq!(host.paused(CpuId(1)), None);
    assert_eq!(host.sched.curr(CpuId(1)), moved);
    // The path is complete; resuming again does nothing.
    host.resume(CpuId(1));
}

#[test]
fn who_changes_a_task_that_its_cpu_is_about_to_leave_waits_until_it_has_left() {
    let mut host = flat(4);
    let tasks = fork_all(&mut host, &[0, 0, 1, 2, 3]);
    host.wait(40);
    host.tick(CpuId(0));
    host.sched.set_yield_mode(YIELDING);
    block(&mut host, 1);
    let leaves = tasks[2];
    assert!(path(&host, 1) == Some(PathKind::NewIdle) && host.sched.curr(CpuId(1)) == leaves);
    host.on(CpuId(0), |sched, ctx| sched.set_nice(ctx, leaves, 5));
    assert_eq!(host.paused(CpuId(1)), None);
    assert_ne!(host.sched.curr(CpuId(1)), leaves);
    assert!(host.sleeps(leaves));
}

#[test]
fn a_wake_up_that_comes_while_a_cpu_looks_for_work_ends_the_search() {
    let mut host = flat(4);
    let tasks = fork_all(&mut host, &[0, 0, 1, 2, 3]);
    block(&mut host, 2);
    let sleeper = tasks[3];
    host.wait(40);
    host.tick(CpuId(0));
    let p = &mut host.sched.tasks[sleeper];
    (p.cpus_allowed, p.nr_cpus_allowed) = (CpuMask::from_cpus(4, [CpuId(1)]), 1);
    host.sched.set_yield_mode(YIELDING);
    block(&mut host, 1);
    assert_eq!(path(&host, 1), Some(PathKind::NewIdle));
    // Other CPUs do not see CPU 1 as idle, and it has no task, so the wake-up is queued on it.
    host.wake_from_task(CpuId(0), sleeper);
    assert!(host.sched.rqs[CpuId(1)].ttwu_pending);
    finish(&mut host, 1);
    assert!(
        host.observed.passes.iter().all(|pass| pass.dst_cpu != CpuId(1) || pass.verdict == BalanceVerdict::NotOurs)
    );
    while !host.ipis.is_empty() {
        host.deliver(0);
    }
    assert_eq!(host.sched.curr(CpuId(1)), sleeper);
}

#[test]
fn a_task_that_is_enqueued_while_a_cpu_looks_for_work_counts_as_pulled() {
    let mut host = flat(4);
    let tasks = fork_all(&mut host, &[0, 0, 1, 2, 3]);
    host.sched.features.set(crate::types::features::Feature::TtwuQueue, false);
    block(&mut host, 2);
    let sleeper = tasks[3];
    host.wait(40);
    host.tick(CpuId(0));
    let p = &mut host.sched.tasks[sleeper];
    (p.cpus_allowed, p.nr_cpus_allowed) = (CpuMask::from_cpus(4, [CpuId(1)]), 1);
    host.sched.set_yield_mode(YIELDING);
    block(&mut host, 1);
    host.wake_from_task(CpuId(0), sleeper);
    assert_eq!(host.sched.rqs[CpuId(1)].nr_running, 1);
    finish(&mut host, 1);
    assert_eq!(host.sched.curr(CpuId(1)), sleeper);
    assert_eq!(host.sched.rqs[CpuId(1)].idle_stamp, 0);
}

#[test]
fn a_task_that_its_cpu_has_not_left_yet_is_woken_there() {
    let mut host = flat(4);
    let tasks = fork_all(&mut host, &[0, 0, 1, 2, 3]);
    host.wait(40);
    host.tick(CpuId(0));
    host.sched.set_yield_mode(YIELDING);
    block(&mut host, 1);
    host.wake_from_task(CpuId(0), tasks[2]);
    assert!(host.sched.rqs[CpuId(1)].ttwu_pending);
    finish(&mut host, 1);
    while !host.ipis.is_empty() {
        host.deliver(0);
    }
    assert_eq!(host.sched.curr(CpuId(1)), tasks[2]);
}

#[test]
fn wake_ups_that_are_left_to_a_cpu_happen_there_in_their_order() {
    let mut host = flat(2);
    let sleepers = [host.fork(1), host.fork(1), host.fork(1)];
    sleepers.iter().for_each(|_| block(&mut host, 1));
    for task in sleepers {
        host.wake_from_task(CpuId(0), task);
    }
    assert!(host.sched.rqs[CpuId(1)].ttwu_pending && host.ipis.len() == 1);
    host.observed.log.clear();
    host.deliver(0);
    let woken: Vec<_> = host.observed.log.iter().filter(|line| line.contains(" Wakeup {")).collect();
    assert_eq!(woken.len(), 3);
    for (line, task) in woken.into_iter().zip(sleepers) {
        assert!(line.contains(&std::format!("{task:?}")), "{line} does not name {task:?}");
    }
}

/// Builds a machine whose CPU 0 is at the start of its softirq.
fn in_softirq() -> PathTestMachine {
    let mut host = flat(4);
    fork_all(&mut host, &[0, 0, 1, 2, 3]);
    host.wait(400);
    host.sched.set_yield_mode(YIELDING);
    host.tick(CpuId(0));
    host.resume_until(0, |host| path(host, 0) == Some(PathKind::Softirq));
    assert!(host.paused(CpuId(0)).is_some_and(|pause| pause.irqs_on));
    host
}

#[test]
fn a_softirq_that_is_raised_while_it_runs_runs_again_afterwards() {
    let mut host = in_softirq();
    let rounds = |host: &PathTestMachine| host.work.get(crate::types::work::KernelOp::SoftirqRaise);
    let before = rounds(&host);
    host.resume(CpuId(0));
    host.wait(400);
    host.tick(CpuId(0));
    host.resume_until(0, |host| path(host, 0) == Some(PathKind::Softirq));
    assert!(host.sched.rqs[CpuId(0)].sched_softirq);
    assert_eq!(rounds(&host), before);
    finish(&mut host, 0);
    assert!(!host.sched.rqs[CpuId(0)].sched_softirq);
    assert_eq!(rounds(&host), before + 1);
}

#[test]
fn where_softirqs_go_over_one_that_is_raised_again_is_left_if_the_cpu_has_to_reschedule_or_time_is_over() {
    // With a tick of 4 ms, 2 ms have passed at the next jiffy.
    for (reschedules, jiffies, is_left) in [(false, 0, false), (true, 0, true), (false, 1, true)] {
        let mut host = in_softirq();
        host.sched.set_softirq_deferral(true);
        // The tick has ended a slice.
        host.sched.rqs[CpuId(0)].need_resched = false;
        host.sched.rqs[CpuId(0)].sched_softirq = true;
        host.sched.jiffies += jiffies;
        if reschedules {
            host.on(CpuId(0), |sched, ctx| sched.resched_curr(ctx, CpuId(0)));
        }
        host.resume_until(0, |host| path(host, 0) != Some(PathKind::Softirq));
        assert_eq!(host.sched.rqs[CpuId(0)].sched_softirq, is_left, "{reschedules} {jiffies}");
        // Without ksoftirqd the next interrupt runs the softirq.
        finish(&mut host, 0);
        host.on(CpuId(0), Sched::run_softirqs);
        finish(&mut host, 0);
        assert!(!host.sched.rqs[CpuId(0)].sched_softirq);
    }
}

#[test]
fn softirqs_are_left_to_a_thread_that_is_runnable_and_the_thread_runs_them() {
    for (first, waits) in [(true, true), (false, false)] {
        let mut host = flat(4);
        fork_all(&mut host, &[0, 0, 1, 2, 3]);
        host.sched.tunables.ksoftirqd_first = first;
        let new = NewTask {
            pid: 9,
            policy: Policy::Normal,
            nice: 0,
            group: GroupId::ROOT,
            cpus_allowed: CpuMask::from_cpus(4, [CpuId(0)]),
            uclamp: None,
            slice: None,
        };
        let thread = host.on(CpuId(0), |sched, ctx| sched.add_ksoftirqd(ctx, new));
        host.sched.rqs[CpuId(0)].sched_softirq = true;
        assert!(!host.sched.defers_softirqs(CpuId(0)), "ksoftirqd sleeps");
        let load = host.sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].avg.load_avg;
        host.on(CpuId(0), |sched, ctx| sched.handle_wakeup(ctx, thread, false));
        assert_eq!(host.sched.defers_softirqs(CpuId(0)), waits);
        assert!(
            host.sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].avg.load_avg <= load,
            "ksoftirqd has slept since boot and adds no load"
        );
        host.on(CpuId(0), Sched::run_softirqs);
        assert_eq!(host.sched.rqs[CpuId(0)].sched_softirq, waits);
        host.on(CpuId(0), Sched::handle_softirqs);
        assert!(!host.sched.rqs[CpuId(0)].sched_softirq);
    }
}

#[test]
fn a_cpu_reschedules_after_its_softirq() {
    let mut host = in_softirq();
    let curr = host.sched.curr(CpuId(0));
    host.on(CpuId(0), |sched, ctx| sched.resched_curr(ctx, CpuId(0)));
    assert!(host.sched.need_resched(CpuId(0)));
    assert_eq!(host.sched.curr(CpuId(0)), curr);
    finish(&mut host, 0);
    assert!(!host.sched.need_resched(CpuId(0)));
}

#[test]
fn a_walk_for_tickless_cpus_ends_when_its_cpu_gets_work() {
    let mut host = flat(6);
    let tasks = [0, 0, 0, 1, 2, 3, 4, 5].map(|cpu| host.fork(cpu));
    for cpu in 1..6 {
        block(&mut host, cpu);
    }
    host.wait(400);
    host.sched.set_yield_mode(YIELDING);
    host.tick(CpuId(0));
    assert_eq!(path(&host, 0), Some(PathKind::NohzKick), "CPU 0 still counts as tickless");
    host.resume(CpuId(0));
    assert_eq!(path(&host, 0), Some(PathKind::NohzKick), "CPU 0 has not decided yet");
    assert!(!host.sched.nohz.idle_cpus_mask.contains(CpuId(0)) && host.observed.kicks.is_empty());
    host.resume(CpuId(0));
    assert_eq!(path(&host, 0), Some(PathKind::NohzKick), "CPU 0 has not kicked yet");
    host.resume(CpuId(0));
    let kick = *host.observed.kicks.last().expect("a tick");
    assert_eq!((kick.reason, kick.target, kick.kicked), (KickReason::ManyTasks, Some(CpuId(1)), true));
    finish(&mut host, 0);
    host.deliver(0);
    assert_eq!(path(&host, 1), Some(PathKind::Softirq));
    host.resume(CpuId(1));
    // An interrupt on CPU 1 wakes a task for this CPU.
    let woken = tasks[3];
    host.wake(CpuId(1), woken);
    assert!(host.sched.need_resched(CpuId(1)));
    host.observed.passes.clear();
    finish(&mut host, 1);
    assert!(host.sched.nohz.has_blocked, "the remaining work is requested again");
    let others: Vec<_> = host.observed.passes.iter().filter(|pass| pass.idle == CpuIdleType::Idle).collect();
    assert!(others.len() <= 1, "{others:?}");
    assert_eq!(host.sched.curr(CpuId(1)), woken);
}

/// Builds a machine with two tasks on each of CPUs 0 and 1 and none on CPUs 2 and 3.
fn with_two_tickless() -> PathTestMachine {
    let mut host = flat(4);
    for cpu in [0, 0, 1, 1, 2, 3] {
        host.fork(cpu);
    }
    block(&mut host, 2);
    block(&mut host, 3);
    host.wait(400);
    host.observed.kicks.clear();
    host
}

#[test]
fn two_ticks_decide_to_kick_before_either_has_put_off_the_next() {
    let kicks = |pausing: bool| {
        let mut host = with_two_tickless();
        host.sched.set_yield_mode(if pausing { YIELDING } else { YieldMode::Off });
        host.tick(CpuId(0));
        host.tick(CpuId(1));
        if pausing {
            // Each CPU first leaves the tickless state, then decides.
            for cpu in [0, 1, 0, 1] {
                host.resume(CpuId(cpu));
            }
        }
        finish(&mut host, 0);
        finish(&mut host, 1);
        host.observed.kicks.iter().map(|kick| kick.reason).collect::<Vec<_>>()
    };
    assert_eq!(kicks(false), [KickReason::ManyTasks, KickReason::NotDue]);
    assert_eq!(kicks(true), [KickReason::ManyTasks, KickReason::ManyTasks]);
}

#[test]
fn a_tick_that_looks_after_another_has_asked_sees_that() {
    let mut host = with_two_tickless();
    host.sched.set_yield_mode(YIELDING);
    host.tick(CpuId(0));
    host.tick(CpuId(1));
    // CPU 1 is slow: it decides after CPU 0 has finished.
    finish(&mut host, 0);
    finish(&mut host, 1);
    let reasons: Vec<_> = host.observed.kicks.iter().map(|kick| kick.reason).collect();
    assert_eq!(reasons, [KickReason::ManyTasks, KickReason::NotDue]);
}

#[test]
fn domains_between_nodes_are_balanced_by_one_cpu_at_a_time() {
    let place = |cpu: u32| CpuPlace { core: cpu, cluster: cpu, llc: cpu / 2, package: cpu / 2, node: cpu / 2 };
    let mut host = PathTestMachine::new(MachineTopology {
        cpus: (0..4).map(place).collect(),
        capacity: vec![1024; 4],
        levels: vec![TopologyLevel::Mc],
        distances: vec![vec![10, 20], vec![20, 10]],
    });
    fork_all(&mut host, &[0, 0, 1, 2, 2, 3]);
    host.wait(4000);
    host.sched.set_yield_mode(YIELDING);
    host.tick(CpuId(0));
    host.tick(CpuId(2));
    host.resume_until(0, |host| host.sched.balancing);
    assert!(host.sched.balancing);
    finish(&mut host, 2);
    let widest = host.sched.domains.chain(CpuId(2)).last().expect("a domain");
    let level = host.sched.domains.domains[widest].level;
    let by_cpu = |host: &PathTestMachine, cpu| {
        host.observed.passes.iter().any(|pass| pass.on == CpuId(cpu) && pass.level == level)
    };
    assert!(!by_cpu(&host, 2));
    finish(&mut host, 0);
    assert!(by_cpu(&host, 0) && !host.sched.balancing);
}
