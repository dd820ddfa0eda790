// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of `fairlab compare` with repetitions, and of `fairlab bisect`.

use crate::common::{complaint, data_of, fairlab, items, json_of, number, program, root, stdout_of};
use serde_json::{Value, json};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const HELLO: &str = "scenarios/hello.json";

#[test]
fn an_arm_against_itself_is_identical_and_that_is_said() {
    let args = ["compare", HELLO, "--for", "100ms", "--arm", "one:", "--arm", "other: SIS_UTIL", "--runs", "4"];
    let text = stdout_of(&args);
    assert!(text.replace("\n  ", " ").contains("`other` made no difference"), "{text}");
    assert!(text.contains("4 repetitions (seeds 1 to 4)"), "{text}");
    assert!(!text.contains("better") && !text.contains("worse"), "{text}");
}

#[test]
fn repetitions_that_cannot_differ_say_so_instead_of_inventing_a_spread() {
    let args =
        ["compare", "scenarios/scan-limit.scn", "--features", "NO_NI_RANDOM", "--arm", "NO_SIS_UTIL", "--runs", "5"];
    let text = stdout_of(&[&args[..], &["--hold-still"]].concat());
    assert!(text.replace("\n  ", " ").contains("All of them are the same run, event for event"), "{text}");
    assert!(!text.contains("..") && text.contains("once"), "{text}");
    let varied = json_of(&[&args[..], &["--json"]].concat());
    assert_eq!(varied["comparison"]["distinct"], 5);
    let runs = items(&varied["comparison"]["rows"][0]["arms"][0]["runs"]);
    assert!(runs.iter().any(|run| *run != runs[0]), "{varied:#}");
}

