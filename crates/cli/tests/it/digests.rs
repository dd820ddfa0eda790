// SPDX-License-Identifier: GPL-2.0-or-later
//! The digests of the scenarios: equal twice in a row, and equal to those recorded in `golden/digests.txt`.
//!
//! The test runs in debug and in release builds, so both have the recorded digests. When behaviour changes on purpose,
//! `FAIRLAB_BLESS=1 cargo test -p fairlab --test it digests` records the new ones; the change belongs into the changelog.

use crate::common::{files, json_of, root, stdout_of};
use fairlab_board::preset;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_workload::message::Message;
use fairlab_workload::scenario::{self, ParseContext, SwitchNames};
use std::fmt::Write;

const RECORD: &str = "golden/digests.txt";
const HEAD: &str = "# Digest and number of events of each file in scenarios/, on its own machine or the default one.\n\
                    # Recorded by: FAIRLAB_BLESS=1 cargo test -p fairlab --test it digests\n";

/// A line for each scenario.
fn record() -> String {
    let mut text = HEAD.to_owned();
    for file in files("scenarios", &[".scn", ".json"]) {
        let summary = json_of(&["run", "--json", &file]);
        let digest = summary["digest"].as_str().expect("a summary has a digest");
        writeln!(text, "{digest} {:>8} {file}", summary["totals"]["events"].to_string()).expect("text can be written");
    }
    text
}

#[test]
fn scenarios_give_the_recorded_digests_twice_in_a_row() {
    let (first, second) = (record(), record());
    assert_eq!(first, second);
    let path = root().join(RECORD);
    if std::env::var_os("FAIRLAB_BLESS").is_some() {
        std::fs::write(path, first).expect("the record can be written");
        return;
    }
    let recorded = std::fs::read_to_string(path).expect("the record exists");
    assert_eq!(first, recorded, "if behaviour was to change: FAIRLAB_BLESS=1 records the new digests");
}

/// Digest of a scenario whose machine the library makes.
fn digest_in_library(file: &str) -> String {
    let text = std::fs::read_to_string(root().join(file)).expect("the file can be read");
    let named = |name: &str| Ok(preset(name).ok_or_else(|| Message::new("no preset"))?.nr_cpus() as u32);
    let kernel_lookup = |name: Option<&str>| match name {
        Some("6.1") => Ok(SwitchNames::BuiltIn(KernelSeries::V6_1)),
        None | Some("6.12") => Ok(SwitchNames::BuiltIn(KernelSeries::V6_12)),
        Some(name) => Err(Message::new(format!("no scenario names {name}"))),
    };
    let scenario = scenario::parse_with_context(
        file,
        &text,
        ParseContext { given: None, named: &named, vary: None, kernel: &kernel_lookup },
    );
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let setup = match &scenario.named_machine {
        Some(name) => {
            Setup::with_hardware(Hardware::from_description(&preset(name).expect("it is a preset")), scenario)
        }
        None => Setup::from_scenario(scenario),
    };
    let mut machine = Machine::new(setup).expect("a possible machine");
    machine.run(&mut NoObserver).unwrap_or_else(|error| panic!("{file}: {error}"));
    machine.digest().to_string()
}

#[test]
fn the_command_runs_the_machine_that_the_library_makes_of_a_scenario() {
    for directory in ["scenarios", "scenarios/switches"] {
        for file in files(directory, &[".scn"]) {
            assert_eq!(json_of(&["run", "--json", &file])["digest"], digest_in_library(&file), "{file}");
        }
    }
}

#[test]
fn every_scenario_says_what_it_shows() {
    for file in files("scenarios", &[".scn"]) {
        let text = std::fs::read_to_string(root().join(&file)).expect("the file can be read");
        assert!(text.starts_with("# "), "{file}");
    }
}

#[test]
fn listening_changes_nothing() {
    for file in ["scenarios/numa.scn", "scenarios/group-shares.scn", "scenarios/hello.json"] {
        let digest = |extra: &[&str]| {
            let args: Vec<&str> = ["run", file, "--json"].iter().chain(extra).copied().collect();
            json_of(&args)["digest"].clone()
        };
        let directory = tempfile::tempdir().expect("there is room for temporary files");
        let trace = directory.path().join("trace.jsonl");
        assert_eq!(digest(&[]), digest(&["--trace-jsonl", trace.to_str().expect("the path is text")]), "{file}");
    }
}

#[test]
fn perturbations_and_seeds_repeat_and_differ() {
    let digest = |args: &[&str]| {
        let args: Vec<&str> = ["run", "scenarios/numa.scn", "--json"].iter().chain(args).copied().collect();
        json_of(&args)["digest"].to_string()
    };
    for option in ["--perturb", "--seed"] {
        assert_eq!(digest(&[option, "1"]), digest(&[option, "1"]), "{option}");
        assert_ne!(digest(&[option, "1"]), digest(&[option, "2"]), "{option}");
        assert_ne!(digest(&[option, "1"]), digest(&[]), "{option}");
    }
}

#[test]
fn the_trace_begins_and_ends_as_it_should() {
    let trace = stdout_of(&["run", "scenarios/fair-share.scn", "--trace-jsonl", "-"]);
    let mut lines = trace.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with("{\"t\":1000000000,\"e\":\"wakeup\",\"pid\":1000")));
    assert!(lines.next_back().is_some_and(|line| line.starts_with("{\"e\":\"task\",\"pid\":1001,\"name\":\"nice5\"")));
    for line in trace.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
    }
}
