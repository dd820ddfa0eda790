// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of `fairlab lab`: the page gets the workload and the settings. `cargo xtask browser` tests the page itself.

use crate::common::{complaint, fairlab, json_of, root, stdout_of};
use fairlab_lab::LabService;
use fairlab_lab_tools::LabTools;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Page with the element that contains the first run.
const PAGE: &str = r#"<p>before</p><script id="input" type="application/json">{"spec":{"workload":{"file":"example.scn"}},"runs":[]}</script><p>after</p>"#;

#[test]
fn the_page_contains_the_workload_the_machine_and_settings() {
    let dir = TempDir::new().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("a plain name").to_owned();
    let (page, scenario, out) = (path("page.html"), path("a.scn"), path("out.html"));
    std::fs::write(&page, PAGE).expect("writable");
    // The name of a task must not end the element.
    std::fs::write(&scenario, "cpus 2\nend 1ms\ntask </script> run 1ms\n").expect("writable");
    let settings = ["--machine", "laptop-8", "--set", "base_slice_ns=700000", "--for", "2ms"];
    stdout_of(&[&["lab", &scenario, "--page", &page, "-o", &out][..], &settings].concat());
    let text = std::fs::read_to_string(&out).expect("written");
    let inner =
        text.strip_prefix(r#"<p>before</p><script id="input" type="application/json">"#).expect("the head stays");
    let inner = inner.strip_suffix("</script><p>after</p>").expect("the tail stays");
    assert!(!inner.contains('<'), "{inner}");
    let input: Value = serde_json::from_str(inner).expect("valid JSON");
    let spec = &input["spec"];
    let file = &spec["workload"]["file"];
    assert_eq!(file["text"], "cpus 2\nend 1ms\ntask </script> run 1ms\n", "{spec}");
    assert_eq!(spec["settings"]["tunables"]["base_slice_ns"], 700_000, "{spec}");
    assert!(spec["settings"]["machine"]["text"].as_str().is_some_and(|text| text.contains("laptop-8")), "{spec}");
}

#[test]
fn a_wrong_workload_or_page_writes_nothing() {
    let dir = TempDir::new().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("a plain name").to_owned();
    let (page, wrong, out) = (path("page.html"), path("wrong.scn"), path("out.html"));
    std::fs::write(&page, PAGE).expect("writable");
    std::fs::write(&wrong, "cpus 2\nend 1ms\ntsk a run 1ms\n").expect("writable");
    for (args, text) in [
        (vec!["lab", &wrong, "--page", &page, "-o", &out], "unknown statement `tsk`"),
        (vec!["lab", "scenarios/eevdf.scn", "--page", &wrong, "-o", &out], "is no page of `fairlab lab`"),
        (vec!["lab", "scenarios/eevdf.scn", "--page", &page, "-o", &page], "page.html"),
    ] {
        let error = complaint(text, &fairlab(&args));
        assert!(error.contains(text), "{args:?}: {error}");
    }
    assert!(!std::path::Path::new(&out).exists());
}

#[test]
fn repetitions_in_the_page_are_compared_as_the_command_compares_them() {
    for (file, change, machine) in
        [("hello.json", json!({ "base_slice_ns": 400_000 }), None), ("eevdf.scn", json!({}), Some("laptop-8"))]
    {
        let workload = format!("scenarios/{file}");
        let path = root().join(&workload).to_str().expect("a plain name").to_owned();
        let arm = if file == "hello.json" { "base_slice_ns=400000" } else { "NO_RUN_TO_PARITY" };
        let features = if file == "hello.json" { json!({}) } else { json!({ "RUN_TO_PARITY": false }) };
        let options = machine.map_or_else(Vec::new, |machine| vec!["--machine", machine]);
        let command = [&["--json", "compare", &path, "--arm", arm, "--runs", "8"][..], &options].concat();
        let native = json_of(&command);
        let text = std::fs::read_to_string(&path).expect("readable");
        let spec = |changes: Value| {
            let mut settings = changes;
            settings["machine"] = json!(machine);
            json!({ "workload": { "file": { "given": path, "text": text } }, "settings": settings })
        };
        let arms = [spec(json!({})), spec(json!({ "tunables": change, "features": features }))];
        let (mut service, mut tools) = (LabService::default(), LabTools::default());
        for repetition in 0..8 {
            for (arm, spec) in arms.iter().enumerate() {
                let request = json!({ "measure": { "run": 1, "spec": spec, "seed": repetition + 1 } });
                let measured = service.ask(&request.to_string()).json;
                let request = json!({ "add-run": { "arm": arm, "repetition": repetition } });
                assert_eq!(tools.ask(&request.to_string(), measured.as_bytes()), r#"{"added":{}}"#, "{measured}");
            }
        }
        let request = json!({ "arms": ["unchanged", arm], "first_seed": 1, "command": [] });
        let answer = tools.ask(&json!({ "compare": request }).to_string(), &[]);
        let page: Value = serde_json::from_str(&answer).expect("an answer is JSON");
        let of_page = page["compared"].as_object().expect("a comparison");
        for key in native.as_object().expect("an object").keys() {
            if !["schema", "command", "first_differences"].contains(&key.as_str()) {
                assert_eq!(of_page.get(key).map(Value::to_string), Some(native[key].to_string()), "{file}: {key}");
            }
        }
    }
}

#[test]
fn the_page_saves_the_trace_that_the_command_exports() {
    let dir = TempDir::new().expect("a directory");
    let file = dir.path().join("a.pftrace");
    let workload = root().join("scenarios/hello.json").to_str().expect("a plain name").to_owned();
    let export = format!("perfetto={}", file.display());
    stdout_of(&["run", &workload, "--set", "base_slice_ns=400000", "--export", &export]);
    let text = std::fs::read_to_string(&workload).expect("readable");
    let spec = json!({
        "workload": { "file": { "given": workload, "text": text } },
        "settings": { "tunables": { "base_slice_ns": 400_000 } },
    });
    let answer = LabService::default().ask(&json!({ "save-trace": { "run": 1, "spec": spec } }).to_string());
    assert_eq!(answer.json, r#"{"run":1,"saved":{}}"#);
    assert!(answer.trace == std::fs::read(file).expect("written"), "the traces differ");
}

#[test]
fn answers_follow_from_runs_and_grade_files() {
    let dir = TempDir::new().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("a plain name").to_owned();
    let derived: Value = serde_json::from_str(&stdout_of(&["lab", "--check-answers", "--json"])).expect("valid JSON");
    let lessons = derived["lessons"].as_array().expect("a list");
    assert_eq!(lessons.len(), 17, "{derived}");
    // The run of an arm B has the digest of the derived answer.
    let run = ["run", "lessons/11-quota.scn", "--set", "cfs_bandwidth_slice_us=20000", "--json"];
    let run: Value = serde_json::from_str(&stdout_of(&run)).expect("valid JSON");
    assert_eq!(run["digest"], lessons[10]["digests"][1]);
    let choose = |lesson: &Value| (lesson["lesson"].as_str().expect("a name").to_owned(), lesson["answer"].clone());
    let mut answers: serde_json::Map<String, Value> = lessons.iter().map(choose).collect();
    let write = |name: &str, schema: &str, answers: &serde_json::Map<String, Value>| {
        let document = json!({ "schema": schema, "fairlab": "0.2.0", "answers": answers });
        std::fs::write(path(name), document.to_string()).expect("writable");
        path(name)
    };
    let right = write("right.json", "answers/1", &answers);
    answers.insert("fair-share".to_owned(), "rises".into());
    answers.remove("quota");
    let wrong = write("wrong.json", "answers/1", &answers);
    let graded = stdout_of(&["lab", "--check-answers", &right, &wrong, "--json"]);
    let graded: Value = serde_json::from_str(&graded).expect("valid JSON");
    assert_eq!((&graded["files"][0]["points"], &graded["files"][1]["points"]), (&17.into(), &15.into()), "{graded}");
    let grades = &graded["files"][1]["grades"];
    assert_eq!((&grades["fair-share"], &grades["quota"]), (&"wrong".into(), &"missing".into()), "{grades}");
    let text = stdout_of(&["lab", "--check-answers", &right, &wrong]);
    assert!(text.lines().all(|line| line.chars().count() <= 80 || line.contains(".json")), "{text}");
    let old = write("old.json", "answers/0", &answers);
    for (args, problem) in [
        (vec!["lab", "--check-answers", &right, &old], "its format is `answers/0`"),
        (vec!["lab", "--check-answers", "missing.json"], "missing.json: cannot be read"),
        (vec!["lab", "--machine", "laptop-8", "--check-answers"], "lessons have their own settings"),
    ] {
        let error = complaint(problem, &fairlab(&args));
        assert!(error.contains(problem), "{args:?}: {error}");
    }
}
