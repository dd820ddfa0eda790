// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of `fairlab report`: the report is one file whose data are those of the runs.

use crate::common::{complaint, data_of, fairlab, json_of, number, stdout_of, sum};
use fairlab_sched::interface::wakeup::WakeRule;
use std::path::Path;
use tempfile::TempDir;

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary files have plain names")
}

fn bytes_of(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let letters: Vec<u8> = text.bytes().filter(|&letter| letter != b'=').map(value).collect();
    let words = letters.chunks(4).flat_map(|chunk| {
        let word = (0..4).fold(0_u32, |word, place| word << 6 | u32::from(chunk.get(place).copied().unwrap_or(0)));
        word.to_be_bytes()[1..chunk.len()].to_vec()
    });
    words.collect()
}

fn number_at(bytes: &[u8], at: &mut usize) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            break;
        }
    }
    value
}

#[test]
fn a_page_has_each_time_that_a_task_ran_and_needs_no_network() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let (dir, file) = (place.path().join("run"), place.path().join("page.html"));
    let summary = json_of(&["run", "scenarios/hello.json", "--for", "200ms", "--json", "-o", text(&dir)]);
    stdout_of(&["report", text(&dir), text(&dir), "-o", text(&file)]);
    let page = std::fs::read_to_string(&file).expect("there is a page");
    for outside in ["src=", "@import", "url("] {
        // A drawing refers to a pattern of its own.
        assert!(!page.replace("url(#", "").contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"), "the browser loads nothing from elsewhere");
    let data = data_of(&page);
    let [run, again] = data["runs"].as_array().expect("a list").as_slice() else { panic!("two runs") };
    assert_eq!(run, again);
    assert_eq!(run["summary"]["digest"], summary["digest"]);
    let bytes = bytes_of(run["segments"].as_str().expect("base64"));
    let (mut at, mut busy, mut of_tasks) = (0, 0, 0);
    for _ in 0..run["cpus"].as_array().expect("a list").len() {
        let mut end = 0;
        for _ in 0..number_at(&bytes, &mut at) {
            let [after, length, thread, several, _, _, rule] = [(); 7].map(|()| number_at(&bytes, &mut at));
            end += after + length;
            assert!(several == 1 && rule <= WakeRule::ALL.len() as u64);
            // Stopper threads are not tasks of the workload.
            let is_task = run["threads"][thread as usize]["family"].is_string();
            busy += length;
            of_tasks += if is_task { length } else { 0 };
        }
        assert!(end <= number(&run["length_ns"]));
    }
    assert_eq!(at, bytes.len());
    assert_eq!(busy, number(&summary["totals"]["busy_ns"]));
    assert_eq!(of_tasks, sum(&summary["families"], "run_ns"));
    let woken = run["latencies"].as_object().expect("families").values();
    let woken: u64 = woken.flat_map(|sizes| sizes.as_object().expect("sizes").values().map(number)).sum();
    assert!(number(&summary["totals"]["wakeups"]) - woken < 20, "all but the tasks that still wait");
    let migrations = run["migrations"].as_array().expect("a list").iter().map(|cell| number(&cell[2])).sum::<u64>();
    assert_eq!(migrations, number(&summary["totals"]["migrations"]));
}

#[test]
fn a_page_explains_findings_and_long_waits_as_explain_does() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let (dir, file) = (place.path().join("run"), place.path().join("page.html"));
    let summary =
        json_of(&["run", "scenarios/hello.json", "--kernel", "6.1", "--for", "200ms", "--json", "-o", text(&dir)]);
    stdout_of(&["report", text(&dir), "-o", text(&file)]);
    let data = data_of(&std::fs::read_to_string(&file).expect("there is a page"));
    let run = &data["runs"][0];
    let sentences = |question: &serde_json::Value, at_ns: u64| {
        let (kind, value) = question.as_object().and_then(|question| question.iter().next()).expect("a question");
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let moment = format!("{at_ns}ns");
        let answer = json_of(&["explain", text(&dir), &format!("--{kind}"), &value, "--at", &moment, "--json"]);
        let claims = answer["claims"].as_array().expect("a list").iter();
        serde_json::Value::from_iter(claims.flat_map(|claim| claim["text"].as_array().expect("a list").clone()))
    };

    let found = json_of(&["findings", text(&dir), "--json"]);
    let findings = run["findings"].as_array().expect("the built-in scheduler has findings");
    assert!(!findings.is_empty() && findings.len() == found.as_array().expect("a list").len());
    for (finding, found) in findings.iter().zip(found.as_array().expect("a list")) {
        assert_eq!((&finding["rule"], &finding["sentence"]), (&found["rule"], &found["sentence"]));
        match number(&finding["at_ns"]) {
            0 => assert_eq!(finding["explanation"], serde_json::json!([])),
            at_ns => {
                assert_eq!(finding["explanation"], sentences(&finding["question"], at_ns), "{}", finding["question"]);
            }
        }
    }

    let waits = run["waits"].as_array().expect("a list");
    assert_eq!(waits.len(), 20);
    let lengths: Vec<u64> = waits.iter().map(|wait| number(&wait["length_ns"])).collect();
    assert!(lengths.is_sorted_by(|longer, shorter| longer >= shorter));
    let families = summary["families"].as_array().expect("a list").iter();
    let longest = families.filter_map(|family| family["wakeup_latency"]["max_ns"].as_u64()).max();
    assert_eq!(Some(lengths[0]), longest);
    for wait in [&waits[0], &waits[19]] {
        let last_moment_ns = number(&wait["since_ns"]) + number(&wait["length_ns"]) - 1;
        assert_eq!(wait["explanation"], sentences(&wait["question"], last_moment_ns), "{}", wait["question"]);
    }
}

