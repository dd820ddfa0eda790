// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the JSON formats: outputs have exactly the fields of their schemas, and the schemas equal those
//! in `docs/schemas`.
//!
//! `FAIRLAB_BLESS=1 cargo test -p fairlab --test it schemas` writes the schemas. If a field is removed or
//! changes its meaning, the version of the format must change too.

use crate::common::{assert_valid, fairlab, files, items, json_of, name_of_form as name, root, stdout_of, validator};
use fairlab_measure::catalogue::{is_known, numbers_of};
use serde_json::Value;
use std::path::Path;

const DIRECTORY: &str = "docs/schemas";

/// Returns all formats, each with name and version.
fn forms() -> Vec<String> {
    let forms = json_of(&["schema", "--json"]);
    items(&forms).iter().map(|form| form.as_str().expect("a name").to_owned()).collect()
}

#[test]
fn the_schemas_in_the_repository_are_those_that_the_program_writes() {
    let bless = std::env::var_os("FAIRLAB_BLESS").is_some();
    let mut expected: Vec<String> = Vec::new();
    for form in forms() {
        let file = format!("{DIRECTORY}/{}.json", form.replace('/', "-"));
        let (text, path) = (stdout_of(&["schema", name(&form)]), root().join(&file));
        if bless {
            std::fs::write(&path, &text).expect("the schema can be written");
        }
        let recorded = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(text, recorded, "{file}: if the form was to change, FAIRLAB_BLESS=1 writes it");
        expected.push(file);
    }
    expected.sort();
    assert_eq!(files(DIRECTORY, &[".json"]), expected, "a schema of nothing, or none of something");
}

/// Numbers that a comparison computes from the metrics of its runs, and its settings.
const OF_EXPERIMENTS: [&str; 27] = [
    "comparison.detect_percent",
    "comparison.distinct",
    "comparison.enough",
    "comparison.level",
    "comparison.matters_percent",
    "comparison.partial[].arms[].deviation",
    "comparison.partial[].arms[].runs[]",
    "comparison.partial[].arms[].value",
    "comparison.repetitions",
    "comparison.rows[].arms[].deviation",
    "comparison.rows[].arms[].runs[]",
    "comparison.rows[].arms[].value",
    "comparison.rows[].changes[].could_show_percent",
    "comparison.rows[].changes[].difference",
    "comparison.rows[].changes[].interval[]",
    "comparison.rows[].changes[].needed",
    "comparison.rows[].changes[].p",
    "comparison.rows[].changes[].p_corrected",
    "comparison.rows[].changes[].percent",
    "comparison.rows[].changes[].percent_interval[]",
    "comparison.tests",
    "comparison.work_changes[][].percent",
    "cut_short_of_runs",
    "first_differences[].at_ns",
    "first_differences[].runs[].cpu",
    "first_seed",
    "looks[]",
];

#[test]
fn each_number_of_a_format_is_in_the_catalogue_of_metrics() {
    let numbers = |form: &str| {
        let schema: Value = serde_json::from_str(&stdout_of(&["schema", form])).expect("it is JSON");
        numbers_of(&schema).into_iter().map(|(path, _)| path).collect::<Vec<String>>()
    };
    for (form, prefix, start) in [("run", "", ""), ("findings", "[].", "findings[].")] {
        // The audit recomputes each field of the first lines.
        for path in numbers(form).into_iter().filter(|path| !path.starts_with("headlines[].")) {
            let own = format!("{start}{}", path.strip_prefix(prefix).unwrap_or(&path));
            assert!(is_known(&own), "{form}: {path} is neither a metric nor excluded");
        }
    }
    // The audit recomputes each field of verdicts, notes and explanations.
    let audited = ["verdicts[].", "notes[].", "first_differences[].runs[].claims[]."];
    let is_conclusion = |path: &String| audited.iter().any(|start| path.starts_with(start));
    let (of_results, own): (Vec<String>, Vec<String>) = numbers("experiment")
        .into_iter()
        .filter(|path| !is_conclusion(path))
        .partition(|path| path.starts_with("results[]."));
    assert_eq!(own, OF_EXPERIMENTS);
    for path in of_results {
        assert!(is_known(&path["results[].".len()..]), "{path} is neither a metric nor excluded");
    }
    // The result of a benchmark has a schema of its own, whose numbers are in the catalogue under `bench`.
    assert_eq!(numbers("bench"), ["cut_short_of_ns", "seed", "settling.after_ns", "simulated_ns"]);
}

#[test]
fn outputs_say_which_form_they_have() {
    let forms = forms();
    for (form, args) in [
        ("run", &["run", "scenarios/hello.json", "--for", "50ms", "--json"] as &[&str]),
        ("bench", &["bench", "perf", "sched", "pipe", "-l", "100", "--json"]),
        ("check", &["check", "scenarios/newidle.scn", "--json"]),
    ] {
        let schema = json_of(args)["schema"].as_str().expect("it says so").to_owned();
        assert!(forms.contains(&schema) && name(&schema) == form, "{args:?}: {schema}");
    }
}

#[test]
fn summaries_of_all_scenarios_have_their_form() {
    let validator = validator("run");
    let of_switches = files("scenarios/switches", &[".scn", ".json"]);
    for file in files("scenarios", &[".scn", ".json"]).into_iter().chain(of_switches) {
        assert_valid(&validator, &json_of(&["run", &file, "--json"]), &file);
    }
    let many = ["run", "scenarios/hello.json", "--machine", "xeon-2s-224", "--for", "100ms", "--json"];
    assert_valid(&validator, &json_of(&many), "a large machine");
}

