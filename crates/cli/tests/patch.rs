// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of engines that are built from patches, and of `fairlab patch`, with Debian's 6.1. Without this tree or a
//! compiler they are ignored.

#[path = "it/common/mod.rs"]
mod common;
#[path = "../../kernel/tests/common/requirement.rs"]
mod requirement;

use common::{assert_valid, program, validator};
use fairlab_kernel::tree::TreeSource;
use requirement::{Requirement, named};
use serde_json::Value;
use similar::TextDiff;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::LazyLock;
use std::time::Duration;
use std::{fs, thread};

const SOURCE: &str = "debian:6.1";
const FAIR: &str = "kernel/sched/fair.c";

/// Returns the store that is shared with the tests of `fairlab-kernel`.
fn kept() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_TARGET_TMPDIR"), "/kernels"))
}

fn with_store(store: &Path, args: &[&str]) -> Output {
    program().args(args).env("FAIRLAB_KERNELS", store).output().expect("the program starts")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout))
}

/// Reason why no engine can be built here.
static NO_ENGINE: LazyLock<Option<String>> = LazyLock::new(|| {
    let built = with_store(&kept(), &["kernel", "add", "under-test", "--source", SOURCE]);
    let message_text = text(&built);
    let unsupported = ["is not there", "install"].iter().any(|word| message_text.contains(word));
    assert!(built.status.success() || unsupported, "{message_text}");
    (!built.status.success()).then(|| message_text.lines().next().unwrap_or_default().to_owned())
});

/// Writes a patch that replaces a text in files of the tree, and returns its path.
fn patch_file(folder: &Path, name: &str, files: &[&str], from: &str, to: &str) -> String {
    let source = TreeSource::parse(SOURCE).unwrap_or_else(|error| panic!("{error}"));
    let tree = source.folder(&kept()).unwrap_or_else(|error| panic!("{error}"));
    let mut patch = String::new();
    for file in files {
        let old = fs::read_to_string(tree.join(file)).expect("the tree has the file");
        assert!(old.contains(from), "{file}: {from}");
        let new = old.replace(from, to);
        let diff = TextDiff::from_lines(&old, &new);
        patch += &diff.unified_diff().header(&format!("a/{file}"), &format!("b/{file}")).to_string();
    }
    let path = folder.join(name);
    fs::write(&path, patch).expect("written");
    path.display().to_string()
}

/// Compares the tree with a patch, and returns the exit status and the output.
fn compare(patch: &str, options: &[&str]) -> (Option<i32>, String) {
    let words = ["patch", SOURCE, "--patch", patch, "--runs", "1"];
    let output = with_store(&kept(), &[&words, options].concat());
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn an_engine_has_the_requested_contents_whatever_failed_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store");
    let of_fair = |name: &str, from: &str, to: &str| patch_file(folder.path(), name, &[FAIR], from, to);
    let slices = of_fair(
        "slices.diff",
        "normalized_sysctl_sched_min_granularity\t= 750000ULL",
        "normalized_sysctl_sched_min_granularity = 1ULL",
    );
    let typo = of_fair("typo.diff", "static unsigned int sched_nr_latency", "static unsigned int int sched_nr_latency");
    let comment =
        of_fair("comment.diff", "static int sched_idle_cpu(int cpu)", "/* why */\nstatic int sched_idle_cpu(int cpu)");
    let add = |store: &Path, name: &str, patch: &str| {
        with_store(store, &["--json", "kernel", "add", name, "--source", SOURCE, "--patch", patch])
    };
    let object = |store: &Path, added: &Output| {
        let entry: Value = serde_json::from_slice(&added.stdout).unwrap_or_else(|_| panic!("{}", text(added)));
        fs::read(store.join("objects").join(entry["key"].as_str().expect("a key")).join("engine.so"))
            .expect("an object")
    };
    let patched = object(&store, &add(&store, "x", &slices));
    let failed = add(&store, "x", &typo);
    assert_eq!(failed.status.code(), Some(2), "{}", text(&failed));
    assert!(text(&failed).contains("line numbers of kernel/sched/fair.c are those of the file as patched"));
    let commented = object(&store, &add(&store, "x", &comment));
    let empty = folder.path().join("different-store");
    assert!(commented == object(&empty, &add(&empty, "y", &comment)), "the object of an empty store");
    assert!(commented != patched);
    // An object without dates, folders and names is reused under any name.
    let again = add(&store, "z", &comment);
    let entry: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(entry["is_new"], false, "{entry}");
}

