// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the embedded command. Stopping is tested from Python, where it cannot end other tests.

use super::run::EmbeddedRun;
use super::sweep::{EmbeddedSweep, SweepStore};
use super::*;
use fairlab_run::memory;
use fairlab_run::settings::Settings;

const TASKS: &str = r#"{ "tasks": { "ui": { "loop": 20, "run": 1000, "sleep": 4000 } }, "global": { "duration": 1 } }"#;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(|word| word.replace('@', "\x000\0")).collect()
}

/// Returns the spec of the text's run with these settings.
fn spec(settings: &str) -> String {
    format!(r#"{{ "workload": {{ "file": "\u00000\u0000" }}, "settings": {{ {settings} }} }}"#)
}

fn texts() -> MemoryTexts {
    MemoryTexts::new(vec![("ui".to_owned(), TASKS.to_owned())])
}

#[test]
fn a_text_is_run_as_its_file_would_be_and_its_tables_come_of_the_same_run() {
    let spec = spec(r#""duration": "200ms", "seed": 3"#);
    let (run, _) = EmbeddedRun::new(&spec, None, None, &texts()).expect("it runs");
    assert_eq!((run.summary().run.workload.as_str(), run.summary().duration_ns), ("<ui>", 200_000_000));
    assert!(run.report().starts_with("<ui>: rt-app on hikey960"));
    let tables = run.tables(&["sched".to_owned(), "decisions".to_owned()]).expect("it runs again");
    let rows = |name: &str| tables.iter().find(|table| table.name == name).map_or(0, |table| table.rows) as u64;
    assert_eq!(rows("switches"), run.summary().totals.switches);
    assert!(rows("selections") > 0 && rows("averages") == 0);
    assert!(run.page("ui").expect("it runs again").contains("<html"));
}

#[test]
fn settings_are_values_with_their_place_in_errors() {
    let run = |costs: &str| {
        let spec = spec(&format!(r#""duration": "200ms", "prices": [{costs}]"#));
        EmbeddedRun::new(&spec, None, None, &texts()).map(|(run, _)| run.summary().digest.clone())
    };
    assert_ne!(run("").expect("it runs"), run(r#""ContextSwitch=100000""#).expect("it runs"));
    let error = run(r#""ContextSwich=1""#).expect_err("misspelt").to_string();
    assert!(error.starts_with("settings.prices: ") && error.contains("ContextSwitch"), "{error}");
}

#[test]
fn errors_are_those_of_the_command() {
    let wrong = |settings: &str| EmbeddedRun::new(&spec(settings), None, None, &texts()).expect_err("it is wrong");
    for (settings, expected) in [
        (r#""features": { "SIS_UTL": false }"#, "did you mean NO_SIS_UTIL?"),
        (r#""features": { "NO_SIS_UTIL": false }"#, "unknown feature"),
        (r#""kernel": "5.20""#, "settings.kernel: unknown kernel help: known kernels: 4.19"),
        (r#""governors": "schedutil""#, "unknown field `governors`"),
        (r#""starts": "jittered""#, "need a seed"),
        (r#""engine": "kernel:6.1""#, "does not support compiled-kernel engines"),
    ] {
        let error = wrong(settings);
        assert!(
            matches!(&error, CallError::Input(message) if message.one_line().contains(expected)),
            "{settings}: {error}"
        );
    }
    let broken = MemoryTexts::new(vec![("broken".to_owned(), "{ \"tasks\": { \"a\": { \"rum\": 1 } } }".to_owned())]);
    let error = EmbeddedRun::new(&spec(""), None, None, &broken).expect_err("there is no such event");
    assert!(error.to_string().starts_with("<broken>:"), "{error}");
}

#[test]
fn a_command_answers_with_what_it_would_have_written() {
    let answer = command(&words("run @ --json"), Some(r#"{ "duration": "100ms" }"#), &texts()).expect("it runs");
    let summary: Value = serde_json::from_str(&answer.results.concat()).expect("it is JSON");
    assert_eq!((&summary["schema"], &summary["run"]["workload"]), (&"run/3".into(), &"<ui>".into()));
}

#[test]
fn two_texts_of_one_name_have_two_names_and_leave_with_those_who_need_them() {
    let one = MemoryTexts::new(vec![("same".to_owned(), "one".to_owned())]);
    let other = MemoryTexts::new(vec![("same".to_owned(), "other".to_owned())]);
    let again = MemoryTexts::new(vec![("same".to_owned(), "one".to_owned())]);
    let name = |texts: &MemoryTexts| texts.resolve_names("\x000\0");
    assert_eq!((name(&one), name(&other), name(&again)), ("<same>".into(), "<same 2>".into(), "<same>".into()));
    drop(one);
    assert_eq!(memory::read_text("<same>").as_deref(), Some("one"));
    drop((other, again));
    assert_eq!((memory::read_text("<same>"), memory::read_text("<same 2>")), (None, None));
}

#[test]
fn points_that_were_run_elsewhere_are_stored_like_others() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let plan =
        "workload = \"\\u00000\\u0000\"\nfor = '50ms'\nmetrics = ['switches']\n[grid]\nSIS_UTIL = [true, false]\n";
    let sweep = EmbeddedSweep::new("plan", plan, directory.path(), texts()).expect("it is a plan");
    sweep.check().expect("it can be run");
    let path = directory.path().join("plan.sweep");
    let mut store = SweepStore::open(&path, &sweep, false).expect("it can be written");
    let (id, point) = sweep.points()[0].clone();
    let result = sweep.run(point.settings, point.seed).expect("it runs");
    let done = fairlab_sweep::store::StoredResult { outcome: Ok(result), wall_ns: 1 };
    store.put(&[(id, done)]).expect("it can be written");
    assert_eq!(store.pending("1/1").expect("it can be read").len(), 1);
    sweep.run_pending(&mut store, "1/1").expect("it runs");
    let results = store.results().expect("they can be read");
    assert!(results.len() == 2 && results.iter().all(|(_, result)| result.is_ok()), "{results:?}");
}

#[test]
fn a_command_has_the_specs_of_its_arms() {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/scan-limit.scn");
    let of = |text: &str| {
        let text = format!("fairlab {}", text.replace('@', scenario));
        specs::of_command(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
    };
    let run = of("run @ --kernel 6.1 --json").expect("it is a command");
    assert_eq!((run.specs.len(), run.is_repeated), (1, false));
    assert_eq!(run.specs[0].settings.kernel.map(|kernel| kernel.name), Some("6.1"));
    let once = of("compare @ --arm NO_SIS_UTIL").expect("it is a command");
    let [unchanged, changed] = &once.specs[..] else { panic!("a single arm is compared with the workload as it is") };
    assert!(unchanged.settings == Settings::default() && !changed.settings.features["SIS_UTIL"]);
    assert_eq!((unchanged.settings.seed, once.is_repeated), (None, false));
    let repeated = of("compare @ --arm NO_SIS_UTIL --runs 3").expect("it is a command");
    assert_eq!((repeated.specs[0].settings.seed, repeated.is_repeated), (Some(1), true));
    for (wrong, expected) in
        [("run missing.scn", "missing.scn: cannot be read"), ("machine list", "give `run` or `compare`")]
    {
        assert!(of(wrong).expect_err(wrong).to_string().contains(expected), "{wrong}");
    }
}
