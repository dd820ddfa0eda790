// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of budgets and replenishment.

use crate::classes::deadline::tests::machine::{DlTestMachine, Job, MS, START, US, dl};
use crate::state::deadline::DlEntity;
use crate::types::features::Feature;
use crate::types::ids::{CpuId, TaskId};

const CPU: CpuId = CpuId(0);

/// Returns a machine with one CPU on which budgets end exactly.
fn exact_test_machine(capacity: u64) -> DlTestMachine {
    let mut machine = DlTestMachine::new(&[capacity]);
    machine.sched.features_mut().set(Feature::HrtickDl, true);
    machine
}

fn entity(machine: &DlTestMachine, task: TaskId) -> DlEntity {
    machine.sched.task(task).dl
}

#[test]
fn a_task_that_never_sleeps_runs_for_its_budget_in_each_period() {
    let mut machine = exact_test_machine(1024);
    let task = machine.fork_deadline(CPU, dl(3 * MS, 10 * MS, 10 * MS));
    machine.run_until(START + 95 * MS);
    assert_eq!(machine.ran[task], 30 * MS);
    assert!(entity(&machine, task).is_throttled);
    assert!(machine.sched.is_idle_task_running(CPU));
}

#[test]
fn an_overrun_until_the_tick_is_paid_back_in_the_next_period() {
    let mut machine = DlTestMachine::new(&[1024]);
    let task = machine.fork_deadline(CPU, dl(3 * MS, 10 * MS, 10 * MS));
    machine.run_until(START + 9 * MS);
    assert_eq!(machine.ran[task], 4 * MS);
    assert_eq!(entity(&machine, task).runtime, -(MS as i64));
    machine.run_until(START + 10 * MS);
    assert_eq!(entity(&machine, task).runtime, 2 * MS as i64);
    assert_eq!(entity(&machine, task).deadline, START + 20 * MS);
}

#[test]
fn a_budget_lasts_longer_on_a_slower_cpu() {
    let mut machine = exact_test_machine(512);
    let task = machine.fork_deadline(CPU, dl(3 * MS, 10 * MS, 10 * MS));
    machine.run_until(START + 10 * MS);
    let late = machine.ran[task] - 6 * MS;
    // The timer is set for the rest of the budget as if the CPU were fast, so it fires several times.
    assert!(late <= 10 * US, "{late} ns late");
}

#[test]
fn who_yields_waits_for_the_next_period() {
    let mut machine = exact_test_machine(1024);
    let task = machine.fork_deadline(CPU, dl(3 * MS, 10 * MS, 10 * MS));
    machine.run_until(START + MS);
    machine.on(CPU, |sched, ctx| sched.handle_yield(ctx));
    machine.run_until(START + 10 * MS - 1);
    assert_eq!(machine.ran[task], MS);
    machine.run_until(START + 12 * MS);
    assert_eq!(machine.ran[task], 3 * MS);
    assert_eq!(entity(&machine, task).deadline, START + 20 * MS);
    machine.run_until(START + 14 * MS);
    assert_eq!(machine.ran[task], 6 * MS - 2 * MS, "what was left of the first budget is lost");
}

/// Returns a task that blocks after `work` and wakes up at `again`.
fn sleeper(machine: &mut DlTestMachine, policy: crate::state::task::Policy, work: u64, again: u64) -> TaskId {
    let task = machine.fork_deadline(CPU, policy);
    machine.set_job(task, Job { work, due: u64::MAX });
    machine.release(again, task, Job { work: u64::MAX, due: u64::MAX });
    task
}

#[test]
fn who_wakes_up_soon_goes_on_with_its_budget_and_deadline() {
    let mut machine = exact_test_machine(1024);
    let task = sleeper(&mut machine, dl(4 * MS, 10 * MS, 10 * MS), MS, START + 2 * MS);
    machine.run_until(START + 2 * MS + US);
    assert_eq!(entity(&machine, task).deadline, START + 10 * MS);
    assert_eq!(entity(&machine, task).runtime, 3 * MS as i64);
}

