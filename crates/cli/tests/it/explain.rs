// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of `fairlab explain` on small scenarios: its statements must agree with the trace of the run.

use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Start of a run on the clock of traces, in nanoseconds.
const START: u64 = 1_000_000_000;

fn fairlab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fairlab")).args(arguments).output().expect("the command can be started")
}

/// Runs a scenario into a directory, and reads its trace.
fn run(scenario: &str) -> (TempDir, Vec<Value>) {
    run_on(scenario, &[])
}

/// Runs a scenario with options into a directory, and reads its trace.
fn run_on(scenario: &str, options: &[&str]) -> (TempDir, Vec<Value>) {
    let place = TempDir::new().expect("there is a place for temporary files");
    let (file, dir) = (place.path().join("it.scn"), place.path().join("run"));
    std::fs::write(&file, scenario).expect("the scenario can be written");
    let arguments = [&["run", text(&file), "-o", text(&dir), "--trace-jsonl", "trace.jsonl"], options].concat();
    let output = fairlab(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let trace = std::fs::read_to_string(dir.join("trace.jsonl")).expect("there is a trace");
    let events = trace.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    (place, events)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary files have plain names")
}

/// Returns the explanation as JSON, and its sentences joined.
fn explain(place: &TempDir, question: &[&str]) -> (Value, String) {
    let dir = place.path().join("run");
    let mut arguments = vec!["explain", text(&dir), "--json"];
    arguments.extend(question);
    let output = fairlab(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("the answer is JSON");
    assert_eq!(answer["digest_matches"], true);
    let claims = answer["claims"].as_array().expect("there are claims").iter();
    let sentences = claims.flat_map(|claim| claim["text"].as_array().expect("a claim has sentences"));
    let all: Vec<&str> = sentences.map(|one| one.as_str().expect("sentences are text")).collect();
    let all = all.join("\n");
    (answer, all)
}

/// Returns the first claim of a kind; null if there is none.
fn claim<'a>(answer: &'a Value, kind: &str) -> &'a Value {
    let claims = answer["claims"].as_array().expect("there are claims");
    claims.iter().find(|claim| claim["kind"] == kind).unwrap_or(&Value::Null)
}

/// Returns the last event up to a time (from the start of the run) that satisfies a condition.
fn last_event(events: &[Value], until: u64, is_so: impl Fn(&Value) -> bool) -> &Value {
    let is_in_time = |event: &&Value| event["t"].as_u64().is_some_and(|at| at <= START + until);
    events.iter().filter(is_in_time).rfind(|event| is_so(event)).expect("the trace has such an event")
}

fn at_ns(event: &Value) -> u64 {
    event["t"].as_u64().expect("events have times") - START
}

#[test]
fn a_wakeup_is_placed_on_an_idle_cpu_near_the_busy_previous_one() {
    // The task sleeps until a balance pass has set the scan limit, which is unknown before.
    let (place, events) = run("cpus 4\ntopo llc=4\nend 100ms\n\
         task sleeper cpu=1 run 1ms sleep 49500us run 5ms\n\
         task hog n=2 cpu=1 start=2ms mask=1-1 run 1s\n");
    let (answer, message_text) = explain(&place, &["--task", "sleeper", "--at", "51ms"]);
    let (state, selection) = (claim(&answer, "task-state"), claim(&answer, "selection"));
    let woken = last_event(&events, 51_000_000, |event| event["e"] == "wakeup" && event["pid"] == 1000);
    assert_eq!(state["state"], "runs");
    assert_eq!(state["cpu"], woken["cpu"]);
    assert_eq!(selection["cpu"], woken["cpu"]);
    assert_eq!(selection["at_ns"], at_ns(woken));
    assert_ne!(state["cpu"], selection["prev"], "hogs are on the previous CPU: {message_text}");
    assert!(message_text.contains("runs on CPU") && message_text.contains("It was woken at 50.5ms"), "{message_text}");
    let rule = selection["rule"]["name"].as_str().expect("a rule has decided");
    assert!(message_text.contains(&format!("by rule {rule}: ")), "{message_text}");
    assert!(message_text.contains(&format!("previous CPU was {}", selection["prev"])), "{message_text}");
    // The scan begins after the target, CPU 1, and ends at the first idle CPU.
    assert_eq!((&selection["scanned_cpus"], &selection["cpu"]), (&json!([2]), &json!(2)), "{message_text}");
    assert!(message_text.contains("The scan checked 1 CPU (2)"), "{message_text}");
}

