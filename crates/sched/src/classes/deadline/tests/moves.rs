// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the CPUs on which deadline tasks run.

use crate::classes::deadline::tests::machine::{DlTestMachine, Job, MS, START, US, dl};
use crate::state::timers::Timer;
use crate::types::ids::{CpuId, TaskId};
use alloc::string::ToString;
use alloc::vec::Vec;

const A: CpuId = CpuId(0);
const B: CpuId = CpuId(1);

fn running(machine: &DlTestMachine) -> Vec<TaskId> {
    machine.sched.cpu_ids().map(|cpu| machine.sched.curr(cpu)).collect()
}

/// Returns tasks with these deadlines, all forked on the first CPU at the start.
fn tasks(machine: &mut DlTestMachine, deadlines_ms: &[u64]) -> Vec<TaskId> {
    deadlines_ms.iter().map(|&ms| machine.fork_deadline(A, dl(ms * MS / 5, ms * MS, ms * MS))).collect()
}

#[test]
fn the_earliest_deadlines_of_all_run() {
    let mut machine = DlTestMachine::new(&[1024; 3]);
    let tasks = tasks(&mut machine, &[40, 10, 50, 30, 20]);
    machine.run_until(START + 100 * US);
    let mut now = running(&machine);
    now.sort();
    assert_eq!(now, [tasks[1], tasks[3], tasks[4]]);
}

#[test]
fn a_cpu_that_has_no_deadline_task_left_pulls_one() {
    let mut machine = DlTestMachine::new(&[1024; 2]);
    let tasks = tasks(&mut machine, &[10, 20, 30]);
    machine.set_job(tasks[0], Job { work: MS, due: u64::MAX });
    machine.run_until(START + 2 * MS);
    let mut now = running(&machine);
    now.sort();
    assert_eq!(now, [tasks[1], tasks[2]]);
}

#[test]
fn who_may_use_one_cpu_only_is_neither_pushed_nor_pulled() {
    let mut machine = DlTestMachine::new(&[1024; 2]);
    let pinned: Vec<_> = (0..2)
        .map(|nth| {
            let task = machine.fork(A, Some(&[A]));
            let policy = dl(2 * MS, (10 + nth) * MS, (10 + nth) * MS);
            machine.on(A, |sched, ctx| sched.set_policy(ctx, task, policy)).unwrap();
            task
        })
        .collect();
    machine.run_until(START + MS);
    assert!(!machine.sched.rqs[A].dl.overloaded());
    assert_eq!(running(&machine)[0], pinned[0]);
    assert!(machine.sched.is_idle_task_running(B));
}

#[test]
fn a_woken_task_goes_where_the_deadline_is_latest() {
    let mut machine = DlTestMachine::new(&[1024; 2]);
    let tasks = tasks(&mut machine, &[10, 40, 20]);
    machine.set_job(tasks[0], Job { work: MS, due: u64::MAX });
    machine.run_until(START + 2 * MS);
    let before = running(&machine);
    machine.release(START + 3 * MS, tasks[0], Job { work: MS, due: u64::MAX });
    machine.run_until(START + 3 * MS + 10 * US);
    let after = running(&machine);
    assert!(before.contains(&tasks[1]) && before.contains(&tasks[2]));
    assert!(after.contains(&tasks[0]) && after.contains(&tasks[2]));
}

#[test]
fn a_wakeup_that_ends_in_a_push_counts_as_remote() {
    let mut machine = DlTestMachine::new(&[1024; 2]);
    let late = machine.fork_deadline(A, dl(9 * MS, 100 * MS, 100 * MS));
    machine.set_job(late, Job { work: MS, due: u64::MAX });
    machine.run_until(START + 2 * MS);
    let early = machine.fork_deadline(A, dl(9 * MS, 10 * MS, 10 * MS));
    // The old deadline of `late` would preempt, so the task stays when a CPU is selected; its new deadline
    // does not, so it is pushed.
    machine.release(START + 153 * MS, late, Job { work: MS, due: u64::MAX });
    machine.run_until(START + 153 * MS - 1);
    assert_eq!((machine.sched.curr(A), machine.sched.task(late).cpu), (early, A));
    let before = machine.sched.rqs[A].stats;
    machine.run_until(START + 153 * MS);
    let after = machine.sched.rqs[A].stats;
    assert_eq!(machine.sched.task(late).cpu, B);
    assert_eq!(after.ttwu_count, before.ttwu_count + 1);
    assert_eq!(after.ttwu_local, before.ttwu_local);
}

