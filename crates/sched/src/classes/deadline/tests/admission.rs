// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of admission control and of the release of bandwidth.

use crate::classes::deadline::admission::PolicyError;
use crate::classes::deadline::tests::machine::{DlTestMachine, Job, MS, START, US, dl};
use crate::state::deadline::entity::to_ratio;
use crate::state::task::Policy;
use crate::types::ids::CpuId;
use alloc::vec::Vec;

const CPU: CpuId = CpuId(0);

/// Returns the number of tasks of a policy that are admitted one after the other, up to 200.
fn nr_admitted(machine: &mut DlTestMachine, policy: Policy) -> usize {
    (0..200)
        .take_while(|_| {
            let task = machine.fork(CPU, None);
            machine.set_job(task, Job { work: 0, due: u64::MAX });
            machine.on(CPU, |sched, ctx| sched.set_policy(ctx, task, policy)).is_ok()
        })
        .count()
}

#[test]
fn a_cpu_admits_95_percent() {
    assert_eq!(nr_admitted(&mut DlTestMachine::new(&[1024]), dl(MS, 20 * MS, 20 * MS)), 19);
    assert_eq!(nr_admitted(&mut DlTestMachine::new(&[1024]), dl(MS, 10 * MS, 10 * MS)), 9);
    assert_eq!(nr_admitted(&mut DlTestMachine::new(&[1024]), dl(951 * US, MS, MS)), 0);
    assert_eq!(nr_admitted(&mut DlTestMachine::new(&[1024]), dl(950 * US, MS, MS)), 1);
}

#[test]
fn the_bandwidth_of_all_cpus_is_one_pool() {
    assert_eq!(nr_admitted(&mut DlTestMachine::new(&[1024; 4]), dl(MS, 10 * MS, 10 * MS)), 38);
}

#[test]
fn slower_cpus_have_less_bandwidth() {
    assert_eq!(nr_admitted(&mut DlTestMachine::new(&[1024, 512]), dl(MS, 20 * MS, 20 * MS)), 28);
}

#[test]
fn the_period_counts_and_not_the_deadline() {
    assert_eq!(nr_admitted(&mut DlTestMachine::new(&[1024]), dl(MS, 5 * MS, 20 * MS)), 19);
}

#[test]
fn without_a_limit_of_real_time_runtime_everything_is_admitted() {
    let mut machine = DlTestMachine::new(&[1024]);
    machine.sched.tunables_mut().rt_runtime_us = -1;
    assert_eq!(nr_admitted(&mut machine, dl(MS, MS, MS)), 200);
}

#[test]
fn parameters_must_be_in_order_and_in_range() {
    let bad = [
        dl(1023, MS, MS),
        dl(2 * MS, MS, MS),
        dl(MS, 3 * MS, 2 * MS),
        dl(2000, 99_999, 99_999),
        dl(MS, MS, 4_194_304_001),
        dl(MS, 0, 0),
        dl(MS, MS, u64::MAX),
    ];
    let good =
        [dl(1024, MS, MS), dl(MS, MS, MS), dl(2000, 100_000, 100_000), dl(MS, MS, 4_194_304_000), dl(MS, 9 * MS, 0)];
    let mut machine = DlTestMachine::new(&[1024]);
    machine.sched.tunables_mut().rt_runtime_us = -1;
    let task = machine.fork(CPU, None);
    for policy in bad {
        let refused = machine.on(CPU, |sched, ctx| sched.set_policy(ctx, task, policy));
        assert_eq!(refused, Err(PolicyError::BadParameters), "{policy:?}");
        assert_eq!(machine.sched.task(task).policy, Policy::Normal);
    }
    for policy in good {
        assert_eq!(machine.on(CPU, |sched, ctx| sched.set_policy(ctx, task, policy)), Ok(()), "{policy:?}");
    }
}

#[test]
fn refusals_have_the_error_numbers_of_the_system_call() {
    let errors = [PolicyError::BadParameters, PolicyError::NoBandwidth, PolicyError::RestrictedAffinity];
    assert_eq!(errors.map(PolicyError::errno), [-22, -16, -1]);
}

#[test]
fn a_task_with_restricted_affinity_may_not_ask() {
    let mut machine = DlTestMachine::new(&[1024; 2]);
    let task = machine.fork(CPU, Some(&[CPU]));
    let policy = dl(MS, 10 * MS, 10 * MS);
    assert_eq!(machine.sched.check_deadline_affinity(task, policy), Err(PolicyError::RestrictedAffinity));
    assert_eq!(machine.sched.check_deadline_affinity(task, Policy::Fifo(1)), Ok(()));
}

