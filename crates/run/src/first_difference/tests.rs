// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use crate::bench::{self, LineOf};
use crate::input::InputFile;
use crate::settings::Setting;
use crate::spec::{BenchSpec, WorkloadSpec};
use crate::switches;
use fairlab_sched::features::Demo;
use fairlab_sched::series::KernelSeries;
use std::path::Path;

/// Returns the run of a file in `scenarios/` with changes.
fn spec(file: &str, changes: &[(&str, &str)]) -> RunSpec {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(file);
    let file = InputFile::new(path.to_str().expect("the path is UTF-8"));
    let changes = changes.iter().map(|(name, text)| {
        let setting = Setting::from_name(name).expect("it exists");
        setting.change(text).expect("it is a value")
    });
    let changes: Vec<_> = changes.collect();
    RunSpec { workload: WorkloadSpec::File(file), settings: Default::default() }.with_changes(&changes)
}

fn search(one: &RunSpec, two: &RunSpec) -> Option<FirstDifference> {
    first_difference([one, two], &mut |_, _| true).expect("both run")
}

/// Times in which a CPU runs a task of the workload: name, CPU, start, end.
fn segments(spec: &RunSpec) -> Vec<(String, u32, u64, u64)> {
    let mut run = ComparedRun::start(spec).expect("it starts");
    run.advance(Nanos(u64::MAX)).expect("it runs");
    let changes = std::mem::take(&mut run.changes);
    let end = run.machine.now().0;
    let mut open: BTreeMap<CpuId, (usize, u64)> = BTreeMap::new();
    let mut segments = Vec::new();
    let mut close = |cpu: CpuId, (task, start): (usize, u64), at: u64| {
        segments.push((run.machine.tasks()[task].name.clone(), cpu.0, start, at));
    };
    for change in changes {
        if let Some(running) = open.remove(&change.cpu) {
            close(change.cpu, running, change.at.0);
        }
        if let Some(task) = change.task {
            open.insert(change.cpu, (task, change.at.0));
        }
    }
    open.into_iter().for_each(|(cpu, running)| close(cpu, running, end));
    segments
}

/// Returns the first time that is the start or end of a segment that only one of the runs has.
fn first_of_segments(specs: [&RunSpec; 2]) -> Option<u64> {
    let [one, two] = specs.map(segments);
    // A segment of which one run has the start and the other an earlier end parts at that end.
    let parts = |of: &[(String, u32, u64, u64)], other: &[(String, u32, u64, u64)]| {
        let missing = of.iter().filter(|segment| !other.contains(segment));
        let time = |(name, cpu, start, end): &(String, u32, u64, u64)| {
            let twin = other.iter().find(|(a, b, c, _)| (a, b, c) == (name, cpu, start));
            twin.map_or(*start, |twin| twin.3.min(*end))
        };
        missing.map(time).min()
    };
    [parts(&one, &two), parts(&two, &one)].into_iter().flatten().min()
}

#[test]
fn runs_part_at_the_first_segment_that_differs() {
    let pairs: [(&str, &[(&str, &str)]); 8] = [
        ("hello.json", &[("tunables", "base_slice_ns=6000000")]),
        ("hello.json", &[("features", "NO_TTWU_QUEUE")]),
        ("hello.json", &[("kernel", "6.1")]),
        ("hello.json", &[("governor", "performance")]),
        ("hello.json", &[("background", "on")]),
        ("eight-cpus.scn", &[("kernel", "6.12")]),
        ("eevdf.scn", &[("tunables", "base_slice_ns=700000")]),
        ("fair-share.scn", &[("tunables", "min_granularity_ns=10000000")]),
    ];
    for (file, changes) in pairs {
        let duration = [("duration", "300ms")];
        let base = spec(file, &duration);
        let arm = spec(file, &[&duration, changes].concat());
        let found = search(&base, &arm);
        let expected = first_of_segments([&base, &arm]).map(|at| at - START.0);
        assert_eq!(found.as_ref().map(|found| found.at_ns), expected, "{file} {changes:?}: {found:?}");
        let swapped = search(&arm, &base);
        assert_eq!(swapped.map(|found| found.at_ns), expected, "{file} {changes:?}");
    }
}

