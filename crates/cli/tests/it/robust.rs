// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests with unusual conditions: odd names, pipes instead of files, signals, full devices, tasks without
//! progress.

use crate::common::{complaint, fairlab, fairlab_with_input, json_of, number, program, stdout_of};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const HELLO: &str = "scenarios/hello.json";

/// Returns the output with wrapped lines joined.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\n  ", " ")
}

fn manifest(directory: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(directory.join("manifest.json")).expect("a run is there"))
        .expect("it is JSON")
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("the directory is there");
    entries.map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(unix)]
#[test]
fn a_directory_whose_name_is_no_text_is_one_as_any_other() {
    use std::os::unix::ffi::OsStrExt;
    let place = tempfile::tempdir().expect("there is room for temporary files");
    let directory = place.path().join(std::ffi::OsStr::from_bytes(b"run\xff"));
    let run = program().args(["run", HELLO, "--for", "10ms", "-o"]).arg(&directory).output().expect("it starts");
    assert!(run.status.success(), "{}", text(&run.stderr));
    let asked =
        program().arg("explain").arg(&directory).args(["--cpu", "0", "--at", "5ms"]).output().expect("it starts");
    assert!(asked.status.success(), "{}", text(&asked.stderr));
}

#[cfg(unix)]
#[test]
fn a_machine_from_a_pipe_is_read_once_and_kept_whole() {
    let place = tempfile::tempdir().expect("there is room for temporary files");
    let (pipe, run) = (place.path().join("board.toml"), place.path().join("run"));
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("there is mkfifo").success());
    let mut child = program()
        .args(["run", HELLO, "--for", "10ms", "--machine"])
        .arg(&pipe)
        .arg("-o")
        .arg(&run)
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let machine = stdout_of(&["machine", "show", "--toml", "hikey"]);
    std::fs::write(&pipe, &machine).expect("the program reads the pipe");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(std::fs::read_to_string(run.join("inputs/machine.toml")).expect("it was kept"), machine);
}

#[cfg_attr(not(unix), ignore = "there is no /dev/zero")]
#[test]
fn a_file_without_an_end_is_refused() {
    for args in [&["run", HELLO, "--machine", "/dev/zero"][..], &["run", "/dev/zero"]] {
        let message_text = complaint("a file without an end", &fairlab(args));
        assert!(message_text.contains("/dev/zero") && message_text.contains("longer than"), "{message_text}");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_run_with_what_it_has_reached_and_marks_it() {
    let place = tempfile::tempdir().expect("there is room for temporary files");
    let run = place.path().join("run");
    let child = program()
        .args(["run", HELLO, "--for", "1000000s", "-o"])
        .arg(&run)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    // The hidden directory is there as soon as the run is about to begin.
    let start = Instant::now();
    while names(place.path()).is_empty() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    assert!(!run.exists(), "a run that goes on has no directory yet");
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("there is kill").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(128 + 15));
    let summary = text(&output.stdout).replace("\n  ", " ");
    assert!(summary.contains(", stopped before the end"), "{summary}");
    let manifest = manifest(&run);
    assert_eq!(number(&manifest["result"]["cut_short_of_ns"]), 1_000_000_000_000_000);
    assert!(number(&manifest["result"]["duration_ns"]) < 1_000_000_000_000_000);
    assert_eq!(names(place.path()), ["run"]);
    // A stopped run can be repeated and explained up to its end.
    let asked = program().arg("explain").arg(&run).args(["--cpu", "0", "--at", "5ms"]).output().expect("it starts");
    assert!(asked.status.success() && asked.stderr.is_empty(), "{}", text(&asked.stderr));
}

#[cfg_attr(not(target_os = "linux"), ignore = "there is no /dev/full")]
#[test]
fn a_directory_that_cannot_be_written_is_a_run_that_failed() {
    let place = tempfile::tempdir().expect("there is room for temporary files");
    let mut command = program();
    command.args(["run", HELLO, "--for", "10ms", "--trace-jsonl", "/dev/full", "-o"]).arg(place.path().join("run"));
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(names(place.path()).is_empty(), "nothing is left of it");
}

#[test]
fn tasks_that_wait_for_each_other_for_ever_are_named() {
    let itself = br#"{"tasks":{"a":{"lock":"m","lock2":"m","run":1000}},"global":{"duration":1}}"#;
    let checked = fairlab_with_input(&["check", "-"], itself);
    assert_eq!(checked.status.code(), Some(1));
    assert!(text(&checked.stderr).contains("deadlock") && text(&checked.stderr).contains("holds itself"));
    let cross = br#"{"tasks":{
        "a":{"lock":"m","sleep":100,"lock2":"n","run":1000},
        "b":{"lock":"n","sleep":100,"lock2":"m","run":1000},
        "c":{"run":1000,"sleep":1000}},"global":{"duration":1}}"#;
    let run = fairlab_with_input(&["run", "-"], cross);
    let message_text = text(&run.stderr);
    assert!(run.status.success(), "{message_text}");
    assert!(
        message_text.contains("the mutex n, which b-1 holds") && message_text.contains("the mutex m, which a-0 holds"),
        "{message_text}"
    );
    assert!(!message_text.contains("c-2"), "{message_text}");
    let checked: Value =
        serde_json::from_slice(&fairlab_with_input(&["check", "-", "--json"], cross).stdout).expect("JSON");
    assert_eq!(checked["standstill"]["stuck"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_check_fails_if_tasks_wait_for_ever_while_others_run() {
    // Both tasks of each pair wait: a wake-up came while its target was about to block, and counted once.
    let asleep = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/asleep-after-lost-wakeups.scn");
    let checked = fairlab(&["check", asleep, "--json"]);
    assert_eq!(checked.status.code(), Some(1), "{}", text(&checked.stderr));
    assert!(text(&checked.stderr).contains("no task can wake these tasks"), "{}", text(&checked.stderr));
    let checked: Value = serde_json::from_slice(&checked.stdout).expect("JSON");
    assert_eq!(checked["standstill"]["stuck"].as_array().map(Vec::len), Some(320));
    assert_eq!(checked["standstill"]["stuck"][0]["waits_for"], "a task to wake it");

    let status = |tasks: &str| {
        let input = format!("cpus 2\nend 50ms\ntask tick loop every 1ms run 20us\n{tasks}");
        fairlab_with_input(&["check", "-"], input.as_bytes()).status.code()
    };
    assert_eq!(status("task a run 1ms wait\n"), Some(1));
    assert_eq!(status("task a run 1ms wait\ntask b loop sleep 5ms wake a\n"), Some(0));
    assert_eq!(status("task a run 1ms wait\ntask b sleep 10s wake a\n"), Some(0), "b wakes it after the end");
    assert_eq!(status("task a run 1ms wait wake b\ntask b run 1ms wait wake a\n"), Some(1), "each waits for the other");
    assert_eq!(status("task a run 1ms wait\ntask b start=40ms run 1ms wake a\n"), Some(0), "b starts later");

    let rt_app = |post: &str| {
        let input = format!(
            r#"{{"tasks":{{"a":{{"loop":1,"lock":"m","wait":{{"ref":"c","mutex":"m"}},"unlock":"m"}},
                "b":{{"loop":-1,"run":1000,"sleep":1000{post}}}}},"global":{{"duration":1}}}}"#
        );
        fairlab_with_input(&["check", "-"], input.as_bytes())
    };
    let checked = rt_app("");
    assert_eq!(checked.status.code(), Some(1), "{}", text(&checked.stderr));
    assert!(text(&checked.stderr).contains("the condition c"), "{}", text(&checked.stderr));
    let checked = rt_app(r#","signal":"c""#);
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stderr));
}