#[test]
fn a_task_waits_behind_a_hog_as_long_as_the_trace_says() {
    let (place, events) = run("cpus 2\nend 60ms\n\
         task hog cpu=0 mask=0-0 run 1s\n\
         task late cpu=0 mask=0-0 run 30ms\n");
    let (answer, message_text) = explain(&place, &["--task", "late", "--at", "3ms"]);
    assert_eq!(claim(&answer, "task-state")["state"], "waits");
    let wait = claim(&answer, "wait");
    assert_eq!((&wait["since_ns"], &wait["until_ns"], &wait["is_open"]), (&0.into(), &3_000_000.into(), &true.into()));
    assert!(message_text.contains("CPU 0 ran hog (pid 1000) for 3ms"), "{message_text}");
    assert!(message_text.contains("It may run on CPU 0 only."), "{message_text}");

    let runs = |pid: u64| move |event: &Value| event["e"] == "switch" && event["next"] == pid;
    let first = events.iter().find(|event| runs(1001)(event)).expect("it runs at some time");
    let (answer, message_text) = explain(&place, &["--task", "1001", "--at", &format!("{}ns", at_ns(first))]);
    assert_eq!(claim(&answer, "task-state")["state"], "runs");
    assert_eq!(claim(&answer, "wait")["until_ns"], at_ns(first));
    assert_eq!(claim(&answer, "wait")["ran"][0]["task"]["pid"], 1000);
    assert_eq!(claim(&answer, "wait")["ran"][0]["ns"], at_ns(first));
    assert!(message_text.contains("After it was forked at 0ns it waited"), "{message_text}");
}

#[test]
fn a_cpu_idles_while_tasks_wait_that_may_not_run_there() {
    let (place, events) = run("cpus 4\nend 40ms\ntask hog n=3 cpu=1 mask=1-1 run 1s\n");
    let (answer, message_text) = explain(&place, &["--cpu", "0", "--at", "10ms"]);
    let waiting = claim(&answer, "waiting-tasks")["tasks"].as_array().expect("a list");
    assert_eq!((&claim(&answer, "cpu-state")["is_idle"], waiting.len()), (&Value::Bool(true), 2), "{message_text}");
    let running = last_event(&events, 10_000_000, |event| event["e"] == "switch" && event["cpu"] == 1);
    for waiting in waiting {
        assert_eq!((&waiting["cpu"], &waiting["allowed"]), (&Value::from(1), &Value::from(vec![1])));
        assert_ne!(waiting["task"]["pid"], running["next"], "who runs does not wait");
    }
    assert!(message_text.contains("CPU 0 is idle, since 0ns"), "{message_text}");
    assert!(message_text.contains("may not run on CPU 0 (allowed: 1)"), "{message_text}");

    let (answer, message_text) = explain(&place, &["--balance", "0", "--at", "10ms"]);
    let pass = &claim(&answer, "passes")["passes"][0];
    let counted =
        last_event(&events, 10_000_000, |event| event["e"] == "lb" && event["cpu"] == 0 && event["c"] == "lb_count");
    assert_eq!(pass["at_ns"], at_ns(counted));
    assert_eq!((&pass["busiest_queue"], &pass["moved"]), (&Value::from(1), &Value::from(0)), "{message_text}");
}

#[test]
fn the_name_of_a_task_comes_before_that_of_a_family() {
    let work = "do run 1ms sleep 1ms run 1ms wait";
    let tasks = [("x", "y", 0), ("a", "x", 0), ("b", "x", 1)];
    let tasks = tasks.map(|(name, family, cpu)| format!("task {name} family={family} cpu={cpu} start=0ms\n{work}\n"));
    let (place, _) = run(&format!("recorded 1\ncpus 2\nend 20ms\n{}", tasks.concat()));
    let (_, of_task) = explain(&place, &["--task", "x", "--at", "5ms"]);
    assert!(of_task.contains("task x (pid") && !of_task.contains("task a (pid"), "{of_task}");
    let (_, of_family) = explain(&place, &["--task", "y", "--at", "5ms"]);
    assert_eq!(of_family, of_task);
}

