// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the outputs: standard output, files, run directories, help and completions.

use crate::common::{SCREEN, fairlab, fairlab_with_input, items, json_of, number, program, root, stdout_of};
use serde_json::Value;
use std::path::Path;

/// Text before the table of a comparison in the book.
const COMPARED: &str = "--arm energy_aware=1 --arm energy_aware=0 --kernel 6.1\n```\n\n```text\n";
/// Number of lines of the comparison in the book.
const COMPARED_LINES: usize = 13;
const SCENARIO: &str = "scenarios/misfit.scn";

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("the file exists")).expect("it is JSON")
}

#[test]
fn the_kind_of_a_file_shows_in_its_text_not_in_its_name() {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let copy = |from: &str, name: &str| {
        let path = directory.path().join(name);
        std::fs::copy(root().join(from), &path).expect("the file can be copied");
        path.to_str().expect("the path is text").to_owned()
    };
    let kind = |file: &str| json_of(&["run", file, "--for", "10ms", "--json"])["run"]["kind"].clone();
    assert_eq!(kind(&copy(SCENARIO, "x.json")), "scenario");
    assert_eq!(kind(&copy("scenarios/hello.json", "x.scn")), "rt-app");
}

#[test]
fn standard_input_is_a_workload_file_as_any_other() {
    let text = std::fs::read(root().join(SCENARIO)).expect("the file exists");
    let output = fairlab_with_input(&["run", "-", "--json"], &text);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(summary["run"]["workload"], "<stdin>");
    assert_eq!(summary["digest"], json_of(&["run", SCENARIO, "--json"])["digest"]);
    assert!(fairlab_with_input(&["check", "-"], &text).status.success());
}

#[test]
fn a_run_directory_repeats_the_run() {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let run = directory.path().join("run");
    let path = run.to_str().expect("the path is text");
    let args = ["run", "scenarios/hello.json", "--machine", "sc7180", "--kernel", "5.4", "--features", "NO_WA_WEIGHT"];
    let more = ["--set", "migration_cost_ns=0", "--for", "300ms", "--seed", "3", "--perturb", "4", "--prices", "zero"];
    let out = ["-o", path, "--trace-jsonl", "trace.jsonl", "--keep-duplicate-keys"];
    let args: Vec<&str> = args.iter().chain(&more).chain(&out).copied().collect();
    stdout_of(&args);
    let manifest = read_json(&run.join("manifest.json"));
    assert_eq!(manifest["result"]["features"]["WA_WEIGHT"], false);
    assert_eq!(manifest["result"]["features"]["SIS_UTIL"], false, "5.4 did not have it");
    assert_eq!(manifest["result"]["tunables"]["migration_cost_ns"], 0);
    let copy = std::fs::read(run.join("inputs/workload.json")).expect("the input was kept");
    assert_eq!(copy, std::fs::read(root().join("scenarios/hello.json")).expect("the file exists"));
    assert_eq!(number(&manifest["spec"]["workload"]["file"]["copy"]["bytes"]), copy.len() as u64);
    let summary = read_json(&run.join("summary.json"));
    assert!(summary["speed"].is_null(), "values that differ between runs are not results");
    assert_eq!(summary["digest"], manifest["result"]["digest"]);
    assert!(run.join("trace.jsonl").metadata().expect("the trace was written").len() > 1000);

    let manifest_file = run.join("manifest.json");
    let repeated = json_of(&["run", manifest_file.to_str().expect("the path is text"), "--json"]);
    assert_eq!(repeated["digest"], manifest["result"]["digest"]);
    assert_eq!(repeated["families"], summary["families"]);
    // The directory of a run may be used again.
    stdout_of(&args);
}

