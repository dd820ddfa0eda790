// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of `fairlab import`, `replay` and `machine capture`.

use crate::common::{complaint, fairlab, items, json_of, number, stdout_of};
use tempfile::TempDir;

/// A machine without idle states: a trace does not show whether a timer expires while its CPU leaves one.
const MACHINE: &str = "name = \"four\"\n\n[cpus]\ncount = 4\n";
const SCENARIO: &str = "machine FOUR\nend 200ms\ntask hog n=3 cpu=0 run 10s\ntask nap n=4 cpu=1 loop runx 400us sleepx 2ms\n\
    task ping loop run 50us wake pong wait\ntask pong cpu=1 loop wait run 70us wake ping\n";

struct TestDir(TempDir);

impl TestDir {
    fn new() -> Self {
        Self(TempDir::new().expect("there is a place for temporary files"))
    }

    fn file(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("temporary files have plain names").to_owned()
    }

    /// Returns the machine file, and the scenario file that names it.
    fn scenario(&self) -> (String, String) {
        let machine = self.with("four.toml", MACHINE);
        let scenario = self.with("app.scn", &SCENARIO.replace("FOUR", &machine));
        (machine, scenario)
    }

    fn with(&self, name: &str, text: &str) -> String {
        let path = self.file(name);
        std::fs::write(&path, text).expect("it can be written");
        path
    }
}

