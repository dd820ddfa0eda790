// SPDX-License-Identifier: GPL-2.0-or-later
//! Statements about waits: headline, findings and page agree about what tasks waited for, and count waits that have not
//! ended.

use crate::common::{data_of, json_of, number, stdout_of};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// Returns the path of a small input.
fn case(name: &str) -> String {
    format!("crates/cli/tests/data/cases/{name}")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of temporary files are text")
}

/// Returns the printed summary of a run, in one line.
fn summary_of(args: &[&str]) -> String {
    let page = stdout_of(&[&["run"], args].concat());
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn findings_of(args: &[&str]) -> Vec<Value> {
    let run = json_of(&[&["run", "--json", "--findings"], args].concat());
    run["findings"].as_array().expect("a list").clone()
}

fn finding<'a>(findings: &'a [Value], rule: &str, family: &str) -> Option<&'a Value> {
    let is_meant = |finding: &&Value| {
        finding["rule"] == rule && finding["sentence"].as_str().is_some_and(|text| text.starts_with(family))
    };
    findings.iter().find(is_meant)
}

#[test]
fn a_wait_that_has_not_ended_counts_with_what_it_has_lasted() {
    let summary = summary_of(&[&case("starves-to-the-end.scn")]);
    assert!(summary.contains("f: 2.80s for a CPU (97.2 % of its runnable time), at least 2.80s at a time (not ended)"));
    assert!(summary.contains("worst: f for at least 2.8s, not ended, behind real-time tasks"), "{summary}");
    assert!(summary.contains("f 0 0 ≥2.80s ≥2.80s 0 0 ≥2.80s ≥2.80s"), "percentiles: {summary}");
    let run = json_of(&["run", "--json", &case("starves-to-the-end.scn")]);
    let latency = &run["families"][0]["wake_to_run"];
    assert_eq!((number(&latency["count"]), number(&latency["open"])), (40, 1));
    assert_eq!(latency["lower_bounds"], serde_json::json!(["mean_ns", "p99_ns", "max_ns"]));
}

#[test]
fn starvation_to_the_end_is_found_in_exported_traces_of_all_formats() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let (dir, file) = (place.path().join("run"), place.path().join("trace"));
    stdout_of(&["run", &case("starves-to-the-end.scn"), "-o", text(&dir)]);
    for format in ["ftrace", "perf", "perfetto", "trace-dat"] {
        stdout_of(&["export", text(&dir), "--format", format, "-o", text(&file)]);
        let found = json_of(&["findings", text(&file), "--json"]);
        let found = found.as_array().expect("a list");
        let starvation = finding(found, "starvation", "f").unwrap_or_else(|| panic!("{format}: {found:?}"));
        assert_eq!(starvation["is_open"], true, "{format}");
        assert!(number(&starvation["worst_ns"]).abs_diff(2_800_000_000) <= 4_000_000, "{format}: {starvation}");
    }
}

#[test]
fn headline_and_page_tell_waits_for_a_cpu_from_waits_for_a_quota() {
    let summary = summary_of(&[&case("throttled-and-waiting.scn")]);
    let line = "q: 1.90ms for a CPU (0.5 % of its runnable time), at most 100us at a time; 338ms for the quota of g (89.0 %), at most \
                17.0ms at a time";
    assert!(summary.contains(line), "{summary}");
    let place = TempDir::new().expect("there is a place for temporary files");
    let (dir, file) = (place.path().join("run"), place.path().join("page.html"));
    stdout_of(&["run", &case("throttled-and-waiting.scn"), "-o", text(&dir)]);
    stdout_of(&["report", text(&dir), "-o", text(&file)]);
    let data = data_of(&std::fs::read_to_string(&file).expect("there is a page"));
    let run = &data["runs"][0];
    assert_eq!(run["findings"][0]["headline"], "q waited 17.0 ms for the quota of g");
    assert_eq!(
        (&run["waits"][0]["awaited"], number(&run["waits"][0]["length_ns"])),
        (&"the quota of g".into(), 17_000_000)
    );
}

#[test]
fn fair_tasks_starve_behind_real_time_tasks_only_where_these_ran() {
    let findings = findings_of(&[&case("behind-fair-and-real-time.scn")]);
    let served = finding(&findings, "fair-server", "g starved").unwrap_or_else(|| panic!("{findings:?}"));
    assert_eq!(number(&served["count"]), 3, "six more waits are behind the fair task f: {served}");
}

#[test]
fn a_task_that_waits_on_its_own_idle_cpu_starves_behind_no_task() {
    let findings = findings_of(&[&case("moved-out-of-throttled.scn")]);
    assert!(finding(&findings, "fair-server", "p").is_none(), "{findings:?}");
    let idle = finding(&findings, "idle-while-waiting", "p").unwrap_or_else(|| panic!("{findings:?}"));
    assert!(number(&idle["worst_ns"]) > 790_000_000, "{idle}");
    assert!(idle["sentence"].as_str().is_some_and(|text| text.contains("p on CPU 0 for 799ms while CPU 0 idled")));
}

#[test]
fn late_timers_are_late_by_their_slack() {
    let summary = summary_of(&[&case("late.json"), "--machine", "xeon-1s-112", "--plain", "--for", "1s"]);
    assert!(summary.contains("missed timers: t 35 of 143, at most 8.00ms late"), "{summary}");
}

#[test]
fn deadline_tasks_are_judged_by_their_deadlines() {
    let findings = findings_of(&[&case("deadline-judged.json"), "--machine", "uniprocessor"]);
    assert!(finding(&findings, "deadline-missed", "t").is_none(), "{findings:?}");
    let late = finding(&findings, "late-wakeup", "t").unwrap_or_else(|| panic!("{findings:?}"));
    assert_eq!(number(&late["count"]), 2, "before they became deadline tasks: {late}");
    assert!(late["only_in_first_ns"].is_u64(), "{late}");
}

#[test]
fn findings_of_the_start_are_marked_and_come_last() {
    let args = [&case("deadline-start.json") as &str, "--machine", "laptop-8"];
    let findings = findings_of(&args);
    assert_eq!((&findings[0]["rule"], &findings[0]["only_in_first_ns"]), (&"vain-kicks".into(), &Value::Null));
    assert!(
        findings.len() > 5 && findings[1..].iter().all(|finding| finding["only_in_first_ns"].is_u64()),
        "{findings:?}"
    );
    let marked =
        |finding: &Value| finding["sentence"].as_str().is_some_and(|text| text.contains("; only in the first "));
    assert!(findings[1..].iter().all(marked), "{findings:?}");
    let summary = summary_of(&args);
    assert!(summary.contains("findings: 1 low, 8 only at the start"), "{summary}");
}
