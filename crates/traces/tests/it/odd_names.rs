// SPDX-License-Identifier: GPL-2.0-or-later
//! Task names that need escapes in JSON. rt-app files allow any name.

use fairlab_board::preset;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_traces::trace_jsonl::{TraceJsonl, TraceOptions};
use fairlab_workload::rtapp;
use serde_json::{Value, json};

/// Names that are short enough for a thread's number after them.
const ODD_NAMES: [&str; 6] = ["say \"hi\"", "C:\\temp\\", "two\nlines\t", "\u{1}\u{1b}[31m", "}{,\":", "größer ☃"];

/// Returns an rt-app file with tasks of these names.
fn file_of(names: &[&str]) -> String {
    let tasks: serde_json::Map<String, Value> =
        names.iter().map(|&name| (name.to_owned(), json!({ "loop": 1, "run": 100 }))).collect();
    json!({ "tasks": tasks }).to_string()
}

#[test]
fn each_line_of_a_trace_is_json_whatever_the_tasks_are_called() {
    let description = preset("laptop-8").expect("it is a preset");
    let nr_cpus = description.nr_cpus();
    let options = rtapp::RtAppOptions::for_cpus(KernelSeries::V6_1, nr_cpus as u32);
    let workload = rtapp::parse("odd.json", &file_of(&ODD_NAMES), options).unwrap_or_else(|error| panic!("{error}"));
    let setup =
        Setup::new(KernelSeries::V6_1, Hardware::from_description(&description), workload, Nanos::from_millis(10));
    let mut machine = Machine::new(setup).expect("a possible machine");
    let mut out = Vec::new();
    let mut trace = TraceJsonl::new(&mut out, nr_cpus, TraceOptions { level: 3, pelt: true, lags: false });
    machine.run(&mut trace).expect("the tasks make progress");
    trace.write_totals(&machine);
    trace.finish().expect("memory can be written");
    let text = String::from_utf8(out).expect("a trace is text");
    let parse = |line| serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let lines: Vec<Value> = text.lines().map(parse).collect();
    let written: Vec<&str> = lines.iter().filter_map(|line| line["name"].as_str()).collect();
    let expected: Vec<&str> = machine.tasks().iter().map(|task| task.name.as_str()).collect();
    assert_eq!(written, expected);
    for name in ODD_NAMES {
        assert!(written.iter().any(|written| written.starts_with(name)), "{name:?} is missing: {written:?}");
    }
}
