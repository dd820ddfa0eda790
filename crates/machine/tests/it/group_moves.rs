// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks that are moved to another group, or to their present group.

use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_workload::scenario;

#[test]
fn a_move_to_its_own_group_takes_a_task_off_and_puts_it_back() {
    let text = "cpus 1\nend 10ms\ngroup g\nmove 9990us hog g\ntask hog group=g run 1s";
    let scenario = scenario::parse("test.scn", text, KernelSeries::V6_1).expect("a well-formed scenario");
    let mut machine = Machine::new(Setup::from_scenario(scenario)).expect("a possible machine");
    machine.run(&mut NoObserver).expect("the task makes progress");
    let hog = machine.tasks()[0].id.expect("it was forked");
    let updated = machine.sched().entity(hog).avg.last_update_time;
    assert!(updated > 1_009_980_000, "the last tick was at 1.008 s, the averages are as of {updated}");
}