#[test]
fn a_spec_is_a_run_and_its_errors_name_file_and_member() {
    let spec = |settings: &str| {
        format!(r#"{{ "schema": "spec/1", "workload": {{ "file": "{SCENARIO}" }}, "settings": {{ {settings} }} }}"#)
    };
    let features = spec(r#""features": { "SIS_UTIL": false }"#);
    let output = fairlab_with_input(&["run", "-", "--json"], features.as_bytes());
    let summary: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let expected = json_of(&["run", SCENARIO, "--features", "NO_SIS_UTIL", "--json"]);
    assert_eq!(summary["digest"], expected["digest"]);
    for (settings, expected) in [
        (r#""features": { "SIS_UTL": false }"#, "--features NO_SIS_UTL: unknown feature"),
        (r#""kernel": "5.99""#, "-: settings.kernel: unknown kernel"),
        (r#""starts": "jittered""#, "<stdin>: start times that vary need a seed"),
        (r#""plan": "shape""#, "unknown field `plan`"),
    ] {
        let output = fairlab_with_input(&["run", "-"], spec(settings).as_bytes());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && stderr.contains(expected), "{settings}: {stderr}");
    }
}

#[test]
fn a_comparison_is_the_same_with_any_number_of_jobs() {
    let compare = |jobs: &str, more: &[&str]| {
        let arms = ["--arm", "NO_SIS_UTIL", "--arm", "kernel=5.4", "--arm", "migration_cost_ns=0"];
        let args = ["compare", "scenarios/hello.json", "--for", "200ms", "--jobs", jobs];
        stdout_of(&[&args[..], &arms, more].concat())
    };
    let one = compare("1", &[]);
    assert!(one.contains("kernel=5.4"));
    // The command is a part of the JSON output.
    let results = |jobs: &str| {
        let report: Value = serde_json::from_str(&compare(jobs, &["--json"])).expect("it is JSON");
        [report["comparison"].clone(), report["results"].clone()]
    };
    for jobs in ["2", "5"] {
        assert_eq!(compare(jobs, &[]), one, "{jobs} jobs");
        assert_eq!(results(jobs), results("1"), "{jobs} jobs");
    }
}

#[test]
fn standard_input_is_compared_in_all_arms() {
    let text = std::fs::read(root().join(SCENARIO)).expect("the file exists");
    let args = ["compare", "-", "--arm", "NO_SIS_UTIL", "--arm", "NO_WA_WEIGHT", "--for", "20ms", "--json"];
    let arms: Value = serde_json::from_slice(&fairlab_with_input(&args, &text).stdout).expect("it is JSON");
    let workloads = items(&arms["results"]).iter().map(|summary| summary["run"]["workload"].as_str());
    assert_eq!(workloads.collect::<Vec<_>>(), [Some("<stdin>"); 2]);
}

#[test]
fn a_trace_on_standard_output_is_alone_there() {
    let trace = stdout_of(&["run", SCENARIO, "--trace-jsonl", "-"]);
    assert!(trace.lines().all(|line| line.starts_with('{') && line.ends_with('}')));
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let file = directory.path().join("trace");
    let report = stdout_of(&["run", SCENARIO, "--trace-jsonl", file.to_str().expect("the path is text")]);
    assert!(report.contains("digest "));
    assert_eq!(std::fs::read_to_string(file).expect("the trace was written"), trace);
}

#[test]
fn a_scenario_s_trace_statement_sets_the_level() {
    let lines = |level: &str| {
        let text = format!("cpus 2\nend 20ms\n{level}\ntask t n=3 run 1ms sleep 1ms\n");
        let output = fairlab_with_input(&["run", "-", "--trace-jsonl", "-"], text.as_bytes());
        String::from_utf8(output.stdout).expect("a trace is text")
    };
    let kinds = ["\"e\":\"switch\"", "\"e\":\"ipi\"", "\"e\":\"lb\""];
    let has = |level: &str| kinds.map(|kind| lines(level).contains(kind));
    assert_eq!(has("trace 0"), [false; 3]);
    assert_eq!(has("trace 1"), [true, false, false]);
    assert_eq!(has("trace 2"), [true, true, false]);
    assert_eq!(has(""), [true; 3]);
}

#[test]
fn there_are_colours_on_request_and_never_in_a_pipe() {
    assert!(!stdout_of(&["run", SCENARIO]).contains('\x1b'));
    assert!(stdout_of(&["run", SCENARIO, "--color", "always"]).contains('\x1b'));
    let output = fairlab(&["run", "nothing", "--color", "always"]);
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("\x1b[1;31merror:\x1b[0m"));
}

#[test]
fn a_report_fits_a_hundred_columns() {
    for args in [
        &["run", "scenarios/hello.json"] as &[&str],
        &["run", "scenarios/numa.scn"],
        &["run", "scenarios/hello.json", "--machine", "xeon-2s-224", "--for", "100ms"],
        &["run", "scenarios/hello.json", "--machine", "epyc-16llc", "--for", "100ms"],
        &["features"],
        &["tunables"],
        &["kernels"],
        &["machine", "list"],
        &["machine", "show", "xeon-2s-224"],
        &["study", "list"],
    ] {
        for line in stdout_of(args).lines() {
            assert!(line.chars().count() <= SCREEN.1, "{args:?}: {line}");
        }
    }
}

#[test]
fn many_cpus_are_grouped_by_cache_unless_all_are_requested() {
    let lines = |extra: &[&str]| {
        let args = ["run", "scenarios/hello.json", "--machine", "xeon-2s-224", "--for", "50ms"];
        let args: Vec<&str> = args.iter().chain(extra).copied().collect();
        stdout_of(&args).lines().count()
    };
    assert!(lines(&[]) < 40);
    assert!(lines(&["--per-cpu"]) > 224);
}

#[test]
fn every_list_is_available_as_json() {
    for (args, key) in [
        (&["features", "--json"] as &[&str], "meaning"),
        (&["tunables", "--json"], "unit"),
        (&["kernels", "--json"], "models"),
        (&["machine", "list", "--json"], "cpus"),
        (&["study", "list", "--json"], "title"),
    ] {
        let list = json_of(args);
        assert!(!items(&list).is_empty() && items(&list).iter().all(|item| !item[key].is_null()), "{args:?}");
    }
    assert_eq!(json_of(&["machine", "show", "hikey960", "--json"])["cpus"], 8);
    assert_eq!(json_of(&["check", SCENARIO, "--json"])["kind"], "scenario");
    let of_one = json_of(&["tunables", "--cpus", "1", "--json"]);
    assert_eq!(items(&of_one)[0]["value"], 700_000, "base_slice_ns of one CPU");
}

#[test]
fn a_shown_machine_file_is_one_that_can_be_run_on() {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let file = directory.path().join("mine.toml");
    std::fs::write(&file, stdout_of(&["machine", "show", "--toml", "hikey960"])).expect("the file can be written");
    let file = file.to_str().expect("the path is text");
    let run =
        |machine: &str| json_of(&["run", "scenarios/hello.json", "--for", "100ms", "--machine", machine, "--json"]);
    assert_eq!(run(file)["digest"], run("hikey960")["digest"]);
}

#[test]
fn kernels_features_and_tunables_make_a_difference() {
    let digest = |extra: &[&str]| {
        let args: Vec<&str> = ["run", "scenarios/scan-limit.scn", "--json"].iter().chain(extra).copied().collect();
        json_of(&args)["digest"].to_string()
    };
    let plain = digest(&[]);
    assert_eq!(digest(&["--kernel", "6.1"]), plain);
    for variant in [["--kernel", "5.18"], ["--features", "NO_SIS_UTIL"], ["--set", "wakeup_granularity_ns=0"]] {
        assert_ne!(digest(&variant), plain, "{variant:?}");
    }
}

#[test]
fn the_kernel_of_a_run_is_the_selected_one_or_that_of_its_scenario() {
    let run = |kernel: &str, extra: &[&str]| {
        let text = format!("cpus 1\n{kernel}end 50ms\ntask hog n=3 run 1s\n");
        fairlab_with_input(&[&["run", "-", "--json"], extra].concat(), text.as_bytes())
    };
    let kernel_of = |kernel: &str, extra: &[&str]| {
        let output = run(kernel, extra);
        let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary is JSON");
        summary["run"]["kernel"].as_str().expect("a name").to_owned()
    };
    assert_eq!(kernel_of("kernel 5.4\n", &[]), "5.4");
    assert_eq!(kernel_of("kernel 6.12\n", &["--features", "NO_RUN_TO_PARITY"]), "6.12");
    assert_eq!(kernel_of("kernel 6.12\n", &["--kernel", "6.1", "--set", "latency_ns=1000000"]), "6.1");
    for (kernel, extra, message) in [
        ("kernel 6.13\n", &[][..], "\"text\":\"unknown kernel\""),
        ("kernel 6.1\n", &["--features", "NO_RUN_TO_PARITY"], "6.1 has no such feature"),
        ("kernel 6.12\n", &["--set", "latency_ns=1000000"], "6.12 has no such tunable"),
    ] {
        let output = run(kernel, extra);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(message), "{error}");
    }
}

#[test]
fn every_command_has_help_with_an_example_or_lists() {
    let screen = |args: &[&str]| {
        let text = stdout_of(args);
        assert!(text.lines().all(|line| line.chars().count() <= SCREEN.1), "{args:?}:\n{text}");
        text
    };
    assert!(screen(&["--help"]).contains("Examples:"));
    for command in ["run", "bench", "check", "machine", "tunables", "study", "completions"] {
        assert!(screen(&[command, "--help"]).contains("fairlab "), "{command}");
    }
    for command in ["features", "kernels"] {
        screen(&[command, "--help"]);
    }
}

#[test]
fn shells_get_their_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(stdout_of(&["completions", shell]).contains("trace-jsonl"), "{shell}");
    }
}

#[test]
fn completions_know_names_and_helps_stay_short() {
    let names = [
        "xeon-2s-224",
        "5.4",
        "powersave",
        "NO_SIS_UTIL",
        "migration_cost_ns=",
        "perfetto=",
        "trace-dat",
        "sis-util",
        "governor=",
        "junit",
        "decisions",
    ];
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout_of(&["completions", shell]);
        for name in names {
            // fish completes only options: it has no completions for arguments without a name.
            if (shell, name) == ("fish", "sis-util") {
                continue;
            }
            let escaped = name.replace('=', "\\=");
            assert!(script.contains(name) || script.contains(&escaped), "{shell} does not know {name}");
        }
    }
    assert!(!stdout_of(&["run", "--help"]).contains("NO_SIS_UTIL, "), "names are in lists of their own");
    // Names must be separated by blanks: where bash splits only at line ends, they would be one long word.
    let script = stdout_of(&["completions", "bash"]);
    let lines: Vec<&str> = script.lines().collect();
    let of_names = (0..lines.len()).filter(|line| lines[*line].contains("compgen -W \"hikey "));
    let mut nr = 0;
    for line in of_names {
        nr += 1;
        assert!(
            lines[line - 1].trim() == "--machine)" || lines[line - 1].trim() == "--recorded-on)",
            "{}",
            lines[line - 1]
        );
    }
    assert!(nr > 3, "several commands take a machine");
}

