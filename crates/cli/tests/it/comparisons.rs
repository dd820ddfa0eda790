// SPDX-License-Identifier: GPL-2.0-or-later
//! First lines and rows of `fairlab compare`: waits that have not ended, amounts of work, and metrics that are found by
//! their identity.

use crate::common::{fairlab_with_input, items, json_of, stdout_of};
use serde_json::Value;

/// Returns the path of a small input.
fn case(name: &str) -> String {
    format!("crates/cli/tests/data/cases/{name}")
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the row of a metric in the JSON report.
fn row<'a>(report: &'a Value, name: &str) -> &'a Value {
    let rows = report["comparison"]["rows"].as_array().expect("a list");
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no row {name}: {report:#}"))
}

fn partial<'a>(report: &'a Value, name: &str) -> &'a Value {
    let rows = report["comparison"]["partial"].as_array().expect("a list");
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no row {name}: {report:#}"))
}

fn verdict<'a>(report: &'a Value, name: &str) -> &'a Value {
    &row(report, name)["changes"][0]["verdict"]
}

#[test]
fn an_arm_that_starves_a_task_to_the_end_is_worse() {
    let args = ["compare", &case("starves-without-rt-limit.scn"), "--arm", "unchanged", "--arm", "rt_runtime_us=-1"];
    let args = [&args[..], &["--runs", "12"]].concat();
    let report = json_of(&[&args[..], &["--json"]].concat());
    let longest = row(&report, "f: longest wait");
    assert_eq!(
        (verdict(&report, "f: longest wait"), verdict(&report, "f: activations")),
        (&"worse".into(), &"worse".into())
    );
    assert_eq!(
        (&longest["arms"][0]["is_lower_bound"], &longest["arms"][1]["is_lower_bound"]),
        (&false.into(), &true.into())
    );
    assert_eq!(longest["changes"][0]["rests_on_open_waits"], true);
    assert_ne!(verdict(&report, "f: wake to run p99"), "better", "the wait that has not ended is the longest");
    let text = in_one_line(&stdout_of(&args));
    assert!(
        text.contains(
            "is worse than `unchanged` in 4 metrics, most in f: longest wait (+193 %, waits that have not ended)"
        ),
        "{text}"
    );
}

#[test]
fn fewer_misses_and_less_energy_are_no_improvement_if_less_was_done() {
    let (base, cpuset) = (case("frames.json"), format!("cpuset: workload={}", case("frames-cpuset.json")));
    let machine = format!("./{}", case("phone.toml"));
    let args = ["compare", &base, "--arm", "base: unchanged", "--arm", &cpuset, "--machine", &machine, "--runs", "12"];
    let report = json_of(&[&args[..], &["--json"]].concat());
    let changes = report["comparison"]["work_changes"][0].as_array().expect("a list");
    let of_cc = changes.iter().find(|change| change["family"] == "cc").expect("the background does less");
    assert_eq!(of_cc["amount"], "loops");
    assert!(of_cc["percent"].as_f64().is_some_and(|percent| (-70.0..-67.0).contains(&percent)), "{of_cc}");
    for sum in ["energy, busy", "CPU time", "waiting"] {
        assert_eq!(verdict(&report, sum), "unjudged", "{sum} is a sum of different amounts of work");
    }
    assert_eq!(verdict(&report, "ui: timers missed"), "worse");
    // Less energy per work of all families together, because a smaller part of it is the expensive background; but more
    // for the same work.
    let equal = row(&report, "energy, busy at equal work");
    assert_eq!(
        (verdict(&report, "energy, busy at equal work"), verdict(&report, "waiting at equal work")),
        (&"worse".into(), &"worse".into())
    );
    assert!(equal["changes"][0]["percent"].as_f64().is_some_and(|percent| (2.0..5.0).contains(&percent)), "{equal}");
    let each = row(&report, "cc: energy, busy / loop");
    let millijoules = [0, 1].map(|arm| each["arms"][arm]["value"].as_f64().expect("a number") / 1e3);
    assert!((millijoules[0] - 24.2).abs() < 0.2 && (millijoules[1] - 26.6).abs() < 0.4, "{millijoules:?}");
    let text = in_one_line(&stdout_of(&args));
    let start = "`cpuset` did a different amount of work (loops of cc -69 %, ";
    assert!(text.contains(start) && text.contains("so sums are compared at equal work; "), "{text}");
}

