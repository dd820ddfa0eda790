// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of traces for other tools.

use crate::common::{complaint, fairlab, json_of, stdout_of};
use std::path::Path;
use tempfile::TempDir;

const SCENARIO: &str = "scenarios/eight-cpus.scn";

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary files have plain names")
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_kept_run_is_exported_as_it_was_when_it_ran() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let dir = place.path().join("run");
    let formats = ["perfetto", "chrome", "trace-dat", "trace-dat-7", "ftrace", "perf"];
    let wanted: Vec<String> = formats.iter().map(|format| format!("--export={format}={format}.then")).collect();
    let mut run = vec!["run", SCENARIO, "--json", "-o", text(&dir)];
    run.extend(wanted.iter().map(String::as_str));
    let (traced, plain) = (json_of(&run), json_of(&["run", SCENARIO, "--json"]));
    assert_eq!(traced["digest"], plain["digest"], "traces change nothing");
    for format in formats {
        let later = place.path().join("later");
        let answer = json_of(&["export", text(&dir), "--format", format, "-o", text(&later), "--json"]);
        assert_eq!((&answer["digest_matches"], &answer["digest"]), (&true.into(), &plain["digest"]));
        assert_eq!(read(&later), read(&dir.join(format!("{format}.then"))), "{format}");
    }
}

#[test]
fn a_trace_on_standard_output_has_only_the_events_that_were_asked_for() {
    let place = TempDir::new().expect("there is a place for temporary files");
    stdout_of(&["run", SCENARIO, "-o", text(place.path())]);
    let trace = stdout_of(&["export", text(place.path()), "-f", "ftrace", "-o", "-", "--events", "sched"]);
    let mut events = trace.lines().filter(|line| !line.starts_with('#'));
    assert!(events.all(|line| line.contains(": sched_") || line.contains(": task_rename")));
    assert!(trace.contains("sched_waking: "), "{trace}");
}

#[test]
fn each_arm_of_a_comparison_has_a_trace_of_its_own() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let export = format!("ftrace={}/it.txt", text(place.path()));
    stdout_of(&["compare", SCENARIO, "--arm", "NO_SIS_UTIL", "--export", &export]);
    let [before, after] = ["it-unchanged.txt", "it-NO_SIS_UTIL.txt"].map(|name| read(&place.path().join(name)));
    assert!(before.starts_with(b"# tracer: nop") && after.starts_with(b"# tracer: nop"));
}

#[test]
fn a_benchmark_is_exported_as_one_process() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let export = format!("ftrace={}/it.txt", text(place.path()));
    stdout_of(&["bench", "hackbench", "-g", "1", "-l", "5", "--export", &export]);
    let trace = String::from_utf8(read(&place.path().join("it.txt"))).expect("a trace is text");
    assert!(trace.contains("sched_process_fork: comm=hackbench pid=999 "), "the benchmark starts its tasks");
}

#[test]
fn what_cannot_be_exported_is_refused_with_a_way_out() {
    let refused = |args: &[&str]| complaint(&args.join(" "), &fairlab(args));
    assert!(refused(&["run", SCENARIO, "--export", "perfeto=x"]).contains("perfetto"));
    assert!(refused(&["run", SCENARIO, "--export", "perfetto"]).contains("FORMAT=FILE"));
    assert!(refused(&["run", SCENARIO, "--events", "sched"]).contains("--export FORMAT=FILE"));
    let twice = refused(&["compare", SCENARIO, "--arm", "NO_SIS_UTIL", "--export", "ftrace=-"]);
    assert!(twice.contains("standard output"), "{twice}");
    let nowhere = refused(&["run", SCENARIO, "--export", "ftrace=/nowhere/to/be/found.txt"]);
    assert!(nowhere.contains("/nowhere/to/be/found.txt: cannot be written"), "{nowhere}");
    assert!(refused(&["export", "scenarios", "-f", "perf"]).contains("fairlab run FILE -o DIR"));
}

#[test]
fn sched_domains_are_printed_in_the_format_of_debugfs() {
    let text = stdout_of(&["machine", "domains", "hikey960", "--cpu", "5"]);
    for line in [
        "cpu5/domain0/name:MC",
        "cpu5/domain0/span:f0 (4-7)",
        "cpu5/domain1/span:ff (0-7)",
        "cpu5/domain1/imbalance_pct:117",
        "cpu5/domain1/groups:4-7=4096 0-3=1848",
    ] {
        assert!(text.lines().any(|own| own == line), "{line} is missing:\n{text}");
    }
    let all = json_of(&["machine", "domains", "hikey960", "--json"]);
    assert_eq!(all.as_array().map(Vec::len), Some(16));
    let refused = complaint("no such CPU", &fairlab(&["machine", "domains", "hikey960", "--cpu", "8"]));
    assert!(refused.contains("from 0 to 7"), "{refused}");
}
