// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of requests and answers.

use crate::LabTools;
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
    // The runs are forgotten.
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
