// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of a user's own study: from a new file to a report, and messages for errors.

use crate::common::{assert_valid, fairlab, program, validator};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

/// Runs the program in a directory.
fn in_directory(directory: &Path, args: &[&str]) -> Output {
    program().current_dir(directory).args(args).output().expect("the program starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Writes the new study with one text replaced.
fn changed(directory: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(directory.join("mine.toml")).expect("it was written");
    assert!(text.contains(from), "{from}");
    fs::write(directory.join("changed.toml"), text.replacen(from, to, 1)).expect("it can be written");
}

#[test]
fn a_new_study_is_checked_and_run_to_a_page_that_needs_nothing_else() {
    let directory = tempfile::tempdir().expect("there is room");
    let at = directory.path();
    assert!(in_directory(at, &["study", "new", "mine"]).status.success());
    let again = in_directory(at, &["study", "new", "mine"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("mine.toml: cannot be written"), "{}", stderr(&again));

    let check = in_directory(at, &["study", "check", "mine.toml"]);
    let result = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(check.status.success() && result.starts_with("mine.toml: OK: 2 arms"), "{result}{}", stderr(&check));

    let run = in_directory(at, &["study", "run", "mine.toml", "--quick", "-o", "out"]);
    assert!(run.status.success(), "{}", stderr(&run));
    let page = fs::read_to_string(at.join("out/mine.html")).expect("the page is written");
    let (effect, table) = (page.find("The effect"), page.find("hackbench: time<"));
    assert!(effect.is_some() && effect < table && page.contains("<svg"), "{page}");
    let report: Value = serde_json::from_slice(&fs::read(at.join("out/mine.json")).expect("the report is written"))
        .expect("it is JSON");
    let gain = &report["tables"][0]["rows"][0];
    assert_eq!((&gain["label"], &gain["arm"]), (&Value::from("1 groups"), &Value::from("after")));
    assert_eq!(gain["interval"].as_array().map(Vec::len), Some(2), "three seeds have an interval: {gain}");
    assert!(at.join("out/mine-time.svg").exists());
}

#[test]
fn seeds_span_perturbation_and_machine_are_those_that_were_asked_for() {
    let directory = tempfile::tempdir().expect("there is room");
    let at = directory.path();
    fs::write(
        at.join("short.toml"),
        "name = 'short'\ntitle = 't'\nsource = 's'\nmachine = 'hikey960'\nseeds = 2\n\
         [[arm]]\nname = 'a'\nmeaning = 'm'\n[[arm]]\nname = 'b'\nmeaning = 'm'\ntunables = { migration_cost_ns = 0 }\n\
         [[run]]\nname = 'r'\nfile = 'app.json'\nspan = '100ms'\nwarm_up = '50ms'\n\
         [figure.ms]\npath = 'duration_ns'\nscale = 1e-6\n[figure.cpus]\npath = 'cpus[*].cpu'\neach = 'count'\n\
         [figure.early]\npath = 'families[name=t].run_ns'\nscale = 1e-6\n\
         [[table]]\nname = 't'\ntitle = 't'\nmetric = 'm'\nunit = 'u'\nfigures = ['ms', 'cpus', 'early']\narms = ['a']\n",
    )
    .expect("it can be written");
    fs::write(at.join("app.json"), r#"{ "tasks": { "t": { "loop": -1, "run": 2000, "sleep": 2000 } } }"#)
        .expect("it can be written");
    let value = |args: &[&str]| -> (Vec<f64>, String) {
        let output = in_directory(at, &[&["study", "run", "short.toml", "--json"], args].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        let rows = report["tables"][0]["rows"].as_array().expect("it has rows").clone();
        (rows.iter().filter_map(|row| row["value"].as_f64()).collect(), report.to_string())
    };
    let (values, usual) = value(&[]);
    assert_eq!(values[..2], [100.0, 8.0]);
    assert!(values[2] > 30.0 && values[2] < 100.0, "what ran in the warm-up does not count: {values:?}");
    assert_eq!(value(&["--span", "30ms"]).0[..2], [30.0, 8.0]);
    assert_eq!(value(&["--machine", "sc7180"]).0[1], 8.0);
    assert_eq!(value(&["--machine", "hikey", "--seeds", "1"]).0[1], 8.0);
    assert_eq!(value(&["--machine", "uniprocessor"]).0[1], 1.0);
    assert_eq!(value(&["--jobs", "1"]).1, usual, "the number of jobs changes nothing");
}

#[test]
fn errors_of_a_study_name_the_file_the_place_and_a_remedy() {
    let directory = tempfile::tempdir().expect("there is room");
    let at = directory.path();
    assert!(in_directory(at, &["study", "new", "mine"]).status.success());
    for (from, to, expected) in [
        ("meaning = ", "meanin = ", "changed.toml:18: arm before: unknown key `meanin` help: did you mean `meaning`?"),
        (
            "wakelist_far",
            "wakelist_fra",
            "arm before: tunables: wakelist_fra=1: unknown tunable help: did you mean wakelist_far?",
        ),
        (
            "path = \"done_s\"",
            "path = \"don_s\"",
            "figure time, run 1 groups: a run has no `don_s` help: did you mean `done_s`?",
        ),
        ("bench = \"hackbench", "bench = \"hackbnch", "changed.toml: run 1 groups: hackbnch -g 1"),
        (
            "bench = \"hackbench",
            "bench = \"hackbench --seed 3",
            "--seed is set by the study help: omit it, and set `first_seed`",
        ),
        ("machine = \"hikey960\"", "machine = \"hikey96\"", "help: did you mean `hikey960`"),
        ("table = \"time\"", "table = \"tme\"", "picture time: there is no table tme help: did you mean `time`?"),
        (
            "figure = \"scanned\"",
            "figure = \"scaned\"",
            "table scanned: there is no figure scaned help: did you mean `scanned`?",
        ),
        ("label = \"4 groups\"", "label = \"5 groups\"", "table gain, row 5 groups: its run is not determined"),
        (
            "row = \"1 groups\"",
            "row = \"5 groups\"",
            "headline: there is no row 5 groups help: did you mean `1 groups`?",
        ),
        ("from = \"before\"", "from = \"befor\"", "there is no arm befor help: did you mean `before`?"),
        (
            "bench = \"hackbench",
            "file = \"none.json\"\n# \"",
            "none.json: run 1 groups of changed.toml: cannot be read",
        ),
    ] {
        changed(at, from, to);
        let output = in_directory(at, &["study", "check", "changed.toml"]);
        let error = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{from}: {error}");
        assert!(error.contains(expected), "{from} -> {to}\n{error}");
    }
}

#[test]
fn every_study_that_comes_with_the_program_is_listed() {
    let output = fairlab(&["study", "list", "--json"]);
    let studies: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let listed = studies.as_array().expect("it is a list").len();
    let files =
        crate::common::files("studies", &[".toml"]).iter().filter(|file| !file.ends_with("results.toml")).count();
    assert_eq!(listed, files);
}

#[test]
fn sensitivity_names_the_facts_that_move_the_headline() {
    let directory = tempfile::tempdir().expect("there is room");
    let at = directory.path();
    let study = "name = 'pipes'\ntitle = 't'\nsource = 's'\nmachine = 'hikey960'\nseeds = 3\n\
        [headline]\nname = 'time of a message'\ntable = 'time'\nrow = 'pipe'\narm = 'a'\n\
        [[arm]]\nname = 'a'\nmeaning = 'm'\n\
        [[run]]\nname = 'pipe'\nbench = 'perf sched pipe -l 300'\ngovernor = 'performance'\n\
         start = { every = '317us', within = '4ms' }\n\
        [figure.time]\npath = 'done_s'\nscale = 1e6\n\
        [[table]]\nname = 'time'\ntitle = 't'\nmetric = 'time'\nunit = 'us'\nfigure = 'time'\n";
    fs::write(at.join("pipes.toml"), study).expect("it can be written");
    let sensitivity = |args: &[&str]| {
        let output = in_directory(at, &[&["study", "sensitivity", "pipes.toml"], args].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).expect("output is text")
    };
    let report: Value = serde_json::from_str(&sensitivity(&["--json"])).expect("it is JSON");
    assert_valid(&validator("sensitivity"), &report, "sensitivity");
    let first = &report["facts"][0];
    assert_eq!(first["fact"], "instructions_per_us", "kernel code is nearly all of a message: {report:#}");
    let (value, slow, fast) = (&report["value"], &first["least"]["headline"], &first["greatest"]["headline"]);
    let number = |value: &Value| value.as_f64().expect("it is a number");
    assert!(number(slow) > number(value) && number(value) > number(fast), "{report:#}");
    assert_eq!(first["is_within_noise"], false);
    let effects: Vec<f64> =
        report["facts"].as_array().expect("a list").iter().map(|fact| number(&fact["largest_change"]).abs()).collect();
    assert!(effects.len() > 3 && effects.is_sorted_by(|one, other| one >= other), "{effects:?}");
    let text = sensitivity(&[]);
    let answer = text.replace('\n', " ");
    assert!(
        answer.starts_with("time of a message: ") && answer.contains("Moved most by instructions_per_us ("),
        "{text}"
    );
    assert!(text.contains(" noise\n") && text.contains("Facts are those of hikey960."), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(sensitivity(&["--jobs", "1"]), text, "the number of jobs changes nothing");
    let one_seed = sensitivity(&["--seeds", "1"]);
    assert!(one_seed.replace('\n', " ").contains("Fewer than three seeds: the noise is unknown."), "{one_seed}");

    fs::write(
        at.join("pipes.toml"),
        study.replace("[headline]\nname = 'time of a message'\ntable = 'time'\nrow = 'pipe'\narm = 'a'\n", ""),
    )
    .expect("it can be written");
    let without = in_directory(at, &["study", "sensitivity", "pipes.toml"]);
    assert!(stderr(&without).contains("study pipes: it has no headline"), "{}", stderr(&without));
}