#[test]
fn questions_without_an_answer_fail_with_a_way_out() {
    let (place, _) = run("cpus 2\nend 10ms\ntask hog run 1s\n");
    let dir = place.path().join("run");
    let cases: [(&[&str], &str); 5] = [
        (&["--task", "hogg", "--at", "1ms"], "did you mean hog?"),
        (&["--cpu", "2", "--at", "1ms"], "the CPUs 0 to 1"),
        (&["--balance", "7", "--at", "1ms"], "the CPUs 0 to 1"),
        (&["--cpu", "0", "--at", "11ms"], "the run ends at 10ms"),
        (&["--at", "1ms"], "--task"),
    ];
    for (question, way_out) in cases {
        let output = fairlab(&[&["explain", text(&dir)], question].concat());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(way_out), "{message}");
    }
    std::fs::write(dir.join("inputs/workload.scn"), "cpus 2\nend 10ms\ntask hog run 2s\n").expect("it can be changed");
    let output = fairlab(&["explain", text(&dir), "--cpu", "0", "--at", "1ms"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("SHA-256"), "{message}");
}

/// Checks the explanation of `scenarios/eight-cpus.scn` from the book, line by line against the trace.
#[test]
fn in_a_cache_of_eight_with_seven_busy_a_wakeup_does_not_find_the_idle_cpu_but_newly_idle_balancing_helps() {
    let scenario = include_str!("../../../../scenarios/eight-cpus.scn");
    let (place, events) = run(scenario);
    let (answer, message_text) = explain(&place, &["--task", "wakee", "--at", "1512.2ms"]);
    let selection = claim(&answer, "selection");
    assert_eq!(
        (&claim(&answer, "task-state")["state"], &claim(&answer, "task-state")["cpu"]),
        (&"waits".into(), &0.into()),
        "{message_text}"
    );
    assert_eq!(
        (&selection["rule"]["name"], &selection["scan_limit"]),
        (&"ScanBusy".into(), &0.into()),
        "{message_text}"
    );
    assert!(message_text.contains("CPU 7 is idle and allowed for it"), "{message_text}");

    let wakee = claim(&answer, "task-state")["task"]["pid"].as_u64().expect("the task has a pid");
    let at = |time: u64, kind: &str| {
        events.iter().find(|event| event["e"] == kind && event["t"] == START + time).expect("the trace has it").clone()
    };
    let line = |text: &str| -> Value { serde_json::from_str(text).expect("the line is JSON") };
    assert_eq!(at(1_512_100_000, "wakeup"), line(r#"{"t":2512100000,"e":"wakeup","pid":1008,"cpu":0,"new":0,"on":0}"#));
    // The task on CPU 7 sleeps again, and before the CPU becomes idle it pulls the waiting task.
    assert_eq!(
        at(1_513_010_000, "migrate"),
        line(r#"{"t":2513010000,"e":"migrate","pid":1008,"from":0,"to":7,"on":7}"#)
    );
    assert_eq!(
        at(1_513_010_000, "switch"),
        line(r#"{"t":2513010000,"e":"switch","cpu":7,"prev":1007,"next":1008,"st":1}"#)
    );
    let (answer, message_text) = explain(&place, &["--task", "wakee", "--at", "1513.5ms"]);
    assert_eq!((wakee, &claim(&answer, "task-state")["cpu"]), (1008, &7.into()), "{message_text}");
    let (_, message_text) = explain(&place, &["--balance", "7", "--at", "1513.5ms"]);
    assert!(
        message_text.contains("At 1.51301s, newly-idle pass at level MC (CPUs 0-7): Moved: Tasks were moved"),
        "{message_text}"
    );

    // Without a limit the scan finds the idle CPU.
    let (place, _) = run(&format!("{scenario}feature SIS_UTIL 0\n"));
    let (answer, message_text) = explain(&place, &["--task", "wakee", "--at", "1512.2ms"]);
    assert_eq!(
        (&claim(&answer, "task-state")["cpu"], &claim(&answer, "selection")["rule"]["name"]),
        (&7.into(), &"IdleCpu".into()),
        "{message_text}"
    );
}

/// Two hogs, a task with a short slice, one that sleeps often, and one that starves them all, with 6.12.
const EEVDF: &str = "cpus 1\nend 1500ms\ntask hog n=2 slice=6ms run 30ms\ntask short slice=1ms run 1500us sleep 5ms\n\
     task nap run 4ms sleep 7ms\ntask spin fifo=50 start=300ms run 2s\n";

#[test]
fn a_pick_of_eevdf_is_that_of_the_trace_and_takes_the_earliest_deadline_of_the_eligible_entities() {
    let (place, events) = run_on(EEVDF, &["--kernel", "6.12"]);
    let mut nr_refused = 0;
    for at_ms in (20..290).step_by(9) {
        let (answer, message_text) = explain(&place, &["--cpu", "0", "--at", &format!("{at_ms}ms")]);
        let pick = claim(&answer, "pick");
        let switch = last_event(&events, at_ms * 1_000_000, |event| event["e"] == "switch");
        assert_eq!(pick["picked"]["task"]["pid"], switch["next"], "{message_text}");
        assert!(
            message_text.contains(&format!("by rule {}: ", pick["rule"]["name"].as_str().expect("a rule"))),
            "{message_text}"
        );
        let entities = pick["entities"].as_array().expect("there are entities");
        let number = |entity: &Value, key: &str| entity[key].as_i64().expect("a number");
        let eligible = || entities.iter().filter(|entity| entity["eligible"] == true);
        assert_eq!(pick["nr_eligible"], eligible().count());
        assert!(
            entities.iter().all(|entity| (entity["eligible"] == true) == (number(entity, "lag_ns") >= 0)),
            "{message_text}"
        );
        if pick["rule"]["name"] == "EarliestDeadline" {
            let earliest = eligible().map(|entity| number(entity, "deadline")).min();
            assert_eq!(earliest, Some(number(&pick["picked"], "deadline")), "{message_text}");
            let is_earlier = |entity: &&Value| Some(number(entity, "deadline")) < earliest;
            nr_refused += entities.iter().filter(is_earlier).count();
        }
    }
    assert!(nr_refused > 0, "some entities have an earlier deadline and are not eligible");
}

#[test]
fn preemption_and_delayed_dequeues_of_eevdf_are_those_of_the_trace() {
    let (place, events) = run_on(&format!("{EEVDF}tracelag 1\n"), &["--kernel", "6.12"]);
    let (mut rules, mut delays) = (Vec::new(), 0);
    for at_ms in 20..120 {
        for (name, pid) in [("short", 1002), ("nap", 1003)] {
            let (answer, message_text) = explain(&place, &["--task", name, "--at", &format!("{at_ms}ms")]);
            let preemption = claim(&answer, "preemption");
            if let Some(rule) = preemption["rule"]["name"].as_str() {
                let wakeup =
                    last_event(&events, at_ms * 1_000_000, |event| event["e"] == "wakeup" && event["pid"] == pid);
                assert_eq!(preemption["at_ns"], at_ns(wakeup), "{message_text}");
                assert!(message_text.contains(&format!("by rule {rule}: ")), "{message_text}");
                rules.push(rule.to_owned());
            }
            if let Some(lag) = claim(&answer, "delayed-dequeue")["lag_ns"].as_i64() {
                assert!(lag < 0, "only entities that are not eligible are delayed: {message_text}");
                delays += 1;
            }
        }
    }
    rules.sort();
    rules.dedup();
    assert!(["NotPicked", "ShortSlice"].iter().all(|rule| rules.iter().any(|seen| seen == rule)), "{rules:?}");
    assert!(delays > 0);
}

#[test]
fn the_fair_server_is_named_by_a_task_that_starves_and_by_the_cpu_that_it_serves() {
    let (place, events) = run_on(EEVDF, &["--kernel", "6.12"]);
    let (answer, message_text) = explain(&place, &["--task", "hog0", "--at", "900ms"]);
    let server = claim(&answer, "fair-server");
    assert!(message_text.contains("The fair server of CPU 0 has 50ms in each 1s"), "{message_text}");
    assert!(message_text.contains("It runs a fair task at "), "{message_text}");
    let served = last_event(&events, 1_499_000_000, |event| event["e"] == "switch" && event["prev"] == 1004);
    assert!(server["runs_from_ns"].as_u64().expect("it waits") <= at_ns(served));
    let (answer, message_text) = explain(&place, &["--cpu", "0", "--at", &format!("{}ns", at_ns(served) + 100_000)]);
    assert_eq!(claim(&answer, "fair-server")["last_starved_ns"], at_ns(served), "{message_text}");
    assert!(message_text.contains("It last ran a fair task at "), "{message_text}");
}

#[test]
fn a_starvation_belongs_to_a_run_of_the_fair_server_by_the_period_of_that_run() {
    let text = "cpus 1\nend 300ms\ntask spin fifo=50 cpu=0 start=3ms run 10s\ntask poor n=2 cpu=0 run 10s\n\
                task other cpu=0 loop run 300us sleep 2ms\nserver 0ms 0-0 2ms 20ms\npolicy 42916us spin fair\n\
                server 124ms 0-0 0ms 60ms\n";
    let (place, _) = run_on(text, &["--kernel", "6.12"]);
    let last_starved = |at: &str| {
        let (answer, message_text) = explain(&place, &["--task", "poor0", "--at", at]);
        let server = claim(&answer, "fair-server");
        (server["last_ran_ns"].as_u64(), server["last_starved_ns"].as_u64(), message_text)
    };
    let (first_run, starved, message_text) = last_starved("22ms");
    assert!(starved.is_some() && starved <= first_run, "{message_text}");
    for at in ["43ms", "200ms"] {
        let (ran, starved, message_text) = last_starved(at);
        assert!(ran > first_run && starved.is_none(), "a later period without starvation, at {at}: {message_text}");
    }
}

/// Runs a file of the small inputs into a directory.
fn run_case(name: &str, options: &[&str]) -> TempDir {
    let place = TempDir::new().expect("there is a place for temporary files");
    let (file, dir) = (format!("tests/data/cases/{name}"), place.path().join("run"));
    let output = fairlab(&[&["run", &file, "-o", text(&dir)], options].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    place
}

#[test]
fn the_fair_server_has_its_present_budget_and_is_known_from_its_start() {
    let (place, _) = run_on(EEVDF, &["--kernel", "6.12"]);
    // Fair tasks have used 45 ms of its budget since the new period began at 255 ms.
    let (answer, message_text) = explain(&place, &["--cpu", "0", "--at", "900ms"]);
    assert_eq!(claim(&answer, "fair-server")["runtime_ns"], 5_000_000, "{message_text}");
    assert!(message_text.contains("at the last update 5ms left (45ms used)"), "{message_text}");
    let (answer, message_text) = explain(&place, &["--cpu", "0", "--at", "1ms"]);
    assert_eq!(claim(&answer, "fair-server")["last_step"], Value::Null);
    assert!(message_text.contains("The fair server of CPU 0 has 50ms in each 1s"), "{message_text}");
}

#[test]
fn a_task_that_sleeps_on_the_queue_is_not_runnable() {
    let (place, _) = run_on(EEVDF, &["--kernel", "6.12"]);
    let (_, message_text) = explain(&place, &["--task", "1001", "--at", "212ms"]);
    assert!(
        message_text.contains("nap (pid 1003): not eligible") && message_text.contains("its dequeue is delayed"),
        "{message_text}"
    );
    assert!(message_text.contains("3 runnable tasks on the runqueue"), "{message_text}");
    // Woken while it was still there, it needs no CPU.
    let (_, message_text) = explain(&place, &["--task", "nap", "--at", "200ms"]);
    assert!(message_text.contains("no CPU was selected, because it was still on the queue there"), "{message_text}");
}

#[test]
fn the_group_with_the_quota_is_named_and_a_pick_that_was_given_up_is_none() {
    let place = run_case("nest.scn", &[]);
    let (_, message_text) = explain(&place, &["--task", "q", "--at", "10ms"]);
    assert!(
        message_text.contains("Its group /g/c is below group /g, which has used up its quota on CPU 0"),
        "{message_text}"
    );
    assert!(message_text.contains("The last pick of a fair task on CPU 0 was at 0ns"), "{message_text}");
    assert!(message_text.contains("In group /g/c: q (pid 1000)"), "{message_text}");
}

#[test]
fn decisions_about_a_fair_task_are_not_those_of_the_deadline_task_that_it_became() {
    let place = run_case("stale-preemption.json", &["--machine", "laptop-8"]);
    let (answer, message_text) = explain(&place, &["--task", "d-0", "--at", "2550ms"]);
    assert!(message_text.contains("That was before it became a deadline task."), "{message_text}");
    assert_eq!(claim(&answer, "preemption"), &Value::Null, "{message_text}");
    assert!(!message_text.contains("Its wake-up did not preempt"), "{message_text}");
    assert!(message_text.contains("It has used up its runtime"), "{message_text}");
}

#[test]
fn a_deadline_task_that_is_woken_too_late_for_its_period_has_not_used_up_its_runtime() {
    // It needs 1 ms of each 20 ms, within 5 ms; a second wake-up comes between this deadline and the next period.
    let (place, _) = run("cpus 1\nend 60ms\ntask dl dl=2ms/5ms/20ms cpu=0 loop run 1ms sleep 7ms\n");
    let (answer, message_text) = explain(&place, &["--task", "dl", "--at", "10ms"]);
    assert_eq!(claim(&answer, "task-state")["state"], "throttled", "{message_text}");
    assert!(message_text.contains("woken after its deadline and before its next period"), "{message_text}");
    let (place, _) = run("cpus 1\nend 60ms\ntask dl dl=2ms/5ms/20ms cpu=0 run 50ms\n");
    let (_, message_text) = explain(&place, &["--task", "dl", "--at", "10ms"]);
    assert!(message_text.contains("It has used up its runtime"), "{message_text}");
}

#[test]
fn a_tick_that_runs_again_is_not_stopped_although_its_cpu_still_counts_as_tickless() {
    // CPU 1 runs a task for less than a tick after its tick stopped, and idles again until the next tick.
    let board = "name = \"ticks\"\nhz = 250\nidle_governor = \"menu\"\n[cpus]\ncount = 2\n\
                 [[idle_state]]\nname = \"C1\"\nexit_latency_ns = 2000\ntarget_residency_ns = 2000\n";
    let place = TempDir::new().expect("there is a place for temporary files");
    let (machine, file, dir) = (place.path().join("m.toml"), place.path().join("it.scn"), place.path().join("run"));
    std::fs::write(&machine, board).expect("the machine can be written");
    std::fs::write(&file, "cpus 2\nend 60ms\ntask a cpu=1 mask=1-1 run 50us sleep 10ms run 50us sleep 900us run 50us sleep 900us run 50us sleep 900us run 50us sleep 900us run 50us sleep 900us\n").expect("it can be written");
    let log = dir.with_extension("jsonl");
    let output =
        fairlab(&["run", text(&file), "--machine", text(&machine), "-o", text(&dir), "--event-log", text(&log)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = std::fs::read_to_string(&log).expect("there is a log");
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    let mut seen = std::collections::BTreeSet::new();
    for at_us in (10_000..30_000).step_by(170) {
        let at = START + at_us * 1000;
        let (answer, message_text) = explain(&place, &["--cpu", "1", "--at", &format!("{at_us}us")]);
        let tick = claim(&answer, "tick");
        let (Some(is_stopped), Some(is_tickless)) = (tick["is_stopped"].as_bool(), tick["is_tickless"].as_bool())
        else {
            continue;
        };
        let next = events.iter().find(|event| {
            let ends = ["tick", "idle_exit", "switch"].contains(&event["e"].as_str().unwrap_or_default());
            ends && event["cpu"] == 1 && event["t"].as_u64() > Some(at)
        });
        let ticks = next.is_some_and(|event| event["e"] == "tick");
        assert!(!(ticks && is_stopped), "{message_text}");
        seen.insert((is_stopped, is_tickless, ticks));
    }
    assert!(seen.contains(&(true, true, false)) && seen.contains(&(false, true, true)), "{seen:?}");
}
