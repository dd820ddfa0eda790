// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the kernel's texts at the end of a run of 6.12: names, order and columns are those of a booted kernel
//! (`tests/data/texts-6.12`), values those of the machine.

use super::export;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_traces::export::{ExportFormat, ExportTarget, Exporter};
use fairlab_workload::scenario;
use std::path::Path;

/// Tasks of several classes on two CPUs. At 37 ms one of those on CPU 0 runs, and the others wait.
const SCENARIO: &str = "cpus 2\nend 37ms\ntask hog cpu=0 run 10s\ntask own slice=1ms nice=5 cpu=0 mask=0-0 run 10s\n\
                        task sleeper cpu=1 run 300us sleep 1ms\ntask batch batch cpu=0 mask=0-0 run 10s\n\
                        task idler idlepol cpu=1 run 10s\ntask dl dl=2ms/10ms/10ms cpu=1 run 1ms sleep 9ms\n";

fn machine(series: KernelSeries, text: &str) -> Machine {
    let scenario = scenario::parse("test.scn", text, series).unwrap_or_else(|error| panic!("{error}"));
    Machine::new(Setup::from_scenario(scenario)).expect("a possible machine")
}

fn recorded(name: &str) -> String {
    let path = format!("{}/tests/data/texts-6.12/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn sched_debug(machine: &mut Machine) -> String {
    let files = export(machine, None, None);
    String::from_utf8(files["sched-debug"].clone()).expect("it is text")
}

/// Exports a format of a directory.
fn export_directory(format: &str, machine: &mut Machine, directory: &Path) {
    let mut exporter = Exporter::new(machine, None);
    let format = ExportFormat::from_name(format).expect("there is such a format");
    format.open(ExportTarget::Directory(directory), None, machine.hardware(), &mut exporter).expect("there is room");
    exporter.begin(machine);
    machine.run(&mut exporter).expect("the tasks make progress");
    exporter.finish(machine).unwrap_or_else(|(_, error)| panic!("{error}"));
}

/// Columns of NUMA balancing, without a model.
const NUMA_COLUMNS: [&str; 2] = ["  node   group-id", "   0      0"];

/// Returns the lines with the values of fields replaced by their type, and rows of tasks by the columns of their
/// decimal points.
fn layout(text: &str) -> Vec<String> {
    let line_layout = |line: &str| {
        if let Some((name, value)) = line.strip_prefix("  .").and_then(|field| field.split_once(": ")) {
            return format!("{name}: {}", if value.contains('.') { "time" } else { "number" });
        }
        if line.starts_with("---") {
            return "---".to_owned();
        }
        if [" S ", " R ", ">R "].iter().any(|state| line.starts_with(state)) && !line.contains("PID") {
            let line = line.replace(NUMA_COLUMNS[1], "");
            assert!(["E", "N"].contains(&&line[44..45]), "{line}");
            assert!(["S", " "].contains(&&line[65..66]), "{line}");
            let points: Vec<usize> = line.match_indices('.').map(|(column, _)| column).collect();
            return format!("task {points:?} {:?}", line.rfind('/'));
        }
        line.replace(NUMA_COLUMNS[0], "").split(',').next().unwrap_or_default().to_owned()
    };
    // The kernel, too, has columns for five digits of a pid; those of stoppers have six here.
    let is_aligned = |line: &&str| !line.contains("migration/");
    text.lines().skip_while(|line| *line != "sysctl_sched").filter(is_aligned).map(line_layout).collect()
}

#[test]
fn debugfs_of_6_12_has_the_names_and_columns_of_a_booted_kernel() {
    let text = sched_debug(&mut machine(KernelSeries::V6_12, SCENARIO));
    assert!(text.starts_with("Sched Debug Version: v0.11, 6.12.117 "), "{text}");
    let is_modelled = |line: &&String| !line.starts_with("nr_uninterruptible");
    let cpu0 = text.split("cpu#1").next().expect("there is a first CPU");
    let (exported, real) = (layout(cpu0), layout(&recorded("sched_debug.txt")));
    let real: Vec<&String> = real.iter().filter(is_modelled).collect();
    let is_task = |line: &str| line.starts_with("task ");
    let without_tasks = |line: &&&String| !is_task(line);
    let head = |line: &String| line.replace("cpu#1", "cpu#0").replace("[1]", "[0]");
    assert_eq!(
        exported.iter().filter(|line| !is_task(line)).cloned().collect::<Vec<_>>(),
        real.iter().filter(without_tasks).map(|line| head(line)).collect::<Vec<_>>()
    );
    // Names of tasks must not shift the columns.
    let mut rows: Vec<&String> = exported.iter().filter(|line| is_task(line)).collect();
    rows.extend(real.iter().filter(|line| is_task(line)));
    rows.dedup();
    assert_eq!(rows.len(), 1, "{rows:?}");
    let dashes = |text: &str| text.lines().find(|line| line.starts_with("---")).map(str::len);
    assert_eq!(dashes(&text), dashes(&recorded("sched_debug.txt")).map(|columns| columns - 14), "without NUMA");
}

/// Returns a time in ns. Only whole milliseconds have a sign.
fn ns(value: &str) -> i64 {
    let (ms, rest) = value.split_once('.').expect("times are in ms with six digits");
    let (ms, rest): (i64, i64) = (ms.parse().expect("a number"), rest.parse().expect("a number"));
    if ms < 0 { ms * 1_000_000 - rest } else { ms * 1_000_000 + rest }
}

#[test]
fn debugfs_of_6_12_has_virtual_times_with_their_sign_and_slices() {
    let mut machine = machine(KernelSeries::V6_12, SCENARIO);
    let text = sched_debug(&mut machine);
    let sched = machine.sched();
    let row = |name: &str| {
        let row = text.lines().find(|line| line.split_whitespace().nth(1) == Some(name));
        row.unwrap_or_else(|| panic!("{name} is missing:\n{text}"))
    };
    let own = sched.lag_snapshot(machine.tasks()[1].id.expect("it was forked")).expect("6.12 has lags");
    assert_eq!((ns(row("own")[25..41].trim()), &row("own")[65..66]), (own.vruntime, "S"));
    assert_eq!((ns(row("own")[48..64].trim()), ns(row("own")[67..83].trim())), (own.deadline, 1_000_000));
    assert_eq!((ns(row("hog")[67..83].trim()), &row("hog")[65..66]), (1_400_000, " "), "the base slice of two CPUs");
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("  .{name} ")));
        line.and_then(|line| line.split_once(": ")).unwrap_or_else(|| panic!("no {name}")).1.to_owned()
    };
    let queue = sched.queue_lag_snapshot(fairlab_sched::ids::CpuId(0)).expect("6.12 has lags");
    assert_eq!((ns(&field("avg_vruntime")), ns(&field("zero_vruntime"))), (queue.avg_vruntime, queue.zero_vruntime));
    assert_eq!(ns(&field("spread")), ns(&field("right_vruntime")) - ns(&field("left_vruntime")));
    assert_eq!((field("nr_running").as_str(), field("h_nr_queued").as_str()), ("3", "3"));
    // Entities that have not run yet are still below 0.
    let text = sched_debug(&mut self::machine(KernelSeries::V6_12, "cpus 1\nend 10us\ntask new cpu=0 run 10s\n"));
    assert!(text.contains("  .zero_vruntime                 : -1.0"), "{text}");
}

