// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of `fairlab machine calibrate` and `validate`.

use crate::common::{complaint, fairlab, json_of, stdout_of};
use serde_json::{Value, json};
use std::path::Path;

/// Machine and measurement of the book's page.
const MACHINE: &str = "machines/measured/epyc-vm.toml";
const MEASURED: &str = "machines/measured/epyc-vm.json";

fn validate(more: &[&str]) -> Vec<String> {
    let words = ["machine", "validate", "--machine", MACHINE, "--measured", MEASURED, "--prices", "epyc-16llc"];
    words.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

fn write_measured(place: &Path, change: impl FnOnce(&mut Value)) -> String {
    let text = std::fs::read_to_string(crate::common::root().join(MEASURED)).expect("the measurement is there");
    let mut measured: Value = serde_json::from_str(&text).expect("it is JSON");
    change(&mut measured);
    let file = place.join("measured.json");
    std::fs::write(&file, measured.to_string()).expect("it can be written");
    file.display().to_string()
}

#[test]
#[cfg(target_os = "linux")]
fn a_short_measurement_has_all_operations_and_can_be_validated_with() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("measured.json").display().to_string();
    let measured = json_of(&["machine", "calibrate", "--time", "1ms", "--no-programs", "--json", "-o", &file]);
    let tests = measured["tests"].as_array().expect("there are tests");
    assert!(tests.len() >= 17 && tests.iter().all(|test| test["ns"]["median"].as_f64() > Some(0.0)), "{measured:#}");
    let written: Value = serde_json::from_slice(&std::fs::read(&file).expect("it was written")).expect("it is JSON");
    assert_eq!(written, measured);
    let two = tests.iter().any(|test| test["test"] == "pingpong-pipe-2cpus");
    let validation = fairlab(&["machine", "validate", "--measured", &file, "--prices", "epyc-16llc"]);
    assert_eq!(validation.status.code(), Some(if two { 0 } else { 3 }), "{validation:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_machine_costs_follow_from_the_measurement() {
    let validation = json_of(&["machine", "validate", "--measured", MEASURED, "--json"]);
    let compared = validation["nr_compared"].as_u64().expect("a number");
    // Operations between CPUs need two.
    let has_two = std::thread::available_parallelism().is_ok_and(|number| number.get() > 1);
    assert!(compared > if has_two { 15 } else { 5 }, "{validation:#}");
}

#[test]
fn operations_are_compared_with_those_of_the_simulated_machine() {
    let words = validate(&["--json"]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let validation = json_of(&words);
    assert_eq!(validation["nr_compared"], 27, "{validation:#}");
    let row = |test: &str| {
        let rows = validation["rows"].as_array().expect("there are rows");
        rows.iter().find(|row| row["test"] == test).cloned().unwrap_or_else(|| panic!("no {test}"))
    };
    let pipe = row("pingpong-pipe-2cpus");
    let alone =
        json_of(&["bench", "micro", "pingpong-pipe-2cpus", "--machine", MACHINE, "--prices", "epyc-16llc", "--json"]);
    let (simulated, alone) = (&pipe["simulated"]["median"], &alone["result"]["ns_per_op"]);
    let (simulated, alone) = (simulated.as_f64().expect("a time"), alone.as_f64().expect("a time"));
    assert!((simulated / alone - 1.0).abs() < 0.01, "{simulated} {alone}");
    let error = simulated / pipe["measured"]["median"].as_f64().expect("a time") - 1.0;
    assert!((pipe["error"].as_f64().expect("an error") - error).abs() < 1e-9);
    assert_eq!(row("empty-call")["simulated"], Value::Null);
}

#[test]
fn a_page_and_a_text_have_all_rows() {
    let place = tempfile::tempdir().expect("a directory");
    let page = place.path().join("page.html").display().to_string();
    let words = validate(&["--html", &page]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let text = stdout_of(&words);
    let page = std::fs::read_to_string(page).expect("the page was written");
    for test in ["empty-call", "pass-udp", "pingpong-futex-1cpu", "messaging-unix"] {
        assert!(text.contains(test) && page.contains(test), "{test}: {text}");
    }
    let headline = text.lines().next().expect("there is a line");
    assert!(
        headline.starts_with("27 quantities compared: median error ") && page.contains(&headline[..50]),
        "{headline}"
    );
}

#[test]
fn few_operations_are_a_failure_and_wrong_files_are_named() {
    let place = tempfile::tempdir().expect("a directory");
    let run = |file: &str| {
        let output =
            fairlab(&["machine", "validate", "--machine", MACHINE, "--prices", "epyc-16llc", "--measured", file]);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let few = write_measured(place.path(), |measured| measured["tests"].as_array_mut().expect("tests").truncate(10));
    let (status, message) = run(&few);
    assert_eq!(status, Some(3), "{message}");
    assert!(message.contains("operations compared: a validation needs 15"), "{message}");
    for (what, expected) in
        [(json!(0.0), "the median of empty-call is not above 0"), (json!("soon"), "is no measurement")]
    {
        let wrong = write_measured(place.path(), |measured| measured["tests"][0]["ns"]["median"] = what);
        let (status, message) = run(&wrong);
        assert_eq!(status, Some(2), "{message}");
        assert!(message.contains(expected) && message.contains("calibrate -o FILE"), "{message}");
    }
    let newer = write_measured(place.path(), |measured| measured["schema"] = json!("calibration/9"));
    assert!(run(&newer).1.contains("calibration/9, not"), "{}", run(&newer).1);
    assert_eq!(run("nowhere.json").0, Some(2));
}

#[test]
fn a_machine_without_costs_is_refused_before_the_measurement() {
    let words = ["machine", "validate", "--machine", MACHINE, "--time", "1h"];
    let output = fairlab(&words);
    assert!(complaint("no costs", &output).contains("--prices NAME"), "{output:?}");
    let words = "machine calibrate --cpus 0,60000";
    let output = fairlab(&words.split(' ').collect::<Vec<_>>());
    assert!(complaint(words, &output).contains("may not use CPU 60000"), "{output:?}");
}

#[test]
fn costs_of_a_measured_processor_follow_from_counts() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("machine.toml").display().to_string();
    stdout_of(&["machine", "capture", "--measured", MEASURED, "--name", "here", "-o", &file]);
    let text = std::fs::read_to_string(&file).expect("it was written");
    assert!(
        text.contains("[processor]\nsheet = \"6.12-x86_64\"\n") && text.contains("preemption = \"none\""),
        "{text}"
    );
    let costs = json_of(&["machine", "costs", &file, "--json"]);
    let per_ns = costs["facts"][0]["value"].as_f64().expect("the speed") / 1000.0;
    assert!((1.0..2.0).contains(&per_ns), "{costs:#}");
    let rows = costs["costs"].as_array().expect("there are costs");
    for row in rows.iter().filter(|row| row["instructions"].is_number()) {
        let (instructions, ns) = (row["instructions"].as_f64().expect("a count"), row["ns"].as_f64().expect("a time"));
        // Loops that scan CPUs have a speed of their own.
        let is_scan = row["operation"].as_str().is_some_and(|operation| operation.starts_with("Scan"));
        let per_ns = if is_scan { 4.1 * per_ns } else { per_ns };
        assert!((ns - instructions / per_ns).abs() < 0.1, "{row}");
    }
    assert!(rows.iter().any(|row| row["operation"] == "futex-wake" && row["ns"].as_f64() > Some(100.0)), "{costs:#}");
    let error = complaint("no facts", &fairlab(&["machine", "costs", "laptop-8"]));
    assert!(error.contains("laptop-8 has no facts of a processor"), "{error}");
    let error =
        complaint("no measurement", &fairlab(&["machine", "capture", "--measured", "machines/measured/epyc-vm.toml"]));
    assert!(error.contains("is no measurement"), "{error}");
}