#[test]
fn features_and_tunables_are_looked_up_by_name() {
    let feature = json_of(&["features", "SIS_UTIL", "--json"]);
    assert_eq!((items(&feature).len(), &feature[0]["name"]), (1, &Value::from("SIS_UTIL")));
    assert!(stdout_of(&["features", "SIS_UTIL"]).lines().count() < 8);
    let tunable = json_of(&["tunables", "base_slice_ns", "--machine", "uniprocessor", "--json"]);
    assert_eq!((items(&tunable).len(), &tunable[0]["name"]), (1, &Value::from("base_slice_ns")));
}

#[test]
fn a_quota_shows_its_periods_and_throttling() {
    let text = b"cpus 1\nend 1s\ngroup g quota=40ms period=100ms\ntask hog group=g run 7ms\n";
    let page = fairlab_with_input(&["run", "-"], text);
    let page = String::from_utf8(page.stdout).expect("pages are text");
    let head = page.lines().position(|line| line.starts_with("cgroup")).unwrap_or_else(|| panic!("no table: {page}"));
    let row: Vec<&str> = page.lines().nth(head + 2).expect("a row").split_whitespace().collect();
    assert_eq!([row[0], row[2], row[3]], ["g", "40.0ms", "100ms"], "{page}");
    let output = fairlab_with_input(&["run", "-", "--json"], text);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let group = &summary["cgroups"][0]["bandwidth"];
    assert!((9..=10).contains(&number(&group["nr_periods"])), "{group}");
    assert!((9..=10).contains(&number(&group["nr_throttled"])), "{group}");
    // Throttled for 60 of each 100 ms, to within a slice each.
    assert!((490_000_000..=620_000_000).contains(&number(&group["throttled_ns"])), "{group}");
    assert_eq!(row[5..7], [group["nr_periods"].to_string(), group["nr_throttled"].to_string()], "{page}");
    // The only task of the group: all of its time counts, beside ten periods.
    assert_eq!(group["used_ns"], summary["families"][0]["run_ns"]);
    assert_eq!(number(&group["available_ns"]), 400_000_000);
    assert!((395_000_000..=405_000_000).contains(&number(&group["used_ns"])), "{group}");
    assert!(json_of(&["run", "scenarios/hello.json", "--for", "20ms", "--json"])["cgroups"].is_null());
}

