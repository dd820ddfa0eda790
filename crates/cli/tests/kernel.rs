// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of `--engine kernel:NAME` with the scheduler of Debian's 6.1, and of one regression and throttling with that of
//! 6.12.
//! Without these trees or a compiler the tests that need them are ignored.

#[path = "it/common/mod.rs"]
mod common;
#[path = "../../kernel/tests/common/requirement.rs"]
mod requirement;

use common::{assert_valid, complaint, fairlab, json_of, program, validator};
use fairlab_kernel::regressions::check::{ObservedRun, RunOutput};
use fairlab_kernel::regressions::edit::{Edit, EditAction, EditPlace, EditScript};
use fairlab_kernel::store::{BuildRequest, Store};
use fairlab_kernel::tree::TreeSource;
use requirement::{Requirement, named};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{ExitCode, Output};
use std::sync::LazyLock;

/// Runs the program with a store of engines that is shared with the tests of `fairlab-kernel`.
fn with_engines(args: &[&str]) -> Output {
    let kept = concat!(env!("CARGO_TARGET_TMPDIR"), "/kernels");
    program().args(args).env("FAIRLAB_KERNELS", kept).output().expect("the program starts")
}

/// Reason why no engine can be built here.
static NO_ENGINE: LazyLock<Option<String>> = LazyLock::new(|| {
    let built = with_engines(&["kernel", "add", "under-test", "--source", "debian:6.1"]);
    let message_text = String::from_utf8_lossy(&built.stderr).into_owned();
    let unsupported = ["is not there", "install"].iter().any(|word| message_text.contains(word));
    assert!(built.status.success() || unsupported, "{message_text}");
    (!built.status.success()).then(|| message_text.lines().next().unwrap_or_default().to_owned())
});