fn costs_follow_a_rename_and_go_to_the_caller_of_a_function_that_one_kernel_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = [FAIR, "kernel/sched/core.c", "kernel/sched/sched.h", "include/linux/sched.h"];
    let rename = patch_file(folder.path(), "rename.diff", &files, "available_idle_cpu", "idle_and_free_cpu");
    let options = ["--json", "--no-coverage", "--only", "xeon-2s-104"];
    let report = |patch: &str, options: &[&str]| {
        let (status, stdout) = compare(patch, options);
        let report: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{status:?}: {stdout}"));
        assert_valid(&validator("patch"), &report, "a comparison");
        report
    };
    let identical = |report: &Value| {
        let outcomes = report["outcomes"].as_array().expect("cases");
        outcomes.iter().filter(|outcome| outcome["comparison"]["identical"][0] == true).count()
    };
    let renamed = report(&rename, &options);
    assert_eq!((identical(&renamed), &renamed["uncommon_costs"]), (3, &Value::Array(Vec::new())));

    // A different body is a different function.
    let body = "static int has_only_idle_tasks(int cpu)\n{\n\tstruct rq *rq = cpu_rq(cpu);\n\n\treturn sched_idle_rq(rq);\n}\n\n\
                #define sched_idle_cpu(cpu) has_only_idle_tasks(cpu)\n\nstatic __maybe_unused int other_idle_cpu(int cpu)";
    let removed = patch_file(folder.path(), "removed.diff", &[FAIR], "static int sched_idle_cpu(int cpu)", body);
    let found = report(&removed, &options);
    assert_eq!(identical(&found), 3, "{found}");
    let uncommon = &found["uncommon_costs"][0];
    assert_eq!((&uncommon["function"], &uncommon["kernels"][0]), (&"sched_idle_cpu".into(), &"base".into()));
    assert_eq!(uncommon["charged_to"], "find_idlest_group_cpu");
    let counted = report(&removed, &[&options[..], &["--costs", "counted"]].concat());
    assert!(identical(&counted) < 3, "{counted}");
    assert_eq!(counted["uncommon_costs"], Value::Array(Vec::new()));
}

fn a_warning_of_the_patched_kernel_alone_leads_the_report_and_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let patch = patch_file(folder.path(), "clock.diff", &[FAIR], "\t\tupdate_rq_clock(busiest);\n", "");
    let (status, page) = compare(&patch, &["--only", "hikey"]);
    assert_eq!(status, Some(1), "{page}");
    let lines: Vec<&str> = page.lines().collect();
    let warning = lines.iter().position(|line| line.starts_with("WARNING only in patched: at kernel/sched/sched.h:"));
    let warning = warning.filter(|line| *line < 5).unwrap_or_else(|| panic!("{page}"));
    assert!(lines[warning].contains("rq->clock_update_flags"), "{page}");
    assert!(lines[warning + 1].contains("assert_clock_updated at kernel/sched/sched.h:"), "{page}");
    assert!(
        lines[warning + 2..warning + 12].iter().any(|line| line.contains("    detach_tasks at kernel/sched/fair.c:"))
    );
    assert!(page.contains("the one changed statement was reached"), "a removed line: {page}");
}

fn a_wakeup_that_only_the_patched_kernel_loses_leads_the_report_and_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let queue = "\tif (ttwu_queue_wakelist(p, cpu, wake_flags))\n";
    let lose = format!("\tstatic int nr;\n\n\tif (++nr == 300)\n\t\treturn;\n{queue}");
    let patch = patch_file(folder.path(), "lost.diff", &["kernel/sched/core.c"], queue, &lose);
    let (status, page) = compare(&patch, &["--only", "uniprocessor", "--no-coverage", "--differences", "0"]);
    assert_eq!(status, Some(1), "{page}");
    let third = page.lines().nth(2).unwrap_or_default();
    assert!(
        third.starts_with("LOST WAKE-UP only in patched: ") && third.ends_with(" is on no runqueue after its wake-up")
    );
    assert!(page.contains("in 2 of 2 cases; first: uniprocessor, "), "{page}");
}

fn an_interrupted_comparison_reports_the_cases_that_were_run() {
    let mut command = program();
    command.args(["patch", "kernel:under-test", "kernel:under-test"]).env("FAIRLAB_KERNELS", kept());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("it is a pipe"));
    let mut line = String::new();
    while !line.contains("cases; the first one") {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("text") > 0, "the first case ends");
    }
    thread::sleep(Duration::from_secs(2));
    let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    let mut page = String::new();
    child.stdout.take().expect("it is a pipe").read_to_string(&mut page).expect("text");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130), "{page}");
    assert!(page.contains("stopped after ") && page.contains(" of 30 cases"), "{page}");
    assert!(page.lines().any(|line| line.starts_with("uniprocessor  rt-app mix")), "{page}");
}

fn main() -> ExitCode {
    let engine = Requirement { name: "linux-source-6.1", missing: || NO_ENGINE.clone() };
    requirement::run(engine.trials(named![
        an_engine_has_the_requested_contents_whatever_failed_before,
        costs_follow_a_rename_and_go_to_the_caller_of_a_function_that_one_kernel_has,
        a_warning_of_the_patched_kernel_alone_leads_the_report_and_fails,
        a_wakeup_that_only_the_patched_kernel_loses_leads_the_report_and_fails,
        an_interrupted_comparison_reports_the_cases_that_were_run,
    ]))
}
