// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks in I/O wait, and schedutil's boost for them, compared with numbers worked out by hand.

use crate::common::TestRun;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_workload::rtapp::RtAppOptions;

/// Runs tasks on one CPU whose frequencies are an eighth, a quarter, a half and all of 1 GHz. A write of 500
/// kB is 37.7 us of work and 1 ms of waiting.
fn rtapp(end: &str, tasks: &str) -> TestRun {
    let machine = format!("cpus 1\nend {end}\nfdom 0 125000 250000 500000 1000000\n");
    let scenario = fairlab_workload::scenario::parse("one.scn", &machine, KernelSeries::V6_1).expect("a machine");
    let global = r#""global": { "io_device": "/dev/sda", "mem_buffer_size": 500000 }"#;
    let json = format!("{{ {global}, \"tasks\": {{ {tasks} }} }}");
    let workload = fairlab_workload::rtapp::parse("test.json", &json, RtAppOptions::for_cpus(KernelSeries::V6_1, 1))
        .unwrap_or_else(|error| panic!("{error}"));
    let setup = Setup { workload, ..Setup::from_scenario(scenario) };
    crate::common::run_machine(Machine::new(setup).expect("a possible machine"), &json)
}

/// Returns the frequencies, as fractions of 1024, that a task causes which does nearly nothing for 300.6 ms,
/// then some events twelve times, and then nearly nothing again.
fn frequencies_in_between(events: &str) -> Vec<u64> {
    let calm = r#""run": 10, "sleep": 5000"#;
    let phases = format!(
        r#""calm": {{ "loop": 60, {calm} }}, "busy": {{ "loop": 12, {events} }}, "again": {{ "loop": 8, {calm} }}"#
    );
    let run = rtapp("360ms", &format!("\"t\": {{ \"loop\": 1, \"phases\": {{ {phases} }} }}"));
    run.log.frequencies.iter().filter(|change| change.0 > 300.0).map(|change| change.2).collect()
}

/// The task's utilisation alone requests the lowest frequency. The boost is 128 of 1024 at the first wake-up,
/// and 256, 512 and 1024 at the next ones. With the quarter that schedutil adds, that requests 156, 312, 625
/// MHz and more. The boost ends one tick after the last I/O wait.
#[test]
fn each_wake_up_after_io_doubles_the_boost_up_to_the_highest_frequency() {
    assert_eq!(frequencies_in_between(r#""iorun": 500000"#), [256, 512, 1024, 128]);
}

#[test]
fn a_task_that_sleeps_as_long_as_another_waits_for_io_is_not_boosted() {
    assert_eq!(frequencies_in_between(r#""run": 38, "sleep": 1000"#), Vec::<u64>::new());
}

/// The writer waits for I/O from 37.7 us to 1037.7 us, and then for the CPU, which the hog has from 1 ms to 3
/// ms.
#[test]
fn a_task_counts_as_waiting_for_io_until_it_runs_again() {
    // The last thread that arrives at the start continues first.
    let tasks = r#""writer": { "iorun": 500000, "run": 5000, "sleep": 50000 },
        "hog": { "policy": "SCHED_FIFO", "priority": 10, "sleep": 1000, "run": 2000, "sleep2": 50000 }"#;
    let counts_at = |end: &str| rtapp(end, tasks).task("writer-0").in_iowait;
    let waits = ["20us", "500us", "1020us", "2ms", "2990us", "3010us", "8ms"].map(counts_at);
    assert_eq!(waits, [false, true, true, true, true, false, false]);
}