#[test]
fn a_task_that_arrives_when_its_timer_expires_has_no_latency_of_the_timer() {
    let output = fairlab_with_input(&["run", "-", "--json"], b"cpus 1\nend 105ms\ntask t loop run 10ms every 10ms\n");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let timers = &summary["families"][0]["timers"];
    assert_eq!((&timers["arrivals"], &timers["slack"]["max_ns"]), (&10.into(), &0.into()), "{timers}");
    assert_eq!(timers["wakeup_latency"], Value::Null);
}

#[test]
fn cgroups_show_their_part_of_what_they_are_entitled_to() {
    let text = b"cpus 1\nend 4s\ngroup a shares=1024\ngroup b shares=3072\ngroup below parent=b\ngroup quiet\n\
        task one group=a run 7ms\ntask two group=below run 7ms\ntask rt group=b fifo=3 run 1ms sleep 9ms\n\
        task away mask=0 run 3ms sleep 5ms\nmove 1s away quiet\nshares 2s a 3072\nquota 3s a 50ms 100ms\n";
    let output = fairlab_with_input(&["run", "-", "--json"], text);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let of = |name: &str| {
        let group = items(&summary["cgroups"]).iter().find(|group| group["name"] == name);
        group.unwrap_or_else(|| panic!("no {name}: {summary}")).clone()
    };
    let run_of = |name: &str| {
        let family = items(&summary["families"]).iter().find(|family| family["name"] == name);
        number(&family.unwrap_or_else(|| panic!("no {name}: {summary}"))["run_ns"])
    };
    assert_eq!(number(&of("a")["usage_ns"]), run_of("one"));
    assert_eq!(number(&of("b")["usage_ns"]), run_of("two") + run_of("rt"), "{summary}");
    assert_eq!(number(&of("below")["usage_ns"]), run_of("two"));
    // It has competed with the other groups since its task moved there, but for other CPUs by its affinity.
    assert!((1..run_of("away")).contains(&number(&of("quiet")["usage_ns"])), "{summary}");
    assert_eq!(of("quiet")["entitlement"], Value::Null, "{summary}");
    let (a, b) = (of("a")["entitlement"].clone(), of("b")["entitlement"].clone());
    assert_eq!(number(&a["got_ns"]), run_of("one"));
    assert_eq!(number(&b["got_ns"]), run_of("two"), "real-time tasks do not count: {summary}");
    assert_eq!(number(&a["got_ns"]) + number(&b["got_ns"]), number(&a["due_ns"]) + number(&b["due_ns"]));
    // A quarter for two seconds, then half: the quota of the last second allows it.
    for of in [&a, &b] {
        let (got, due) = (number(&of["got_ns"]), number(&of["due_ns"]));
        assert!(got.abs_diff(due) < due / 50, "{of}");
    }
    assert_eq!(of("a")["bandwidth"]["available_ns"], 500_000_000);
    assert!(number(&of("a")["bandwidth"]["used_ns"]) < 510_000_000, "{summary}");
    assert_eq!(of("b")["bandwidth"], Value::Null);
}

