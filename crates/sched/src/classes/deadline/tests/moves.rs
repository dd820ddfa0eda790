// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the CPUs on which deadline tasks run.

use crate::classes::deadline::tests::lab::{DlTestMachine, Job, MS, START, US, dl};
use crate::state::timers::Timer;
use crate::types::ids::{CpuId, TaskId};
use alloc::string::ToString;
use alloc::vec::Vec;

const A: CpuId = CpuId(0);
const B: CpuId = CpuId(1);

fn running(lab: &DlTestMachine) -> Vec<TaskId> {
    lab.sched.cpu_ids().map(|cpu| lab.sched.curr(cpu)).collect()
}

/// Returns tasks with these deadlines, all forked on the first CPU at the start.
fn tasks(lab: &mut DlTestMachine, deadlines_ms: &[u64]) -> Vec<TaskId> {
    deadlines_ms.iter().map(|&ms| lab.fork_deadline(A, dl(ms * MS / 5, ms * MS, ms * MS))).collect()
}

#[test]
fn the_earliest_deadlines_of_all_run() {
    let mut lab = DlTestMachine::new(&[1024; 3]);
    let tasks = tasks(&mut lab, &[40, 10, 50, 30, 20]);
    lab.run_until(START + 100 * US);
    let mut now = running(&lab);
    now.sort();
    assert_eq!(now, [tasks[1], tasks[3], tasks[4]]);
}

#[test]
fn a_cpu_that_has_no_deadline_task_left_pulls_one() {
    let mut lab = DlTestMachine::new(&[1024; 2]);
    let tasks = tasks(&mut lab, &[10, 20, 30]);
    lab.set_job(tasks[0], Job { work: MS, due: u64::MAX });
    lab.run_until(START + 2 * MS);
    let mut now = running(&lab);
    now.sort();
    assert_eq!(now, [tasks[1], tasks[2]]);
}

#[test]
fn who_may_use_one_cpu_only_is_neither_pushed_nor_pulled() {
    let mut lab = DlTestMachine::new(&[1024; 2]);
    let pinned: Vec<_> = (0..2)
        .map(|nth| {
            let task = lab.fork(A, Some(&[A]));
            let policy = dl(2 * MS, (10 + nth) * MS, (10 + nth) * MS);
            lab.on(A, |sched, ctx| sched.set_policy(ctx, task, policy)).unwrap();
            task
        })
        .collect();
    lab.run_until(START + MS);
    assert!(!lab.sched.rq(A).dl.overloaded);
    assert_eq!(running(&lab)[0], pinned[0]);
    assert!(lab.sched.is_idle_task_running(B));
}

#[test]
fn a_woken_task_goes_where_the_deadline_is_latest() {
    let mut lab = DlTestMachine::new(&[1024; 2]);
    let tasks = tasks(&mut lab, &[10, 40, 20]);
    lab.set_job(tasks[0], Job { work: MS, due: u64::MAX });
    lab.run_until(START + 2 * MS);
    let before = running(&lab);
    lab.release(START + 3 * MS, tasks[0], Job { work: MS, due: u64::MAX });
    lab.run_until(START + 3 * MS + 10 * US);
    let after = running(&lab);
    assert!(before.contains(&tasks[1]) && before.contains(&tasks[2]));
    assert!(after.contains(&tasks[0]) && after.contains(&tasks[2]));
}

#[test]
fn a_wakeup_that_ends_in_a_push_counts_as_remote() {
    let mut lab = DlTestMachine::new(&[1024; 2]);
    let late = lab.fork_deadline(A, dl(9 * MS, 100 * MS, 100 * MS));
    lab.set_job(late, Job { work: MS, due: u64::MAX });
    lab.run_until(START + 2 * MS);
    let early = lab.fork_deadline(A, dl(9 * MS, 10 * MS, 10 * MS));
    // The old deadline of `late` would preempt, so the task stays when a CPU is selected; its new deadline
    // does not, so it is pushed.
    lab.release(START + 153 * MS, late, Job { work: MS, due: u64::MAX });
    lab.run_until(START + 153 * MS - 1);
    assert_eq!((lab.sched.curr(A), lab.sched.task(late).cpu), (early, A));
    let before = lab.sched.rq(A).stats;
    lab.run_until(START + 153 * MS);
    let after = lab.sched.rq(A).stats;
    assert_eq!(lab.sched.task(late).cpu, B);
    assert_eq!(after.ttwu_count, before.ttwu_count + 1);
    assert_eq!(after.ttwu_local, before.ttwu_local);
}

