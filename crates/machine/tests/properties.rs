// SPDX-License-Identifier: GPL-2.0-or-later
//! Random machines with random tasks: every invariant holds after every event, and a run can be repeated.

use fairlab_machine::engine::{Machine, Setup};
use fairlab_machine::observer::NoObserver;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fmt::Write;

/// One line of a scenario about a task, for a machine of so many CPUs.
fn task(nr_cpus: u32) -> impl Strategy<Value = String> {
    let options = prop_oneof![
        4 => Just(String::new()),
        3 => (-20i32..20).prop_map(|nice| format!("nice={nice}")),
        2 => (0..nr_cpus).prop_map(|cpu| format!("mask={cpu}-{cpu}")),
        2 => (0..nr_cpus, 0..nr_cpus).prop_map(|(a, b)| format!("mask={}-{}", a.min(b), a.max(b))),
        1 => Just("idlepol".to_owned()),
        1 => Just("batch".to_owned()),
        1 => (1u32..100).prop_map(|priority| format!("fifo={priority}")),
        1 => (1u32..100).prop_map(|priority| format!("rr={priority}")),
    ];
    let group = prop_oneof![Just(""), Just("group=a"), Just("group=b"), Just("group=c")];
    let program = prop_oneof![
        3 => (50u32..9_000, 50u32..9_000).prop_map(|(run, sleep)| format!("run {run}us sleep {sleep}us")),
        2 => (20u32..500, 20u32..5_000).prop_map(|(low, more)| format!("runr {low}us {}us sleepr {low}us 7ms", low + more)),
        1 => Just("run 1s".to_owned()),
        1 => (100u32..900).prop_map(|run| format!("run {run}us yield run {run}us sleep 1ms")),
        1 => (500u32..9_000).prop_map(|run| format!("run {run}us exit")),
    ];
    let start = (0u32..30, 0..nr_cpus, 1u32..5);
    (options, group, program, start).prop_map(|(options, group, program, (start, cpu, nr))| {
        // A task may only be forked where it is allowed to run, or is moved there at once: both are wanted.
        format!("n={nr} start={start}ms cpu={cpu} {options} {group} {program}")
    })
}

fn scenario() -> impl Strategy<Value = String> {
    let machine = prop_oneof![
        Just((1, "cpus 1")),
        Just((2, "cpus 2\ntopo smt=2")),
        Just((4, "cpus 4\ncaps 300 300 1024 1024\nscale 1")),
        Just((8, "cpus 8\ntopo smt=2 llc=4 pkg=8\nlevels SMP\nipi 2us")),
        Just((8, "cpus 8\ntopo llc=2 pkg=4 node=4\nlevels MP\nskew 10us\nlbcost 20us")),
    ];
    let quota = prop_oneof![Just(""), Just(" quota=3ms period=10ms"), Just(" quota=20ms period=20ms")];
    (machine, quota).prop_flat_map(|((nr_cpus, machine), quota)| {
        prop::collection::vec(task(nr_cpus), 1..12).prop_map(move |tasks| {
            let mut text = format!("{machine}\nend 120ms\ngroup a{quota}\ngroup b parent=a shares=300\ngroup c idle\n");
            for (index, task) in tasks.iter().enumerate() {
                let letter = char::from(b'a' + index as u8);
                writeln!(text, "task {letter} {task}").expect("text can be written");
            }
            text
        })
    })
}

fn run(text: &str, checks: bool) -> (String, u64) {
    let parsed = fairlab_workload::scn::parse("scenario", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut machine = Machine::new(Setup::from_scenario(parsed)).expect("the machine can be made");
    if checks {
        machine.check_every_event(format!("check_scenarios with\n{text}"));
    }
    machine.run(&mut NoObserver).unwrap_or_else(|error| panic!("{error}\n{text}"));
    (machine.digest().to_string(), machine.counters().events)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_after_every_event_and_a_run_repeats(text in scenario()) {
        let checked = run(&text, true);
        prop_assert!(checked.1 > 0);
        prop_assert_eq!(run(&text, false), checked);
    }
}
