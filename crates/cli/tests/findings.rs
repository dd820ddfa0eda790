// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab findings` from the command line: what is planted is found and explained.

mod common;

use common::{fairlab_with_input, items, json_of, stdout_of};
use tempfile::TempDir;

/// Task `b` waits behind `a` from the start, and may use the idle CPU 1 from 101 ms on.
const PLANTED: &str =
    "cpus 2\nend 300ms\ntask a mask=0-0 cpu=0 run 10s\ntask b mask=0-0 cpu=0 run 10s\naffinity 101ms b 0-1\n";

fn run(scenario: &str) -> (TempDir, String) {
    let place = TempDir::new().expect("there is a place for temporary files");
    let dir = place.path().to_str().expect("temporary files have plain names").to_owned();
    let output = fairlab_with_input(&["run", "-", "-o", &dir], scenario.as_bytes());
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
    assert_eq!(json_of(&words)["sentences"], answer["because"], "{command}");
    let text = stdout_of(&["findings", &dir, "--idle", "1ms"]);
    assert!(text.contains("idle-while-waiting: b waited"), "{text}");
}

#[test]
fn nothing_is_found_where_all_is_well() {
    let (_place, dir) = run("cpus 2\nend 200ms\ntask a cpu=0 loop run 1ms sleep 3ms\n");
    assert_eq!(stdout_of(&["findings", &dir]), "nothing found\n");
}
