// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of requests and answers.

use crate::{Answer, LabService};
use fairlab_run::input::InputFile;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use serde_json::{Value, json};

const TWO_TASKS: &str = "cpus 2\nend 20ms\ntask a loop run 1ms sleep 1ms\ntask b n=3 loop run 2ms sleep 500us\n";

fn spec(text: &str) -> Value {
    json!(RunSpec::new(WorkloadSpec::File(InputFile::new("two.scn").with_text(text.to_owned()))))
}

fn ask(service: &mut LabService, request: &Value) -> (Value, Answer) {
    let answer = service.ask(&request.to_string());
    (serde_json::from_str(&answer.json).expect("answers are JSON"), answer)
}

/// Runs a spec in steps of a length. Returns the digest and the number of steps.
fn run(service: &mut LabService, spec: &Value, step_ns: u64) -> (String, u64) {
    let (opened, _) = ask(service, &json!({ "open": { "run": 7, "spec": spec } }));
    assert_eq!(opened["opened"]["nr_cpus"], 2, "{opened}");
    for nr in 1.. {
        let (json, answer) = ask(service, &json!({ "step": { "run": 7, "until_ns": nr * step_ns } }));
        assert_eq!(json["run"], 7);
        assert!(!answer.segments.is_empty());
        if let Some(digest) = json["part"]["ended"]["digest"].as_str() {
            return (digest.to_owned(), nr);
        }
    }
    unreachable!("a run ends")
}

#[test]
fn a_run_in_steps_has_the_digest_of_the_whole_run_and_is_dropped_at_its_end() {
    let mut service = LabService::default();
    let spec = spec(TWO_TASKS);
    let (whole, one) = run(&mut service, &spec, u64::MAX / 2);
    let (steps, many) = run(&mut service, &spec, 1_000_000);
    assert_eq!((whole, one), (steps, 1));
    assert!(many >= 20, "{many} steps");
    let (json, _) = ask(&mut service, &json!({ "step": { "run": 7, "until_ns": 1 } }));
    assert_eq!(json["error"]["text"], "run 7 is not in progress", "{json}");
}

#[test]
fn unknown_keys_are_rejected_by_name() {
    for (request, word) in [
        (json!({ "open": { "run": 1, "spec": spec(TWO_TASKS), "level": 3 } }), "`level`"),
        (json!({ "open": { "run": 1, "spec": { "workload": { "file": "x" }, "setings": {} } } }), "`setings`"),
        (json!({ "explode": {} }), "`explode`"),
        (json!({ "step": { "run": 1, "until_ns": 1.5 } }), "1.5"),
    ] {
        let (json, _) = ask(&mut LabService::default(), &request);
        assert!(json["error"]["text"].as_str().is_some_and(|text| text.contains(word)), "{json}");
    }
}

#[test]
fn an_error_about_a_workload_has_its_place() {
    let request = json!({ "check": { "run": 2, "spec": spec("cpus 2\nend 20ms\ntsk a run 1ms\n") } });
    let (json, _) = ask(&mut LabService::default(), &request);
    assert_eq!((&json["run"], &json["error"]["place"]["line"]), (&json!(2), &json!(3)), "{json}");
    let (json, _) = ask(&mut LabService::default(), &json!({ "check": { "run": 2, "spec": spec(TWO_TASKS) } }));
    assert_eq!(json["checked"]["warnings"], json!([]), "{json}");
}

#[test]
fn the_first_difference_names_a_moment_that_can_be_explained_in_both_runs() {
    let mut service = LabService::default();
    let specs = [spec(TWO_TASKS), {
        let mut changed = spec(TWO_TASKS);
        changed["settings"]["tunables"] = json!({ "base_slice_ns": 300_000 });
        changed
    }];
    let (json, _) = ask(&mut service, &json!({ "difference": { "run": 3, "specs": specs } }));
    let difference = &json["difference"];
    for (run, decisions) in difference["decisions"].as_array().unwrap_or_else(|| panic!("{json}")).iter().enumerate() {
        assert!(decisions[0].as_str().is_some_and(|text| text.starts_with("At ")), "run {run}: {json}");
    }
    let question = json!({ "task": difference["task"] });
    for spec in &specs {
        let request = json!({ "run": 4, "spec": spec, "question": question, "at_ns": difference["at_ns"] });
        let (json, _) = ask(&mut service, &json!({ "explain": request }));
        assert_eq!(json["explained"]["claims"][0]["kind"], "task-state", "{json}");
    }
    let (json, _) = ask(&mut service, &json!({ "difference": { "run": 3, "specs": [specs[0], specs[0]] } }));
    assert_eq!(json["difference"], Value::Null, "{json}");
}

#[test]
fn the_catalogue_names_machines_kernels_and_switches_with_their_demos() {
    let (json, _) = ask(&mut LabService::default(), &json!({ "catalogue": {} }));
    let catalogue = &json["catalogue"];
    let find = |list: &str, name: &str| {
        let rows = catalogue[list].as_array().expect(list);
        rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{list} without {name}")).clone()
    };
    assert_eq!(find("machines", "xeon-2s-224")["nr_cpus"], 224);
    assert_eq!(find("kernels", "5.4")["series"], "6.1");
    assert_eq!(find("features", "SIS_UTIL")["demos"][0]["series"], "6.1");
    assert_eq!(find("tunables", "base_slice_ns")["unit"], "ns");
}