#[test]
fn the_simplest_command_is_worth_a_look() {
    let page = stdout_of(&["run", "scenarios/hello.json", "--tables", "all"]);
    for word in [
        "findings: ",
        "waiting: ",
        "missed timers: ",
        "CPUs 5,7 were busy",
        "display",
        "hog",
        "%too small",
        "sugov:0",
        "wu_lat",
        "cpu-sleep-1",
        "MHz",
        "CPU selection",
        "load balancing",
        "digest",
    ] {
        assert!(page.contains(word), "{word} is missing:\n{page}");
    }
}

#[test]
fn measurements_are_shown_at_length_if_wanted() {
    let plain = stdout_of(&["run", "scenarios/nohz-kick.scn"]);
    let shown = stdout_of(&["run", "scenarios/nohz-kick.scn", "--measure", "kicks,search"]);
    for (head, is_wanted) in
        [("calls of kick_ilb()", true), ("case\t        load\t", true), ("passes of load_balance()", false)]
    {
        assert!(!plain.contains(head), "{plain}");
        assert_eq!(shown.contains(head), is_wanted, "{shown}");
    }
    let all = stdout_of(&["run", "scenarios/nohz-kick.scn", "--measure", "all"]);
    assert!(all.contains("calls of update_blocked_averages()") && all.contains("passes of load_balance()"), "{all}");
}

