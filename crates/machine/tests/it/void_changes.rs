// SPDX-License-Identifier: GPL-2.0-or-later
//! A change of a task that does not exist has no effect, also not on other tasks.

use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_workload::scenario;

/// At 12 ms a task is forked for CPU 0, which an interrupt notifies. CPU 1 balances at its tick before the
/// interrupt arrives.
const SCENARIO: &str = "cpus 2\nlevels M\nend 100ms\n\
                        task busy mask=1-1 cpu=1 run 1s\n\
                        task other mask=0-0 cpu=1 start=12ms run 1ms sleep 3ms\n\
                        task late start=50ms run 1ms sleep 1ms\n";

fn digest(change: &str) -> String {
    let scenario = scenario::parse("void", &format!("{SCENARIO}{change}")).expect("the scenario is well formed");
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
