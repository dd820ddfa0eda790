// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of system calls with costs from a count sheet: what they cost, preemption, and timer slack.

use crate::common::task_of_steps;
use fairlab_board::parse;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_machine::sim::{Machine, START, Setup};
use fairlab_sched::probe::SchedObserver;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;
use fairlab_workload::step::Step;
use fairlab_workload::workload::{Attributes, Objects, TaskSpec, Workload};

/// Returns a task of CPU 0 with this policy.
fn task(at_us: u64, policy: Option<Policy>, steps: Vec<Step>) -> TaskSpec {
    let spec = task_of_steps("task", Some(0), at_us, steps);
    TaskSpec { start: Attributes { policy, ..spec.start }, ..spec }
}

/// Times of marks in microseconds, by task and phase.
#[derive(Default)]
struct Marks(Vec<(usize, u32, u64)>);

impl SchedObserver for Marks {}

impl Observer for Marks {
    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        if let MachineEvent::Mark { task, phase } = *event {
            self.0.push((task, phase, (now - START).0 / 1000));
        }
    }
}

impl Marks {
    fn at(&self, task: usize, phase: u32) -> u64 {
        self.0.iter().find(|mark| (mark.0, mark.1) == (task, phase)).expect("the task reaches its mark").2
    }
}

/// Runs tasks on a CPU that executes ten instructions of kernel code in a microsecond.
fn run(keys: &str, tasks: Vec<TaskSpec>) -> Marks {
    run_with_lines(keys, 1, 0, tasks)
}

/// Runs tasks on CPUs with one cache, whose lines take `line_ns`.
fn run_with_lines(keys: &str, cpus: usize, line_ns: u64, tasks: Vec<TaskSpec>) -> Marks {
    let fact = |key: &str, value: u64| format!("{key} = {{ value = {value}, source = \"test\" }}\n");
    let facts = fact("instructions_per_us", 10) + &fact("line_share_percent", 100);
    let lines = fact("llc", line_ns);
    let text = format!(
        "name = \"x\"\n{keys}[cpus]\ncount = {cpus}\n[processor]\nsheet = \"6.12-x86_64\"\n{facts}[processor.line_ns]\n{lines}"
    );
    let description = parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let objects = Objects { futexes: 4, lists: 1, semaphores: vec!["s".to_owned()], ..Objects::default() };
    let setup = Setup::new(
        KernelSeries::V6_1,
        Hardware::from_description(&description),
        Workload { tasks, objects, ..Workload::default() },
        Nanos::from_secs(1),
    );
    let mut machine = Machine::new(setup).expect("the machine is possible");
    machine.check_every_event("cargo test -p fairlab-machine --test it calls");
    let mut marks = Marks::default();
    machine.run(&mut marks).expect("the programs make progress");
    marks
}

#[test]
fn without_preemption_a_woken_task_waits_for_the_wakers_return() {
    let woken_at = |preemption: &str| {
        let waiter = task(0, Some(Policy::Fifo(50)), vec![Step::FutexWait(0), Step::Mark(1)]);
        let poster = task(20_000, None, vec![Step::FutexPost(0), Step::Mark(2)]);
        let marks = run(&format!("preemption = \"{preemption}\"\n"), vec![waiter, poster]);
        assert!(marks.at(1, 2) > marks.at(0, 1), "the waiter has the higher priority: {:?}", marks.0);
        marks.at(0, 1)
    };
    let [full, none] = ["full", "none"].map(woken_at);
    assert_eq!(woken_at("voluntary"), none);
    // The return is half of a call of about 800 instructions.
    assert!((35..50).contains(&(none - full)), "full {full}, none {none}");
}

#[test]
fn a_sleep_costs_its_call_and_ends_late_by_the_slack_of_fair_tasks() {
    let ends_at = |keys: &str, policy| {
        let sleeper = task(0, policy, vec![Step::Mark(0), Step::Sleep(Nanos::from_millis(10)), Step::Mark(1)]);
        let marks = run(keys, vec![sleeper]);
        marks.at(0, 1) - marks.at(0, 0)
    };
    let plain = ends_at("", None);
    assert!(
        (10_200..11_500).contains(&plain),
        "a sleep has about 1900 instructions, a switch and an interrupt: {plain}"
    );
    assert_eq!(ends_at("timer_slack_ns = 50000\n", None), plain + 50);
    let fifo = Some(Policy::Fifo(1));
    assert_eq!(ends_at("timer_slack_ns = 50000\n", fifo), ends_at("", fifo));
}

#[test]
fn only_contended_semaphores_enter_the_kernel() {
    let free = run("", vec![task(0, None, vec![Step::Mark(0), Step::SemPost(0), Step::SemWait(0), Step::Mark(1)])]);
    assert_eq!(free.at(0, 1), free.at(0, 0));
    let waiter = task(0, None, vec![Step::SemWait(0), Step::Mark(1)]);
    let poster = task(20_000, None, vec![Step::Mark(2), Step::SemPost(0), Step::Mark(3)]);
    let contended = run("", vec![waiter, poster]);
    assert!(contended.at(1, 3) >= contended.at(1, 2) + 70, "{:?}", contended.0);
}

#[test]
fn each_task_of_a_list_moves_the_lines_of_its_futex() {
    let waiter = |futex| {
        let steps = vec![Step::FutexArm(futex), Step::Enlist { list: 0, futex }, Step::FutexWait(futex)];
        task_of_steps("waiter", Some(futex as u32 + 1), 0, steps)
    };
    let lines_us = |posts: Vec<Step>| {
        let took = |line_ns| {
            let steps = [vec![Step::Mark(1)], posts.clone(), vec![Step::Mark(2)]].concat();
            let tasks = std::iter::once(task(50_000, None, steps)).chain((0..4).map(waiter)).collect();
            let marks = run_with_lines("", 5, line_ns, tasks);
            marks.at(0, 2) - marks.at(0, 1)
        };
        took(1_000) - took(0)
    };
    let (list, single) = (lines_us(vec![Step::PostAll(0)]), lines_us((0..4).rev().map(Step::FutexPost).collect()));
    // A futex has 13.8 lines of 1 us each.
    assert!(list > 4 * 13 && list.abs_diff(single) < 13, "{list} us of a list, {single} us of single posts");
}