#[test]
fn arms_are_compared_side_by_side() {
    let file = "scenarios/energy-aware.json";
    let arms = ["compare", file, "--arm", "energy_aware=1", "--arm", "energy_aware=0", "--kernel", "6.1"];
    let outcomes = json_of(&[&arms[..], &["--json"]].concat());
    let [with, without] = items(&outcomes["results"]) else { panic!("there are two arms: {outcomes}") };
    assert_eq!(outcomes["arms"][0], "energy_aware=1");
    let busy = |summary: &Value| number(&summary["energy"]["busy_uj"]);
    assert!(busy(with) * 10 < busy(without) * 8, "energy-aware scheduling saves at least a fifth: {outcomes:#}");
    assert!(with["energy"]["idle_uj"].is_null(), "idle power is not known");
    // An arm is equivalent to `run` with its changes.
    let run = json_of(&["run", file, "--set", "energy_aware=0", "--kernel", "6.1", "--json"]);
    assert_eq!(run["digest"], without["digest"]);
    // The book shows the first lines of this table.
    let text = stdout_of(&arms);
    let table = text.split("\n\n").nth(2).expect("the table follows a head and a verdict");
    let table: String = table.lines().take(COMPARED_LINES).flat_map(|line| [line, "\n"]).collect();
    let page = root().join("docs/book/src/reference/metrics.md");
    let book = std::fs::read_to_string(&page).expect("the page exists");
    let (before, rest) = book.split_once(COMPARED).expect("the page names the command");
    let (shown, after) = rest.split_once("```\n").expect("the table ends");
    if std::env::var_os("FAIRLAB_BLESS").is_some() {
        std::fs::write(page, format!("{before}{COMPARED}{table}```\n{after}")).expect("the page can be written");
    } else {
        assert_eq!(shown, table, "the book's table; FAIRLAB_BLESS=1 cargo test -p fairlab --test it outputs writes it");
    }
}