#[test]
fn a_task_that_is_too_dense_for_a_cpu_goes_to_a_bigger_one() {
    let mut machine = DlTestMachine::new(&[1024, 256]);
    let task = machine.fork(B, None);
    machine.set_job(task, Job { work: MS, due: u64::MAX });
    machine.on(B, |sched, ctx| sched.set_policy(ctx, task, dl(5 * MS, 10 * MS, 10 * MS))).unwrap();
    machine.run_until(START + 5 * MS);
    machine.release(START + 20 * MS, task, Job { work: MS, due: u64::MAX });
    machine.run_until(START + 20 * MS + US);
    assert_eq!(machine.sched.task(task).cpu, A);
}

#[test]
fn a_timer_that_is_switched_off_elsewhere_leaves_an_interrupt_that_finds_nothing() {
    let mut machine = DlTestMachine::new(&[1024; 2]);
    let (task, timer) = (TaskId(0), Timer::DlTask(TaskId(0)));
    machine.on(A, |sched, ctx| sched.start_timer(ctx, timer, START + MS));
    assert_eq!(machine.sched.task(task).dl.dl_timer_cpu, A);
    assert!(machine.on(B, |sched, ctx| sched.rqs[A].timers.cancel(ctx, A, timer)));
    machine.run_until(START + 2 * MS);
    assert_eq!(machine.nr_timer_interrupts, 1);
    machine.on(A, |sched, ctx| sched.start_timer(ctx, timer, START + 3 * MS));
    assert!(machine.on(A, |sched, ctx| sched.rqs[A].timers.cancel(ctx, A, timer)));
    assert!(!machine.on(A, |sched, ctx| sched.rqs[A].timers.cancel(ctx, A, timer)));
    machine.run_until(START + 4 * MS);
    assert_eq!(machine.nr_timer_interrupts, 1, "switched off at home it does not come");
}

#[test]
fn a_timer_that_is_started_elsewhere_expires_there() {
    let mut machine = DlTestMachine::new(&[1024; 2]);
    let timer = Timer::DlInactive(TaskId(0));
    machine.on(A, |sched, ctx| sched.start_timer(ctx, timer, START + MS));
    machine.on(B, |sched, ctx| sched.start_timer(ctx, timer, START + 2 * MS));
    assert!(!machine.sched.rqs[A].timers.is_queued(timer));
    assert!(machine.sched.rqs[B].timers.is_queued(timer));
    machine.run_until(START + 3 * MS);
    assert!(!machine.sched.rqs[B].timers.is_active(timer));
}

#[test]
fn damage_is_found() {
    let damage = |what: fn(&mut crate::paths::sched::Sched, TaskId)| {
        let mut machine = DlTestMachine::new(&[1024; 2]);
        let tasks = tasks(&mut machine, &[10, 20, 30]);
        machine.run_until(START + MS);
        assert_eq!(machine.sched.check_invariants(), Ok(()));
        what(&mut machine.sched, tasks[0]);
        machine.sched.check_invariants().expect_err("it is found").to_string()
    };
    assert!(damage(|sched, _| sched.rqs[CpuId(0)].dl.nr_migratory += 1).contains("miscounted"));
    assert!(damage(|sched, task| sched.tasks[task].dl.deadline += 1).contains("is queued on"));
    assert!(damage(|sched, _| sched.rqs[CpuId(1)].dl.sub_running_bw(1)).contains("running_bw is"));
    assert!(damage(|sched, _| sched.dl_root.cpudl.set(CpuId(1), 0)).contains("the earliest deadline of"));
    assert!(damage(|sched, _| sched.dl_root.overloaded_cpus.clear_all()).contains("marked as overloaded"));
    let release = |sched: &mut crate::paths::sched::Sched, _: TaskId| {
        let crate::state::State { dl_root, hotplug, .. } = &mut sched.state;
        dl_root.sub_admitted(dl_root.total_bw(), &hotplug.active);
    };
    assert!(damage(release).contains("is admitted"));
}