#[test]
fn counts_of_a_page_exclude_the_warm_up_and_waits_of_stoppers() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let (dir, file) = (place.path().join("run"), place.path().join("page.html"));
    let warm = ["--warmup", "200ms", "--for", "100ms"];
    let run = ["run", "scenarios/hello.json", "--json", "-o", text(&dir)];
    let summary = json_of(&[&run[..], &warm].concat());
    stdout_of(&["report", text(&dir), "-o", text(&file)]);
    let data = data_of(&std::fs::read_to_string(&file).expect("there is a page"));
    let run = &data["runs"][0];
    let migrations = run["migrations"].as_array().expect("a list").iter().map(|cell| number(&cell[2])).sum::<u64>();
    assert_eq!(migrations, number(&summary["totals"]["migrations"]));
    let scanned = run["scanned"].as_object().expect("counts").values().map(number).sum::<u64>();
    assert_eq!(scanned, number(&summary["selection"]["wakeups"]));
    for family in summary["families"].as_array().expect("a list") {
        let sizes = run["latencies"][family["name"].as_str().expect("a name")].as_object();
        let count = sizes.map_or(0, |sizes| sizes.values().map(number).sum());
        assert_eq!(count, family["wakeup_latency"]["count"].as_u64().unwrap_or(0), "{family}");
    }
    let waits = run["waits"].as_array().expect("a list");
    assert_eq!(waits.len(), 20, "stoppers, which wait often, take no place");
    assert!(waits.iter().all(|wait| run["threads"][number(&wait["thread"]) as usize]["family"].is_string()));
}

#[test]
fn names_of_tasks_cannot_end_the_data_of_a_page() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let (app, dir, file) = (place.path().join("a.json"), place.path().join("run"), place.path().join("page.html"));
    std::fs::write(&app, r#"{"tasks": {"</script>": {"loop": 2, "run": 100}}}"#).expect("it can be written");
    stdout_of(&["run", text(&app), "--for", "10ms", "-o", text(&dir)]);
    stdout_of(&["report", text(&dir), "-o", text(&file)]);
    let page = std::fs::read_to_string(&file).expect("there is a page");
    assert_eq!(data_of(&page)["runs"][0]["summary"]["families"][0]["name"], "</script>");
}

#[test]
fn a_page_of_no_run_and_a_page_that_cannot_be_written_are_refused() {
    let refused = |args: &[&str]| complaint(&args.join(" "), &fairlab(args));
    assert!(refused(&["report", "scenarios", "-o", "page.html"]).contains("fairlab run FILE -o DIR"));
    let place = TempDir::new().expect("there is a place for temporary files");
    stdout_of(&["run", "scenarios/hello.json", "--for", "10ms", "-o", text(place.path())]);
    let nowhere = refused(&["report", text(place.path()), "-o", "/nowhere/page.html"]);
    assert!(nowhere.contains("/nowhere/page.html: cannot be written"), "{nowhere}");
}

#[test]
fn a_live_page_has_the_spec_of_its_first_run_and_none_of_an_engine() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let path = |name: &str| place.path().join(name);
    let (built, dir, out) = (path("built.html"), path("run"), path("page.html"));
    let start = r#"<script id="input" type="application/json">"#;
    let example = r#"{"spec":{"workload":{"file":"example.scn"}},"runs":[]}"#;
    std::fs::write(&built, format!("{start}{example}</script>")).expect("it can be written");
    stdout_of(&["run", "scenarios/hello.json", "--for", "10ms", "--kernel", "6.1", "-o", text(&dir)]);
    stdout_of(&["report", text(&dir), "--live", "--page", text(&built), "-o", text(&out)]);
    let data = data_of(&std::fs::read_to_string(&out).expect("there is a page"));
    assert_eq!(data["spec"]["settings"]["kernel"], "6.1", "{}", data["spec"]);
    assert!(data["spec"]["workload"]["file"]["text"].is_string());
    assert_eq!(data["runs"][0]["summary"]["run"]["kernel"], "6.1");
}
