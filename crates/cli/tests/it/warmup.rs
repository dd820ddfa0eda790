// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of warm-ups that last until the run has settled.

use crate::common::{complaint, data_of, fairlab, fairlab_with_input, json_of, number, stdout_of};
use serde_json::Value;

const HELLO: &str = "scenarios/hello.json";
/// One task that first sleeps, and is periodic from 150 ms on.
const LATE: &str = "cpus 1\nend 1s\ntask t sleep 150ms loop run 1ms sleep 1ms\n";

/// Returns the summary of a scenario's run.
fn run(scenario: &str, options: &[&str]) -> Value {
    let output = fairlab_with_input(&[&["run", "-", "--json"], options].concat(), scenario.as_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the summary is JSON")
}

#[test]
fn a_run_that_has_settled_is_the_run_with_a_fixed_warm_up_of_that_length() {
    let measured = ["--for", "100ms", "--json"];
    let settled = json_of(&[&["run", HELLO, "--warmup", "settled"], &measured[..]].concat());
    assert_eq!(settled["settling"]["has_settled"], true);
    let length = format!("{}ns", number(&settled["settling"]["after_ns"]));
    let mut fixed = json_of(&[&["run", HELLO, "--warmup", &length], &measured[..]].concat());
    assert!(fixed["settling"].is_null());
    fixed["settling"] = settled["settling"].clone();
    fixed["speed"] = settled["speed"].clone();
    assert_eq!(fixed, settled);
    let text = stdout_of(&["run", HELLO, "--warmup", "settled", "--for", "100ms"]).replace("\n  ", " ");
    let after_ms = number(&settled["settling"]["after_ns"]) / 1_000_000;
    assert!(text.contains(&format!("simulated; settled {after_ms}ms after the last start")), "{text}");
}

#[test]
fn observers_do_not_change_when_a_run_has_settled() {
    let place = tempfile::tempdir().expect("a directory");
    let file = |name: &str| place.path().join(name).display().to_string();
    let (trace, log) = (file("trace"), file("log"));
    let plain = run(LATE, &["--warmup", "settled", "--for", "50ms"]);
    let watched = ["--findings", "--trace-jsonl", &trace, "--event-log", &log, "--warmup", "settled", "--for", "50ms"];
    let watched = run(LATE, &watched);
    assert_eq!((&plain["settling"], &plain["digest"]), (&watched["settling"], &watched["digest"]));
}

#[test]
fn a_late_change_delays_the_end_and_the_limit_ends_it() {
    let late = run(LATE, &["--warmup", "settled", "--for", "50ms"]);
    assert_eq!((number(&late["settling"]["after_ns"]), number(&late["duration_ns"])), (360_000_000, 50_000_000));
    assert_eq!(late["warnings"], Value::Array(Vec::new()));
    let limited = run(LATE, &["--warmup", "settled:300ms", "--for", "50ms"]);
    assert_eq!(limited["settling"], serde_json::json!({ "after_ns": 300_000_000, "has_settled": false }));
    assert_eq!(number(&limited["duration_ns"]), 50_000_000);
    assert!(limited["cut_short_of_ns"].is_null());
    let warning = limited["warnings"][0].as_str().expect("there is a warning");
    assert!(warning.contains("had not settled 300ms after the last start"), "{warning}");
}

#[test]
fn a_warm_up_begins_after_the_last_start() {
    let starts = LATE.replace("task t", "task t start=95ms").replace("150ms", "1ms");
    let late = run(&starts, &["--warmup", "settled", "--for", "50ms"]);
    assert_eq!(number(&late["settling"]["after_ns"]), 200_000_000);
    let line = "netperf -t UDP_RR --instances 3 --machine hikey960 --warmup settled --for 10ms --json";
    let words: Vec<&str> = ["bench"].into_iter().chain(line.split(' ')).collect();
    let result = json_of(&words);
    // The machine has been up for 2 s, and the shell takes 530 us for each start.
    let last_start = 2_000_000_000 + 3 * 530_000;
    assert_eq!(number(&result["simulated_ns"]), last_start + number(&result["settling"]["after_ns"]) + 10_000_000);
}

#[test]
fn a_recorded_run_has_the_length_and_can_be_repeated() {
    let place = tempfile::tempdir().expect("a directory");
    let directory = place.path().join("run").display().to_string();
    let words = ["run", HELLO, "--warmup", "settled", "--for", "50ms", "--json", "-o", &directory];
    let first = json_of(&words);
    let manifest = format!("{directory}/manifest.json");
    let again = json_of(&["run", &manifest, "--json"]);
    assert_eq!((&first["digest"], &first["settling"]), (&again["digest"], &again["settling"]));
    let page = place.path().join("page.html").display().to_string();
    for words in [&["findings", &directory][..], &["report", &directory, "-o", &page]] {
        let output = fairlab(words);
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let data = data_of(&std::fs::read_to_string(&page).expect("the page is there"));
    assert_eq!(number(&data["runs"][0]["length_ns"]), number(&first["settling"]["after_ns"]) + 50_000_000);
}

#[test]
fn experiments_and_sweeps_report_when_their_runs_have_settled() {
    let words = ["compare", HELLO, "--arm", "NO_SIS_UTIL", "--runs", "2", "--for", "20ms", "--warmup", "settled"];
    let report = json_of(&[&words[..], &["--json"]].concat());
    let rows = report["comparison"]["rows"].as_array().expect("it has rows");
    let row = rows.iter().find(|row| row["name"] == "settled after").expect("it is a metric of the runs");
    assert_eq!(row["unit"], "ns");
    let place = tempfile::tempdir().expect("a directory");
    let plan = place.path().join("plan.toml");
    let text = "bench = 'netperf -t UDP_RR -l 1'\nwarmup = 'WARMUP'\nfor = '10ms'\nmetrics = ['settling.after_ns']\n\
                base = { machine = 'hikey960' }\n";
    std::fs::write(&plan, text.replace("WARMUP", "settled")).expect("there is room");
    let store = place.path().join("s.sweep").display().to_string();
    let plan = plan.display().to_string();
    stdout_of(&["sweep", &plan, "--store", &store]);
    let table = stdout_of(&["sweep", "export", &store]);
    let after: u64 = table.lines().nth(1).and_then(|row| row.split(',').nth(1)?.parse().ok()).expect("a number");
    assert!(after >= 200_000_000 && after.is_multiple_of(20_000_000), "{table}");
    std::fs::write(&plan, text.replace("WARMUP", "setled")).expect("there is room");
    let error = complaint("misspelt", &fairlab(&["sweep", &plan, "--store", &store])).replace("\n  ", " ");
    assert!(error.contains("warmup = 'setled'") && error.contains("or settled"), "{error}");
}

#[test]
fn the_duration_of_a_file_includes_the_warm_up() {
    let whole = json_of(&["run", "scenarios/eight-cpus.scn", "--json"]);
    let warm = json_of(&["run", "scenarios/eight-cpus.scn", "--warmup", "50ms", "--json"]);
    assert_eq!(number(&warm["duration_ns"]), number(&whole["duration_ns"]) - 50_000_000);
    assert_eq!(warm["digest"], whole["digest"], "the events are the same");
}

#[test]
fn a_warm_up_that_makes_no_sense_is_refused() {
    for (words, expected) in [
        (&["run", HELLO, "--for", "1s", "--warmup", "settled:100ms"][..], "after 200ms at the earliest"),
        (&["run", HELLO, "--warmup", "settled"], "a warm-up needs a measured time"),
        (&["run", HELLO, "--warmup", "1h"], "leaves nothing of the duration of"),
        (&["bench", "hackbench", "--warmup", "settled"], "omit --warmup"),
    ] {
        let text = complaint("settled", &fairlab(words)).replace("\n  ", " ");
        assert!(text.contains(expected), "{words:?}: {text}");
    }
    let recorded = b"recorded 1\ncpus 1\nend 20ms\ntask x family=y cpu=0 start=0ms\ndo run 1ms sleep 1ms\n";
    let output = fairlab_with_input(&["run", "-", "--for", "10ms", "--warmup", "settled"], recorded);
    assert!(complaint("recorded", &output).contains("does not settle"));
}
