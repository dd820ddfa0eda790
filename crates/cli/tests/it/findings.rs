// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of `fairlab findings`: planted problems are found and explained.

use crate::common::{fairlab_with_input, items, json_of, stdout_of};
use tempfile::TempDir;

/// Task `b` waits behind `a` from the start, and may use the idle CPU 1 from 101 ms on.
const PLANTED: &str =
    "cpus 2\nend 300ms\ntask a mask=0-0 cpu=0 run 10s\ntask b mask=0-0 cpu=0 run 10s\naffinity 101ms b 0-1\n";

fn run(scenario: &str) -> (TempDir, String) {
    run_with(&[], scenario)
}

fn run_with(options: &[&str], scenario: &str) -> (TempDir, String) {
    let place = TempDir::new().expect("there is a place for temporary files");
    let dir = place.path().to_str().expect("temporary files have plain names").to_owned();
    let output = fairlab_with_input(&[&["run", "-", "-o", &dir], options].concat(), scenario.as_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (place, dir)
}

#[test]
fn a_finding_has_a_moment_a_command_and_the_sentences_that_the_command_tells() {
    let (_place, dir) = run(PLANTED);
    let answers = json_of(&["findings", &dir, "--idle", "1ms", "--json"]);
    let answer = items(&answers).iter().find(|answer| answer["rule"] == "idle-while-waiting").expect("it was planted");
    let command = answer["explain"].as_str().expect("there is a command").to_owned();
    let words: Vec<&str> = command.split(' ').skip(1).chain(["--json"]).collect();
    let explained = json_of(&words);
    let sentences = items(&explained["claims"]).iter().flat_map(|claim| items(&claim["text"]).to_vec());
    assert_eq!(serde_json::Value::from_iter(sentences), answer["because"], "{command}");
    let text = stdout_of(&["findings", &dir, "--idle", "1ms"]);
    assert!(text.contains("idle-while-waiting: b waited"), "{text}");
}

#[test]
fn starvation_up_to_the_fair_server_of_6_12_is_found_and_explained() {
    let scenario = "cpus 1\nend 2s\ntask hog cpu=0 run 10s\ntask spin fifo=50 cpu=0 start=300ms run 10s\n";
    let (_place, dir) = run(scenario);
    let answers = json_of(&["findings", &dir, "--json"]);
    let answer = items(&answers).iter().find(|answer| answer["rule"] == "fair-server").expect("hog starves");
    assert_eq!((&answer["severity"], &answer["count"]), (&"high".into(), &1.into()), "{answer}");
    let because = answer["because"].to_string();
    assert!(because.contains("The fair server of CPU 0 has 50ms in each 1s"), "{because}");
    let (_place, dir) = run_with(&["--kernel", "6.1"], scenario);
    assert!(!json_of(&["findings", &dir, "--json"]).to_string().contains("fair-server"), "6.1 has none");
}

#[test]
fn nothing_is_found_where_all_is_well() {
    let (_place, dir) = run("cpus 2\nend 200ms\ntask a cpu=0 loop run 1ms sleep 3ms\n");
    assert_eq!(stdout_of(&["findings", &dir]), "no findings\n");
}

/// Returns a scenario in which a little CPU lacks capacity for part of each 100 ms; `audio` makes its
/// neighbour scan all CPUs in between.
fn flapping(busy: &str) -> String {
    format!(
        "machine hikey960\nkernel 6.1\nend 2s\ntask burst cpu=1 mask=1 run {busy} every 100ms\ntask audio mask=0 run 500us every 5300us\n\
         task ui run 2ms every 16667us\n"
    )
}

#[test]
fn a_machine_that_goes_over_utilised_and_back_is_found_and_its_near_twins_are_not() {
    let rules = |busy: &str| -> Vec<(String, u64, String)> {
        let (_place, dir) = run(&flapping(busy));
        let found = json_of(&["findings", &dir, "--json"]);
        let of = |found: &serde_json::Value| {
            let rule = found["rule"].as_str().expect("it has a rule").to_owned();
            let explain = found["explain"].as_str().unwrap_or_default().to_owned();
            (rule, found["count"].as_u64().unwrap_or(0), explain)
        };
        items(&found).iter().map(of).collect()
    };
    let found = rules("20ms");
    let [(rule, spells, explain)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((rule.as_str(), *spells), ("overutilized-flapping", 19));
    assert!(explain.contains("--cpu 1"), "CPU 1 has too little room: {explain}");
    assert!(rules("16ms").is_empty(), "there is room");
    assert!(rules("40ms").is_empty(), "there is none nearly all the time");
}
