// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the kernel's and bpftrace's texts at the end of a run: small parsers check that they contain what
//! the machine counted.

use super::{RTAPP, export, machine_with_workload, rtapp_machine, scenario_machine};
use fairlab_machine::sim::Machine;
use fairlab_traces::export::{ExportFormat, ExportTarget, Exporter};
use std::collections::BTreeMap;
use std::path::Path;

type FieldMap = BTreeMap<String, String>;

/// Section of the debugfs text: heading and fields.
struct TextSection {
    head: String,
    fields: FieldMap,
}

/// Parses the text into sections with their fields, and the rows of the task tables by CPU.
fn sched_debug(text: &str) -> (Vec<TextSection>, Vec<Vec<Vec<String>>>) {
    let (mut sections, mut tasks): (Vec<TextSection>, Vec<Vec<Vec<String>>>) = (Vec::new(), Vec::new());
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some((name, value)) = line.strip_prefix("  .").and_then(|field| field.split_once(':')) {
            assert_eq!(line.find(':'), Some(if sections.len() == 1 { 43 } else { 33 }), "{line}");
            let section = sections.last_mut().expect("fields belong to something");
            section.fields.insert(name.trim_end().to_owned(), value.trim_start().to_owned());
        } else if line == "runnable tasks:" {
            tasks.push(Vec::new());
        } else if line.starts_with(">R") || line.starts_with(" S ") && !line.contains("task") || line.starts_with(" R ")
        {
            let rows = tasks.last_mut().expect("rows belong to a table");
            rows.push(line[2..].split_whitespace().map(str::to_owned).collect());
        } else if line == "sysctl_sched" || line.starts_with("cpu#") || line.contains("_rq[") {
            sections.push(TextSection { head: line.to_owned(), fields: FieldMap::new() });
        }
    }
    (sections, tasks)
}

fn ns(value: &str) -> u64 {
    let (ms, rest) = value.split_once('.').expect("times are in ms with six digits");
    assert_eq!(rest.len(), 6, "{value}");
    ms.parse::<u64>().expect("a number") * 1_000_000 + rest.parse::<u64>().expect("a number")
}

#[test]
fn debugfs_tells_what_runqueues_and_tasks_are_like_at_the_end() {
    for (mut machine, process) in [(rtapp_machine(), Some("rt-app")), (scenario_machine(), None)] {
        let files = export(&mut machine, process, None);
        let text = std::str::from_utf8(&files["sched-debug"]).expect("it is text");
        assert!(text.starts_with("Sched Debug Version: v0.11, 6.1.192 "), "{text}");
        let clock = text.lines().find_map(|line| line.strip_prefix("ktime")).and_then(|line| line.split_once(": "));
        assert_eq!(ns(clock.expect("it has the time").1), machine.now().0);
        let (sections, tables) = sched_debug(text);
        let (sched, nr_cpus) = (machine.sched(), machine.sched().nr_cpus());
        assert_eq!(ns(&sections[0].fields["sysctl_sched_latency"]), sched.tunables().latency_ns);
        assert_eq!((sections[0].head.as_str(), tables.len()), ("sysctl_sched", nr_cpus));
        let head = |head: &str| sections.iter().find(|section| section.head == head);
        for cpu in sched.cpu_ids() {
            let (figures, field) = (sched.snapshot(cpu), |head_of: &str, name: &str| {
                let section = head(&format!("{head_of}{}{}", cpu.0, if head_of == "cpu#" { "" } else { "]:" }));
                section.unwrap_or_else(|| panic!("{head_of}{}", cpu.0)).fields[name].clone()
            });
            assert_eq!(field("cpu#", "nr_running"), figures.nr_running.to_string());
            assert_eq!(field("cpu#", "ttwu_count"), figures.stats.ttwu_count.to_string());
            assert_eq!(ns(&field("cpu#", "clock")), figures.clock);
            assert_eq!(field("rt_rq[", "rt_runtime"), "950.000000");
            assert_eq!(field("dl_rq[", "dl_bw->bw"), "996147", "95 % of 2^20");
            if let Some(root) = head(&format!("cfs_rq[{}]:/", cpu.0)) {
                assert_eq!(root.fields["h_nr_running"], figures.h_nr_running.to_string());
                assert_eq!(root.fields["util_avg"], figures.cfs_avg.util_avg.to_string());
            }
        }
        let rows: Vec<&Vec<String>> = tables.iter().flatten().collect();
        let alive = machine.tasks().iter().filter(|task| task.id.is_some() && !task.is_dead);
        for task in alive {
            let row = rows.iter().find(|row| row[1] == task.pid.to_string());
            let row = row.unwrap_or_else(|| panic!("{} is missing", task.name));
            assert_eq!((row[0].as_str(), row.last().map(String::as_str)), (task.name.as_str(), Some("/")));
            let sum_exec = sched.entity(task.id.expect("it was forked")).sum_exec_runtime;
            assert_eq!((ns(&row[6]), row.len()), (sum_exec, 10), "{row:?}");
        }
        let switches: u64 = rows.iter().map(|row| row[3].parse::<u64>().expect("a number")).sum();
        assert!(switches > 0 && switches <= machine.counters().switches, "idle and exited tasks are not listed");
        assert!(text.contains("\n>R "), "a task runs");
        assert!(rows.iter().any(|row| row[0] == "migration/0" && row[4] == "0"), "stoppers are listed");
    }
}