#[test]
fn a_change_of_parameters_is_admitted_for_the_difference() {
    let mut machine = DlTestMachine::new(&[1024]);
    let task = machine.fork_deadline(CPU, dl(5 * MS, 10 * MS, 10 * MS));
    machine.run_until(START + MS);
    let set = |machine: &mut DlTestMachine, policy| machine.on(CPU, |sched, ctx| sched.set_policy(ctx, task, policy));
    assert_eq!(set(&mut machine, dl(9 * MS, 10 * MS, 10 * MS)), Ok(()));
    assert_eq!(machine.sched.dl_root.total_bw(), to_ratio(10, 9));
    assert_eq!(set(&mut machine, dl(9600 * US, 10 * MS, 10 * MS)), Err(PolicyError::NoBandwidth));
    assert_eq!(machine.sched.dl_root.total_bw(), to_ratio(10, 9));
    assert_eq!(machine.sched.rqs[CPU].dl.this_bw(), to_ratio(10, 9));
    assert_eq!(machine.sched.rqs[CPU].dl.running_bw(), to_ratio(10, 9));
}

#[test]
fn who_leaves_the_class_is_counted_until_its_zero_lag_time() {
    let mut machine = DlTestMachine::new(&[1024]);
    let task = machine.fork_deadline(CPU, dl(4 * MS, 10 * MS, 10 * MS));
    machine.run_until(START + MS);
    machine.on(CPU, |sched, ctx| sched.set_policy(ctx, task, Policy::Normal)).unwrap();
    let bandwidths = |machine: &DlTestMachine| {
        let dl = &machine.sched.rqs[CPU].dl;
        (machine.sched.dl_root.total_bw(), dl.this_bw(), dl.running_bw())
    };
    assert_eq!(bandwidths(&machine), (to_ratio(10, 4), 0, 0));
    machine.run_until(START + 2500 * US - 1);
    assert_eq!(bandwidths(&machine), (to_ratio(10, 4), 0, 0));
    machine.run_until(START + 2500 * US);
    assert_eq!(bandwidths(&machine), (0, 0, 0));
    assert_eq!(machine.sched.task(task).dl.dl_runtime, 0);
}

#[test]
fn who_comes_back_before_its_zero_lag_time_goes_on_with_its_budget() {
    let mut machine = DlTestMachine::new(&[1024]);
    let policy = dl(4 * MS, 10 * MS, 10 * MS);
    let task = machine.fork_deadline(CPU, policy);
    machine.run_until(START + MS);
    machine.on(CPU, |sched, ctx| sched.set_policy(ctx, task, Policy::Normal)).unwrap();
    machine.run_until(START + 2 * MS);
    machine.on(CPU, |sched, ctx| sched.set_policy(ctx, task, policy)).unwrap();
    machine.run_until(START + 3 * MS);
    let dl = &machine.sched.task(task).dl;
    assert_eq!(dl.deadline, START + 10 * MS);
    assert_eq!(machine.sched.dl_root.total_bw(), to_ratio(10, 4));
    machine.run_until(START + 4 * MS);
    assert_eq!(machine.sched.task(task).dl.runtime, MS as i64);
}

#[test]
fn who_ends_frees_its_bandwidth_at_its_zero_lag_time() {
    let mut machine = DlTestMachine::new(&[1024]);
    let task = machine.fork_deadline(CPU, dl(4 * MS, 10 * MS, 10 * MS));
    machine.run_until(START + MS);
    assert_eq!(machine.sched.curr(CPU), task);
    machine.on(CPU, |sched, ctx| sched.handle_exit(ctx));
    machine.run_until(START + 2500 * US - 1);
    assert_eq!(machine.sched.dl_root.total_bw(), to_ratio(10, 4));
    machine.run_until(START + 2500 * US);
    let dl = &machine.sched.rqs[CPU].dl;
    assert_eq!((machine.sched.dl_root.total_bw(), dl.this_bw(), dl.running_bw()), (0, 0, 0));
}

#[test]
fn after_any_changes_the_sums_are_those_of_the_tasks() {
    let mut machine = DlTestMachine::new(&[1024, 512, 1024]);
    let mut tasks = Vec::new();
    let mut state = 7_u64;
    for step in 0..400 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = state >> 33;
        let cpu = CpuId((random % 3) as u32);
        if tasks.len() < 10 {
            tasks.push(machine.fork(cpu, None));
        }
        let task = tasks[(random / 3) as usize % tasks.len()];
        let period = (1 + random / 30 % 20) * MS;
        let policy = if random % 5 < 2 { Policy::Normal } else { dl(period / (2 + random / 600 % 8), period, period) };
        let _refused = machine.on(cpu, |sched, ctx| sched.set_policy(ctx, task, policy));
        machine.run_until(START + (step + 1) * 700 * US);
        for cpu in machine.sched.cpu_ids() {
            let here = tasks.iter().map(|&task| machine.sched.task(task));
            let deadline = here.filter(|task| task.cpu == cpu && matches!(task.policy, Policy::Deadline { .. }));
            let sum: u64 = deadline.map(|task| task.dl.dl_bw).sum();
            assert_eq!(
                (machine.sched.rqs[cpu].dl.this_bw(), machine.sched.rqs[cpu].dl.running_bw()),
                (sum, sum),
                "step {step}"
            );
        }
    }
    for &task in &tasks {
        machine.on(CPU, |sched, ctx| sched.set_policy(ctx, task, Policy::Normal)).unwrap();
    }
    machine.run_until(machine.now + 100 * MS);
    assert_eq!(machine.sched.dl_root.total_bw(), 0);
}
