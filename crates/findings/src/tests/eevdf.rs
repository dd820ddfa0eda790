// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the rules for runs of 6.12: each has a scenario that triggers it and a near twin that does not.

use super::{find, of};
use crate::{Finding, Limits, Severity};
use fairlab_explain::Question;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_workload::scenario;

fn found(series: KernelSeries, text: &str) -> Vec<Finding> {
    let scenario = scenario::parse("test.scn", text).unwrap_or_else(|error| panic!("{error}"));
    let mut machine = Machine::new(Setup { series, ..Setup::from_scenario(scenario) }).expect("a possible machine");
    let limits = Limits::of(&machine);
    find(&mut machine, limits).0
}

fn found_in_6_12(text: &str) -> Vec<Finding> {
    found(KernelSeries::V6_12, text)
}

#[test]
fn tasks_that_only_the_fair_server_runs_are_found() {
    let scenario = "cpus 1\nend 3s\ntask hog n=2 cpu=0 run 10s\ntask spin fifo=50 cpu=0 start=300ms run 10s\n";
    let findings = found_in_6_12(scenario);
    let finding = of(&findings, "fair-server").unwrap_or_else(|| panic!("{findings:?}"));
    assert_eq!((finding.severity, finding.count), (Severity::High, 4), "both tasks, twice: {finding:?}");
    assert!((900_000_000..1_100_000_000).contains(&finding.worst_ns), "{finding:?}");
    assert!(finding.sentence.starts_with("hog starved behind real-time or deadline tasks"), "{finding:?}");
    assert!(of(&found(KernelSeries::V6_1, scenario), "fair-server").is_none(), "6.1 has no fair server");
    let modest = scenario.replace("run 10s\n", "loop run 5ms sleep 5ms\n");
    assert!(of(&found_in_6_12(&modest), "fair-server").is_none(), "no task starves");
}

#[test]
fn a_slice_that_others_always_cut_is_found() {
    let scenario = |others: &str| {
        format!("cpus 1\nend 2s\ntask long slice=20ms cpu=0 run 10s\ntask plain cpu=0 run 10s\n{others}")
    };
    let findings = found_in_6_12(&scenario("task radio fifo=9 cpu=0 loop run 100us sleep 2ms\n"));
    let finding = of(&findings, "slice-cut").unwrap_or_else(|| panic!("{findings:?}"));
    assert!(finding.count > 200 && finding.question == Question::Task("long".to_owned()), "{finding:?}");
    assert!(finding.sentence.contains("long (slice 20ms) most often to radio"), "{finding:?}");
    assert!(of(&found_in_6_12(&scenario("")), "slice-cut").is_none(), "it keeps its slice");
    let ended = found_in_6_12(&scenario("task radio fifo=9 cpu=0 loop run 100us sleep 2ms\nslice 1s long 0\n"));
    let finding = of(&ended, "slice-cut").unwrap_or_else(|| panic!("{ended:?}"));
    assert!(finding.sentence.contains("long (slice 20ms)"), "the slice that was cut, not the present one: {finding:?}");
    let rare = scenario("task radio fifo=9 cpu=0 loop run 100us sleep 50ms\n");
    assert!(of(&found_in_6_12(&rare), "slice-cut").is_none(), "it keeps most slices");
}

#[test]
fn a_task_that_loses_service_at_the_limit_of_its_lag_is_found() {
    // A batch task does not preempt, so it waits for the end of the long slice; it keeps only a tick of its lag.
    let scenario = |slice: &str| {
        format!(
            "cpus 1\nend 4s\ntask hog slice={slice} cpu=0 run 10s\ntask poor batch slice=100us cpu=0 loop run 50us sleep 1ms\n"
        )
    };
    let findings = found_in_6_12(&scenario("100ms"));
    let finding = of(&findings, "lag-limited").unwrap_or_else(|| panic!("{findings:?}"));
    assert!(finding.count >= 30 && finding.question == Question::Task("poor".to_owned()), "{finding:?}");
    assert!(
        finding.sentence.contains("so that they never get") && finding.sentence.contains("kept 4ms"),
        "{finding:?}"
    );
    assert!((40_000_000..60_000_000).contains(&finding.worst_ns), "about half of the slice: {finding:?}");
    assert!(of(&found_in_6_12(&scenario("3ms")), "lag-limited").is_none(), "its lag is within the limit");
}