fn json_output(args: &[&str]) -> Value {
    let output = with_engines(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("output is JSON")
}

fn a_kernels_own_engine_decides_and_reports_as_the_built_in_one() {
    let engine = ["--engine", "kernel:under-test"];
    for run in [
        &["--json", "run", "scenarios/group-shares.scn"][..],
        // Turbo, threads that share cores, polling idle CPUs.
        &["--json", "run", "scenarios/core-sharing.scn"],
        &["--json", "run", "scenarios/hello.json", "--machine", "laptop-8", "--for", "300ms"],
        // Governor threads, energy, unused frequencies, and tasks that wait for each other.
        &["--json", "run", "scenarios/hello.json", "--prices", "zero", "--for", "500ms"],
        &["--json", "run", "scenarios/energy-aware.json", "--prices", "zero", "--for", "500ms"],
        &["--json", "run", "scenarios/inversion.json", "--prices", "zero"],
        &[
            "--json",
            "run",
            "scenarios/hello.json",
            "--machine",
            "epyc-16llc",
            "--plain",
            "--for",
            "300ms",
            "--seed",
            "3",
            "--vary",
        ],
    ] {
        let mut built_in = json_of(&[run, &["--kernel", "6.1"]].concat());
        let compiled = json_output(&[run, &engine[..]].concat());
        // Only the built-in scheduler reports which CPUs fit a task.
        for family in built_in["families"].as_array_mut().expect("there are families") {
            if let Some(residency) = family.get_mut("residency").and_then(Value::as_object_mut) {
                residency.extend(["too_small_ns", "too_large_ns"].map(|name| (name.to_owned(), Value::Null)));
            }
        }
        assert_eq!(compiled["engine"]["name"], "kernel:under-test");
        for key in ["digest", "totals", "families", "cpus"] {
            assert_eq!(built_in[key], compiled[key], "{run:?}: {key}");
        }
    }
}

fn an_engine_of_6_1_reports_throttling_and_quotas_as_the_built_in_one() {
    compare_throttling("6.1", "under-test");
}

fn an_engine_of_6_12_reports_throttling_and_quotas_as_the_built_in_one() {
    let built = with_engines(&["kernel", "add", "under-test-6.12", "--source", "debian:6.12"]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    compare_throttling("6.12", "under-test-6.12");
}

fn an_engine_of_6_1_survives_hotplug_and_decides_as_the_built_in_scheduler() {
    compare_hotplug("6.1", "under-test");
}

fn an_engine_of_6_12_survives_hotplug_and_decides_as_the_built_in_scheduler() {
    let built = with_engines(&["kernel", "add", "under-test-6.12", "--source", "debian:6.12"]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    compare_hotplug("6.12", "under-test-6.12");
}

/// Inputs that crashed engines or that the two schedulers decided differently, found by
/// `cargo xtask fuzz-oracle --extensions`.
fn compare_hotplug(kernel: &str, engine: &str) {
    // Some statements exist, or are compared, with one kernel only.
    let folders = ["hotplug".to_owned(), format!("hotplug-{kernel}")];
    for file in folders.iter().flat_map(|folder| common::files(&format!("crates/cli/tests/data/{folder}"), &[".scn"])) {
        let run = ["--json", "run", &file];
        let built_in = json_of(&[&run[..], &["--kernel", kernel]].concat());
        let compiled = json_output(&[&run[..], &["--engine", &format!("kernel:{engine}")]].concat());
        assert_eq!(built_in["digest"], compiled["digest"], "{kernel}, {file}");
    }
}

fn compare_throttling(kernel: &str, engine: &str) {
    let engine = format!("kernel:{engine}");
    for (scenario, setting, is_throttled) in [
        ("quota-beside-a-sleeper", None, true),
        ("nested-quota", None, true),
        ("deadline", None, true),
        // 6.12 throttles real-time tasks only with CONFIG_RT_GROUP_SCHED.
        ("real-time", Some("rt_runtime_us=300000"), kernel == "6.1"),
    ] {
        let file = format!("crates/cli/tests/data/throttling/{scenario}.scn");
        let mut run = vec!["--json", "run", &file];
        run.extend(setting.iter().flat_map(|setting| ["--set", setting]));
        let built_in = json_of(&[&run[..], &["--kernel", kernel]].concat());
        let compiled = json_output(&[&run[..], &["--engine", &engine]].concat());
        assert_eq!(built_in["totals"]["throttled_ns"] != 0, is_throttled, "{scenario}: {}", built_in["totals"]);
        assert_eq!(built_in["cgroups"].is_array(), scenario.contains("quota"), "{scenario}");
        for key in ["digest", "totals", "families", "cgroups"] {
            assert_eq!(built_in[key], compiled[key], "{kernel}, {scenario}: {key}");
        }
        let arms = [format!("engine={engine}"), format!("kernel={kernel}")];
        let compare = ["compare", &file, "--arm", &arms[0], "--arm", &arms[1], "--json"];
        let rows = json_output(&compare)["comparison"]["rows"].clone();
        let differs = |row: &&Value| row["changes"][0]["difference"] != 0.0;
        assert_eq!(rows.as_array().expect("a list").iter().find(differs), None, "{kernel}, {scenario}");
    }
}

fn an_engines_trace_is_that_of_the_built_in_one() {
    let place = tempfile::tempdir().expect("a folder");
    let trace = |scenario: &str, engine: &[&str]| {
        let file = place.path().join("trace.txt");
        let export = format!("ftrace={}", file.display());
        let run =
            ["run", scenario, "--export", &export, "--events", "sched,stat,idle", "--for", "200ms", "--prices", "zero"];
        let output = with_engines(&[&run, engine].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read_to_string(file).expect("the trace was written")
    };
    // Groups; deadlines and hotplug; real-time tasks; nice; wake-ups of tasks about to sleep; inherited priorities.
    for name in [
        "group-shares.scn",
        "deadline-hotplug.scn",
        "realtime.scn",
        "fair-share.scn",
        "ksoftirqd.scn",
        "inversion.json",
    ] {
        let scenario = format!("scenarios/{name}");
        let (built_in, compiled) =
            (trace(&scenario, &["--kernel", "6.1"]), trace(&scenario, &["--engine", "kernel:under-test"]));
        assert!(built_in.matches("sched_stat_runtime").count() > 40, "{name}: run times are reported");
        let differing = built_in.lines().zip(compiled.lines()).find(|(built_in, compiled)| built_in != compiled);
        assert_eq!(differing, None, "{name}: the same lines");
        assert_eq!(built_in.len(), compiled.len(), "{name}: the same trace");
    }
    let state = ["run", "scenarios/group-shares.scn", "--export", "sched-debug=here", "--engine", "kernel:under-test"];
    assert!(complaint(&state.join(" "), &with_engines(&state)).contains("sched-debug contains state of the built-in"));
}

fn arms_may_have_engines() {
    let compare = ["compare", "scenarios/numa.scn", "--for", "100ms", "--arm", "base: engine=built-in", "--arm"];
    let once = with_engines(&[&compare[..], &["compiled: engine=kernel:under-test"]].concat());
    let page = String::from_utf8_lossy(&once.stdout).into_owned();
    assert!(page.contains("`compiled` made no difference"), "{page}{}", String::from_utf8_lossy(&once.stderr));
    let scanned = page.lines().find(|line| line.starts_with("CPUs scanned")).expect("the row is there");
    assert!(
        scanned.split_whitespace().nth(3) == Some("-"),
        "a value that the engine does not report is not zero: {scanned}"
    );
    let arms = [&["--json"], &compare[..], &["compiled: engine=kernel:under-test", "--runs", "2"]].concat();
    let several = json_output(&arms);
    assert!(several.to_string().contains("compiled"), "{several:#}");
}

/// Compares all kinds of trace lines: snapshots, counters, steps of load balancing, frequencies.
fn every_line_of_a_trace_is_that_of_the_built_in_scheduler() {
    for scenario in ["energy", "numa", "bandwidth", "frequency-steps"] {
        let file = format!("scenarios/{scenario}.scn");
        let text = std::fs::read_to_string(common::root().join(&file)).expect("the scenario is there");
        let given = format!("{text}\ntrace 3\nstats 20ms\n");
        let place = tempfile::NamedTempFile::with_suffix(".scn").expect("there is a place for temporary files");
        std::fs::write(&place, given).expect("there is room");
        let run = ["run", place.path().to_str().expect("it has a plain name"), "--trace-jsonl", "-"];
        let (built_in, compiled) =
            (with_engines(&run), with_engines(&[&run[..], &["--engine", "kernel:under-test"]].concat()));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(compiled.status.success(), "{scenario}: {}", text(&compiled.stderr));
        let (built_in, compiled) = (text(&built_in.stdout), text(&compiled.stdout));
        for kind in ["nohz", "rq", "se", "schedstat"] {
            assert!(built_in.contains(&format!("\"e\":\"{kind}\"")), "{scenario} has {kind}");
        }
        let differing = built_in.lines().zip(compiled.lines()).find(|(one, other)| one != other);
        assert!(
            differing.is_none() && built_in.lines().count() == compiled.lines().count(),
            "{scenario}: {differing:?}"
        );
    }
}

fn what_an_engine_lacks_is_refused_by_its_name() {
    let on = |args: &[&str]| {
        let args = [args, &["--engine", "kernel:under-test"]].concat();
        complaint(&args.join(" "), &with_engines(&args))
    };
    let refused = on(&["run", "scenarios/hello.json", "--machine", "sc7180"]);
    assert!(refused.contains("1000 ticks per second") && refused.contains("CONFIG_HZ_1000=y"), "{refused}");
    assert!(on(&["run", "scenarios/fair-share.scn", "--set", "redo_max=1"]).contains("redo_max"));
    assert!(on(&["check", "scenarios/hello.json", "--machine", "sc7180"]).contains("CONFIG_HZ_1000"));
    let bench = ["bench", "hackbench", "-g", "1", "-l", "5", "--machine"];
    let state = ["hikey960", "--plain=priced", "--export", "schedstat=here"];
    assert!(on(&[&bench[..], &state].concat()).contains("schedstat contains state of the built-in"));
    let twice = ["run", "scenarios/fair-share.scn", "--engine", "kernel:under-test"];
    assert!(on(&twice).contains("fairlab compare"));
}

fn a_run_directory_of_an_engine_is_repeated_with_it() {
    let place = tempfile::tempdir().expect("a folder");
    let path = |name: &str| place.path().join(name).display().to_string();
    let (dir, own) = (path("run"), path("own"));
    let done = |args: &[&str]| {
        let output = with_engines(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let run = ["run", "scenarios/group-shares.scn", "--for", "200ms", "-o"];
    done(&[&run[..], &[&dir, "--engine", "kernel:under-test", "--export", "ftrace=then.txt"]].concat());
    done(&[&run[..], &[&own]].concat());
    let read = |name: &str| std::fs::read_to_string(format!("{dir}/{name}")).expect("the file is there");
    let manifest: Value = serde_json::from_str(&read("manifest.json")).expect("a manifest is JSON");
    assert_eq!(manifest["result"]["engine"]["name"], "under-test");
    assert!(manifest["result"]["engine"]["key"].as_str().is_some_and(|key| key.len() == 32), "{manifest}");
    let summary: Value = serde_json::from_str(&read("summary.json")).expect("a summary is JSON");
    assert_eq!(summary["digest"], manifest["result"]["digest"]);
    let warned = done(&["export", &dir, "--format", "ftrace", "-o", &path("now.txt")]);
    assert!(!warned.contains("digest"), "{warned}");
    assert_eq!(read("then.txt"), std::fs::read_to_string(path("now.txt")).expect("the trace was written"));
    done(&["report", &dir, &own, "-o", &path("page.html")]);
    let page = std::fs::read_to_string(path("page.html")).expect("the page was written");
    assert!(page.contains("kernel:under-test"), "the page names the engine");
    let why = with_engines(&["findings", &dir]);
    assert!(complaint("findings", &why).contains("does not support compiled-kernel engines"));
}

fn a_study_runs_with_an_engine_and_names_it() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("mine.toml");
    let study = file.to_str().expect("it has a plain name");
    assert!(fairlab(&["study", "new", study]).status.success());
    let run = ["study", "run", study, "--quick", "--table", "gain", "--engine", "kernel:under-test", "--plain=priced"];
    let refused = complaint("an arm", &with_engines(&run)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(refused.contains("arm `before`") && refused.contains("wakelist_far"), "{refused}");
    // The changed arm uses a tunable that the tree has.
    let text = std::fs::read_to_string(&file).expect("it was written");
    let changed = text.replace("wakelist_far = 1", "min_granularity_ns = 750000");
    assert!(changed.contains("min_granularity_ns"), "{changed}");
    std::fs::write(&file, changed).expect("there is room");
    let page = with_engines(&run);
    let text = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.status.success(), "{}", String::from_utf8_lossy(&page.stderr));
    for part in ["kernel:under-test (Linux 6.1", "--plain=priced", "no evidence for the model"] {
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(part), "{part}: {text}");
    }
}

fn features_and_tunables_of_a_tree_are_listed_with_its_defaults_and_meanings() {
    let by_name = |rows: &Value, key: &str| -> BTreeMap<String, Value> {
        let rows = rows.as_array().expect("a list").iter();
        rows.map(|row| (row["name"].as_str().expect("a name").to_owned(), row[key].clone())).collect()
    };
    let engine = ["--engine", "kernel:under-test"];
    let features = json_output(&[&["features", "--json"][..], &engine].concat());
    assert_eq!(by_name(&features, "default"), by_name(&json_of(&["features", "--kernel", "6.1", "--json"]), "default"));
    let meanings = by_name(&features, "meaning");
    assert!(meanings["GENTLE_FAIR_SLEEPERS"].as_str().is_some_and(|text| text.contains("50%")), "{meanings:?}");
    assert_eq!(meanings["LB_MIN"], by_name(&json_of(&["features", "--kernel", "6.1", "--json"]), "meaning")["LB_MIN"]);
    let tunables = json_output(&[&["tunables", "--cpus", "4", "--json"][..], &engine].concat());
    let (of_tree, built_in) =
        (by_name(&tunables, "value"), json_of(&["tunables", "--kernel", "6.1", "--cpus", "4", "--json"]));
    let built_in = by_name(&built_in, "value");
    let common = of_tree.keys().filter(|name| built_in.contains_key(*name));
    let common: Vec<&String> = common.inspect(|name| assert_eq!(of_tree[*name], built_in[*name], "{name}")).collect();
    assert!(common.len() >= 14 && of_tree.contains_key("util_clamp_max"), "{common:?}");
    let one = json_output(&[&["tunables", "rt_runtime_us", "--json"][..], &engine].concat());
    assert_eq!((&one[0]["min"], &one[0]["value"]), (&(-1).into(), &950_000.into()));
}

fn features_and_tunables_that_only_the_tree_has_can_be_set() {
    let place = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let file = place.path().join(name);
        std::fs::write(&file, text).expect("there is room");
        file.to_str().expect("it has a plain name").to_owned()
    };
    // The task requests the highest frequency, which the tunable of the tree may forbid.
    let text = "cpus 1\nend 100ms\nscale 1\nfdom 0-0 500000 1000000\ntask t umin=1024 run 200us sleep 5ms\n";
    let file = write("clamped.scn", text);
    let engine = ["--engine", "kernel:under-test"];
    let run = [&["--json", "run", &file][..], &engine].concat();
    let digest = |more: &[&str]| json_output(&[&run[..], more].concat())["digest"].clone();
    let clamped = ["--set", "util_clamp_min=0"];
    assert_ne!(digest(&[]), digest(&clamped));
    assert_eq!(digest(&[]), digest(&["--set", "util_clamp_min=1024", "--features", "SIS_UTIL"]));
    for (more, expected) in [
        (["--set", "util_clamp_mix=1"], "this kernel has no tunable util_clamp_mix help: did you mean util_clamp_min?"),
        (["--set", "util_clamp_max=5000"], "tunable util_clamp_max: the kernel rejects 5000 (error 22)"),
        (["--set", "deadline_period_max_us=5"], "tunable deadline_period_max_us: 5 is not in 100..4294967295"),
        (["--set", "wide_imbalance=1"], "this kernel has no tunable wide_imbalance"),
        (["--features", "NO_SIS_UTILS"], "this kernel has no feature SIS_UTILS help: did you mean SIS_UTIL?"),
    ] {
        let refused = complaint("a switch", &with_engines(&[&run[..], &more].concat()));
        assert!(refused.split_whitespace().collect::<Vec<_>>().join(" ").contains(expected), "{refused}");
    }
    let arms = ["--arm", "base:", "--arm", "util_clamp_min=0"];
    let compared = json_output(&[&["--json", "compare", &file][..], &arms, &engine].concat());
    assert_ne!(compared["results"][0]["digest"], compared["results"][1]["digest"]);
    let ends = ["--from", "base:", "--to", "NO_WA_BIAS,util_clamp_min=0", "--metric", "totals.busy_ns"];
    let cause = json_output(&[&["--json", "bisect", &file, "--hold-still"][..], &ends, &engine].concat());
    assert_eq!(cause["switches"].as_array().map(Vec::len), Some(2), "{cause}");
    let changes = "feature 5ms WA_BIAS 0\ntune util_clamp_min 0\ntune 5ms deadline_period_max_us 200\n";
    let with_changes = write("changes.scn", &format!("{text}{changes}"));
    let summary = json_output(&["--json", "run", &with_changes, engine[0], engine[1]]);
    assert_ne!(summary["digest"], digest(&[]));
    assert_eq!(summary["warnings"].as_array().map(Vec::len), Some(0), "{summary}");
}

fn engines_are_compared_side_by_side_and_checked() {
    let place = tempfile::tempdir().expect("a folder");
    let export = format!("perfetto={}", place.path().join("t.pftrace").display());
    let engine = ["--engine", "kernel:under-test"];
    let compare = ["compare", "scenarios/hello.json", "--for", "200ms", "--export", &export];
    let output = with_engines(&[&compare[..], &engine, &engine].concat());
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    let message_text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{page}{message_text}");
    for row in ["ping", "  wake to run p50", "  fairness", "fairness", "migrations"] {
        assert!(page.lines().any(|line| line.starts_with(row)), "{row}: {page}");
    }
    let traces = std::fs::read_dir(place.path()).expect("the folder is there").count();
    assert_eq!(traces, 1, "both arms have one name here");
    let one = json_output(&[&["--json", "compare", "scenarios/fair-share.scn"][..], &engine].concat());
    assert_eq!(one["arms"], serde_json::json!(["built-in", "kernel:under-test"]));
    assert_eq!(one["results"][0]["digest"], one["results"][1]["digest"]);
    let checked = json_output(&[&["--json", "check", "scenarios/fair-share.scn"][..], &engine].concat());
    assert_eq!(checked["invariants_checked"], false);
    assert_eq!(checked["digest"], json_of(&["--json", "check", "scenarios/fair-share.scn"])["digest"]);
}

/// Operations with equal counts in both. The built-in scheduler counts two operations less often, which are
/// not in the list: scaling of clocks on which no time has passed, and CPUs of a resumable path that only ask
/// for the next balancing time.
const EQUAL_COUNTS: [&str; 26] = [
    "AttachTask",
    "BalancePass",
    "BlockedCfsRq",
    "ContextSwitch",
    "Dequeue",
    "DetachScan",
    "DetachTask",
    "Enqueue",
    "Fork",
    "GroupLevel",
    "GroupStatCpu",
    "IdleEnter",
    "IdleExit",
    "IpiReceive",
    "IpiSend",
    "NewidlePass",
    "NohzExit",
    "NohzKick",
    "PeltUpdate",
    "PickNext",
    "QueueStatCpu",
    "RqLock",
    "ScanCore",
    "SoftirqRaise",
    "Tick",
    "Wakeup",
];

/// Compares the operation counts of each scheduler call, as lines.
fn operation_counts_are_written_call_by_call() {
    let run = ["run", "scenarios/energy.scn", "--for", "200ms", "--trace-work"];
    let lines = |args: &[&str]| {
        let output = with_engines(args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let line = |line: &str| serde_json::from_str::<Value>(line).expect("a line is JSON");
        String::from_utf8(output.stdout).expect("text").lines().map(line).collect::<Vec<_>>()
    };
    let (built_in, compiled) = (lines(&run), lines(&[&run[..], &["--engine", "kernel:under-test"]].concat()));
    assert!(built_in.len() > 100 && built_in.len() == compiled.len(), "{} {}", built_in.len(), compiled.len());
    for (one, other) in built_in.iter().zip(&compiled) {
        for key in ["t", "cpu", "path", "ScanCpu", "CpufreqUpdate", "PeltUpdate", "Enqueue"] {
            assert_eq!(one[key], other[key], "{key}: {one} {other}");
        }
    }
    assert!(built_in.iter().any(|line| line["CpufreqUpdate"].as_u64() > Some(0)), "the governor is asked");
}

fn an_engines_operations_are_counted_as_the_built_in_ones() {
    let run = ["--json", "run", "scenarios/hello.json", "--machine", "epyc-16llc", "--plain", "--for", "300ms"];
    let built_in = json_of(&[&run[..], &["--kernel", "6.1"]].concat());
    let compiled = json_output(&[&run[..], &["--engine", "kernel:under-test"]].concat());
    for op in EQUAL_COUNTS {
        assert!(built_in["work"][op].as_u64() > Some(0), "{op} is in this run");
        assert_eq!(built_in["work"][op], compiled["work"][op], "{op}");
    }
}

fn benchmarks_run_on_an_engine_whose_code_takes_time() {
    let bench = ["bench", "hackbench", "-g", "1", "-l", "20", "--machine", "hikey960", "--plain=priced"];
    let engine = ["--engine", "kernel:under-test", "--json"];
    let once = json_output(&[&bench[..], &engine].concat());
    assert!(once["result"]["is_done"] == true && once["result"]["time_s"].as_f64() > Some(0.0001), "{once}");
    assert_eq!(once["digest"], json_output(&[&bench[..], &engine].concat())["digest"]);
    // A fork while a different CPU holds the lock of its runqueue.
    let forks = ["bench", "hackbench", "-g", "1", "-l", "100", "--machine", "hikey960", "--vary", "--seed", "3"];
    assert!(json_output(&[&forks[..], &engine].concat())["result"]["is_done"] == true);
    let line = bench[1..6].join(" ");
    let compare =
        ["--json", "compare", "--bench", &line, "--machine", "hikey960", "--plain=priced", "--runs", "2", "--arm"];
    let arms = json_output(&[&compare[..], &["base:", "--arm", "compiled: engine=kernel:under-test"]].concat());
    let row = arms["rows"].as_array().or_else(|| arms["comparison"]["rows"].as_array()).expect("there are rows");
    assert!(row.iter().any(|row| row["name"] == "time"), "{arms:#}");
}

fn where_phases_take_no_time_resumable_paths_decide_as_uninterrupted_ones() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("almost-free.toml");
    let machine = "name = \"almost-free\"\ndescription = \"two threads on each of four cores\"\nsource = \"made up\"\nhz = 250\n\
                   [cpus]\ncount = 8\nthreads_per_core = 2\nnumbering = \"threads-last\"\n";
    std::fs::write(&file, machine).expect("there is room");
    let file = file.to_str().expect("it has a plain name");
    // Less than a nanosecond: paths pause and take no time.
    let paused = ["--prices", "Exit=0.001"];
    let run = ["--json", "run", "scenarios/hello.json", "--for", "500ms", "--machine", file, "--kernel", "6.1"];
    let free = json_output(&[&run[..], &["--prices", "zero"]].concat());
    let compiled = ["--engine", "kernel:under-test"];
    for more in [[&compiled[..], &["--prices", "zero"]].concat(), [&compiled[..], &paused].concat(), paused.to_vec()] {
        assert_eq!(json_output(&[&run[..], &more].concat())["digest"], free["digest"], "{more:?}");
    }
}

fn a_patch_that_changes_nothing_is_identical_in_every_case() {
    let args = ["patch", "kernel:under-test", "kernel:under-test", "--only", "phone-8", "--runs", "1"];
    let output = with_engines(&args);
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{page}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(page.matches("identical in every event").count(), 3, "two cases and their sum: {page}");
    assert_valid(
        &validator("patch"),
        &json_output(&[&args[..], &["--json"]].concat()),
        "two kernels that are the same",
    );
}

fn what_patch_cannot_run_is_reported_with_status_2() {
    let error_of = |args: &[&str]| {
        let output = with_engines(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(error_of(&["patch", "kernel:no-such", "kernel:neither"]).contains("no-such"));
    assert!(error_of(&["patch", "kernel:no-such", "kernel:no-such", "--only", "mainframe"]).contains("--list"));
    assert!(error_of(&["patch", ".", "HEAD"]).contains("BASE..HEAD"));
    assert!(error_of(&["patch", ".", "no-such-commit..HEAD"]).contains("no-such-commit"));
    let configured = error_of(&["patch", "kernel:one", "kernel:other", "--config", "CONFIG_HZ_1000=y"]);
    assert!(configured.contains("CONFIG_HZ_1000=y") && configured.contains("kernel add"), "{configured}");
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().display().to_string();
    assert!(error_of(&["patch", &folder, "HEAD~1..HEAD"]).contains("not a git repository"));
    assert!(error_of(&["kernel", "add", "patch.mine", "--source", "debian:6.1"]).contains("choose a different name"));
}

fn an_engine_that_is_not_there_is_an_error() {
    let none = complaint("none", &with_engines(&["run", "scenarios/fair-share.scn", "--engine", "kernel:no-such"]));
    assert!(none.contains("no-such") && none.contains("kernel add"), "{none}");
    let odd = complaint("odd", &fairlab(&["run", "scenarios/fair-share.scn", "--engine", "6.1"]));
    let odd = odd.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(odd.contains("built-in or kernel:NAME") && odd.contains("fairlab kernel list"), "{odd}");
}

fn regressions_are_listed_and_unknown_ones_refused() {
    let listed = json_of(&["--json", "kernel", "regressions", "--list"]);
    let listed = listed.as_array().expect("a list");
    assert!(listed.len() >= 25, "{}", listed.len());
    assert!(listed.iter().all(|bug| bug["what"].as_str().is_some_and(|what| what.ends_with('.'))));
    let message_text = complaint("a bug that is none", &fairlab(&["kernel", "museum", "no-such-bug"]));
    assert!(message_text.contains("no-such-bug") && message_text.contains("--list"), "{message_text}");
}

fn the_built_in_scheduler_has_no_bug_of_the_regression_corpus() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut compared = 0;
    for bug in fairlab_kernel::regressions::bugs() {
        // Only engines report the state at a given time.
        if bug.label.check.required_output() != RunOutput::Trace {
            continue;
        }
        let file = folder.path().join(format!("{}.scn", bug.name));
        std::fs::write(&file, bug.scenario).expect("it can be written");
        let file = file.to_str().expect("a path is text");
        let run = fairlab(&["run", file, "--kernel", &bug.label.kernel, "--trace-jsonl", "-"]);
        assert!(run.status.success(), "{}: {}", bug.name, String::from_utf8_lossy(&run.stderr));
        let lines = serde_json::Deserializer::from_slice(&run.stdout).into_iter();
        let trace = lines.collect::<Result<_, _>>().expect("lines of a trace");
        let figure = bug.label.check.figure(&ObservedRun { trace, ..ObservedRun::default() });
        let figure = figure.unwrap_or_else(|| panic!("{} has no metric", bug.name));
        assert!(!bug.label.check.indicates_bug(figure), "{}: {} is {figure}", bug.name, bug.label.check.figure);
        compared += 1;
    }
    assert!(compared >= 30, "{compared} bugs");
}

fn a_regression_is_put_back_and_distinguished_from_the_unchanged_tree() {
    let tour = json_output(&["--json", "kernel", "regressions", "into-a-throttled-group"]);
    assert_valid(&validator("regressions"), &tour, "a run of the regression corpus");
    let bug = &tour["bugs"][0];
    assert_eq!(bug["is_told_apart"], true, "{tour}");
    assert!(bug["buggy"].as_u64() > bug["fixed"].as_u64(), "{tour}");
    let elsewhere = with_engines(&[
        "kernel",
        "regressions",
        "into-a-throttled-group",
        "protected-idle-task",
        "--source",
        "debian:6.1",
    ]);
    let message_text = complaint("a bug of a newer release", &elsewhere);
    assert!(message_text.contains("protected-idle-task") && message_text.contains("6.12"), "{message_text}");
}

fn a_crash_that_a_regression_of_6_12_causes_is_detected() {
    let tour = json_output(&["--json", "kernel", "regressions", "stale-zero-point"]);
    assert_valid(&validator("regressions"), &tour, "a run of the regression corpus");
    let bug = &tour["bugs"][0];
    assert_eq!(bug["kernel"], "6.12", "{tour}");
    assert_eq!((&bug["buggy"], &bug["fixed"], &bug["is_told_apart"]), (&1.into(), &0.into(), &true.into()), "{tour}");
}

/// Builds the tree with one edit as an engine.
fn build(name: &str, edit: Edit) {
    let kept = concat!(env!("CARGO_TARGET_TMPDIR"), "/kernels");
    let script = EditScript { bug: format!("{name}-on-purpose"), edits: vec![edit] };
    let wish = BuildRequest {
        name,
        build_dir: name,
        source: "debian:6.1",
        title: None,
        patches: &[],
        scripts: &[script],
        config: &[],
        is_covered: false,
    };
    Store::with_root(kept.into()).build(&wish, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
}
fn flat(text: &[u8]) -> String {
    String::from_utf8_lossy(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A call that holds a lock or RCU section at its end ends the run with a report of the place.
fn what_a_call_does_not_put_back_is_a_report_with_its_place_and_a_command_that_repeats_it() {
    let edit = Edit {
        file: "core.c".to_owned(),
        place: EditPlace::Function("scheduler_tick".to_owned()),
        action: EditAction::Insert("rcu_read_lock();".to_owned()),
        nth: None,
    };
    build("unbalanced", edit);
    let run = ["run", "scenarios/fair-share.scn", "--engine", "kernel:unbalanced"];
    let output = with_engines(&run);
    let message_text = flat(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message_text}");
    for part in [
        "rcu_read_lock() or",
        "scheduler_tick at kernel/sched/core.c:",
        "(patched)",
        "patched by unbalanced-on-purpose",
        "repeat the command",
    ] {
        assert!(message_text.contains(part), "{part}: {message_text}");
    }
    assert!(!message_text.contains(" at fl-"), "reports do not name fairlab's own functions: {message_text}");
    let patch = ["patch", "kernel:under-test", "kernel:unbalanced", "--only", "uniprocessor", "--runs", "1"];
    let output = with_engines(&patch);
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{page}");
    let command = page
        .lines()
        .find_map(|line| line.split_once("this command reproduces it: fairlab "))
        .expect("the report has a command")
        .1;
    let again = with_engines(&command.split(' ').collect::<Vec<_>>());
    assert!(flat(&again.stderr).contains("rcu_read_lock() or"), "{command}");
    let report: Value =
        serde_json::from_slice(&with_engines(&[&patch[..], &["--json"]].concat()).stdout).expect("JSON");
    assert_valid(&validator("patch"), &report, "a kernel that does not return");
}

/// Outdated averages of a tickless CPU cause no event themselves, but a later event that follows from them.
fn a_decision_before_the_first_event_that_differs_is_found() {
    let edit = Edit {
        file: "fair.c".to_owned(),
        place: EditPlace::Function("update_nohz_stats".to_owned()),
        action: EditAction::Insert("return true;".to_owned()),
        nth: None,
    };
    build("no-stats", edit);
    let patch = ["patch", "kernel:under-test", "kernel:no-stats", "--only", "cyclictest", "--runs", "1", "--json"];
    let output = with_engines(&patch);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", flat(&output.stderr)));
    let outcomes = report["outcomes"].as_array().expect("cases");
    let firsts = outcomes.iter().map(|outcome| &outcome["first"]).filter(|first| !first.is_null());
    let earlier: Vec<_> = firsts.filter(|first| first["decision"]["at_ns"].is_u64()).collect();
    assert!(!earlier.is_empty(), "{report}");
    for first in earlier {
        assert!(first["decision"]["at_ns"].as_u64() < first["at_ns"].as_u64(), "{first}");
        let path = first["decision"]["path"].as_array().and_then(|path| path.last());
        assert_eq!(path, Some(&Value::from("update_nohz_stats")), "{first}");
    }
}

/// Real-time tasks that are pushed and pulled continuously; there are more of them than CPUs.
const PUSHED_AND_PULLED: &str = "cpus 8\nend 100ms\ntask a n=9 fifo=50 run 310us sleep 210us\n\
                                 task b n=9 fifo=40 run 170us sleep 330us\ntask c n=6 fifo=30 run 500us sleep 110us\n";

/// Two runqueue locks are taken in the order of their CPUs. Taking the second one out of order leads to a
/// deadlock.
fn cpus_that_wait_for_each_others_locks_say_what_they_have_and_where_they_wait() {
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/pushed-and-pulled.scn");
    std::fs::write(file, PUSHED_AND_PULLED).expect("written");
    let run = |engine| with_engines(&["run", file, "--machine", "phone-8", "--engine", engine]);
    let output = run("kernel:under-test");
    assert!(output.status.success(), "{}", flat(&output.stderr));
    let edit = Edit {
        file: "sched.h".to_owned(),
        place: EditPlace::Function("rq_order_less".to_owned()),
        action: EditAction::Insert("return true;".to_owned()),
        nth: None,
    };
    build("unordered", edit);
    let output = run("kernel:unordered");
    let message_text = flat(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message_text}");
    for part in [
        "CPUs are in a deadlock",
        "holds the lock of its own runqueue, taken here: __schedule at kernel/sched/core.c:",
        "runqueue here: _double_lock_balance at kernel/sched/sched.h:",
        "pull_rt_task at kernel/sched/rt.c:",
        "push_rt_task at kernel/sched/rt.c:",
    ] {
        assert!(message_text.contains(part), "{part}: {message_text}");
    }
    assert!(
        !message_text.contains(" at fl-") && !message_text.contains("arch/fairlab"),
        "reports do not name fairlab's own functions: {message_text}"
    );
}

fn main() -> ExitCode {
    let engine = Requirement { name: "linux-source-6.1", missing: || NO_ENGINE.clone() };
    let mut tests = engine.trials(named![
        a_kernels_own_engine_decides_and_reports_as_the_built_in_one,
        an_engine_of_6_1_reports_throttling_and_quotas_as_the_built_in_one,
        an_engine_of_6_1_survives_hotplug_and_decides_as_the_built_in_scheduler,
        an_engines_trace_is_that_of_the_built_in_one,
        arms_may_have_engines,
        every_line_of_a_trace_is_that_of_the_built_in_scheduler,
        what_an_engine_lacks_is_refused_by_its_name,
        a_run_directory_of_an_engine_is_repeated_with_it,
        a_study_runs_with_an_engine_and_names_it,
        features_and_tunables_of_a_tree_are_listed_with_its_defaults_and_meanings,
        features_and_tunables_that_only_the_tree_has_can_be_set,
        engines_are_compared_side_by_side_and_checked,
        operation_counts_are_written_call_by_call,
        an_engines_operations_are_counted_as_the_built_in_ones,
        benchmarks_run_on_an_engine_whose_code_takes_time,
        where_phases_take_no_time_resumable_paths_decide_as_uninterrupted_ones,
        a_patch_that_changes_nothing_is_identical_in_every_case,
        a_regression_is_put_back_and_distinguished_from_the_unchanged_tree,
        what_a_call_does_not_put_back_is_a_report_with_its_place_and_a_command_that_repeats_it,
        a_decision_before_the_first_event_that_differs_is_found,
        cpus_that_wait_for_each_others_locks_say_what_they_have_and_where_they_wait,
    ]);
    let newer = Requirement {
        name: "linux-source-6.12",
        missing: || NO_ENGINE.clone().or_else(|| TreeSource::parse("debian:6.12").err().map(|error| error.to_string())),
    };
    tests.extend(newer.trials(named![
        a_crash_that_a_regression_of_6_12_causes_is_detected,
        an_engine_of_6_12_reports_throttling_and_quotas_as_the_built_in_one,
        an_engine_of_6_12_survives_hotplug_and_decides_as_the_built_in_scheduler,
    ]));
    let nothing = Requirement { name: "nothing", missing: || None };
    tests.extend(nothing.trials(named![
        what_patch_cannot_run_is_reported_with_status_2,
        an_engine_that_is_not_there_is_an_error,
        regressions_are_listed_and_unknown_ones_refused,
        the_built_in_scheduler_has_no_bug_of_the_regression_corpus,
    ]));
    requirement::run(tests)
}
