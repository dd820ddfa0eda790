// SPDX-License-Identifier: GPL-2.0-or-later
//! Priority inversion and inheritance (Sha, Rajkumar and Lehoczky, "Priority Inheritance Protocols", 1990)
//! with rt-app's mutexes, compared with numbers worked out by hand. The task that first holds the mutex
//! sleeps for 50 us first: all threads meet at the start with the policy of their creator, and the last one
//! would continue at once, before the others have begun to sleep.

use crate::common::TestRun;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_workload::rtapp::RtAppOptions;

/// Runs an rt-app file on one CPU.
fn rtapp(json: &str) -> TestRun {
    let scenario =
        fairlab_workload::scenario::parse("one.scn", "cpus 1\nend 200ms", KernelSeries::V6_1).expect("a machine");
    let workload = fairlab_workload::rtapp::parse("test.json", json, RtAppOptions::for_cpus(KernelSeries::V6_1, 1))
        .unwrap_or_else(|error| panic!("{error}"));
    let setup = Setup { workload, ..Setup::from_scenario(scenario) };
    crate::common::run_machine(Machine::new(setup).expect("a possible machine"), json)
}

/// Returns the time in ms at which a task last stopped running.
fn end(run: &TestRun, name: &str) -> f64 {
    let index = run.machine.tasks().iter().position(|task| task.name.starts_with(name)).expect("there is such a task");
    let switches = &run.log.switches;
    let last = switches.iter().rposition(|switch| switch.task == Some(index)).expect("it ran");
    switches.get(last + 1).map_or(200.0, |next| next.ms)
}

#[track_caller]
fn assert_ends(run: &TestRun, expected: &[(&str, f64)]) {
    for &(name, ms) in expected {
        assert!((end(run, name) - ms).abs() < 0.1, "{name} ends at {} ms instead of {ms}", end(run, name));
    }
}

const INVERSION: &str = include_str!("../../../../scenarios/inversion.json");

/// From 0 to 2 ms low runs, then mid until high comes at 3 ms and finds the mutex taken. low has 8 ms of its
/// 10 left.
#[test]
fn without_inheritance_the_most_important_task_waits_for_one_in_the_middle() {
    // mid's other 49 ms, low's 8, and high's own 5.
    let run = rtapp(&INVERSION.replace("\"pi_enabled\": true", "\"pi_enabled\": false"));
    assert_ends(&run, &[("mid", 52.0), ("high", 65.0)]);
}

#[test]
fn with_inheritance_it_waits_only_for_the_owner_of_the_mutex() {
    // low's 8 ms with high's priority, high's own 5, and then mid's 49.
    assert_ends(&rtapp(INVERSION), &[("high", 16.0), ("mid", 65.0)]);
}

/// From 1 to 3 ms low runs, then mid until high comes at 4 ms. low has 8 of its 10 ms left, high 5, and mid 49.
#[test]
fn mutexes_of_a_scenario_inherit_priority() {
    let run = crate::common::run(include_str!("../../../../scenarios/priority-inheritance.scn"));
    assert_ends(&run, &[("high", 17.0), ("mid", 66.0)]);
}

/// A task that is woken while it waits for a mutex has one place among the waiters.
#[test]
fn a_wakeup_by_something_else_does_not_end_the_wait_for_a_mutex() {
    let text = "cpus 1\nend 200ms\ntask owner lock m sleep 20ms unlock m run 1ms exit\n\
        task waiter start=1ms lock m run 2ms unlock m sleep 10ms lock m run 3ms unlock m exit\n\
        task other start=2ms wake waiter sleep 1ms wake waiter exit";
    let run = crate::common::run(text);
    assert!((run.runtime_ms("waiter") - 5.0).abs() < 0.01, "{}", run.runtime_ms("waiter"));
}

/// low owns a; mid owns b and waits for a; high waits for b. From 0: low 1 ms; mid takes b and waits; low 1
/// ms as mid; hog 1 ms; high waits, so low has its priority, 8 ms until 11; mid, which has it too, 2 ms until
/// 13; high 1 ms; then hog's other 29.
const CHAIN: &str = r#"{ "global": { "pi_enabled": true }, "tasks": {
    "high": { "policy": "SCHED_FIFO", "priority": 30, "loop": 1, "sleep": 3000, "lock": "b", "run": 1000, "unlock": "b" },
    "hog": { "policy": "SCHED_FIFO", "priority": 25, "loop": 1, "sleep": 2000, "run": 30000 },
    "mid": { "policy": "SCHED_FIFO", "priority": 20, "loop": 1, "sleep": 1000, "lock0": "b", "lock1": "a", "run": 2000,
             "unlock0": "a", "unlock1": "b" },
    "low": { "policy": "SCHED_FIFO", "priority": 10, "loop": 1, "sleep": 50, "lock": "a", "run": 10000, "unlock": "a" } } }"#;

#[test]
fn inheritance_goes_along_a_chain_of_owners() {
    assert_ends(&rtapp(CHAIN), &[("high", 14.0), ("hog", 43.0)]);
}

/// A fair task holds the mutex for which a deadline task waits, with a budget of 2 ms in each 20 ms. From 0:
/// the fair task runs 1 ms; the real-time task 1 ms. Then the deadline task comes and waits, and the fair
/// task inherits its deadline: 3 ms of its 4 are left. That is more than the budget, but a task that inherits
/// is not throttled. At 5 ms the deadline task gets the mutex, and the fair task is fair again.
const DEADLINE: &str = r#"{ "global": { "pi_enabled": true }, "tasks": {
    "edf": { "policy": "SCHED_DEADLINE", "dl-runtime": 2000, "dl-period": 20000, "dl-deadline": 20000, "loop": 1, "sleep": 2000,
             "lock": "m", "run": 1000, "unlock": "m" },
    "urgent": { "policy": "SCHED_FIFO", "priority": 99, "loop": 1, "sleep": 1000, "run": 30000 },
    "fair": { "policy": "SCHED_OTHER", "loop": 1, "sleep": 50, "lock": "m", "run0": 4000, "unlock": "m", "run1": 1000 } } }"#;

#[test]
fn a_fair_task_inherits_the_deadline_of_its_waiter() {
    let run = rtapp(DEADLINE);
    assert_ends(&run, &[("edf", 6.0), ("urgent", 35.0), ("fair", 36.0)]);
}

#[test]
fn no_task_keeps_an_inherited_class() {
    for json in [INVERSION, CHAIN, DEADLINE] {
        let run = rtapp(json);
        for task in run.machine.tasks() {
            let task = run.machine.sched().task(task.id.expect("it was forked"));
            assert_eq!(task.class, task.policy.class());
        }
    }
}