#[test]
fn groups_have_their_path_and_the_entity_that_stands_for_them() {
    let text = r#"{"global": {"duration": 1}, "tasks": {
        "in": {"instance": 9, "taskgroup": "/outer/inner", "run": 500000}, "out": {"run": 500000}}}"#;
    let mut machine = machine_with_workload(text);
    let files = export(&mut machine, Some("rt-app"), None);
    let text = std::str::from_utf8(&files["sched-debug"]).expect("it is text");
    let (sections, tables) = sched_debug(text);
    let inner = |section: &&TextSection| section.head.starts_with("cfs_rq[") && section.head.ends_with(":/outer/inner");
    let inner: Vec<&TextSection> = sections.iter().filter(inner).collect();
    assert!(!inner.is_empty(), "{text}");
    assert!(inner.iter().all(|section| section.fields.contains_key("se->load.weight")), "{text}");
    assert!(tables.iter().flatten().any(|row| row[0].starts_with("in-") && row[9] == "/outer/inner"), "{text}");
}

fn proc_sched(machine: &mut Machine, directory: &Path, only: Option<&str>) -> std::io::Result<()> {
    let mut exporter = Exporter::new(machine, Some("rt-app"));
    let format = ExportFormat::from_name("proc-sched").expect("there is such a format");
    only.into_iter().for_each(|only| exporter.emit_only_for(only.to_owned()));
    format.open(ExportTarget::Directory(directory), None, machine.hardware(), &mut exporter).expect("there is room");
    exporter.begin(machine);
    machine.run(&mut exporter).expect("the tasks make progress");
    exporter.finish(machine).map_err(|(_, error)| error)
}

/// Returns the heading and the fields of a task's text, whose values end in one column.
fn fields(directory: &Path, pid: i32) -> (String, FieldMap) {
    let text = std::fs::read_to_string(directory.join(pid.to_string()).join("sched"));
    let text = text.unwrap_or_else(|error| panic!("{pid}: {error}"));
    let mut lines = text.lines();
    let head = lines.next().expect("there is a head").to_owned();
    assert!(lines.next().is_some_and(|line| line.bytes().all(|byte| byte == b'-')), "{text}");
    let field = |line: &str| {
        assert_eq!((line.len(), line.find(':')), (67, Some(45)), "{line}");
        let (name, value) = line.split_once(':').expect("fields have a value");
        (name.trim_end().to_owned(), value.trim_start().to_owned())
    };
    (head, lines.map(field).collect())
}

#[test]
fn proc_tells_of_each_task_what_the_machine_has_counted() {
    let mut machine = rtapp_machine();
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    proc_sched(&mut machine, directory.path(), None).expect("there is room");
    let (mut migrations, mut switches) = (0, 0);
    let texts = std::fs::read_dir(directory.path()).expect("it is there");
    let pids: Vec<i32> = texts
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().parse().expect("a pid"))
        .collect();
    for &pid in &pids {
        let (_, fields) = fields(directory.path(), pid);
        let of = |name: &str| fields[name].parse::<u64>().expect("a number");
        migrations += of("se.nr_migrations");
        switches += of("nr_switches");
        assert_eq!(of("nr_switches"), of("nr_voluntary_switches") + of("nr_involuntary_switches"));
        assert_eq!(of("nr_wakeups"), of("nr_wakeups_local") + of("nr_wakeups_remote"));
    }
    assert_eq!(migrations, machine.counters().migrations);
    assert!(switches > 100 && switches < machine.counters().switches, "idle tasks have no text");
    let task = |name: &str| machine.tasks().iter().find(|task| task.name == name).expect("there is such a task");
    let (head, hog) = fields(directory.path(), task("hog-3").pid);
    let alive = machine.tasks().iter().filter(|task| task.id.is_some() && !task.is_dead).count();
    assert_eq!(head, format!("hog-3 ({}, #threads: {})", task("hog-3").pid, alive + 1));
    let entity = machine.sched().entity(task("hog-3").id.expect("it was forked"));
    assert_eq!(ns(&hog["se.sum_exec_runtime"]), entity.sum_exec_runtime);
    assert_eq!(hog["se.avg.util_avg"], entity.avg.util_avg.to_string());
    assert_eq!((hog["policy"].as_str(), hog["prio"].as_str(), hog["uclamp.max"].as_str()), ("0", "125", "1024"));
    let timer = fields(directory.path(), task("timer-0").pid).1;
    assert!(ns(&timer["sum_sleep_runtime"]) > 50_000_000 && ns(&timer["sleep_max"]) < 25_000_000, "{timer:?}");
}

