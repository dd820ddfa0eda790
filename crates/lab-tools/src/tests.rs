// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of requests and answers.

use crate::LabTools;
use fairlab_traces::import::{self, LeapHandling};
use serde_json::{Value, json};

fn ask(tools: &mut LabTools, request: &Value, content: &str) -> Value {
    serde_json::from_str(&tools.ask(&request.to_string(), content.as_bytes())).expect("answers are JSON")
}

/// Returns the answer of the engine for a run whose tasks waited for this time.
fn measured(wait_ns: u64) -> String {
    let subject = json!({ "workload": "a.scn", "kind": "scenario", "machine": "scenario", "kernel": "6.12" });
    let summary = json!({
        "digest": wait_ns.to_string(),
        "duration_ns": 1_000_000_000,
        "totals": { "wait_ns": wait_ns, "switches": 3 },
        "assumptions": ["packets take no time"],
    });
    let result =
        json!({ "subject": subject, "missing": [], "has_zero_costs": true, "summary": summary, "bench": null });
    json!({ "run": 1, "measured": result }).to_string()
}

fn compare_request() -> Value {
    json!({ "compare": { "arms": ["unchanged", "B"], "first_seed": 1, "command": ["fairlab"] } })
}

#[test]
fn runs_that_come_in_any_order_are_compared_with_verdict_notes_and_table() {
    let mut tools = LabTools::default();
    for repetition in (0..12).rev() {
        for arm in [1, 0] {
            let request = json!({ "add-run": { "arm": arm, "repetition": repetition } });
            let wait_ns = (1 + arm) * (1_000_000 + 1000 * repetition);
            assert_eq!(ask(&mut tools, &request, &measured(wait_ns)), json!({ "added": {} }));
        }
    }
    let compared = &ask(&mut tools, &compare_request(), "")["compared"];
    assert_eq!(compared["verdicts"][0]["text"], "`B` is worse than `unchanged` in waiting (+100 %)", "{compared}");
    let row = &compared["tables"][0]["rows"][0];
    assert_eq!((&row["metric"], &row["verdict"]), (&json!("waiting"), &json!("worse")), "{compared}");
    assert_eq!(row["change"], "+100 (+100..+100)", "{compared}");
    assert_eq!(compared["comparison"]["rows"][0]["arms"][0]["runs"][0], 1_000_000.0, "{compared}");
    let notes = compared["notes"].as_array().expect("a list");
    for kind in ["repetitions", "assumption", "zero-costs", "tests"] {
        assert!(notes.iter().any(|note| note["kind"] == kind), "{kind}: {compared}");
    }
    // The runs are dropped.
    assert_eq!(ask(&mut tools, &compare_request(), "")["error"]["text"], "some runs are missing");
}

#[test]
fn a_missing_run_and_an_error_of_a_run_are_errors() {
    let mut tools = LabTools::default();
    let add = |arm| json!({ "add-run": { "arm": arm, "repetition": 0 } });
    ask(&mut tools, &add(0), &measured(5));
    assert_eq!(ask(&mut tools, &compare_request(), "")["error"]["text"], "some runs are missing");
    let error = json!({ "run": 1, "error": { "text": "no such task", "help": null, "place": null } }).to_string();
    assert_eq!(ask(&mut tools, &add(0), &error)["error"]["text"], "no such task");
    let unknown = ask(&mut tools, &json!({ "explode": {} }), "");
    assert!(unknown["error"]["text"].as_str().is_some_and(|text| text.contains("`explode`")), "{unknown}");
}

fn open(name: &str, content: &[u8]) -> Value {
    let answer = LabTools::default().ask(&json!({ "open": { "name": name } }).to_string(), content);
    serde_json::from_str(&answer).expect("answers are JSON")
}

#[test]
fn files_are_distinguished_by_their_content() {
    let scenario = "cpus 2\nend 5ms\ntask a run 1ms\n";
    assert_eq!(open("a.txt", scenario.as_bytes())["opened"]["workload"], json!({ "name": "a.txt", "text": scenario }));
    let machine = "name = \"x\"\n";
    assert_eq!(open("x.toml", machine.as_bytes())["opened"]["machine"], json!({ "name": "x.toml", "text": machine }));
    let cpus: Vec<Value> = (0..4).map(|cpu| json!({ "cpu": cpu, "core": cpu / 2, "socket": 0, "node": 0 })).collect();
    let captured = &open("there.json", json!({ "cpus": cpus }).to_string().as_bytes())["opened"]["machine"];
    assert_eq!(captured["name"], "there.toml", "{captured}");
    let text = captured["text"].as_str().expect("a machine file");
    let description = fairlab_board::parse("there.toml", text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(description.nr_cpus(), 4);
}

#[test]
fn a_trace_becomes_the_workload_that_import_writes_and_an_error_has_its_place() {
    let trace = "\
# tracer: nop
a-10 [000] d..3. 1.000000: sched_switch: prev_comm=a prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=b next_pid=11 next_prio=120
b-11 [000] d..3. 1.002000: sched_switch: prev_comm=b prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=a next_pid=10 next_prio=120
a-10 [000] d..3. 1.003000: sched_switch: prev_comm=a prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=b next_pid=11 next_prio=120
";
    let opened = &open("rec/my.txt", trace.as_bytes())["opened"]["trace"];
    assert_eq!(opened["name"], "my.rec", "{opened}");
    let recording = import::read("my.txt", trace.as_bytes(), LeapHandling::Reject).expect("a trace");
    assert_eq!(opened["text"], import::behaviour::import(&recording, None).recorded.to_text(), "{opened}");
    let error = &open("cut.dat", b"\x17\x08\x44tracing6\0\0")["error"];
    assert_eq!(error["place"]["file"], "cut.dat", "{error}");
    assert!(error["text"].is_string() && error["help"].is_string(), "{error}");
}
