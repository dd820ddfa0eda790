// SPDX-License-Identifier: GPL-2.0-or-later
//! Snapshots of everything that the program writes about some runs: summaries, exports, explanations, pages, imports,
//! benchmarks and experiments.
//!
//! A snapshot proves no number right, which the audit does; it shows each change of an output. `data/snapshots/NAME.txt`
//! has the digest of each output. An output with another digest is written to `target/snapshots/NAME`, to compare it with
//! that of an earlier build. `FAIRLAB_BLESS=1 cargo test -p fairlab --test it snapshots` records the new digests.

use crate::common::{data_of, fairlab, items, json_of, number, program, root, stdout_of};
use fairlab_workload::sha256::hex_digest;
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Directory of the workloads and machines, from the root.
const DATA: &str = "crates/cli/tests/data/snapshots";
/// Digits of a digest that are recorded.
const NR_DIGITS: usize = 16;

/// Named outputs.
struct Snapshot {
    name: &'static str,
    outputs: Vec<(String, Vec<u8>)>,
}

impl Snapshot {
    fn new(name: &'static str) -> Self {
        Self { name, outputs: Vec::new() }
    }

    fn add(&mut self, label: impl Into<String>, output: impl Into<Vec<u8>>) {
        self.outputs.push((label.into(), output.into()));
    }

    /// Adds the standard output and the messages of a command, by its arguments without the directory `place`.
    fn add_command(&mut self, args: &[&str], place: &Path) {
        let output = fairlab(args);
        let place = place.to_str().expect("a path is text");
        let (out, messages) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        // Of a page, the data: its look is not a result.
        let out = if out.starts_with("<!DOCTYPE") { data_text(&out) } else { without_speed(&out) };
        let text = format!("{out}{messages}{:?}", output.status.code());
        let label = args.join(" ").replace(place, "DIR").replace(&format!("{DATA}/"), "");
        self.add(label, text.replace(place, "DIR").replace(env!("CARGO_BIN_EXE_fairlab"), "fairlab"));
    }

    /// Compares the digests with the recorded ones.
    fn check(self) {
        let mut lines = String::new();
        for (label, output) in &self.outputs {
            writeln!(lines, "{} {label}", &hex_digest(output)[..NR_DIGITS]).expect("text can be written");
        }
        let path = root().join(DATA).join(format!("{}.txt", self.name));
        if std::env::var_os("FAIRLAB_BLESS").is_some() {
            std::fs::write(path, lines).expect("the record can be written");
            return;
        }
        let recorded = std::fs::read_to_string(&path).unwrap_or_default();
        let changed = lines.lines().zip(&self.outputs).filter(|(line, _)| !recorded.lines().any(|old| old == *line));
        let directory = root().join("target/snapshots").join(self.name);
        let mut report = String::new();
        for (place, (_, (label, output))) in changed.enumerate() {
            let file = directory.join(place.to_string());
            std::fs::create_dir_all(&directory).expect("the directory can be created");
            std::fs::write(&file, output).expect("the output can be written");
            writeln!(report, "{}: {label}", file.display()).expect("text can be written");
        }
        let help = "FAIRLAB_BLESS=1 records the new digests, if the outputs were to change";
        assert!(report.is_empty() && lines == recorded, "outputs of {} have changed; {help}\n{report}", self.name);
    }
}