#[test]
fn a_run_warns_of_changes_and_limits_without_effect() {
    let warns = |scenario: &str, words: &[&str]| {
        let run = fairlab_with_input(&[&["run", "-"], words].concat(), scenario.as_bytes());
        text(&run.stderr).replace("\n  ", " ")
    };
    let scenario = "cpus 2\nend 20ms\ntask a run 1s\nnice 30ms a 5\noffline 1s 1\n";
    let warning = warns(scenario, &[]);
    assert!(warning.contains("2 changes have no effect, the first at 30ms: the run ends at 20ms"), "{warning}");
    let warning = warns(scenario, &["--for", "40ms"]);
    assert!(warning.contains("a change at 1s has no effect: the run ends at 40ms"), "{warning}");
    assert!(!warns(scenario, &["--for", "1s"]).contains("no effect"));
    let plain = "cpus 2\nend 20ms\ntask a run 1s\n";
    assert!(
        warns(plain, &["--idle-states", "1"]).contains("--idle-states 1 has no effect: scenario has no idle states")
    );
    assert!(warns(plain, &["--cpu-dma-latency", "5us"]).contains("latency of at most 5us has no effect"));
    assert!(!warns(plain, &[]).contains("no effect"));
}

#[test]
fn a_run_says_when_all_tasks_wait_and_which_never_ran() {
    let run =
        fairlab_with_input(&["run", "-"], b"cpus 1\nend 20ms\ntask a run 1ms wait\ntask b start=30ms run 1ms wake a\n");
    assert!(!text(&run.stderr).contains("stall:"), "b may still come: {}", text(&run.stderr));
    assert!(text(&run.stderr).contains("start after the end of the run: b"), "{}", text(&run.stderr));
    let run = fairlab_with_input(&["run", "-"], b"cpus 1\nend 20ms\ntask a run 1ms wait\n");
    assert!(text(&run.stderr).contains("a since 1ms for a task to wake it"), "{}", text(&run.stderr));
    let run = fairlab_with_input(&["run", "-"], b"cpus 1\nend 20ms\ntask a fifo=9 run 1s\ntask b run 1ms\n");
    assert!(text(&run.stderr).contains("never had a CPU: b"), "{}", text(&run.stderr));
}

