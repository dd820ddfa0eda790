// SPDX-License-Identifier: GPL-2.0-or-later
//! Frequency limits, features and tunables that change while tasks run, compared with numbers worked out by
//! hand.

use crate::common::{run, run_series};
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::ids::CpuId;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;

const SCENARIO: &str = include_str!("../../../../scenarios/thermal.scn");

/// Returns the changes of CPU 1's frequency: time in ms, and fraction of 1024.
fn frequencies(run: &crate::common::TestRun) -> Vec<(f64, u64)> {
    run.log.frequencies.iter().filter(|change| change.1 == CpuId(1)).map(|&(at, _, part)| (at, part)).collect()
}

#[test]
fn the_scenario_gives_the_figures_worked_out_in_it() {
    let changes = frequencies(&run(SCENARIO));
    let first_after = |at: f64| changes.iter().find(|change| change.0 >= at).copied().expect("the frequency changes");
    // 700 of 1024 allows 500 MHz, the highest frequency up to 683.6 MHz, and so does 512.
    for (at, part) in [(200.0, 512), (600.0, 1024), (800.0, 512)] {
        let change = first_after(at);
        assert!(change.0 <= at + 4.0 && change.1 == part, "{at}: {changes:?}");
    }
    let is_limited = |at: f64| (204.0..600.0).contains(&at) || at > 804.0;
    assert!(changes.iter().all(|change| !is_limited(change.0) || change.1 <= 512), "{changes:?}");
}

#[test]
fn heat_takes_capacity_and_gives_it_back() {
    let capacity_at = |end: &str| {
        let run = run(&SCENARIO.replace("end 1s", end));
        let figures = run.machine.sched().snapshot(CpuId(1));
        (figures.thermal_load_avg, figures.cpu_capacity)
    };
    // 32 ms after the pressure began, half of it counts, and up to a tick more, because the first update
    // counts the time since the previous update: 512 * (1 - 2^(-36 / 32)) is 277.
    let (half, _) = capacity_at("end 232ms");
    assert!((256..=277).contains(&half), "{half}");
    let (all, capacity) = capacity_at("end 599ms");
    assert!((508..=512).contains(&all), "{all}");
    assert!((510..=520).contains(&capacity), "{capacity}");
    let (gone, capacity) = capacity_at("end 1s");
    // 400 ms later 512 * 2^-12.5 is 0, and the user's limit takes no capacity.
    assert!(gone <= 1 && capacity >= 1020, "{gone} {capacity}");
}

#[test]
fn in_6_12_each_limit_takes_capacity_at_once() {
    let capacity_at = |cpu, end: &str| {
        let run = run_series(&SCENARIO.replace("end 1s", &format!("end {end}")), KernelSeries::V6_12);
        run.machine.sched().snapshot(CpuId(cpu)).cpu_capacity
    };
    // Half of the frequency leaves 512; 60 ms after the pressure began its average is not yet 400.
    for (cpu, end, expected) in
        [(1, "195ms", 1024), (1, "260ms", 512), (0, "260ms", 1024), (1, "1s", 512), (0, "1s", 512)]
    {
        let capacity = capacity_at(cpu, end);
        assert!((expected - 10..=expected).contains(&capacity), "CPU {cpu} at {end}: {capacity}");
    }
}

#[test]
fn a_hot_cpu_gets_less_to_do() {
    let run = run(SCENARIO);
    let hogs = ["hog0", "hog1", "hog2"];
    let on = |cpu: u32, from: f64, to: f64| hogs.map(|hog| run.ran_ms(hog, from, to, |on| on == cpu));
    // One hog has CPU 1 for itself, two share CPU 0: in 100 ms each of these gets at most 50 ms and a slice
    // or two.
    let alone = on(1, 480.0, 580.0);
    assert!(alone.iter().filter(|&&ms| ms > 0.0).count() <= 2, "{alone:?}");
    assert!((alone.iter().sum::<f64>() - 100.0).abs() < 1.0, "{alone:?}");
}

#[test]
fn a_machine_file_says_the_same() {
    let file = "name = \"warm\"\n[cpus]\ncount = 2\nlevels = [\"mc\", \"all\"]\n\
                [[frequency_domain]]\ncpus = \"0\"\nkhz = [500_000, 1_000_000]\n\
                [[frequency_domain]]\ncpus = \"1\"\nkhz = [500_000, 1_000_000]\ngovernor = \"performance\"\n\
                [[frequency_limit]]\nat_ns = 20_000_000\ncpus = \"1\"\nreason = \"thermal\"\npart = 600\n\
                [[frequency_limit]]\nat_ns = 40_000_000\nreason = \"user\"\npart = 1\n";
    let description = fairlab_board::parse("warm.toml", file).unwrap_or_else(|error| panic!("{error}"));
    let scenario =
        fairlab_workload::scenario::parse("hogs.scn", "cpus 2\nend 100ms\ntask hog n=2 run 1s", KernelSeries::V6_1)
            .expect("tasks");
    let setup = Setup { hardware: Hardware::from_description(&description), ..Setup::from_scenario(scenario) };
    let run = crate::common::run_machine(Machine::new(setup).expect("a possible machine"), "warm.toml");
    // A fixed frequency changes at once; the lowest frequency is always allowed.
    assert_eq!(frequencies(&run), [(20.0, 512)]);
    assert_eq!(run.machine.sched().snapshot(CpuId(1)).thermal_pressure, 512);
    assert_eq!([0, 1].map(|cpu| run.machine.sched().frequency_khz(CpuId(cpu))), [Some(500_000); 2]);
    assert_eq!(run.machine.duration(), Nanos::from_millis(100));
}

#[test]
fn a_cpu_in_no_frequency_domain_only_has_thermal_pressure() {
    let run = run("cpus 2\nend 50ms\ntask hog n=2 run 1s\nthermal 10ms 0-1 768\nmaxfreq 10ms 0-1 256");
    assert!(run.log.frequencies.is_empty());
    assert_eq!(run.machine.sched().snapshot(CpuId(0)).thermal_pressure, 256);
}

#[test]
fn features_and_tunables_change_at_their_time() {
    let base = "cpus 1\nend 200ms\ntask n=2 hog run 1s\n".replace("n=2 hog", "hog n=2");
    let slices = |changes: &str| {
        let run = run(&format!("{base}{changes}"));
        let starts = |from: f64, to: f64| run.log.switches.iter().filter(|s| s.ms > from && s.ms <= to).count();
        (starts(0.0, 100.0), starts(100.0, 200.0))
    };
    // One CPU has a latency of 6 ms, so slices of 3 ms, which end at the next tick of 4 ms: 25 in 100 ms, the
    // first of which may last for two ticks. From 100 ms on, a slice of 10 ms ends at a tick after 12 ms.
    assert!((24..=25).contains(&slices("").0));
    let (before, after) = slices("tune 100ms latency_ns 20000000");
    assert!((24..=25).contains(&before), "{before}");
    assert!((8..=9).contains(&after), "{after}");
    // With HRTICK a slice ends by timer, after 3 ms.
    let (before, after) = slices("feature 100ms HRTICK 1");
    assert!((24..=25).contains(&before), "{before}");
    assert!((32..=34).contains(&after), "{after}");
}
