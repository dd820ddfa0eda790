// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of rt-app's example files: each runs for a second on the default machine, or is rejected as rt-app
//! rejects it.

use crate::common::{complaint, fairlab, files, items, json_of, number};

const FILES: &str = "crates/workload/tests/data/rtapp";

#[test]
fn every_example_of_rt_app_runs_or_is_refused() {
    let examples = files(FILES, &[".json"]);
    assert_eq!(examples.len(), 22);
    for file in &examples {
        if file.contains("/video-") {
            let text = complaint(file, &fairlab(&["run", file]));
            assert!(text.contains("itself rejects such a file"), "{text}");
            continue;
        }
        let summary = json_of(&["run", file, "--for", "1s", "--json"]);
        assert_eq!(summary["run"]["kind"], "rt-app", "{file}");
        assert_eq!(summary["run"]["machine"], "hikey960", "{file}");
        assert_eq!(number(&summary["duration_ns"]), 1_000_000_000, "{file}");
        // This file sleeps for 1.2 s first; the rest is kernel code of its fork.
        let sleeps = file.ends_with("cpufreq-dvfs.json");
        assert_eq!(number(&summary["totals"]["busy_ns"]) < 1_000_000, sleeps, "{file}");
    }
}

#[test]
fn a_file_says_how_long_it_runs_unless_the_command_does() {
    let file = format!("{FILES}/tutorial-example8.json");
    let duration = |extra: &[&str]| {
        let args: Vec<&str> = ["run", &file, "--json"].into_iter().chain(extra.iter().copied()).collect();
        number(&json_of(&args)["duration_ns"])
    };
    assert_eq!(duration(&[]), 2_000_000_000);
    assert_eq!(duration(&["--for", "1.5ms"]), 1_500_000);
}

#[test]
fn equal_keys_are_kept_on_request() {
    let text = r#"{"tasks":{"t":{"run":1000,"sleep":1000,"run":3000}}}"#;
    let run = |extra: &[&str]| {
        let args: Vec<&str> = ["run", "-", "--json", "--for", "1s"].iter().chain(extra).copied().collect();
        let output = crate::common::fairlab_with_input(&args, text.as_bytes());
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (items(&summary["warnings"]).len(), number(&summary["families"][0]["run_ns"]))
    };
    let (dropped, kept) = (run(&[]), run(&["--keep-duplicate-keys"]));
    assert!(dropped.0 > kept.0, "a dropped key causes a warning");
    assert_ne!(dropped.1, kept.1);
}

#[test]
fn timers_are_reported_in_the_terms_of_rt_app() {
    let summary = json_of(&["run", "scenarios/hello.json", "--json"]);
    let display = &items(&summary["families"])[0];
    assert_eq!(display["name"], "display");
    let timers = &display["timers"];
    let (arrivals, missed) = (number(&timers["arrivals"]), number(&timers["missed"]));
    // One arrival in each frame of 16.667 ms in 2 s; a missed arrival delays the following ones.
    assert!(arrivals <= 120 && arrivals + 2 * missed + 1 >= 120, "{timers}");
    assert!(number(&timers["slack"]["p50_ns"]) < 16_667_000 - 5_000_000);
}