#[test]
fn an_experiment_finds_what_an_arm_does_in_every_form_and_fails_where_it_is_to() {
    let place = tempfile::tempdir().expect("there is room for temporary files");
    let file = |name: &str| place.path().join(name).display().to_string();
    let (html, junit) = (format!("html={}", file("page.html")), format!("junit={}", file("junit.xml")));
    let args = [
        "compare",
        "scenarios/energy-aware.json",
        "--machine",
        "hikey960",
        "--for",
        "300ms",
        "--runs",
        "8",
        "--metric",
        "energy, busy",
        "--arm",
        "with: energy_aware=1",
        "--arm",
        "without: energy_aware=0",
        "--fail-on",
        "worse",
        "--format",
        "text",
        "--format",
        "lkp",
        "--format",
        "mmtests",
        "--format",
        "std",
        "--format",
        "markdown",
        "--format",
        &html,
        "--format",
        &junit,
    ];
    let output = fairlab(&args);
    let (text, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("worse than `with`: energy, busy of `without`"), "{stderr}");
    for expected in ["worse", "%stddev", "Amean     energy, busy", "compare%( std%)", "| energy, busy |"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let page = std::fs::read_to_string(file("page.html")).expect("it was written");
    let data = data_of(&page);
    let compared = &data["compared"];
    assert_eq!(
        compared["verdicts"][0]["text"],
        json_of(&[&args[..14], &["--json"]].concat())["verdicts"][0]["text"],
        "{compared}"
    );
    let row = &compared["tables"][0]["rows"][0];
    assert_eq!((&row["metric"], &row["verdict"]), (&json!("energy, busy"), &json!("worse")), "{row}");
    let names: Vec<&Value> = items(&data["runs"]).iter().map(|run| &run["name"]).collect();
    assert_eq!(names, ["with", "without"], "the first repetition of each arm");
    let part = |arm: usize| number(&compared["differences"][arm]["at_ns"]);
    assert!(compared["differences"][0].is_null() && part(1) > 0, "{compared}");
    let xml = std::fs::read_to_string(file("junit.xml")).expect("it was written");
    assert!(xml.contains(r#"failures="1""#), "{xml}");
    let allowed = fairlab(&[&args[..], &["--at-least", "100"]].concat());
    assert_eq!(allowed.status.code(), Some(0), "no more than twice as much");
}

#[test]
fn a_comparison_that_can_find_nothing_says_so_and_is_no_gate() {
    let args = [
        "compare",
        "scenarios/energy-aware.json",
        "--machine",
        "hikey960",
        "--for",
        "100ms",
        "--metric",
        "energy, busy",
    ];
    let args = [&args[..], &["--arm", "governor=schedutil", "--arm", "governor=powersave"]].concat();
    let text = stdout_of(&[&args[..], &["--runs", "5"]].concat());
    assert!(text.contains("too few") && text.contains("at least 6 could"), "{text}");
    let few = [&args[..], &["--runs", "5", "--fail-on", "worse"]].concat();
    let message = complaint("five runs", &fairlab(&few)).replace("\n  ", " ");
    assert!(
        message.contains("--runs 5 cannot find any difference in 1 test") && message.contains("add --runs 6"),
        "{message}"
    );
    // Exits from idle states depend on the seed on hikey960. Here nothing does, so all repetitions are
    // identical.
    let still = ["compare", "scenarios/numa.scn", "--features", "NO_NI_RANDOM", "--runs", "6", "--hold-still"];
    let still = [&still[..], &["--arm", "latency_ns=3000000", "--arm", "latency_ns=12000000"]].concat();
    let still = fairlab(&[&still[..], &["--metric", "waiting", "--fail-on", "worse"]].concat());
    let message = String::from_utf8_lossy(&still.stderr).replace("\n  ", " ");
    assert!(still.status.code() == Some(2) && message.contains("would have passed whatever happened"), "{message}");
    let passed = fairlab(&[&args[..], &["--runs", "6", "--fail-on", "worse"]].concat());
    assert_eq!(
        passed.status.code(),
        Some(0),
        "powersave takes less energy: {}",
        String::from_utf8_lossy(&passed.stderr)
    );
}

#[test]
fn a_benchmark_is_compared_with_its_own_metrics_and_the_same_with_any_number_of_jobs() {
    let of = |jobs: &str| {
        let args = [
            "compare",
            "--bench",
            "perf sched pipe -l 300",
            "--machine",
            "hikey",
            "--arm",
            "kernel=5.4",
            "--arm",
            "governor=powersave",
            "--runs",
            "4",
            "--jobs",
            jobs,
        ];
        stdout_of(&args)
    };
    let text = of("1");
    assert!(text.starts_with("perf sched pipe -l 300: on hikey, several kernels\n"), "{text}");
    assert!(text.contains("time of a round") && text.contains("CPUs scanned"), "{text}");
    assert_eq!(of("3"), text);
}

#[test]
fn an_experiment_goes_on_until_something_is_found() {
    let args = [
        "compare",
        HELLO,
        "--for",
        "100ms",
        "--arm",
        "price.ContextSwitch=20000",
        "--metric",
        "waiting",
        "--metric",
        "totals.kernel_ns:less",
        "--until-significant",
        "--detect",
        "50",
        "--budget",
        "5m",
        "--json",
    ];
    let report = json_of(&args);
    assert!(number(&report["looks"][0]) >= 1 && report["looks"][1] == false, "{report:#}");
    assert_eq!(report["comparison"]["rows"][1]["changes"][0]["verdict"], "worse");
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_way_out() {
    let cases: [(&[&str], &str); 11] = [
        (&["compare", "--arm", "NO_SIS_UTIL"], "--bench"),
        (&["compare", HELLO, "--arm", "NO_SIS_UTIL", "--vary"], "--runs"),
        (&["compare", HELLO, "--arm", "NO_SIS_UTIL", "--hold-still"], "--runs"),
        (&["compare", HELLO, "--arm", "NO_SIS_UTIL", "--runs", "0"], "1..=10000"),
        (
            &["compare", HELLO, "--arm", "NO_SIS_UTIL", "--runs", "2", "--for", "10ms", "--metric", "wating"],
            "did you mean",
        ),
        (&["compare", HELLO, "--arm", "NO_SIS_UTIL", "--runs", "2", "--warmup", "1h"], "--for"),
        (&["compare", HELLO, "--arm", "NO_SIS_UTIL", "--format", "xml"], "junit"),
        (&["compare", "--bench", "hackbench --machine hikey", "--arm", "NO_SIS_UTIL"], "--machine is not an option"),
        (
            &["compare", "--bench", "hackbench --governor powersave", "--arm", "NO_SIS_UTIL"],
            "--governor is not an option",
        ),
        (&["bisect", HELLO, "--from", "kernel=6.12", "--to", "unchanged"], "no switch differs"),
        (&["bisect", HELLO, "--from", "kernel=6.1", "--to", "unchanged"], "have different rules"),
    ];
    for (args, expected) in cases {
        let text = complaint(&args.join(" "), &fairlab(args));
        assert!(text.contains(expected), "{args:?} does not mention {expected}:\n{text}");
    }
}

#[test]
fn bisect_finds_the_switch_that_makes_a_difference_between_two_kernels() {
    let args = [
        "bisect",
        "scenarios/scan-limit.scn",
        "--from",
        "kernel=5.18",
        "--to",
        "kernel=6.1",
        "--metric",
        "CPUs scanned",
        "--runs",
        "8",
        "--json",
    ];
    let found = json_of(&args);
    assert_eq!(found["found"], Value::from(vec!["SIS_UTIL"]), "{found:#}");
    assert!(items(&found["switches"]).len() >= 5, "{found:#}");
    let text = stdout_of(&args[..args.len() - 1]);
    assert!(text.contains("the switch: SIS_UTIL\n"), "{text}");
}

#[test]
fn bisect_knows_settings_that_are_neither_features_nor_tunables() {
    let found = json_of(&[
        "bisect",
        HELLO,
        "--for",
        "200ms",
        "--from",
        "unchanged",
        "--to",
        "cpu_dma_latency=0",
        "--runs",
        "6",
        "--json",
    ]);
    assert_eq!(found["switches"], Value::from(vec!["cpu_dma_latency"]), "{found:#}");
    assert_eq!(found["found"], found["switches"], "{found:#}");
}

#[test]
fn bisect_finds_two_switches_that_only_matter_together() {
    // The difference needs both switches: a scan has a cost, and scans are long. Either switch alone has a
    // negligible effect.
    let args = [
        "bisect",
        "scenarios/scan-limit.scn",
        "--from",
        "unchanged",
        "--to",
        "NO_WA_BIAS,price.ScanCpu=1000,migration_cost_ns=400000,NO_SIS_UTIL",
        "--metric",
        "totals.kernel_ns",
    ];
    let found = json_of(&[&args[..], &["--json"]].concat());
    assert_eq!(found["found"], Value::from(vec!["NO_SIS_UTIL", "prices"]), "{found:#}");
    let text = stdout_of(&args);
    assert!(text.contains("the smallest set, all of which are necessary: NO_SIS_UTIL, prices"), "{text}");
    assert!(text.contains("prices alone") && text.contains("all others"), "{text}");
}

/// Starts a comparison, and stops it by a signal after the given time.
#[cfg(unix)]
fn stopped(args: &[&str], signal: &str, after: Duration) -> Output {
    let mut command = program();
    command.arg("compare").args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    std::thread::sleep(after);
    let kill = ["-s", signal, &child.id().to_string()].map(str::to_owned);
    assert!(Command::new("kill").args(kill).status().expect("there is kill").success());
    child.wait_with_output().expect("it ends")
}

/// Output of a comparison that a signal stopped after at least one repetition.
///
/// How long a repetition takes depends on the machine and its load. A comparison that was stopped before its first
/// repetition is repeated with twice the time.
#[cfg(unix)]
fn stopped_with_a_result(args: &[&str], signal: &str) -> Output {
    let delays = [2, 4, 8, 16, 32, 64].map(Duration::from_secs);
    delays
        .iter()
        .map(|delay| stopped(args, signal, *delay))
        .find(|output| !output.stdout.is_empty())
        .expect("a repetition ends within a minute")
}

#[cfg(unix)]
#[test]
fn a_signal_ends_an_experiment_with_the_repetitions_that_are_done_and_marks_it() {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let short = [
        "scenarios/hello.json",
        "--for",
        "500ms",
        "--runs",
        "10000",
        "--all",
        "--arm",
        "NO_SIS_UTIL",
        "--fail-on",
        "worse",
    ];
    let shown = stopped_with_a_result(&short, "INT");
    let (stdout, stderr) = (text(&shown.stdout), text(&shown.stderr));
    assert_eq!(shown.status.code(), Some(130), "{stderr}");
    assert!(
        stdout.starts_with("stopped before the end, after ") && stdout.contains("of 10000 repetitions"),
        "{stdout}"
    );
    assert!(stdout.contains("CPU time") || stdout.contains("switches"), "{stdout}");
    let output = stopped_with_a_result(&[&short[..], &["--json"]].concat(), "TERM");
    assert_eq!(output.status.code(), Some(143), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is whole");
    assert_eq!(number(&report["cut_short_of_runs"]), 10000);
    let done = number(&report["comparison"]["repetitions"]);
    assert!(done > 0 && done < 10000, "{done}");
}

#[cfg(unix)]
#[test]
fn a_comparison_that_is_stopped_before_it_has_anything_says_so() {
    let long = ["scenarios/hello.json", "--for", "1000000s", "--arm", "NO_SIS_UTIL"];
    let warm = [&long[..], &["--runs", "2", "--warmup", "1s"]].concat();
    for args in [&long[..], &[&long[..], &["--runs", "2"]].concat(), &warm] {
        let output = stopped(args, "TERM", Duration::from_secs(2));
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(143), "{args:?}: {stderr}");
        assert!(output.stdout.is_empty() && stderr.contains("nothing to compare"), "{args:?}: {stderr}");
    }
}

/// Returns the change of a metric in percent between two arms of an experiment, and its verdict.
fn change_of(args: &[&str], metric: &str) -> (f64, String) {
    let report = json_of(&[args, &["--json"]].concat());
    let row = items(&report["comparison"]["rows"]).iter().find(|row| row["name"] == metric).expect("it is compared");
    let change = &row["changes"][0];
    (change["percent"].as_f64().expect("it has one"), change["verdict"].as_str().expect("it has one").to_owned())
}

#[test]
fn twice_the_work_takes_twice_the_time_whenever_it_starts() {
    // At one frequency, without deep idle states, and long enough that the creation of both tasks does not matter.
    let bench = ["--bench", "perf sched pipe -l 400"];
    let machine = ["--machine", "hikey960", "--cpu-dma-latency", "0", "--governor", "performance"];
    let base = [&["compare"][..], &machine, &bench].concat();
    let (percent, verdict) =
        change_of(&[&base[..], &["--arm", "bench=perf sched pipe -l 800", "--runs", "8"]].concat(), "time");
    assert!((95.0..105.0).contains(&percent) && verdict == "worse", "{percent} {verdict}");
}

#[test]
fn power_values_alone_make_a_difference_of_energy() {
    let more = std::fs::read_to_string(root().join("machines/hikey960.toml")).expect("a machine");
    let doubled = std::env::temp_dir().join(format!("fairlab-doubled-{}.toml", std::process::id()));
    let lines = more.lines().map(|line| match line.strip_prefix("power_uw = [") {
        None => line.to_owned(),
        Some(list) => {
            let numbers = list.trim_end_matches(']').split(',').map(|number| number.trim().replace('_', ""));
            let twice = numbers.filter(|number| !number.is_empty());
            let twice: Vec<String> =
                twice.map(|number| (2 * number.parse::<u64>().expect("a number")).to_string()).collect();
            format!("power_uw = [{}]", twice.join(", "))
        }
    });
    std::fs::write(&doubled, lines.collect::<Vec<_>>().join("\n")).expect("it can be written");
    let arm = format!("machine={}", doubled.display());
    let args = ["compare", HELLO, "--machine", "hikey960", "--for", "100ms", "--arm", &arm, "--runs", "8"];
    let (percent, verdict) = change_of(&args, "energy, busy");
    std::fs::remove_file(&doubled).expect("it is there");
    assert!((percent - 100.0).abs() < 0.1 && verdict == "worse", "{percent} {verdict}");
}

#[test]
fn an_arm_that_only_runs_longer_is_no_worse() {
    let text = std::fs::read_to_string(root().join(HELLO)).expect("a workload");
    let [short, long] = ["\"duration\" : 1", "\"duration\" : 2"].map(|duration| {
        let file = std::env::temp_dir().join(format!("fairlab-{}-{}.json", &duration[13..], std::process::id()));
        std::fs::write(&file, text.replace("\"duration\" : 2", duration)).expect("it can be written");
        file
    });
    let arm = format!("workload={}", long.display());
    let args = ["compare", short.to_str().expect("a path"), "--arm", &arm, "--runs", "8"];
    let (percent, verdict) = change_of(&args, "energy, busy");
    assert!(percent.abs() < 5.0 && verdict != "better", "{percent} {verdict}");
    let text = stdout_of(&args);
    assert!(text.contains("different lengths"), "{text}");
    [short, long].iter().for_each(|file| std::fs::remove_file(file).expect("it is there"));
}

#[test]
fn cyclictest_is_compared_by_its_latency() {
    let args =
        ["compare", "--bench", "cyclictest -t 2 -p 80 -l 100", "--arm", "NO_TTWU_QUEUE", "--runs", "6", "--json"];
    let report = json_of(&args);
    assert!(items(&report["comparison"]["rows"]).iter().any(|row| row["name"] == "latency max"), "{report}");
}