#[test]
fn a_single_family_can_be_exported() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    proc_sched(&mut rtapp_machine(), directory.path(), Some("timer")).expect("there is such a family");
    let nr_files = std::fs::read_dir(directory.path()).expect("it is there").count();
    assert_eq!(nr_files, 3);
    let error = proc_sched(&mut rtapp_machine(), directory.path(), Some("tiner")).expect_err("there is none");
    assert!(error.to_string().contains("timer"), "{error}");
}

/// Counts of a map's histogram, by the lower bound of the row.
fn histogram(text: &str, map: &str) -> BTreeMap<u64, u64> {
    let mut lines = text.lines().skip_while(|line| *line != format!("{map}: "));
    assert!(lines.next().is_some(), "{map} is missing:\n{text}");
    let row = |line: &str| {
        let (bounds, rest) =
            line.split_once(['[']).map(|(_, row)| row.split_once([']', ')']).expect("it ends")).expect("a row");
        let low = bounds.split(',').next().expect("a bound");
        let (digits, unit) = low.split_at(low.find(['K', 'M']).unwrap_or(low.len()));
        let times = match unit {
            "K" => 1 << 10,
            "M" => 1 << 20,
            _ => 1,
        };
        let count = rest.split_whitespace().next().expect("a count").parse().expect("a number");
        (digits.parse::<u64>().expect("a number") * times, count)
    };
    lines.take_while(|line| !line.is_empty()).map(row).collect()
}

#[test]
fn histograms_have_each_wait_and_each_run_in_its_row() {
    let mut machine = machine_with_workload(RTAPP);
    let files = export(&mut machine, Some("rt-app"), None);
    let text = std::str::from_utf8(&files["bpftrace"]).expect("it is text");
    let ftrace = std::str::from_utf8(&files["ftrace"]).expect("it is text");
    // Expected counts from the events: waits as recorded, runs between two switches of a CPU.
    let (mut waits, mut runs) = (BTreeMap::<u64, u64>::new(), BTreeMap::<u64, u64>::new());
    let row = |ns: u64| (ns / 1000).checked_ilog2().map_or(0, |power| 1_u64 << power);
    let mut since = BTreeMap::new();
    for line in ftrace.lines() {
        if let Some((_, delay)) = line.split_once("sched_stat_wait: ").and_then(|(_, event)| event.split_once("delay="))
        {
            *waits.entry(row(delay.trim_end_matches(" [ns]").parse().expect("a number"))).or_default() += 1;
        }
        if line.contains("sched_switch: ") {
            let cpu = line.split(['[', ']']).nth(1).expect("a CPU");
            let at = super::readers::nanos(line);
            if let Some(before) = since.insert(cpu, at).filter(|_| !line.contains("prev_pid=0 ")) {
                *runs.entry(row(at - before)).or_default() += 1;
            }
        }
    }
    let counted =
        |map: &str| histogram(text, map).into_iter().filter(|(_, count)| *count > 0).collect::<BTreeMap<_, _>>();
    assert_eq!(counted("@runqlat_us"), waits);
    assert_eq!(counted("@cpudist_us"), runs);
    let sum = |map: &str| histogram(text, map).values().sum::<u64>();
    let used = (0..8).map(|cpu| format!("@cpudist_us_cpu[{cpu}]")).filter(|map| text.contains(map));
    let of_cpus: u64 = used.map(|map| sum(&map)).sum();
    assert_eq!(of_cpus, runs.values().sum::<u64>());
    assert!(sum("@runqlat_us_comm[hog-3]") >= 1 && sum("@idle_exit_us") > 0, "{text}");
}
