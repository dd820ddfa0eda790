// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of earliest deadline first on one CPU.

use crate::classes::deadline::tests::machine::{DlTestMachine, Job, MS, START, US, dl};
use crate::types::ids::{CpuId, TaskId};
use alloc::vec::Vec;

const CPU: CpuId = CpuId(0);

/// Divisor of all periods; 1/480 of it is a whole number.
const UNIT: u64 = 960 * US;
/// Multiple of all periods.
const HYPERPERIOD: u64 = 48 * UNIT;

/// Random-number generator splitmix64.
struct EdfRng(u64);

impl EdfRng {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// Returns runtimes and periods of a set of tasks that need exactly one CPU.
fn full_task_set(random: &mut EdfRng) -> Vec<(u64, u64)> {
    const PERIODS: [u64; 8] = [1, 2, 3, 4, 6, 12, 24, 48];
    const SHARES: u64 = 480;
    let nr_tasks = 1 + random.below(8);
    let mut rest = SHARES;
    let mut set = Vec::new();
    for nth in 0..nr_tasks {
        let tasks_left = nr_tasks - nth - 1;
        let shares =
            if tasks_left == 0 { rest } else { 1 + random.below((rest - tasks_left).min(2 * rest / nr_tasks + 1)) };
        rest -= shares;
        let period = PERIODS[random.below(8) as usize] * UNIT;
        set.push((shares * period / SHARES, period));
    }
    let in_use: u64 = set.iter().map(|&(runtime, period)| runtime * (HYPERPERIOD / period)).sum();
    assert_eq!(in_use, HYPERPERIOD);
    set
}

#[test]
fn all_deadlines_are_met_although_the_cpu_is_in_use_all_the_time() {
    const SETS: u64 = 10_000;
    for seed in 0..SETS {
        let set = full_task_set(&mut EdfRng(seed));
        let mut machine = DlTestMachine::new(&[1024]);
        machine.sched.tunables_mut().rt_runtime_us = -1;
        machine.checks = seed % 100 == 0;
        let end = START + 2 * HYPERPERIOD;
        let mut tasks = Vec::new();
        for &(runtime, period) in &set {
            let task = machine.fork_deadline(CPU, dl(runtime, period, period));
            machine.set_job(task, Job { work: runtime, due: START + period });
            for release in (START + period..end).step_by(period as usize) {
                machine.release(release, task, Job { work: runtime, due: release + period });
            }
            tasks.push(task);
        }
        machine.run_until(end);
        assert!(machine.misses.is_empty(), "seed {seed}, set {set:?}: missed {:?}", machine.misses);
        let ran: u64 = tasks.iter().map(|task| machine.ran[*task]).sum();
        assert_eq!(ran, 2 * HYPERPERIOD, "seed {seed}, set {set:?}: the cpu was idle");
    }
}

fn two_tasks(machine: &mut DlTestMachine, first_deadline: u64, second_deadline: u64) -> (TaskId, TaskId) {
    let first = machine.fork_deadline(CPU, dl(MS, first_deadline, first_deadline));
    machine.run_until(START + 10 * US);
    let second = machine.fork_deadline(CPU, dl(MS, second_deadline, second_deadline));
    machine.run_until(START + 20 * US);
    (first, second)
}

#[test]
fn an_earlier_deadline_preempts() {
    let mut machine = DlTestMachine::new(&[1024]);
    let (_, second) = two_tasks(&mut machine, 10 * MS, 5 * MS);
    assert_eq!(machine.sched.curr(CPU), second);
}

#[test]
fn a_later_deadline_does_not_preempt() {
    let mut machine = DlTestMachine::new(&[1024]);
    let (first, _) = two_tasks(&mut machine, 10 * MS, 20 * MS);
    assert_eq!(machine.sched.curr(CPU), first);
}

#[test]
fn among_equal_deadlines_who_came_first_runs() {
    let mut machine = DlTestMachine::new(&[1024]);
    let (first, second) = two_tasks(&mut machine, 10 * MS, 10 * MS - 10 * US);
    assert_eq!(machine.sched.task(first).dl.deadline, machine.sched.task(second).dl.deadline);
    assert_eq!(machine.sched.curr(CPU), first);
}

#[test]
fn a_deadline_task_goes_before_a_real_time_one() {
    let mut machine = DlTestMachine::new(&[1024]);
    let urgent = machine.fork(CPU, None);
    machine.on(CPU, |sched, ctx| sched.set_policy(ctx, urgent, crate::state::task::Policy::Fifo(99))).unwrap();
    let task = machine.fork_deadline(CPU, dl(MS, 10 * MS, 10 * MS));
    machine.run_until(START + 10 * US);
    assert_eq!(machine.sched.curr(CPU), task);
}

#[test]
fn a_cpu_with_deadline_tasks_is_closed_to_real_time_ones() {
    let mut machine = DlTestMachine::new(&[1024, 1024]);
    let task = machine.fork(CPU, None);
    machine.on(CPU, |sched, ctx| sched.set_policy(ctx, task, crate::state::task::Policy::Fifo(99))).unwrap();
    machine.run_until(START + 10 * US);
    let deadline = machine.fork_deadline(CPU, dl(5 * MS, 10 * MS, 10 * MS));
    machine.run_until(START + 20 * US);
    assert_ne!(machine.sched.task(deadline).cpu, machine.sched.task(task).cpu);
}

#[test]
fn the_thread_of_a_governor_has_no_budget_and_nothing_of_it_is_admitted() {
    let mut machine = DlTestMachine::new(&[1024]);
    let urgent = machine.fork_deadline(CPU, dl(9 * MS, 10 * MS, 10 * MS));
    let admitted = machine.sched.dl_root.total_bw();
    // More bandwidth than is free, with the earlier deadline.
    let thread = machine.fork_special(CPU, dl(MS, 5 * MS, 5 * MS));
    machine.set_job(thread, Job { work: 4 * MS, due: START + 5 * MS });
    machine.run_until(START + 3 * MS);
    assert_eq!((machine.ran[thread], machine.ran[urgent]), (3 * MS, 0));
    let dl = &machine.sched.task(thread).dl;
    assert_eq!((dl.dl_bw, dl.runtime, dl.is_throttled), (0, MS as i64, false), "it ran for three times its budget");
    assert_eq!(machine.sched.dl_root.total_bw(), admitted);
    assert!(dl.preempts(&machine.sched.task(urgent).dl) && !machine.sched.task(urgent).dl.preempts(dl));
}