#[test]
fn a_value_that_lacks_a_key_or_has_another_one_is_found_out() {
    let validator = validator("run");
    let mut summary = json_of(&["run", "scenarios/newidle.scn", "--json"]);
    assert!(validator.is_valid(&summary));
    summary["totals"]["more"] = Value::from(1);
    assert!(!validator.is_valid(&summary));
    let totals = summary["totals"].as_object_mut().expect("an object");
    totals.remove("more");
    totals.remove("switches");
    assert!(!validator.is_valid(&summary));
}

#[test]
fn runs_and_what_is_asked_of_them_have_their_forms() {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let dir = directory.path().join("run");
    let dir = dir.to_str().expect("the path is text");
    stdout_of(&["run", "scenarios/hello.json", "--for", "300ms", "--seed", "3", "-o", dir]);
    let read = |file: &str| -> Value {
        let text = std::fs::read_to_string(Path::new(dir).join(file)).expect("the run has written it");
        serde_json::from_str(&text).expect("JSON")
    };
    assert_valid(&validator("run"), &read("summary.json"), "summary.json");
    assert_valid(&validator("manifest"), &read("manifest.json"), "manifest.json");
    let explain = validator("explain");
    for question in [["--task", "ping"], ["--cpu", "4"], ["--balance", "5"]] {
        let args = [&["explain", dir, "--at", "200ms", "--json"], &question[..]].concat();
        assert_valid(&explain, &json_of(&args), &format!("{question:?}"));
    }
    let findings = json_of(&["findings", dir, "--latency", "100us", "--json"]);
    assert!(!items(&findings).is_empty(), "there is something to validate");
    assert_valid(&validator("findings"), &findings, "findings");
    assert_valid(&validator("check"), &json_of(&["check", "scenarios/hello.json", "--json"]), "check");
    let compare = ["compare", "scenarios/newidle.scn", "--arm", "NO_NI_RANDOM", "--json"];
    assert_valid(&validator("experiment"), &json_of(&compare), "compare");
    let experiment = json_of(&[&compare[..], &["--runs", "6"]].concat());
    assert_eq!(experiment["schema"], "experiment/3");
    assert_valid(&validator("experiment"), &experiment, "compare with repetitions");
    let (page, board) = (directory.path().join("page.html"), directory.path().join("board.toml"));
    let file = |path: &Path| path.to_str().expect("the path is text").to_owned();
    let report = json_of(&["report", dir, "-o", &file(&page), "--json"]);
    assert_eq!(report["file"], file(&page));
    assert_eq!(json_of(&["machine", "capture", "--raw", "-o", &file(&board), "--json"])["file"], file(&board));
    assert!(json_of(&["machine", "capture", "--raw", "--json"])["toml"].is_string());
    let exported = fairlab(&["replay", dir]);
    let message_text = String::from_utf8_lossy(&exported.stderr);
    assert!(exported.status.code() == Some(2) && message_text.contains("this is a run directory"), "{message_text}");
}

#[test]
fn benchmarks_have_their_form() {
    let validator = validator("bench");
    for args in [
        &["hackbench", "-g", "1", "-l", "20"] as &[&str],
        &["perf", "sched", "pipe", "-l", "100"],
        &["schbench", "-m", "1", "-t", "1", "-r", "1"],
        &["cyclictest", "-l", "50"],
    ] {
        let args = [&["bench"], args, &["--json"]].concat();
        assert_valid(&validator, &json_of(&args), &format!("{args:?}"));
    }
}

#[test]
fn a_study_has_its_form() {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let study = directory.path().join("mine");
    let study = study.to_str().expect("the path is text");
    stdout_of(&["study", "new", study]);
    let file = format!("{study}.toml");
    assert_valid(&validator("study"), &json_of(&["study", "run", &file, "--quick", "--json"]), "a new study");
}

#[test]
fn every_line_of_a_trace_has_its_form_and_every_form_of_a_line_is_met() {
    let schema = json_of(&["schema", "trace"]);
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let kinds = items(&schema["oneOf"]).iter().map(|kind| kind["title"].as_str().expect("a title").to_owned());
    let mut unmet: Vec<String> = kinds.collect();
    for file in ["hotplug", "cpusets", "affinity-change", "numa", "group-clamps", "bandwidth", "eevdf"] {
        let path = root().join(format!("scenarios/{file}.scn"));
        let trace = "\ntracepelt 1\ntracelag 1\nstats 20ms\n";
        let text = std::fs::read_to_string(path).expect("the scenario can be read") + trace;
        // Only kernels with EEVDF have lags, and only 6.1 has the others in these scenarios.
        let kernel = if file == "eevdf" { "6.12" } else { "6.1" };
        let output = crate::common::fairlab_with_input(
            &["run", "-", "--for", "360ms", "--kernel", kernel, "--trace-jsonl", "-"],
            text.as_bytes(),
        );
        assert!(output.status.success(), "{file}");
        for line in String::from_utf8(output.stdout).expect("JSON is text").lines() {
            let value: Value = serde_json::from_str(line).expect("JSON");
            assert!(validator.is_valid(&value), "{file}: {line}");
            unmet.retain(|kind| value["e"] != kind.as_str());
        }
    }
    assert!(unmet.is_empty(), "{unmet:?}");
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let dir = directory.path().join("man1");
    stdout_of(&["man", dir.to_str().expect("the path is text")]);
    let run = std::fs::read_to_string(dir.join("fairlab-run.1")).expect("a page of `fairlab run`");
    assert!(run.starts_with(".ie") || run.starts_with(".TH") || run.contains(".TH fairlab-run"), "{}", &run[..80]);
    assert!(run.contains("trace\\-jsonl"), "options are listed");
    assert!(stdout_of(&["man"]).contains(".TH fairlab"));
}