#[test]
fn a_task_that_only_one_run_starts_is_named_if_both_stop_another_one_at_that_moment() {
    let file = "../crates/run/tests/data/ends-at-one-moment.scn";
    let (base, arm) = (spec(file, &[]), spec(file, &[("kernel", "5.15")]));
    let found = search(&base, &arm).expect("they part");
    let clauses = found.runs.map(|run| run.clause());
    assert_eq!((found.at_ns, found.task.as_str()), (1_000_000, "other2"));
    assert_eq!(clauses, ["does not run it", "runs it on CPU 2"]);
}

#[test]
fn equal_runs_do_not_part() {
    let run = spec("hello.json", &[("duration", "100ms")]);
    let arm = spec("hello.json", &[("duration", "100ms"), ("features", "NO_SIS_UTIL")]);
    assert!(search(&run, &arm).is_none());
}

#[test]
fn the_search_ends_with_a_benchmark_and_when_it_is_told_to() {
    let changes = [("machine", "hikey960"), ("background", "on")].map(|(name, text)| {
        let setting = Setting::from_name(name).expect("it exists");
        setting.change(text).expect("it is a value")
    });
    let line = "perf sched pipe -l 20";
    let benchmark = bench::parse(line, LineOf::Study).expect("it is a benchmark");
    let workload = WorkloadSpec::Bench(BenchSpec { line: line.to_owned(), benchmark });
    let run = RunSpec { workload, settings: Default::default() }.with_changes(&changes);
    let mut last = Nanos::ZERO;
    let found = first_difference([&run, &run], &mut |length, done| {
        assert!(length >= Nanos::from_secs(100), "{length}");
        last = done;
        true
    });
    assert!(found.expect("both run").is_none() && last < Nanos::from_secs(1), "{last}");
    let mut nr = 0;
    let hello = spec("hello.json", &[]);
    let found =
        first_difference([&hello, &spec("hello.json", &[("tunables", "base_slice_ns=6000000")])], &mut |_, _| {
            nr += 1;
            nr < 3
        });
    assert!(found.expect("both run").is_none() && nr == 3);
}

#[test]
fn a_difference_names_the_task_and_the_pick_or_the_selection_behind_it() {
    let duration = ("duration", "20ms");
    let base = spec("hello.json", &[duration]);
    let kinds = |changes: &[(&str, &str)]| {
        let found = search(&base, &spec("hello.json", &[&[duration], changes].concat()));
        let found = found.expect("they part");
        let kinds = found.decisions().map(|claims| claims.iter().map(|one| one.claim.kind()).collect::<Vec<_>>());
        (found.task, found.runs.map(|run| run.clause()), kinds)
    };
    let (task, clauses, [first, second]) = kinds(&[("tunables", "base_slice_ns=6000000")]);
    assert_eq!((task.as_str(), clauses), ("worker-2", ["runs it on CPU 4".into(), "runs display-0 instead".into()]));
    assert_eq!((first, second), (vec!["task-state", "wait", "pick"], vec!["task-state", "wait", "pick"]));
    let (task, _, [first, second]) = kinds(&[("kernel", "6.1")]);
    assert_eq!(
        (task.as_str(), first, second),
        ("display-0", vec!["task-state", "selection"], vec!["task-state", "selection"])
    );
}

#[test]
fn most_demos_of_features_part() {
    let (mut nr, mut nr_parted) = (0, 0);
    for switch in switches::all(8).into_iter().filter(|switch| switch.test_values[0].0 == "--features") {
        let Demo::Digest(file, _) = switch.demo else { continue };
        let kernel = switch.only_in.unwrap_or(KernelSeries::V6_1).to_string();
        let [one, two] = switch.test_values.map(|(_, text)| spec(file, &[("kernel", &kernel), ("features", &text)]));
        nr += 1;
        nr_parted += u32::from(search(&one, &two).is_some());
    }
    assert!(nr >= 20 && nr_parted * 10 >= nr * 9, "{nr_parted} of {nr}");
}