#[test]
fn changes_that_the_kernel_rejects_are_reported() {
    let file = br#"{"tasks":{"a":{"run":1000,"sleep":1000}},"changes":["offline 10ms 0-7"],"global":{"duration":1}}"#;
    for command in ["run", "check"] {
        let done = fairlab_with_input(&[command, "-", "--machine", "hikey960"], file);
        let message_text = text(&done.stderr).replace("\n  ", " ");
        assert!(
            done.status.success() && message_text.contains("so nothing changed: CPU 7 offline at 10ms (EBUSY)"),
            "{message_text}"
        );
        let without = String::from_utf8_lossy(file).replace("0-7", "0-6");
        let done = fairlab_with_input(&[command, "-", "--machine", "hikey960"], without.as_bytes());
        assert!(!text(&done.stderr).contains("rejects"), "{}", text(&done.stderr));
    }
}

#[test]
fn names_cannot_turn_the_text_around_them() {
    let file = "{\"tasks\":{\"a\u{202e}b\":{\"run\":1000,\"sleep\":1000}},\"global\":{\"duration\":1}}";
    let done = fairlab_with_input(&["run", "-"], file.as_bytes());
    assert!(text(&done.stdout).contains("a\u{fffd}b"), "{}", text(&done.stdout));
}

#[test]
fn a_check_ends_although_events_do_not() {
    let busy = b"cpus 1\nend 1s\ntask a run 1ns sleep 1ns\n";
    let checked = fairlab_with_input(&["check", "-", "--json"], busy);
    let verdict: Value = serde_json::from_slice(&checked.stdout).expect("it is JSON");
    assert_eq!(verdict["is_cut"], true);
    assert!(number(&verdict["simulated_ns"]) < 1_000_000_000);
}

#[test]
fn names_cannot_steer_a_terminal() {
    let file =
        br#"{"tasks":{"a\u001b[31m":{"run":1000,"sleep":1000},"b\u001b[2J":{"run":1,"nonsense\u001b":1,"sleep":9}}}"#;
    let run = fairlab_with_input(&["run", "-", "--for", "10ms"], file);
    assert!(run.status.success());
    assert!(!text(&run.stdout).contains('\u{1b}') && !text(&run.stderr).contains('\u{1b}'), "{}", text(&run.stdout));
}

#[test]
fn warnings_are_on_standard_error_always() {
    let file = br#"{"tasks":{"a":{"run":1000,"nonsense":1,"sleep":1000}},"global":{"duration":1}}"#;
    for form in [&[][..], &["--json"]] {
        for command in [&["run", "-"][..], &["check", "-"], &["compare", "-", "--arm", "NO_SIS_UTIL"]] {
            let output = fairlab_with_input(&[command, form].concat(), file);
            assert!(text(&output.stderr).starts_with("warning: "), "{command:?} {form:?}: {}", text(&output.stderr));
            assert!(!text(&output.stdout).contains("warning:"), "{command:?} {form:?}: {}", text(&output.stdout));
        }
    }
}

#[test]
fn what_is_asked_for_and_cannot_be_had_is_said() {
    let run = fairlab(&["run", "scenarios/misfit.scn", "--prices", "machine"]);
    assert!(text(&run.stderr).contains("has no costs"), "{}", text(&run.stderr));
    let run = fairlab(&["run", "scenarios/hello.json", "--for", "10ms", "--fact", "line_ns.llc=400"]);
    let warning = text(&run.stderr).replace("\n  ", " ");
    assert!(warning.contains("--fact line_ns.llc=400: outside the range of its source, 25 to 70 ns"), "{warning}");
    let compared = stdout_of(&["compare", "scenarios/misfit.scn", "--arm", "NO_HRTICK"]);
    assert!(compared.contains("`NO_HRTICK` made no difference"), "{compared}");
}

#[test]
fn a_command_without_arguments_shows_its_help() {
    for command in [&[][..], &["run"], &["compare"], &["explain"], &["check"], &["machine"], &["bench"], &["study"]] {
        let output = fairlab(command);
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), stdout_of(&[command, &["--help"]].concat()), "{command:?}");
    }
}

#[test]
fn a_family_can_be_asked_about_as_the_page_calls_it() {
    let place = tempfile::tempdir().expect("there is room for temporary files");
    let run = place.path().join("run");
    let path = run.to_str().expect("a plain path");
    stdout_of(&["run", HELLO, "--for", "100ms", "-o", path]);
    let ask = |task: &str| stdout_of(&["explain", path, "--task", task, "--at", "50ms"]);
    let hog = ask("hog");
    assert!(hog.contains("hog is a family of 2 tasks") && hog.contains("CPU"), "{hog}");
    assert!(ask("display").contains("display"), "a family of one task is that task");
    let facts = json_of(&["explain", path, "--task", "hog", "--at", "0.05", "--json"]);
    assert_eq!(facts["claims"][0]["nr_tasks"], 2);
}