#[test]
fn a_single_arm_is_compared_with_the_workload_as_it_is() {
    let outcomes = json_of(&["compare", "scenarios/scan-limit.scn", "--arm", "NO_SIS_UTIL", "--json"]);
    let [unchanged, arm] = items(&outcomes["results"]) else { panic!("there are two arms: {outcomes}") };
    let scanned = |summary: &Value| number(&summary["measure"]["search"]["total"]["sis_scanned"]);
    assert!(scanned(unchanged) < scanned(arm), "{outcomes:#}");
    let wrong = fairlab(&["compare", "scenarios/scan-limit.scn", "--arm", "NO_SIS_UTL"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("NO_SIS_UTIL"), "a misspelt feature has a suggestion");
}

#[test]
fn a_scenario_runs_on_a_machine_of_a_file_and_its_directory_repeats_it() {
    let text = b"machine hikey960\nend 100ms\ngroup g quota=20ms period=50ms umax=300\ntask t n=4 group=g run 3ms sleepx 4ms\n";
    let place = tempfile::tempdir().expect("there is room for temporary files");
    let run = place.path().join("run");
    let path = run.to_str().expect("the path is text");
    let output = fairlab_with_input(&["run", "-", "--json", "-o", path], text);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!((&summary["run"]["kind"], &summary["run"]["machine"]), (&"scenario".into(), &"hikey960".into()));
    assert!(!items(&summary["cpus"])[0]["idle_states"].is_null() && number(&summary["totals"]["kernel_ns"]) > 0);
    // From within the directory, the manifest's paths hold as well.
    let output = program().current_dir(&run).args(["run", "manifest.json", "--json"]).output();
    let output = output.expect("the program starts");
    let repeated: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(repeated["digest"], summary["digest"]);
    // Any scenario runs on any machine that is large enough.
    let page = stdout_of(&["run", SCENARIO, "--machine", "sc7180"]);
    assert!(page.contains("on sc7180") && page.contains("replaces"), "{page}");
}

#[test]
fn start_times_and_random_lengths_vary_with_the_seed_on_request() {
    let digest = |more: &[&str]| {
        let args = [&["run", "scenarios/hello.json", "--for", "200ms", "--prices", "zero", "--json"], more].concat();
        json_of(&args)["digest"].clone()
    };
    let plain = digest(&["--set", "base_slice_ns=6000000", "--seed", "1"]);
    let varied = |seed: &str| digest(&["--set", "base_slice_ns=6000000", "--seed", seed, "--vary"]);
    assert_ne!(varied("1"), plain);
    assert_ne!(varied("1"), varied("2"));
    assert_eq!(varied("2"), varied("2"));
}

#[test]
fn governors_are_options_and_arms_and_decide_on_placement_by_energy() {
    let file = "scenarios/energy-aware.json";
    let run = |more: &[&str]| json_of(&[&["run", file, "--for", "200ms", "--json"], more].concat());
    let plain = run(&[]);
    assert_eq!(plain["placement"]["by_energy"], true);
    let fast = run(&["--governor", "performance"]);
    assert_eq!(fast["placement"]["by_energy"], false);
    assert!(fast["placement"]["why"].as_str().is_some_and(|why| why.contains("schedutil does not drive CPU 0")));
    assert_eq!(run(&["--governor", "schedutil"])["digest"], plain["digest"], "that is what the machine has");
    assert!(
        run(&["--set", "energy_aware=0"])["placement"]["why"].as_str().is_some_and(|why| why.contains("energy_aware"))
    );
    let arms =
        ["compare", file, "--for", "200ms", "--arm", "governor=powersave", "--arm", "governor=performance", "--json"];
    let arms = json_of(&arms);
    let [slow, other] = items(&arms["results"]) else { panic!("there are two arms: {arms}") };
    assert_eq!(other["digest"], fast["digest"]);
    assert_ne!(slow["digest"], fast["digest"]);
    let refused = fairlab(&["run", file, "--governor", "ondemand"]);
    assert!(String::from_utf8_lossy(&refused.stderr).replace("\n  ", " ").contains("not modelled"));
    assert!(
        stdout_of(&["run", file, "--for", "10ms", "--tables", "decisions"]).contains("energy-aware scheduling: on")
    );
}

#[test]
fn a_run_takes_the_place_of_one_that_wrote_traces_beside_it() {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let run = directory.path().join("run");
    let run = run.to_str().expect("the path is text");
    for more in [&["--export", "ftrace=t.txt", "--trace-jsonl", "t.jsonl"][..], &["--export", "csv=tables"], &[]] {
        let output = fairlab(&[&["run", SCENARIO, "-o", run], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let names: Vec<_> = std::fs::read_dir(run).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names.len(), 3, "nothing is left of the runs before: {names:?}");
}

#[test]
fn nothing_is_written_over_what_is_read() {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let place = |name: &str| directory.path().join(name).to_str().expect("the path is text").to_owned();
    let (file, run) = (place("in.scn"), place("run"));
    std::fs::copy(root().join(SCENARIO), &file).expect("the file can be copied");
    assert!(fairlab(&["run", &file, "-o", &run]).status.success());
    let manifest = format!("{run}/manifest.json");
    let before = [&file, &manifest].map(|path| std::fs::read(path).expect("it is there"));
    let onto = |format: &str| format!("{format}={file}");
    for (arguments, option) in [
        (&["run", &file, "--export", &onto("perfetto")][..], "--export"),
        (&["run", &file, "--trace-jsonl", &file], "--trace-jsonl"),
        (&["compare", &file, "--arm", "a:", "--arm", "b:energy_aware=0", "--export", &onto("ftrace")], ""),
        (&["export", &run, "--format", "ftrace", "-o", &manifest], "-o"),
        (&["report", &run, "-o", &manifest], "-o"),
    ] {
        let output = fairlab(arguments);
        // Each arm of a comparison has its own file name.
        if !option.is_empty() {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{error}");
            assert!(error.contains(&format!("{option} would overwrite it")), "{error}");
        }
        let after = [&file, &manifest].map(|path| std::fs::read(path).expect("it is there"));
        assert!(after == before, "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_no_wrong_input_and_leaves_no_part_of_a_file() {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let run = directory.path().join("run");
    let run = run.to_str().expect("the path is text");
    assert!(fairlab(&["run", SCENARIO, "-o", run]).status.success());
    for arguments in
        [&["report", run, "-o", "/dev/full"][..], &["export", run, "--format", "ftrace", "-o", "/dev/full"]]
    {
        let output = fairlab(arguments);
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