/// Removes the speed of the simulation and the version, which differ between runs and releases.
fn without_speed(text: &str) -> String {
    if let Ok(mut value) = serde_json::from_str::<Value>(text) {
        remove_speed(&mut value);
        return serde_json::to_string_pretty(&value).expect("JSON can be written");
    }
    let lines = text.lines().map(|line| match line.split_once("  ") {
        Some((digest, _)) if digest.starts_with("digest ") => digest,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn remove_speed(value: &mut Value) {
    match value {
        Value::Object(keys) => {
            for key in ["speed", "fairlab", "wall_s", "program"] {
                keys.remove(key);
            }
            keys.values_mut().for_each(remove_speed);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_speed),
        _ => {}
    }
}

/// Returns a file, or all files of a directory one after the other.
fn content(path: &Path) -> Vec<u8> {
    if path.is_file() {
        return std::fs::read(path).expect("the file can be read");
    }
    let mut files: Vec<PathBuf> = Vec::new();
    let mut directories = vec![path.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).expect("the directory exists") {
            let path = entry.expect("the directory can be read").path();
            if path.is_dir() { directories.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files.iter().flat_map(|file| std::fs::read(file).expect("the file can be read")).collect()
}

/// Formats that every run can be exported to.
const FORMATS: [&str; 12] = [
    "perfetto",
    "chrome",
    "trace-dat",
    "trace-dat-7",
    "ftrace",
    "perf",
    "csv",
    "schedstat",
    "schedstat-16",
    "sched-debug",
    "proc-sched",
    "bpftrace",
];
/// Formats that `import` reads.
const IMPORTED: [&str; 5] = ["perfetto", "trace-dat", "trace-dat-7", "ftrace", "perf"];

/// Everything about one run.
fn check_run(name: &'static str, options: &[&str]) {
    let place = TempDir::new().expect("there is a place for temporary files");
    let place = place.path();
    let path = |file: &str| place.join(file).to_str().expect("a path is text").to_owned();
    let mut snapshot = Snapshot::new(name);
    let run = [&["run"], options].concat();
    snapshot.add_command(&[&run[..], &["--json", "--findings"]].concat(), place);
    snapshot.add_command(&run, place);
    snapshot.add_command(&[&run[..], &["--tables", "all", "--measure", "all", "--per-cpu"]].concat(), place);
    snapshot.add_command(&[&run[..], &["--trace-jsonl", "-"]].concat(), place);
    let directory = path("run");
    let summary = json_of(&[&run[..], &["--json", "-o", &directory]].concat());

    for format in FORMATS {
        let file = path(format);
        let events = if ["csv", "perfetto", "chrome"].contains(&format) { &["--events", "all"][..] } else { &[] };
        program().args(["export", "-f", format, "-o", &file, &directory]).args(events).output().expect("it runs");
        snapshot.add(format!("export {format}"), content(Path::new(&file)));
        if IMPORTED.contains(&format) {
            let file = file.as_str();
            snapshot.add_command(&["import", "--json", file], place);
            snapshot.add_command(&["import", file, "-o", &path("imported.rec")], place);
            snapshot.add(format!("imported {format}"), content(Path::new(&path("imported.rec"))));
            snapshot.add_command(&["replay", file, "--json"], place);
            snapshot.add_command(&["replay", file], place);
        }
    }
    snapshot.add_command(&["findings", &directory, "--explain", "20"], place);
    snapshot.add_command(&["findings", &directory, "--latency", "1ms", "--starvation", "5ms", "--json"], place);
    snapshot.add_command(&["report", &directory, "-o", &path("page.html")], place);
    snapshot.add("page", data_of_page(&path("page.html")));
    snapshot.add_command(&["check", options[0]], place);

    let length = number(&summary["duration_ns"]);
    let nr_cpus = summary["cpus"].as_array().map_or(0, Vec::len);
    for part in [15, 40, 55, 70, 95] {
        let at = format!("{}ns", length * part / 100);
        for cpu in (0..nr_cpus.min(4)).map(|cpu| cpu.to_string()) {
            snapshot.add_command(&["explain", &directory, "--cpu", &cpu, "--at", &at], place);
            snapshot.add_command(&["explain", &directory, "--balance", &cpu, "--at", &at], place);
        }
        for family in items(&summary["families"]).iter().take(6) {
            let task = family["name"].as_str().expect("a family has a name");
            snapshot.add_command(&["explain", &directory, "--task", task, "--at", &at, "--json"], place);
            snapshot.add_command(&["explain", &directory, "--task", &format!("{task}0"), "--at", &at], place);
        }
    }
    for question in [["--task", "1002"], ["--task", "unknown"], ["--task", "t"], ["--cpu", "99"]] {
        snapshot.add_command(&[&["explain", &directory], &question[..], &["--at", "1ms"]].concat(), place);
    }
    add_partial_traces(&mut snapshot, &path("ftrace"), place);
    snapshot.check();
}

/// Imports a trace without some of its events, or without its begin.
fn add_partial_traces(snapshot: &mut Snapshot, trace: &str, place: &Path) {
    let text = std::fs::read_to_string(trace).expect("the trace was written");
    let half = text.lines().count() / 2;
    let file = place.join("part.txt");
    let file = file.to_str().expect("a path is text");
    let missing: [&[&str]; 4] =
        [&["sched_waking"], &["sched_wakeup_new", "sched_process_fork"], &["sched_wak"], &["cpu_idle"]];
    for without in missing {
        let part: Vec<&str> = text.lines().filter(|line| !without.iter().any(|name| line.contains(name))).collect();
        std::fs::write(file, part.join("\n")).expect("the trace can be written");
        snapshot.add_command(&["import", file, "--json"], place);
        snapshot.add_command(&["replay", file], place);
    }
    for every in [3, 7, 20] {
        let lines = text.lines().enumerate().filter(|(nr, line)| nr % every != 1 || line.starts_with('#'));
        std::fs::write(file, lines.map(|it| it.1).collect::<Vec<_>>().join("\n")).expect("the trace can be written");
        snapshot.add_command(&["import", file, "--json"], place);
        snapshot.add_command(&["import", file], place);
    }
    let late: Vec<&str> =
        text.lines().enumerate().filter(|(nr, line)| *nr > half || line.starts_with('#')).map(|it| it.1).collect();
    std::fs::write(file, late.join("\n")).expect("the trace can be written");
    snapshot.add_command(&["import", file], place);
    snapshot.add_command(&["replay", file, "--json"], place);
}

/// Summaries, findings and explanations of all scenarios.
#[test]
fn scenarios() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let directory = place.path().join("run");
    let directory = directory.to_str().expect("a path is text");
    let mut snapshot = Snapshot::new("scenarios");
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("scenarios"))
        .expect("the directory exists")
        .map(|entry| entry.expect("the directory can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "scn"))
        .collect();
    files.sort();
    for file in files {
        let name = format!("scenarios/{}", file.file_name().expect("a file has a name").display());
        snapshot.add_command(&["run", &name, "--for", "150ms", "--tables", "all", "--measure", "all"], place.path());
        snapshot.add_command(&["run", &name, "--for", "150ms", "--warmup", "30ms", "-o", directory], place.path());
        let limits = ["--latency", "100us", "--starvation", "1ms", "--idle", "1ms", "--explain", "3"];
        snapshot.add_command(&[&["findings", directory], &limits[..]].concat(), place.path());
        for at in ["40ms", "100ms", "179ms"] {
            for question in [["--cpu", "0"], ["--cpu", "1"], ["--balance", "0"], ["--balance", "1"], ["--task", "1001"]]
            {
                snapshot.add_command(&[&["explain", directory], &question[..], &["--at", at]].concat(), place.path());
            }
        }
    }
    snapshot.check();
}

/// As many warnings as are shown at most, one fewer and one more.
#[test]
fn warnings() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let file = place.path().join("run.json");
    let mut snapshot = Snapshot::new("warnings");
    for nr in 19..=22 {
        let tasks: Vec<String> = (0..nr).map(|task| format!(r#""t{task}": {{"run": 100, "unknown": 1}}"#)).collect();
        let text = format!(r#"{{"global": {{"duration": 1}}, "tasks": {{{}}}}}"#, tasks.join(", "));
        std::fs::write(&file, text).expect("the file can be written");
        let name = file.to_str().expect("a path is text");
        snapshot.add_command(&["run", name, "--for", "1ms"], place.path());
    }
    snapshot.check();
}

/// Traces of all formats with a byte changed, or cut off, at several places.
#[test]
fn damaged_traces() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let path = |file: &str| place.path().join(file).to_str().expect("a path is text").to_owned();
    let mut snapshot = Snapshot::new("damaged_traces");
    for format in IMPORTED {
        let (file, damaged) = (path(format), path("damaged"));
        let export = format!("{format}={file}");
        let run = ["run", "scenarios/ping-pong.scn", "--for", "60ms", "--export", &export];
        program().args(run).output().expect("it runs");
        let bytes = content(Path::new(&file));
        for part in 0..40 {
            // More places at the begin, where the headers are.
            let at = bytes.len() * part * part / 1600 + part;
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (part % 8);
            std::fs::write(&damaged, changed).expect("the trace can be written");
            snapshot.add_command(&["import", &damaged, "--leaps", "drop"], place.path());
            std::fs::write(&damaged, &bytes[..at]).expect("the trace can be written");
            snapshot.add_command(&["import", &damaged, "--json"], place.path());
        }
    }
    snapshot.check();
}

#[test]
fn trace_levels() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let mut snapshot = Snapshot::new("trace_levels");
    let text = std::fs::read_to_string(root().join(DATA).join("quotas.scn")).expect("the scenario exists");
    for level in 0..=4 {
        let file = place.path().join("run.scn");
        std::fs::write(&file, format!("{text}trace {level}\n")).expect("the scenario can be written");
        let args = ["run", file.to_str().expect("a path is text"), "--trace-jsonl", "-"];
        snapshot.add_command(&args, place.path());
    }
    snapshot.check();
}

/// Returns the data of a page, without the speed of its runs.
fn data_of_page(file: &str) -> String {
    data_text(&std::fs::read_to_string(file).expect("the page was written"))
}

/// Returns the data of a page without its speed.
fn data_text(page: &str) -> String {
    let mut data = data_of(page);
    remove_speed(&mut data);
    serde_json::to_string_pretty(&data).expect("JSON can be written")
}

macro_rules! runs {
    ($($name:ident: $file:literal $($option:literal)*;)*) => {
        $(#[test]
        fn $name() {
            let file = if $file.contains('/') { $file.to_owned() } else { format!("{DATA}/{}", $file) };
            let machine = format!("{DATA}/{}.toml", stringify!($name));
            let mut options = vec![file.as_str(), $($option),*];
            if root().join(&machine).exists() {
                options.extend(["--machine", &machine]);
            }
            check_run(stringify!($name), &options);
        })*
    };
}

runs! {
    cgroups: "cgroups.scn" "--warmup" "8ms" "--for" "45ms";
    power: "power.scn" "--seed" "619" "--vary" "--kernel" "5.11";
    turbo: "turbo.rec";
    interrupts: "interrupts.scn" "--prices" "hikey960" "--for" "60ms";
    quotas: "quotas.scn" "--warmup" "19ms" "--for" "39ms" "--seed" "485" "--vary";
    threads: "threads.rec" "--perturb" "604";
    steal: "steal.scn" "--for" "60ms";
    families: "families.scn";
    rejected: "rejected.scn";
    deadlock: "deadlock.json" "--for" "50ms";
    server: "scenarios/hello.json" "--machine" "xeon-2s-104" "--for" "20ms";
    board: "scenarios/energy-aware.json" "--for" "100ms";
    inversion: "scenarios/inversion.json" "--for" "80ms";
    warm: "scenarios/hello.json" "--warmup" "100ms" "--for" "100ms";
}

#[test]
fn recorded_traces() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let mut snapshot = Snapshot::new("recorded_traces");
    for trace in ["lisa-6cpu.txt", "android-systrace.html", "perf-pipe.data", "perf-compressed.data"] {
        let file = format!("crates/traces/tests/data/traces/{trace}");
        for args in
            [&["import", &file][..], &["import", &file, "--json"], &["replay", &file], &["replay", &file, "--json"]]
        {
            snapshot.add_command(args, place.path());
        }
    }
    snapshot.check();
}

#[test]
fn benchmarks() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let mut snapshot = Snapshot::new("benchmarks");
    for line in [
        "netperf -t TCP_RR --instances 3 --machine hikey960 --for 20ms",
        "netperf -t UDP_RR --instances 8 --machine xeon-2s-104 --for 8ms --warmup 4ms",
        "tbench 3 --machine hikey960 --for 20ms",
        "oltp --threads 4 --machine hikey960 --for 40ms",
        "stress-ng --sock 2 --machine hikey960 --for 10ms --warmup 5ms",
        "schbench --release 2016 -m 2 -t 3 --machine sc7180 --for 200ms",
        "schbench --release 2020 -m 1 -t 4 --machine hikey960 --for 200ms --warmup 100ms",
        "schbench -m 1 -t 1 --machine hikey960 --for 2100ms",
        "cyclictest -t 3 -p 80 --machine hikey960 --for 200ms",
        "cyclictest -t 2 -p 80 --hogs 9 --machine hikey960 --for 100ms --warmup 100ms",
        "hackbench -g 1 -f 2 -l 5 --machine hikey960 --seed 4 --vary",
        "hackbench -g 1 -f 4 -l 10 --pipe --threads --machine xeon-2s-104",
        "perf sched pipe -l 100 --machine hikey960 --seed 3 --vary",
        "perf sched pipe -l 50 --threaded --machine hikey960",
        "perf sched messaging -g 1 -l 2 --machine hikey960",
        "make -j3 --machine hikey960 --for 100ms",
    ] {
        let args: Vec<&str> = ["bench"].into_iter().chain(line.split(' ')).collect();
        snapshot.add_command(&args, place.path());
        snapshot.add_command(&[&args[..], &["--json"]].concat(), place.path());
    }
    snapshot.check();
}

#[test]
fn experiments() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let mut snapshot = Snapshot::new("experiments");
    let power = format!("{DATA}/power.scn");
    let machine = format!("{DATA}/power.toml");
    let kernels = [&power[..], "--machine", &machine, "--arm", "kernel=5.11", "--arm", "NO_NI_RANDOM,kernel=5.4"];
    let bench = [
        "--bench",
        "schbench --release 2020 -m 1 -t 4",
        "--machine",
        "hikey960",
        "--arm",
        "NO_WAKEUP_PREEMPTION",
        "--for",
        "60ms",
    ];
    let same = ["scenarios/hotplug.scn", "--arm", "NO_NI_RANDOM"];
    for arms in [&kernels[..], &bench, &same] {
        snapshot.add_command(&[&["compare"], arms].concat(), place.path());
        snapshot.add_command(&[&["compare"], arms, &["--json"]].concat(), place.path());
        for format in ["text", "std", "mmtests", "lkp", "markdown", "json", "html", "junit"] {
            let runs = ["--runs", "4", "--format", format, "--all"];
            snapshot.add_command(&[&["compare"], arms, &runs].concat(), place.path());
        }
        for runs in [
            ["--runs", "5", "--statistic", "mean", "--matters", "20"],
            ["--runs", "3", "--level", "10", "--detect", "30"],
        ] {
            snapshot.add_command(&[&["compare"], arms, &runs[..]].concat(), place.path());
        }
        for format in ["text", "markdown", "lkp"] {
            snapshot.add_command(&[&["compare"], arms, &["--runs", "8", "--format", format]].concat(), place.path());
        }
    }
    snapshot.check();
}

#[test]
fn lists() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let mut snapshot = Snapshot::new("lists");
    for line in [
        "features",
        "tunables",
        "kernels",
        "kernels 5.4",
        "machine list",
        "machine show hikey960",
        "machine show epyc-16llc",
        "study list",
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        snapshot.add(line, stdout_of(&args));
        snapshot.add(format!("{line} --json"), without_speed(&stdout_of(&[&args[..], &["--json"]].concat())));
    }
    snapshot.add_command(&["study"], place.path());
    snapshot.check();
}