#[test]
fn a_run_that_is_exported_and_replayed_as_recorded_is_the_same_run() {
    let place = TestDir::new();
    let ((machine, scenario), trace) = (place.scenario(), place.file("trace.dat"));
    stdout_of(&["run", &scenario, "--prices", "zero", "--export", &format!("trace-dat={trace}")]);
    let replayed = json_of(&["replay", &trace, "--as-recorded", "--machine", &machine, "--json"]);
    let of = |key: &str| replayed[key].as_f64().expect("a number");
    assert!(of("run_off_percent") < 0.1, "{}", replayed["largest"]);
    assert_eq!(replayed["all"]["tasks"], 9);
    let text = stdout_of(&["replay", &trace, "--as-recorded", "--machine", &machine]);
    assert!(text.contains("fidelity: ") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let elsewhere = json_of(&["replay", &trace, "--recorded-on", &machine, "--machine", "hikey960", "--json"]);
    assert_eq!(elsewhere["machine"], "hikey960");
    assert!(number(&elsewhere["all"]["run_ns"]["simulated"]) > 0);
}

#[test]
fn an_import_is_a_workload_for_other_commands_and_says_what_is_missing() {
    let place = TestDir::new();
    let ((_, scenario), trace) = (place.scenario(), place.file("trace.txt"));
    stdout_of(&["run", &scenario, "--prices", "zero", "--export", &format!("ftrace={trace}")]);
    let workload = place.file("app.rec");
    let text = stdout_of(&["import", &trace, "-o", &workload]);
    assert!(text.contains("sched_switch") && text.contains("no machine was given"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let summary = json_of(&["run", &workload, "--json"]);
    assert_eq!(summary["run"]["kind"], "recorded");
    stdout_of(&["run", &workload, "--machine", "hikey960"]);
    let findings = json_of(&["findings", &trace, "--latency", "1us", "--json"]);
    assert_eq!(findings[0]["explain"], serde_json::Value::Null, "a trace cannot be explained");
}

#[test]
fn what_is_no_trace_is_refused_with_the_way_out() {
    let place = TestDir::new();
    for (name, text) in [("empty", ""), ("json", "{}"), ("text", "hello\n"), ("dat", "\u{17}\u{8}Dtracing6\0")] {
        let path = place.with(name, text);
        let message = complaint(name, &fairlab(&["import", &path]));
        assert!(message.contains("help: ") && message.contains(name), "{message}");
    }
    let message = complaint("pipe", &fairlab(&["import", "crates/cli/tests/data/cases/perf-pipe.data"]));
    assert!(message.contains("pipe mode") && message.contains("perf script -i"), "{message}");
    complaint("nothing", &fairlab(&["replay", &place.file("nothing")]));
    complaint("no machine", &fairlab(&["machine", "capture", &place.with("x.json", "{}")]));
}

#[test]
fn a_directory_is_named_with_the_command_that_makes_a_trace_of_it() {
    let place = TestDir::new();
    let make = |name: &str, files: &[&str]| {
        let directory = place.file(name);
        std::fs::create_dir_all(&directory).expect("it can be made");
        files.iter().for_each(|file| drop(place.with(&format!("{name}/{file}"), "")));
        directory
    };
    let run = place.file("run");
    let (_, scenario) = place.scenario();
    stdout_of(&["run", &scenario, "--prices", "zero", "-o", &run]);
    make("session/kernel", &["metadata", "channel0_0"]);
    make("session/ust/uid/0/64-bit", &["metadata"]);
    for (directory, message, help) in [
        (place.file("session"), "CTF trace (LTTng) in", "session/kernel >trace.txt"),
        (place.file("session/kernel"), "is a CTF trace (LTTng)", "babeltrace2 --clock-seconds"),
        (make("threads", &["header", "data", "data.0", "data.1"]), "perf record --threads", "perf script -i"),
        (make("other", &["trace.dat"]), "is a directory without a trace", "other/trace.dat"),
        (make("none", &[]), "is a directory without a trace", "which is a file"),
        (run, "is a directory, not a trace", "--format trace-dat"),
    ] {
        for command in ["import", "replay", "findings"] {
            if command == "findings" && message == "is a directory, not a trace" {
                continue;
            }
            let text = complaint(command, &fairlab(&[command, &directory])).replace("\n  ", " ");
            assert!(text.contains(message) && text.contains(help), "{command}: {text}");
        }
    }
}

#[test]
fn a_trace_is_named_where_a_run_directory_is_expected() {
    let place = TestDir::new();
    let ((_, scenario), trace) = (place.scenario(), place.file("trace.dat"));
    stdout_of(&["run", &scenario, "--prices", "zero", "--export", &format!("trace-dat={trace}")]);
    for words in [
        &["report", "-o", "page.html"][..],
        &["explain", "--task", "nap", "--at", "1ms"],
        &["export", "--format", "perf"],
    ] {
        let text = complaint(words[0], &fairlab(&[&[words[0], &trace], &words[1..]].concat())).replace("\n  ", " ");
        assert!(text.contains("is a file, not a directory of a run") && text.contains("fairlab import"), "{text}");
    }
}

#[test]
fn a_trace_with_a_time_stamp_that_leaps_is_rejected_or_read_without_it() {
    let place = TestDir::new();
    let ((_, scenario), trace) = (place.scenario(), place.file("trace.txt"));
    stdout_of(&["run", &scenario, "--prices", "zero", "--export", &format!("ftrace={trace}")]);
    let text = std::fs::read_to_string(&trace).expect("it was written");
    let mut lines: Vec<&str> = text.lines().collect();
    let half = lines.len() / 2;
    let middle = half + lines[half..].iter().position(|line| line.contains(" sched_switch: ")).expect("a switch");
    // The time precedes the first colon.
    let (head, rest) = lines[middle].split_once(": ").expect("the line of an event");
    let (head, time) = head.rsplit_once(' ').expect("a blank precedes the time");
    let damaged = format!("{head} 281474{time}: {rest}");
    lines[middle] = &damaged;
    let damaged = place.with("damaged.txt", &lines.join("\n"));
    for command in ["import", "replay", "findings"] {
        let message = complaint(command, &fairlab(&[command, &damaged]));
        assert!(message.contains(&format!("line {}: a time stamp leaps", middle + 1)), "{message}");
        assert!(message.contains("--leaps drop"), "{message}");
        stdout_of(&[command, &damaged, "--leaps", "drop"]);
    }
    let (whole, rest) =
        (json_of(&["import", &trace, "--json"]), json_of(&["import", &damaged, "--leaps", "drop", "--json"]));
    assert_eq!(rest["length_ns"], whole["length_ns"]);
    assert_eq!(rest["problems"]["events whose time stamps leap, which are left out"]["count"], 1);
    assert!(number(&json_of(&["import", &damaged, "--leaps", "keep", "--json"])["length_ns"]) > 1 << 40);
}

#[test]
fn a_captured_machine_runs() {
    let place = TestDir::new();
    let cpu = |cpu: u32| format!("{{\"cpu\": {cpu}, \"socket\": 0, \"core\": {cpu}, \"online\": true}}");
    let saved = place.with("lscpu.json", &format!("{{\"cpus\": [{}, {}]}}", cpu(0), cpu(1)));
    let machine = place.file("mine.toml");
    stdout_of(&["machine", "capture", &saved, "--name", "mine", "-o", &machine]);
    assert!(stdout_of(&["machine", "show", &machine]).contains("mine"));
    stdout_of(&["run", "scenarios/hello.json", "--machine", &machine, "--for", "20ms"]);
}

#[test]
fn a_machine_s_own_governor_threads_stand_for_recorded_ones() {
    let place = TestDir::new();
    let trace = place.file("trace.txt");
    let board = ["--machine", "hikey960", "--for", "300ms", "--prices", "zero"];
    let export = format!("ftrace={trace}");
    let run: Vec<&str> = ["run", "scenarios/hello.json", "--export", &export].into_iter().chain(board).collect();
    stdout_of(&run);
    let replay = |more: &[&str]| {
        let words = [&["replay", trace.as_str(), "--as-recorded", "--machine", "hikey960", "--json"], more].concat();
        json_of(&words)
    };
    let says_so = |replayed: &serde_json::Value| {
        replayed["notes"].to_string().contains("threads of schedutil (sugov:N) are left out")
    };
    let replayed = replay(&[]);
    assert!(says_so(&replayed), "{}", replayed["notes"]);
    let family =
        items(&replayed["families"]).iter().find(|family| family["name"] == "sugov:0").expect("it was recorded");
    assert_eq!(number(&family["tasks"]), 1);
    assert!(number(&family["switches"]["simulated"]) > 0, "the machine's own: {family}");
    assert!(!says_so(&replay(&["--governor", "performance"])), "this machine has none");
    let text = stdout_of(&["replay", &trace, "--as-recorded", "--machine", "hikey960"]);
    assert!(text.contains("threads of schedutil"), "{text}");
}
