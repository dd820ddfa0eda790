// SPDX-License-Identifier: GPL-2.0-or-later
//! Void changes: of a task that does not exist, or to the value that the task has.

use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_workload::scenario;

/// At 12 ms a task is forked for CPU 0, which an interrupt notifies. CPU 1 balances at its tick before the
/// interrupt arrives.
const SCENARIO: &str = "cpus 2\nlevels M\nend 100ms\n\
                        task busy mask=1-1 cpu=1 run 1s\n\
                        task other mask=0-0 cpu=1 start=12ms run 1ms sleep 3ms\n\
                        task late start=50ms run 1ms sleep 1ms\n";

fn digest(change: &str) -> String {
    let scenario = scenario::parse("void", &format!("{SCENARIO}{change}"), KernelSeries::V6_1)
        .expect("the scenario is well formed");
    let mut machine = Machine::new(Setup::from_scenario(scenario)).expect("the machine can be made");
    machine.run(&mut NoObserver).expect("the tasks make progress");
    machine.digest().to_string()
}

#[test]
fn a_change_of_a_task_that_was_not_forked_yet_does_not_let_a_cpu_reschedule_before_its_interrupt() {
    for change in ["nice 12ms late 5\n", "affinity 12ms late 0-1\n", "clamp 12ms late 0 512\n"] {
        assert_eq!(digest(change), digest(""), "{change}");
    }
}

/// In 6.12 a change to the policy that a task has is void unless it resets the slice (`__sched_setscheduler()`). With
/// a base slice of 0 there is no slice to reset, and the running task keeps its CPU.
#[test]
fn a_task_with_a_slice_of_0_is_not_dequeued_for_the_policy_that_it_has() {
    let tasks = "cpus 1\nlevels M\nend 85ms\ntask a n=3 batch run 1ms run 20ms sleep 1ms\n";
    let change = "policy 7854353 a0 batch\n";
    let base = "tune base_slice_ns 0\n";
    assert_eq!(digest_of_6_12(&[tasks, base, change]), digest_of_6_12(&[tasks, base]));
    assert_ne!(digest_of_6_12(&[tasks, change]), digest_of_6_12(&[tasks]), "a slice is reset");
}

fn digest_of_6_12(parts: &[&str]) -> String {
    let scenario = scenario::parse("void", &parts.concat(), KernelSeries::V6_12).expect("the scenario is well formed");
    let mut machine = Machine::new(Setup::from_scenario(scenario)).expect("the machine can be made");
    machine.run(&mut NoObserver).expect("the tasks make progress");
    machine.digest().to_string()
}