#[test]
fn proc_of_6_12_has_the_names_of_a_booted_kernel_and_slices_of_fair_tasks() {
    let mut machine = machine(KernelSeries::V6_12, SCENARIO);
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    export_directory("proc-sched", &mut machine, directory.path());
    let text = |task: usize| {
        let path = directory.path().join(machine.tasks()[task].pid.to_string()).join("sched");
        std::fs::read_to_string(path).expect("each task has a text")
    };
    let names = |text: &str| -> Vec<String> {
        let fields = text.lines().skip(2).filter_map(|line| line.split_once(" :").or_else(|| line.split_once(':')));
        fields.map(|(name, _)| name.trim_end().to_owned()).collect()
    };
    let (exported, real) = (names(&text(0)), names(&recorded("proc_sched.txt")));
    // This kernel was built without utilisation clamps.
    let common: Vec<&String> = exported.iter().filter(|name| !name.contains("uclamp")).collect();
    assert_eq!(common, real.iter().filter(|name| common.contains(name)).collect::<Vec<_>>());
    let slice = |task: usize| {
        let line = text(task).lines().find(|line| line.starts_with("se.slice ")).map(str::to_owned);
        line.map(|line| line[46..].trim().to_owned())
    };
    let slices: Vec<Option<String>> = (0..6).map(slice).collect();
    let slices: Vec<Option<&str>> = slices.iter().map(Option::as_deref).collect();
    let base = Some("1400000");
    assert_eq!(slices, [base, Some("1000000"), base, base, None, None], "SCHED_IDLE and SCHED_DEADLINE have none");
}

