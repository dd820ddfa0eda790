// SPDX-License-Identifier: GPL-2.0-or-later
//! Virtual CPUs with steal time, compared with numbers worked out by hand.

use crate::common::run;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::ids::CpuId;
use fairlab_sched::series::KernelSeries;

#[test]
fn the_scenario_gives_the_figures_worked_out_in_it() {
    let run = run(include_str!("../../../../scenarios/steal.scn"));
    let all: f64 = ["hog0", "hog1", "hog2"].map(|hog| run.runtime_ms(hog)).iter().sum();
    assert!((1495.0..=1500.0).contains(&all), "{all}");
    let figures = run.machine.sched().snapshot(CpuId(1));
    // With y^32 = 1/2 per ms, the average is (1 - y^5) / (1 - y^10) = 0.527 of 1024 after 5 ms of steal time,
    // and y^10 of that, 0.424, just before the next 5 ms are reported.
    assert!((434..=540).contains(&figures.irq_util_avg), "{}", figures.irq_util_avg);
    assert!((484..=590).contains(&figures.cpu_capacity), "{}", figures.cpu_capacity);
    let on_cpu_1: f64 = ["hog0", "hog1", "hog2"].map(|hog| run.ran_ms(hog, 500.0, 1000.0, |cpu| cpu == 1)).iter().sum();
    assert!(on_cpu_1 > 499.0, "CPU 1 always has something to do: {on_cpu_1}");
}

#[test]
fn tasks_share_what_the_host_leaves() {
    let run = run("cpus 1\nend 1s\nsteal 0 10ms 2ms\ntask a run 10ms\ntask b run 10ms");
    for task in ["a", "b"] {
        assert!((run.runtime_ms(task) - 400.0).abs() < 8.0, "{task}: {}", run.runtime_ms(task));
    }
    let figures = run.machine.sched().snapshot(CpuId(0));
    assert_eq!(figures.clock - figures.clock_task, 200_000_000);
}

#[test]
fn a_machine_file_says_the_same() {
    let file = "name = \"guest\"\nscale_work = false\n[cpus]\ncount = 2\nlevels = [\"mc\", \"all\"]\n\
                [[steal]]\nname = \"host\"\ncpus = \"1\"\nperiod_ns = 10_000_000\nduration_ns = 5_000_000\n";
    let description = fairlab_board::parse("guest.toml", file).unwrap_or_else(|error| panic!("{error}"));
    let text = include_str!("../../../../scenarios/steal.scn");
    let scenario = fairlab_workload::scenario::parse("steal.scn", text, KernelSeries::V6_1)
        .unwrap_or_else(|error| panic!("{error}"));
    let hardware = Hardware {
        default_clamps: Hardware::from_scenario(&scenario).default_clamps,
        ..Hardware::from_description(&description)
    };
    let of_file = Machine::new(Setup { hardware, ..Setup::from_scenario(scenario) }).expect("a possible machine");
    let from_file = crate::common::run_machine(of_file, "guest.toml").machine.digest();
    assert_eq!(from_file, run(text).machine.digest());
}
