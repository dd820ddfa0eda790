// SPDX-License-Identifier: GPL-2.0-or-later
//! Random machines with random tasks, with and without a cost model: all invariants hold after every event, a
//! run is repeatable, and no time is lost.

use fairlab_machine::costs::CostModel;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::work::KernelOp;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fmt::Write;

/// Generates a task statement for a machine with this many CPUs.
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
        // A task may start on a CPU that it may not use, and is then moved at once: both cases are wanted.
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

/// Generates cost models: zero cost, equal costs, and one with a single expensive operation.
fn costs() -> impl Strategy<Value = CostModel> {
    let all = |ps: u64| {
        let mut prices = CostModel::zero_cost();
        for &op in KernelOp::ALL {
            prices.set_op(op, ps);
        }
        prices
    };
    let with_lines = (0u64..100_000, 0u64..300_000, 0u64..3_000_000).prop_map(move |(ps, local, remote)| {
        let mut prices = all(ps);
        prices.set_line_transfer(local, remote);
        prices
    });
    let expensive = (0..KernelOp::ALL.len(), 1_000u64..30_000_000).prop_map(move |(op, ps)| {
        let mut prices = all(50_000);
        prices.set_op(KernelOp::ALL[op], ps);
        prices
    });
    prop_oneof![Just(CostModel::zero_cost()), (1u64..900_000).prop_map(all), with_lines, expensive]
}

fn run(text: &str, prices: &CostModel, checks: bool) -> Machine {
    let parsed = fairlab_workload::scenario::parse("scenario", text, KernelSeries::V6_1)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut setup = Setup::from_scenario(parsed);
    setup.hardware.costs = prices.clone();
    let mut machine = Machine::new(setup).expect("the machine can be made");
    if checks {
        machine.check_every_event(format!("this scenario with {prices:?}:\n{text}"));
    }
    machine.run(&mut NoObserver).unwrap_or_else(|error| panic!("{error}\n{text}"));
    machine
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_after_every_event_and_checking_changes_nothing(text in scenario(), prices in costs()) {
        let (checked, plain) = (run(&text, &prices, true), run(&text, &prices, false));
        prop_assert_eq!(checked.digest().to_string(), plain.digest().to_string());
        prop_assert_eq!(checked.counters().switches, plain.counters().switches);
    }

    #[test]
    fn the_time_of_each_cpu_is_work_of_tasks_or_kernel_or_idle(text in scenario(), prices in costs()) {
        prop_assume!(!prices.is_zero_cost());
        let machine = run(&text, &prices, false);
        for cpu in &machine.counters().per_cpu {
            prop_assert_eq!(cpu.work + cpu.kernel + (cpu.idle - cpu.kernel_in_idle), machine.duration());
            prop_assert!(cpu.lock_wait_time <= cpu.kernel);
        }
        let of_tasks: i64 = machine.tasks().iter().map(|task| task.runtime_ns - task.kernel_ns).sum();
        let of_cpus: u64 = machine.counters().per_cpu.iter().map(|cpu| cpu.work.0).sum();
        prop_assert_eq!(of_tasks as u64, of_cpus);
    }
}
