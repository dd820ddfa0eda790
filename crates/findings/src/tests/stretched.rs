// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the rule `stretched`.

use super::*;

#[test]
fn work_that_low_frequencies_stretch_is_found_unless_the_task_sleeps() {
    let board = "cpus 2\nscale 1\nfdom 0-1 200000 1000000\nend 400ms\nmaxfreq 0 0-1 205\n";
    let findings = found(&format!("{board}task hog cpu=0 run 10s\n"));
    let finding = of(&findings, "stretched").unwrap_or_else(|| panic!("{findings:?}"));
    assert_eq!(finding.severity, Severity::Medium);
    assert!(finding.sentence.contains("because of low frequencies; 99 % of it at 200 MHz"), "{}", finding.sentence);
    assert!((310_000_000..330_000_000).contains(&finding.total_ns), "{finding:?}");
    let sleeper = found(&format!("{board}task light cpu=0 loop every 10ms run 1ms\n"));
    assert!(of(&sleeper, "stretched").is_none(), "its work is done in time: {sleeper:?}");
    // Its life ends with its last step: the time afterwards is no time for which it waits.
    let early = found(&format!("{board}task early cpu=0 {} exit\n", "run 3ms sleep 5ms ".repeat(5)));
    assert!(of(&early, "stretched").is_none(), "it slept for a quarter of its life: {early:?}");
    let fast = found("cpus 2\nscale 1\nfdom 0-1 200000 1000000\nend 400ms\ntask hog cpu=0 run 10s\n");
    assert!(of(&fast, "stretched").is_none(), "schedutil follows: {fast:?}");
}

#[test]
fn small_cpus_are_named_if_they_cost_more_than_low_frequencies_and_alone_are_not_found() {
    let board =
        "cpus 2\ncaps 400 1024\nscale 1\nfdom 0-0 200000 500000 1000000\nend 400ms\ntask hog cpu=0 mask=0-0 run 10s\n";
    let findings = found(&format!("{board}maxfreq 0 0-0 512\n"));
    let finding = of(&findings, "stretched").unwrap_or_else(|| panic!("{findings:?}"));
    assert_eq!(finding.severity, Severity::Low);
    assert!(
        finding.sentence.contains("because of CPUs of low capacity; 100 % of it at 500 MHz"),
        "{}",
        finding.sentence
    );
    let fast = found(board);
    assert!(of(&fast, "stretched").is_none(), "at its highest frequency: {fast:?}");
}