#[test]
fn schedstat_has_the_version_of_the_kernel_unless_one_is_chosen() {
    let after = |series, format: &str| {
        let directory = tempfile::tempdir().expect("there is a place for temporary files");
        export_directory(format, &mut machine(series, SCENARIO), directory.path());
        std::fs::read_to_string(directory.path().join("schedstat-after")).expect("it was written")
    };
    let (old, new) = (after(KernelSeries::V6_1, "schedstat"), after(KernelSeries::V6_12, "schedstat"));
    assert!(old.starts_with("version 15\n") && new.starts_with("version 16\n"), "{old}{new}");
    assert!(after(KernelSeries::V6_1, "schedstat-16").starts_with("version 16\n"));
    let words = |text: &str| -> Vec<(String, usize)> {
        let of_line = |line: &str| (line.split(' ').next().unwrap_or_default().to_owned(), line.split(' ').count());
        text.lines().map(of_line).collect()
    };
    assert_eq!(words(&new), words(&recorded("schedstat.txt")));
}

#[test]
fn the_table_of_lags_has_the_virtual_times_of_each_switch_and_wakeup() {
    let table = |series| {
        let mut machine = machine(series, SCENARIO);
        let directory = tempfile::tempdir().expect("there is a place for temporary files");
        export_directory("csv", &mut machine, directory.path());
        // A table without rows has no file.
        let text = std::fs::read_to_string(directory.path().join("lags.csv")).unwrap_or_default();
        (text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>(), machine)
    };
    let (rows, machine) = table(KernelSeries::V6_12);
    let own = machine.tasks()[1].id.expect("it was forked");
    let last = rows.iter().rfind(|row| row.contains(",own,") && row.contains("switch_")).expect("it has run");
    let entity = machine.sched().lag_snapshot(own).expect("6.12 has lags");
    let columns: Vec<&str> = last.split(',').collect();
    let [.., moment, delayed, vruntime, average, lag, deadline, slice, weight] = columns[..] else {
        panic!("too few columns: {last}")
    };
    let number = |text: &str| text.parse::<i64>().unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!((moment, delayed, number(slice)), ("switch_from", "0", 1_000_000), "{last}");
    assert_eq!((number(vruntime), number(deadline)), (entity.vruntime, entity.deadline), "it waits since: {last}");
    assert_eq!((number(average) - number(vruntime), number(weight) as u64), (number(lag), entity.weight), "{last}");
    assert!(rows.iter().any(|row| row.contains(",sleeper,wakeup,")), "wake-ups have rows");
    assert!(table(KernelSeries::V6_1).0.is_empty(), "6.1 has no lags");
}