#[test]
fn who_wakes_up_so_late_that_its_budget_does_not_fit_gets_a_new_period() {
    let mut machine = exact_test_machine(1024);
    let task = sleeper(&mut machine, dl(4 * MS, 10 * MS, 10 * MS), MS, START + 6 * MS);
    machine.run_until(START + 6 * MS + US);
    assert_eq!(entity(&machine, task).deadline, START + 16 * MS);
    assert_eq!(entity(&machine, task).runtime, 4 * MS as i64);
}

#[test]
fn with_an_early_deadline_the_budget_is_cut_instead() {
    let mut machine = exact_test_machine(1024);
    let task = sleeper(&mut machine, dl(4 * MS, 10 * MS, 20 * MS), MS, START + 6 * MS);
    machine.run_until(START + 6 * MS + US);
    assert_eq!(entity(&machine, task).deadline, START + 10 * MS);
    // Density 0.4 of the remaining 4 ms, rounded down to units of 2^-20.
    let density = (4 << 20) / 10;
    assert_eq!(entity(&machine, task).runtime, ((density * 4 * MS) >> 20) as i64);
}

#[test]
fn who_wakes_up_between_its_deadline_and_the_end_of_its_period_waits() {
    let mut machine = exact_test_machine(1024);
    let task = sleeper(&mut machine, dl(4 * MS, 10 * MS, 20 * MS), MS, START + 12 * MS);
    machine.run_until(START + 20 * MS - 1);
    assert!(entity(&machine, task).is_throttled);
    assert_eq!(machine.ran[task], MS);
    machine.run_until(START + 30 * MS);
    assert_eq!(machine.ran[task], 5 * MS);
    assert_eq!(entity(&machine, task).deadline, START + 30 * MS);
}

#[test]
fn who_sleeps_stays_active_until_its_zero_lag_time() {
    let mut machine = exact_test_machine(1024);
    let task = sleeper(&mut machine, dl(4 * MS, 10 * MS, 10 * MS), MS, START + 50 * MS);
    let bw = entity(&machine, task).dl_bw;
    // 3 ms of budget are left: at 4 ms in 10 they would last for 7.5 ms until the deadline.
    machine.run_until(START + 2500 * US - 1);
    assert!(entity(&machine, task).is_non_contending);
    assert_eq!(machine.sched.rqs[CPU].dl.running_bw(), bw);
    machine.run_until(START + 2500 * US);
    assert!(!entity(&machine, task).is_non_contending);
    assert_eq!(machine.sched.rqs[CPU].dl.running_bw(), 0);
    assert_eq!(machine.sched.rqs[CPU].dl.this_bw(), bw);
    assert_eq!(machine.sched.rqs[CPU].dl.cpu_bw(), 0);
    machine.run_until(START + 51 * MS);
    assert_eq!(machine.sched.rqs[CPU].dl.running_bw(), bw);
    assert_eq!(machine.sched.rqs[CPU].dl.cpu_bw(), 409);
}

#[test]
fn who_wakes_up_before_its_zero_lag_time_was_active_all_the_time() {
    let mut machine = exact_test_machine(1024);
    let task = sleeper(&mut machine, dl(4 * MS, 10 * MS, 10 * MS), MS, START + 2 * MS);
    machine.run_until(START + 3 * MS);
    assert!(!entity(&machine, task).is_non_contending);
    assert_eq!(machine.sched.rqs[CPU].dl.running_bw(), entity(&machine, task).dl_bw);
}

#[test]
fn who_is_throttled_and_asleep_gets_its_budget_back_all_the_same() {
    let mut machine = exact_test_machine(1024);
    let task = sleeper(&mut machine, dl(4 * MS, 10 * MS, 10 * MS), 4 * MS, START + 11 * MS);
    machine.run_until(START + 10 * MS - 1);
    assert!(entity(&machine, task).is_throttled);
    machine.run_until(START + 10 * MS);
    assert!(!entity(&machine, task).is_throttled);
    assert_eq!(entity(&machine, task).runtime, 4 * MS as i64);
}
