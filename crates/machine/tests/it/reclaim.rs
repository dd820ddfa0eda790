// SPDX-License-Identifier: GPL-2.0-or-later
//! Deadline tasks that reclaim unused bandwidth (GRUB), compared with numbers worked out by hand and with the
//! kernel's documentation.

use crate::common::run;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;

#[track_caller]
fn assert_near(ms: f64, expected: f64, by: f64) {
    assert!((ms - expected).abs() <= by, "{ms} ms instead of {expected} ms");
}

#[test]
fn the_scenario_gives_the_figures_worked_out_in_it() {
    let run = run(include_str!("../../../../scenarios/reclaim.scn"));
    // 10 periods each, with rounding: bandwidths to 2^-20, the reciprocal of 0.95 to 2^-8.
    assert_near(run.ran_ms("greedy", 50.0, 150.0, |_| true), 80.0, 0.1);
    assert_near(run.ran_ms("idle", 50.0, 150.0, |_| true), 20.0, 0.1);
    assert_near(run.ran_ms("greedy", 250.0, 350.0, |_| true), 36.36, 0.5);
    assert_near(run.ran_ms("plain", 250.0, 350.0, |_| true), 30.0, 0.1);
}

#[test]
fn without_the_flag_a_task_has_its_own_bandwidth() {
    let text = include_str!("../../../../scenarios/reclaim.scn").replace(" reclaim ", " ");
    assert_near(run(&text).ran_ms("greedy", 50.0, 150.0, |_| true), 20.0, 0.1);
}

#[test]
fn bandwidth_of_other_cpus_is_not_reclaimed() {
    // Of two CPUs 0.95 each may be used. The task's 0.2 are spread over both: u_extra = 0.85, and a share
    // below u / u_max does not count: max(0.2 * 1.05, 0.15) = 0.21, so that 2 ms last for 9.5 ms.
    let text = "cpus 2\nend 400ms\nfeature HRTICK_DL 1\ntask greedy dl=2ms/10ms/10ms reclaim run 10ms\n\
                task idle n=2 idlepol run 10ms";
    assert_near(run(text).ran_ms("greedy", 50.0, 150.0, |_| true), 95.0, 0.5);
}

/// Example of sched-deadline.rst, 2.2, in ms: two tasks of runtime 4 and period 8 on one CPU, all of which
/// they may use. The first blocks at 2; the second runs from then on. Until 4, the zero-lag time of the first
/// task, all of its time counts, so it has 2 left. From then on half of its time counts, so it runs until 8.
#[test]
fn the_example_of_the_kernels_documentation() {
    let text = "cpus 1\nend 8ms\nfeature HRTICK_DL 1\n\
                task first dl=4ms/8ms/8ms reclaim run 2ms sleep 1s\ntask second dl=4ms/8ms/8ms reclaim run 1s\n\
                task idle idlepol run 10ms";
    let scenario = fairlab_workload::scenario::parse("example.scn", text, KernelSeries::V6_1)
        .unwrap_or_else(|error| panic!("{error}"));
    let mut setup = Setup::from_scenario(scenario);
    setup.tunables.push(("rt_runtime_us".into(), -1));
    let run = crate::common::run_machine(Machine::new(setup).expect("a possible machine"), "example");
    assert_near(run.ran_ms("first", 0.0, 8.0, |_| true), 2.0, 0.01);
    assert_near(run.ran_ms("second", 2.0, 8.0, |_| true), 6.0, 0.01);
    assert_near(run.ran_ms("idle", 0.0, 8.0, |_| true), 0.0, 0.01);
}
