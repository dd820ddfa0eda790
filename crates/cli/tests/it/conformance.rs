// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of `fairlab conformance`: the cases have published schedules, and their records drive a scheduler.

use crate::common::{assert_valid, complaint, fairlab, fairlab_with_input, items, stdout_of, validator};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const TICK_NS: i64 = 4_000_000;
/// Time at which the published schedules begin.
const BEGIN_NS: i64 = 8_000_000;

/// Published schedule: case, order of tasks by tick, and virtual time in eighths of a tick at the first switches.
const PUBLISHED: [(&str, &str, &[f64]); 4] = [
    ("abcd", "ABCDABCD", &[1.5, 3.5, 5.5, 7.5]),
    // The commit prints 8.25 and 12.25 for the last two: see the guide.
    ("aaccbbcc", "AACCBBCC", &[1.25, 5.25, 9.25, 13.25]),
    ("baaccbdd", "BAACCBDD", &[1.5, 3.5, 7.5, 11.5, 13.5]),
    ("bccaabcc", "BCCAABCC", &[1.25, 3.25, 7.25, 11.25, 13.25]),
];

/// Writes the built-in cases and returns the records of each, by name.
fn cases() -> BTreeMap<String, Vec<Value>> {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let dir = directory.path().join("cases");
    stdout_of(&["conformance", dir.to_str().expect("the path is text")]);
    let mut cases = BTreeMap::new();
    for folder in ["one-cpu", "groups", "cpus"] {
        for entry in std::fs::read_dir(dir.join(folder)).expect("the folder exists") {
            let path = entry.expect("the entry can be read").path();
            let name = format!("{folder}/{}", path.file_stem().expect("it is a file").to_string_lossy());
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                cases.insert(name, records(&path));
            }
        }
    }
    cases
}

fn records(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("the case was written");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is an integer"))
}

fn switches(records: &[Value]) -> impl Iterator<Item = &Value> {
    records.iter().filter(|record| record["record"] == "switch")
}

#[test]
fn the_records_have_their_form() {
    let validator = validator("conformance");
    let cases = cases();
    assert_eq!(cases.len(), 26);
    for (name, records) in &cases {
        assert_eq!(records[0]["case"]["name"], name.as_str());
        assert!(!records[0]["case"]["title"].as_str().expect("it has a title").is_empty(), "{name}");
        for record in records {
            assert_valid(&validator, record, name);
        }
    }
    let met = |kind: &str| cases.values().flatten().any(|record| record["record"] == kind);
    for kind in ["case", "runnable", "tick", "switch", "migration", "delayed-dequeue", "change"] {
        assert!(met(kind), "no case has a {kind}");
    }
}

#[test]
fn the_published_schedules_are_exact() {
    let cases = cases();
    for (name, order, virtual_times) in PUBLISHED {
        let records = &cases[&format!("one-cpu/{name}")];
        let placed =
            |task: &str| records.iter().find(|record| record["record"] == "runnable" && record["task"] == task);
        let first = &placed("A").expect("there is a task A")["entities"][0];
        let unit = (TICK_NS / 8 * 1_048_576) as f64 / int(&first["weight"]) as f64;
        let begun: Vec<&Value> = switches(records).filter(|record| int(&record["at_ns"]) >= BEGIN_NS).collect();
        let mut ticks = String::new();
        for (switch, next) in begun.iter().zip(&begun[1..]) {
            let length = int(&next["at_ns"]) - int(&switch["at_ns"]);
            assert_eq!(length % TICK_NS, 0, "{name}");
            let task = switch["next"]["task"].as_str().expect("a task runs");
            ticks.push_str(&task.repeat((length / TICK_NS) as usize));
        }
        for period in ticks.as_bytes().chunks_exact(order.len()) {
            assert_eq!(std::str::from_utf8(period).expect("letters"), order, "{name}");
        }
        assert!(ticks.len() >= 2 * order.len(), "{name}");
        for (switch, expected) in begun.iter().zip(virtual_times) {
            let v = int(&switch["next"]["entities"][0]["v"]) - int(&first["vruntime"]);
            assert!((v as f64 / unit - expected).abs() < 1e-4, "{name}: {} is not {expected}", v as f64 / unit);
        }
    }
}

#[test]
fn each_switched_off_feature_changes_the_picks() {
    let cases = cases();
    let picks = |name: &str| -> Vec<Value> {
        switches(&cases[name]).map(|record| serde_json::json!([record["at_ns"], record["next"]["task"]])).collect()
    };
    for name in ["no-place-lag", "no-delay-dequeue", "no-delay-zero"] {
        assert_ne!(picks(&format!("one-cpu/{name}")), picks("one-cpu/delayed-dequeue"), "{name}");
    }
    assert_ne!(picks("one-cpu/no-preempt-short"), picks("one-cpu/short-slices"));
}

/// Entity of [`TextbookEevdf`]. Virtual times are in ns times [`TextbookEevdf::SCALE`] by weight, without rounding.
struct Request {
    task: String,
    weight: i64,
    slice_ns: i64,
    vruntime: i64,
    deadline: i64,
}