#[test]
fn a_task_that_is_too_dense_for_a_cpu_goes_to_a_bigger_one() {
    let mut lab = DlTestMachine::new(&[1024, 256]);
    let task = lab.fork(B, None);
    lab.set_job(task, Job { work: MS, due: u64::MAX });
    lab.on(B, |sched, ctx| sched.set_policy(ctx, task, dl(5 * MS, 10 * MS, 10 * MS))).unwrap();
    lab.run_until(START + 5 * MS);
    lab.release(START + 20 * MS, task, Job { work: MS, due: u64::MAX });
    lab.run_until(START + 20 * MS + US);
    assert_eq!(lab.sched.task(task).cpu, A);
}

#[test]
fn a_timer_that_is_switched_off_elsewhere_leaves_an_interrupt_that_finds_nothing() {
    let mut lab = DlTestMachine::new(&[1024; 2]);
    let (task, timer) = (TaskId(0), Timer::DlTask(TaskId(0)));
    lab.on(A, |sched, ctx| sched.start_timer(ctx, timer, START + MS));
    assert_eq!(lab.sched.task(task).dl.dl_timer_cpu, A);
    assert!(lab.on(B, |sched, ctx| sched.cancel_timer(ctx, A, timer)));
    lab.run_until(START + 2 * MS);
    assert_eq!(lab.nr_timer_interrupts, 1);
    lab.on(A, |sched, ctx| sched.start_timer(ctx, timer, START + 3 * MS));
    assert!(lab.on(A, |sched, ctx| sched.cancel_timer(ctx, A, timer)));
    assert!(!lab.on(A, |sched, ctx| sched.cancel_timer(ctx, A, timer)));
    lab.run_until(START + 4 * MS);
    assert_eq!(lab.nr_timer_interrupts, 1, "switched off at home it does not come");
}

#[test]
fn a_timer_that_is_started_elsewhere_expires_there() {
    let mut lab = DlTestMachine::new(&[1024; 2]);
    let timer = Timer::DlInactive(TaskId(0));
    lab.on(A, |sched, ctx| sched.start_timer(ctx, timer, START + MS));
    lab.on(B, |sched, ctx| sched.start_timer(ctx, timer, START + 2 * MS));
    assert!(!lab.sched.rq(A).timers.is_queued(timer));
    assert!(lab.sched.rq(B).timers.is_queued(timer));
    lab.run_until(START + 3 * MS);
    assert!(!lab.sched.rq(B).timers.is_active(timer));
}

#[test]
fn damage_is_found() {
    let damage = |what: fn(&mut crate::paths::sched::Sched, TaskId)| {
        let mut lab = DlTestMachine::new(&[1024; 2]);
        let tasks = tasks(&mut lab, &[10, 20, 30]);
        lab.run_until(START + MS);
        assert_eq!(lab.sched.check_invariants(), Ok(()));
        what(&mut lab.sched, tasks[0]);
        lab.sched.check_invariants().expect_err("it is found").to_string()
    };
    assert!(damage(|sched, _| sched.rqs[0].dl.nr_migratory += 1).contains("miscounted"));
    assert!(damage(|sched, task| sched.tasks[task.index()].dl.deadline += 1).contains("is queued on"));
    assert!(damage(|sched, _| sched.rqs[1].dl.running_bw -= 1).contains("running_bw is"));
    assert!(damage(|sched, _| sched.rqs[1].dl.earliest_curr += 1).contains("the earliest deadline of"));
    assert!(damage(|sched, _| sched.dl_root.overloaded_cpus.clear_all()).contains("marked as overloaded"));
    assert!(damage(|sched, _| sched.dl_root.total_bw = 0).contains("is admitted"));
}
