// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of `fairlab sweep`: interruption, shards, and messages for errors.

use crate::common::program;
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

const PLAN: &str = "workload = 'w.scn'\nmetrics = ['totals.switches', 'totals.wait_ns']\nseeds = 5\nvary = true\n\
    [grid]\nbase_slice_ns = [3000000, 6000000, 12000000]\nWA_WEIGHT = [true, false]\n";
const WORKLOAD: &str = "cpus 4\nend 200ms\ntask t n=6 run 2ms sleepx 3ms\ntask hog n=2 run 1s\n";

fn in_directory(directory: &Path, args: &[&str]) -> Output {
    program().current_dir(directory).args(args).output().expect("the program starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the standard output of a successful command.
fn stdout_in(directory: &Path, args: &[&str]) -> String {
    let output = in_directory(directory, args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).expect("output is text")
}

fn planned() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    fs::write(directory.path().join("plan.toml"), PLAN).expect("there is room");
    fs::write(directory.path().join("w.scn"), WORKLOAD).expect("there is room");
    directory
}

#[test]
fn a_sweep_that_is_killed_again_and_again_ends_with_the_table_of_one_that_was_not() {
    let (whole, killed) = (planned(), planned());
    let summary = stdout_in(whole.path(), &["sweep", "plan.toml"]);
    assert!(summary.contains("30 of 30 points are done, 30 of them now"), "{summary}");
    let table = stdout_in(whole.path(), &["sweep", "export", "plan.sweep"]);
    assert_eq!(table.lines().count(), 31);
    assert!(table.starts_with("WA_WEIGHT,base_slice_ns,seed,totals.switches,totals.wait_ns,digest\n"), "{table}");
    // Different delays, so that the process is killed before, during and after writing.
    let mut kills = 0;
    for moment in 0..40_u64 {
        let mut command = program();
        command.current_dir(killed.path()).args(["sweep", "plan.toml", "--jobs", "1"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
        std::thread::sleep(Duration::from_millis(5 + moment * 37 % 60));
        let is_done = child.try_wait().expect("it can be asked").is_some();
        child.kill().expect("it can be killed");
        child.wait().expect("it has ended");
        kills += usize::from(!is_done);
        if is_done {
            break;
        }
    }
    assert!(kills > 0, "it was too fast to be killed");
    let rest = stdout_in(killed.path(), &["sweep", "plan.toml"]);
    assert!(rest.contains("30 of 30 points are done"), "{rest}");
    assert_eq!(stdout_in(killed.path(), &["sweep", "export", "plan.sweep"]), table);
}

#[test]
fn a_dry_run_tells_what_there_is_to_do_and_makes_no_store() {
    let directory = planned();
    let text = stdout_in(directory.path(), &["sweep", "plan.toml", "--dry-run"]);
    assert!(text.starts_with("30 points over WA_WEIGHT, base_slice_ns; 0 are done, 30 to do\nabout "), "{text}");
    assert!(!directory.path().join("plan.sweep").exists());
    stdout_in(directory.path(), &["sweep", "plan.toml", "--shard", "1/2"]);
    let text = stdout_in(directory.path(), &["sweep", "plan.toml", "--dry-run"]);
    assert!(text.contains("the mean of the "), "{text}");
}

#[test]
fn shards_in_stores_of_their_own_merge_to_the_whole() {
    let directory = planned();
    let at = directory.path();
    stdout_in(at, &["sweep", "plan.toml"]);
    for shard in ["1/2", "2/2"] {
        stdout_in(at, &["sweep", "plan.toml", "--shard", shard, "--store", &format!("{}.sweep", &shard[..1])]);
    }
    stdout_in(at, &["sweep", "merge", "-o", "all.sweep", "1.sweep", "2.sweep"]);
    let table = |store: &str| stdout_in(at, &["sweep", "export", store]);
    assert_eq!(table("all.sweep"), table("plan.sweep"));
    stdout_in(at, &["sweep", "export", "all.sweep", "-o", "all.jsonl"]);
    let lines = fs::read_to_string(at.join("all.jsonl")).expect("it was written");
    assert!(lines.lines().count() == 30 && lines.starts_with('{'), "{lines}");
}

#[test]
fn a_changed_plan_or_workload_runs_what_is_new() {
    let directory = planned();
    let at = directory.path();
    stdout_in(at, &["sweep", "plan.toml"]);
    let again = stdout_in(at, &["sweep", "plan.toml"]);
    assert!(again.contains("30 of 30 points are done, 0 of them now"), "{again}");
    fs::write(at.join("plan.toml"), PLAN.replace("seeds = 5", "seeds = 6")).expect("there is room");
    let more = stdout_in(at, &["sweep", "plan.toml"]);
    assert!(more.contains("36 of 36 points are done, 6 of them now"), "{more}");
    fs::write(at.join("w.scn"), WORKLOAD.replace("n=6", "n=7")).expect("there is room");
    let other = stdout_in(at, &["sweep", "plan.toml"]);
    assert!(other.contains("36 of 36 points are done, 36 of them now; 36 more are stored"), "{other}");
}

#[test]
fn a_metric_that_no_run_tells_is_refused_before_anything_is_run() {
    let directory = planned();
    let at = directory.path();
    let with = |metric: &str| {
        fs::write(at.join("plan.toml"), PLAN.replace("'totals.wait_ns'", &format!("'{metric}'")))
            .expect("there is room");
    };
    with("families[name=t].wake_to_run.p999_ns");
    for args in [&["sweep", "plan.toml"] as &[&str], &["sweep", "plan.toml", "--dry-run"]] {
        let output = in_directory(at, args);
        let text = stderr(&output).replace("\n  ", " ");
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains("has no `p999_ns`") && text.contains("p99_ns"), "{args:?}: {text}");
        assert!(!at.join("plan.sweep").exists(), "nothing was run");
    }
    // A metric that only a full run has is accepted.
    fs::write(at.join("w.scn"), "cpus 1\nend 200ms\ntask hog n=2 sleep 50ms run 10ms\n").expect("there is room");
    with("families[name=hog].wake_to_run.p99_ns");
    let summary = stdout_in(at, &["sweep", "plan.toml"]);
    assert!(summary.contains("30 of 30 points are done, 30 of them now\n"), "{summary}");
    let refused = in_directory(at, &["sweep", "export", "plan.sweep", "-o", "table.xlsx"]);
    assert!(refused.status.code() == Some(2) && stderr(&refused).contains(".csv, .jsonl"), "{}", stderr(&refused));
    assert!(!at.join("table.xlsx").exists());
    let refused = in_directory(at, &["sweep", "export", "plan.sweep", "--json"]);
    assert!(refused.status.code() == Some(2) && stderr(&refused).contains("--format jsonl"), "{}", stderr(&refused));
}

#[test]
fn failures_are_reported_and_no_result_is_lost() {
    let directory = planned();
    let at = directory.path();
    stdout_in(at, &["sweep", "plan.toml"]);
    let wrong = |args: &[&str], expected: &str| {
        let output = in_directory(at, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        let text = stderr(&output).replace("\n  ", " ");
        assert!(text.contains(expected) && text.contains("help: "), "{args:?}: {text}");
    };
    wrong(&["sweep", "none.toml"], "none.toml: cannot be read");
    wrong(&["sweep", "plan.toml", "--store", "no/such/place.sweep"], "cannot be opened");
    wrong(&["sweep", "plan.toml", "--store", "w.scn"], "is not the store of a sweep");
    wrong(&["sweep", "export", "none.sweep"], "cannot be opened");
    fs::write(at.join("bad.toml"), PLAN.replace("WA_WEIGHT", "WA_WEIGT")).expect("there is room");
    wrong(&["sweep", "bad.toml"], "WA_WEIGHT");
    // The names of all points are checked, not only those of the first.
    let kernels = "kernel = ['6.12', '6.1']\nbase_slice_ns";
    fs::write(at.join("bad.toml"), PLAN.replace("base_slice_ns", kernels)).expect("there is room");
    wrong(&["sweep", "bad.toml"], "kernel=6.1: --set base_slice_ns=3000000: 6.1 has no such tunable");
    assert!(!at.join("bad.sweep").exists(), "nothing was run");
    fs::write(at.join("bad.toml"), "bench = 'hackbench -g {groups}'\n").expect("there is room");
    wrong(&["sweep", "bad.toml"], "{groups}");
    let mut bytes = fs::read(at.join("plan.sweep")).expect("it is there");
    let table = stdout_in(at, &["sweep", "export", "plan.sweep"]);
    // Text in a page of the file may be unused; the first used occurrence is damaged.
    let places: Vec<usize> = (0..bytes.len() - 6).filter(|place| &bytes[*place..place + 6] == b"digest").collect();
    let is_used = |place: &usize| {
        bytes[place + 12] ^= 1;
        fs::write(at.join("damaged.sweep"), &bytes).expect("there is room");
        bytes[place + 12] ^= 1;
        !in_directory(at, &["sweep", "export", "damaged.sweep"]).status.success()
    };
    assert!(places.iter().any(is_used), "a result has a digest");
    wrong(&["sweep", "plan.toml", "--store", "damaged.sweep"], "--salvage");
    stdout_in(at, &["sweep", "merge", "--salvage", "-o", "new.sweep", "damaged.sweep"]);
    let rest = stdout_in(at, &["sweep", "plan.toml", "--store", "new.sweep"]);
    assert!(rest.contains("30 of 30 points are done, 1 of them now"), "{rest}");
    assert_eq!(stdout_in(at, &["sweep", "export", "new.sweep"]), table);
}

#[test]
fn facts_of_the_processor_are_settings_of_a_plan() {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let plan = "bench = 'hackbench -g 1 -f 2 -l 20'\nmetrics = ['totals.switches']\n\
        [grid]\n'fact.instructions_per_us' = ['least', 1180, 'greatest']\n";
    fs::write(directory.path().join("plan.toml"), plan).expect("there is room");
    stdout_in(directory.path(), &["sweep", "plan.toml"]);
    let table = stdout_in(directory.path(), &["sweep", "export", "plan.sweep"]);
    let column = |place: usize| -> Vec<&str> {
        let cells = table.lines().map(|line| line.split(',').nth(place).unwrap_or_else(|| panic!("{table}")));
        cells.collect()
    };
    assert_eq!(column(0), ["fact.instructions_per_us", "least", "1180", "greatest"]);
    let digests: std::collections::BTreeSet<&str> = column(3).into_iter().collect();
    assert_eq!(digests.len(), 4, "each speed has its own digest: {table}");
}