/// EEVDF as in the literature: one CPU, decisions at ticks only, a task keeps the CPU until its deadline.
struct TextbookEevdf {
    now_ns: i64,
    queue: Vec<Request>,
    running: Option<usize>,
}

impl TextbookEevdf {
    /// Multiple of all weights of the published schedules.
    const SCALE: i64 = 9 << 20;

    fn advance(&mut self, at_ns: i64) {
        if let Some(running) = self.running {
            let request = &mut self.queue[running];
            request.vruntime += (at_ns - self.now_ns) * (Self::SCALE / request.weight);
        }
        self.now_ns = at_ns;
    }

    /// Sum of weighted virtual times, and sum of weights.
    fn sums(&self) -> (i128, i128) {
        let weighted = |request: &Request| i128::from(request.vruntime) * i128::from(request.weight);
        (self.queue.iter().map(weighted).sum(), self.queue.iter().map(|request| i128::from(request.weight)).sum())
    }

    fn join(&mut self, task: &str, weight: i64, slice_ns: i64) {
        let (sum, weights) = self.sums();
        let vruntime = if weights == 0 { 0 } else { (sum / weights) as i64 };
        let deadline = vruntime + slice_ns * (Self::SCALE / weight);
        self.queue.push(Request { task: task.to_owned(), weight, slice_ns, vruntime, deadline });
    }

    /// Picks the eligible task with the earliest deadline, and returns its name.
    fn pick(&mut self) -> &str {
        let (sum, weights) = self.sums();
        let is_eligible = |request: &Request| i128::from(request.vruntime) * weights <= sum;
        let eligible = (0..self.queue.len()).filter(|&place| is_eligible(&self.queue[place]));
        let picked = eligible.min_by_key(|&place| self.queue[place].deadline).expect("one is eligible");
        self.running = Some(picked);
        &self.queue[picked].task
    }

    /// Renews the request of the running task if it is fulfilled. Returns whether it was.
    fn tick(&mut self) -> bool {
        let request = &mut self.queue[self.running.expect("a task runs")];
        // Slices of 10 ns less than ticks leave that much of each request.
        let is_fulfilled = request.vruntime >= request.deadline;
        if is_fulfilled {
            request.deadline = request.vruntime + request.slice_ns * (Self::SCALE / request.weight);
        }
        is_fulfilled
    }
}

#[test]
fn the_records_of_the_published_schedules_drive_a_textbook_scheduler() {
    let cases = cases();
    for (name, ..) in PUBLISHED {
        let records = &cases[&format!("one-cpu/{name}")];
        let mut scheduler = TextbookEevdf { now_ns: 0, queue: Vec::new(), running: None };
        let mut nr_picks = 0;
        // Task that the scheduler switches to, until the record of that switch.
        let mut switches_to: Option<String> = None;
        for record in &records[1..] {
            scheduler.advance(int(&record["at_ns"]));
            match record["record"].as_str().expect("each record has its kind") {
                "runnable" => {
                    let entity = &record["entities"][0];
                    let task = record["task"].as_str().expect("it has a task");
                    scheduler.join(task, int(&entity["weight"]), int(&entity["slice_ns"]));
                }
                "tick" => {
                    assert_eq!(switches_to, None, "{name}: {record}");
                    let before = scheduler.running.map(|place| scheduler.queue[place].task.clone());
                    if scheduler.tick() {
                        let picked = scheduler.pick().to_owned();
                        switches_to = Some(picked).filter(|picked| before.as_ref() != Some(picked));
                    }
                }
                "switch" => {
                    if record["prev"]["state"] == "exited" {
                        let gone = scheduler.running.take().expect("a task runs");
                        scheduler.queue.remove(gone);
                    }
                    let picked = switches_to.take().unwrap_or_else(|| scheduler.pick().to_owned());
                    assert_eq!(record["next"]["task"], picked.as_str(), "{name}: {record}");
                    nr_picks += 1;
                }
                kind => panic!("{name} has a {kind}"),
            }
        }
        assert!(nr_picks > 12, "{name}");
    }
}

#[test]
fn own_scenarios_become_cases_and_mistakes_are_reported() {
    let directory = tempfile::tempdir().expect("there is room for temporary files");
    let dir = directory.path().join("mine");
    let dir = dir.to_str().expect("the path is text");
    let input = "# Two tasks of one weight.\ncpus 1\nend 20ms\ntask a n=2 run 1s\n";
    let output = fairlab_with_input(&["conformance", dir, "-"], input.as_bytes());
    assert!(output.status.success(), "{output:?}");
    let records = records(&Path::new(dir).join("stdin.jsonl"));
    assert_eq!(
        (&records[0]["case"]["title"], items(&records[0]["case"]["tasks"]).len()),
        (&Value::from("Two tasks of one weight."), 2)
    );
    let again = fairlab(&["conformance", dir]);
    assert_eq!(again.status.code(), Some(2));
    assert!(complaint("conformance", &again).contains("has files already"), "{again:?}");
    let twice = ["conformance", "none", "scenarios/eevdf.scn", "scenarios/switches/eevdf.scn"];
    let twice = fairlab(&twice);
    assert!(complaint("conformance", &twice).contains("a second case eevdf"), "{twice:?}");
}