#[test]
fn domains_and_lists_of_cpus_are_matched_by_their_cpus() {
    let args =
        ["compare", "scenarios/hello.json", "--for", "200ms", "--arm", "machine=hikey960", "--arm", "machine=hikey"];
    let report = json_of(&[&args[..], &["--json"]].concat());
    let value = |name: &str, arm: usize| partial(&report, name)["arms"][arm]["value"].as_f64();
    assert!(value("energy of CPUs 0-3", 0).is_some_and(|energy| energy > 0.0));
    assert_eq!(value("energy of CPUs 0-3", 1), None, "hikey has one domain of eight CPUs");
    assert!(value("energy of CPUs 0-7", 1).is_some());
    assert!(value("display: on CPUs 0-3", 0).is_some_and(|share| share > 5.0));
    assert_eq!(value("display: on CPUs 0-3", 1), None);
    assert_eq!(report["results"].as_array().map(Vec::len), Some(2));
    // The governor's kernel threads run another number of times, and this is no work of the workload.
    let changes = items(&report["comparison"]["work_changes"][0]);
    let families: Vec<&str> = changes.iter().map(|change| change["family"].as_str().expect("a name")).collect();
    assert!(families.contains(&"worker") && families.iter().all(|family| !family.contains("sugov")), "{families:?}");
    let text = stdout_of(&[&args[..], &["--all"]].concat());
    assert_eq!(text.matches("not in all runs").count(), 1, "{text}");
    assert!(!text.contains("MDE") && !text.contains("\n\n\n"), "single runs have no statistics: {text}");
}

#[test]
fn changes_are_those_of_unrounded_values() {
    let arms = ["--arm", "kernel=6.1", "--arm", "kernel=6.12"];
    let report = json_of(&[&["compare", "scenarios/scan-limit.scn", "--json"], &arms[..]].concat());
    let scanned = row(&report, "CPUs scanned");
    let values: Vec<f64> = [0, 1].map(|arm| scanned["arms"][arm]["value"].as_f64().expect("a number")).to_vec();
    let percent = scanned["changes"][0]["percent"].as_f64().expect("a number");
    assert!((percent - 100.0 * (values[1] / values[0] - 1.0)).abs() < 1e-9);
    assert!((percent + 11.1).abs() < 0.05 && (values[0] - 0.2205).abs() < 5e-5, "{scanned}");
}

#[test]
fn metrics_that_are_not_tested_are_named() {
    let args =
        ["compare", &case("untested.scn"), "--arm", "unchanged", "--arm", "base_slice_ns=2800001", "--runs", "12"];
    let text = in_one_line(&stdout_of(&args));
    let named = "5 metrics not tested (CPU time, migrations, switches, CPUs scanned, nohz kicks)";
    assert!(text.contains("tested metrics without a significant difference") && text.contains(named), "{text}");
}

#[test]
fn throttled_periods_of_a_cgroup_are_a_row() {
    let (two, burst) = (case("quota-2.json"), format!("burst: workload={}", case("quota-burst.json")));
    let machine = format!("./{}", case("node.toml"));
    let args = ["compare", &two, "--arm", "limit 2: unchanged", "--arm", &burst, "--machine", &machine, "--runs", "6"];
    let report = json_of(&[&args[..], &["--json", "--for", "2s"]].concat());
    let periods = row(&report, "/pod: throttled periods");
    assert!(periods["arms"][0]["value"].as_f64().is_some_and(|percent| percent > 30.0), "{periods}");
    assert_eq!(periods["arms"][1]["value"], 0.0);
    let used = row(&report, "/pod: CPU time / quota");
    assert!(used["arms"][0]["value"].as_f64().is_some_and(|percent| (20.0..100.0).contains(&percent)), "{used}");
}

#[test]
fn shares_of_cgroups_are_compared_with_what_weights_entitle_them_to() {
    let text = b"cpus 2\nend 1s\ngroup a\ngroup b\ntask one group=a n=2 run 7ms\ntask two group=b n=2 run 7ms\n";
    let arms = ["--arm", "unchanged", "--arm", "kernel=6.1"];
    let output = fairlab_with_input(&[&["compare", "-", "--json"], &arms[..]].concat(), text);
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    for group in ["a", "b"] {
        let share = row(&report, &format!("{group}: CPU time / entitled"));
        let percent = share["arms"][0]["value"].as_f64().expect("a number");
        assert!((95.0..=105.0).contains(&percent), "{share}");
    }
    assert!(
        items(&report["comparison"]["rows"]).iter().all(|row| !row["name"].to_string().contains("quota")),
        "{report}"
    );
}
