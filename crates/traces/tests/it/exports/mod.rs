// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the trace formats: small readers check that traces contain what the machine counted, and that
//! exporting does not change the run.

mod perfetto;
mod readers;
mod texts;
mod texts_6_12;

use fairlab_board::preset;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_traces::export::record::{EventGroups, Group};
use fairlab_traces::export::{ExportFormat, ExportTarget, Exporter, FORMATS};
use fairlab_workload::{rtapp, scenario};
use readers::ReadBack;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

/// File in memory that outlives its trace.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const RTAPP: &str = r#"{
    "global": {"duration": 1, "pi_enabled": false},
    "tasks": {
        "timer": {"instance": 3, "phases": {
            "light": {"loop": 4, "run": 500, "timer": {"ref": "tick", "period": 4000}},
            "heavy": {"loop": 2, "run": 3000, "timer": {"ref": "tick", "period": 8000}}}},
        "hog": {"instance": 9, "priority": 5, "run": 2000000},
        "short": {"loop": 1, "run": 1000}
    }
}"#;

fn rtapp_machine() -> Machine {
    machine_with_workload(RTAPP)
}

fn machine_with_workload(text: &str) -> Machine {
    let description = preset("hikey960").expect("it is a preset");
    let options = rtapp::RtAppOptions::for_cpus(KernelSeries::V6_1, 8);
    let workload = rtapp::parse("test.json", text, options).unwrap_or_else(|error| panic!("{error}"));
    let setup =
        Setup::new(KernelSeries::V6_1, Hardware::from_description(&description), workload, Nanos::from_millis(300));
    Machine::new(setup).expect("a possible machine")
}

fn scenario_machine() -> Machine {
    let text = std::fs::read_to_string(format!("{}/../../scenarios/eight-cpus.scn", env!("CARGO_MANIFEST_DIR")));
    let text = text.expect("the scenario is there");
    let scenario = scenario::parse("test.scn", &text, KernelSeries::V6_1).unwrap_or_else(|error| panic!("{error}"));
    Machine::new(Setup::from_scenario(scenario)).expect("a possible machine")
}

/// Runs a machine and returns the content of each format that writes a file.
fn export(
    machine: &mut Machine,
    process: Option<&str>,
    groups: Option<EventGroups>,
) -> BTreeMap<&'static str, Vec<u8>> {
    let mut exporter = Exporter::new(machine, process);
    let files: Vec<(&ExportFormat, Shared)> =
        FORMATS.iter().filter(|format| !format.is_directory()).map(|format| (format, Shared::default())).collect();
    for (format, file) in &files {
        let target = ExportTarget::File { out: Box::new(file.clone()), directory: &std::env::temp_dir() };
        format.open(target, groups, machine.hardware(), &mut exporter).expect("there is room");
    }
    exporter.begin(machine);
    machine.run(&mut exporter).expect("the tasks make progress");
    exporter.finish(machine).unwrap_or_else(|(place, error)| panic!("{place}: {error}"));
    files.into_iter().map(|(format, file)| (format.name, file.0.take())).collect()
}

/// Asserts what every format with tracepoints must contain.
fn compare(machine: &Machine, name: &str, found: &ReadBack) {
    let counters = machine.counters();
    let count = |event: &str| found.counts.get(event).copied().unwrap_or(0);
    assert_eq!(count("sched_switch"), counters.switches, "{name}");
    assert_eq!(count("sched_wakeup") + count("sched_wakeup_new"), counters.wakeups, "{name}");
    assert_eq!(count("sched_migrate_task"), counters.migrations, "{name}");
    let ipis: u64 = counters.per_cpu.iter().map(|cpu| cpu.resched_ipis + cpu.call_ipis).sum();
    assert_eq!(count("ipi_raise"), ipis, "{name}");
    assert!(count("sched_waking") >= count("sched_wakeup"), "{name}: a waking event for each wake-up");
    for task in machine.tasks() {
        let Some(id) = task.id else { continue };
        let found_ns = found.runtime.get(&task.pid).copied().unwrap_or(0);
        assert_eq!(found_ns, machine.sched().entity(id).sum_exec_runtime, "{name}: {}", task.name);
        assert_eq!(found.names.get(&task.pid).map(String::as_str), Some(task.name.as_str()), "{name}");
    }
}

#[test]
fn every_format_with_tracepoints_has_what_the_machine_has_counted() {
    for (mut machine, process) in [(rtapp_machine(), Some("rt-app")), (scenario_machine(), None)] {
        let files = export(&mut machine, process, None);
        let text = readers::text(&files["ftrace"]);
        compare(&machine, "ftrace", &text);
        let v6 = readers::trace_dat(&files["trace-dat"]);
        compare(&machine, "trace-dat", &v6);
        assert_eq!(v6, readers::trace_dat(&files["trace-dat-7"]), "both versions have the same events");
        let perf = readers::perf_data(&files["perf"]);
        compare(&machine, "perf", &perf);
        assert_eq!((&text.counts, &text.order), (&perf.counts, &perf.order), "perf.data and text have the same events");
        assert_eq!(text.counts, v6.counts);
    }
}

#[test]
fn perfetto_gets_the_same_events_and_the_reasons_of_all_decisions() {
    // With seven instances an idle CPU is sometimes available for a kick.
    let mut machine = machine_with_workload(&RTAPP.replace("\"instance\": 9", "\"instance\": 7"));
    let files = export(&mut machine, Some("rt-app"), None);
    let (found, text) = (perfetto::read(&files["perfetto"]), readers::text(&files["ftrace"]));
    let count = |event: &str| text.counts[event] as usize;
    assert_eq!(found.switches.len(), count("sched_switch"));
    assert_eq!(found.wakings, count("sched_waking"));
    let fields = [
        (17, "sched_wakeup"),
        (114, "sched_wakeup_new"),
        (491, "sched_migrate_task"),
        (239, "sched_process_fork"),
        (238, "sched_process_exit"),
        (13, "cpu_idle"),
        (11, "cpu_frequency"),
        (23, "ipi_raise"),
        (3, "tracing_mark_write"),
    ];
    for (field, event) in fields {
        assert_eq!(found.events[&field], count(event), "{event}");
    }
    for (_, _, pid, name) in found.switches.iter().filter(|(_, _, pid, _)| *pid > 0) {
        assert_eq!(&found.threads[pid], name, "switches and the process tree agree");
    }
    assert!(found.open.values().all(|&open| open == 0), "each span ends: {:?}", found.open);
    for group in ["selections", "balancing", "nohz kicks"] {
        let reasons = found.moments.get(group).unwrap_or_else(|| panic!("no {group} in {:?}", found.moments.keys()));
        assert!(reasons.iter().any(|reason| reason.is_some()), "{group}");
    }
    assert!(found.moments["selections"].iter().all(|reason| reason.as_ref().is_some_and(|text| text.ends_with('.'))));
    for cpu in 0..8 {
        let nr_running = &found.counters[&("nr_running".to_owned(), format!("CPU {cpu}"))];
        let (_, last) = nr_running.last().expect("tasks ran everywhere");
        assert_eq!(*last, u64::from(machine.sched().snapshot(fairlab_sched::ids::CpuId(cpu)).nr_running), "CPU {cpu}");
    }
}

#[test]
fn chrome_gets_json_in_which_tasks_run_as_long_as_they_did() {
    for (mut machine, process) in [(rtapp_machine(), Some("rt-app")), (scenario_machine(), None)] {
        let files = export(&mut machine, process, None);
        let trace: serde_json::Value = serde_json::from_slice(&files["chrome"]).expect("it is JSON");
        let events = trace["traceEvents"].as_array().expect("a list");
        let mut run = BTreeMap::new();
        for event in events.iter().filter(|event| event["ph"] == "X" && event["pid"] == 1) {
            let ns = (event["dur"].as_f64().expect("a number") * 1000.0).round() as i64;
            *run.entry(event["args"]["pid"].as_i64().expect("a pid")).or_insert(0) += ns;
        }
        for task in machine.tasks().iter().filter(|task| task.id.is_some()) {
            let run = run.get(&i64::from(task.pid)).copied().unwrap_or(0);
            // Tasks that run at the end are shown up to the last event.
            assert!((0..1_000_000).contains(&(task.runtime_ns - run)), "{}: {run} of {}", task.name, task.runtime_ns);
        }
    }
}

#[test]
fn a_run_with_traces_is_the_run_without_them_and_traces_are_the_same_each_time() {
    let all = Some(EventGroups::from_slice(Group::ALL));
    for make in [rtapp_machine, scenario_machine] {
        let [mut plain, mut traced, mut again] = [make(), make(), make()];
        plain.run(&mut NoObserver).expect("the tasks make progress");
        let files = export(&mut traced, None, all);
        assert_eq!(plain.digest(), traced.digest());
        assert_eq!(plain.counters(), traced.counters());
        assert_eq!(files, export(&mut again, None, all));
    }
}

#[test]
fn threads_of_rt_app_say_in_which_loop_they_are() {
    let mut machine = rtapp_machine();
    let files = export(&mut machine, Some("rt-app"), Some(EventGroups::from_slice(&[Group::Markers])));
    let text = String::from_utf8(files["ftrace"].clone()).expect("a trace is text");
    let of = |pid: &str| {
        let lines = text.lines().filter(|line| line.contains(pid));
        lines.filter_map(|line| line.split_once("tracing_mark_write: ").map(|(_, marker)| marker)).collect::<Vec<_>>()
    };
    let mut timer = of("timer-0-1000 ");
    let clock = timer.remove(0);
    assert!(
        clock.starts_with("rtapp_main: event=clock_ref data=1000"),
        "in microseconds, of the first thread: {clock}"
    );
    assert_eq!(text.matches("clock_ref").count(), 1, "rt-app takes its time once");
    assert_eq!(timer[timer.len() - 2..].join(",").matches("event=end").count(), 2, "the duration ends all threads");
    assert_eq!(timer[0], "rtapp_task: event=start");
    assert_eq!(timer[1], "rtapp_loop: event=start thread_loop=0 phase=0 phase_loop=0");
    assert_eq!(timer[2], "rtapp_loop: event=end thread_loop=0 phase=0 phase_loop=0");
    assert_eq!(timer[3], "rtapp_loop: event=start thread_loop=0 phase=0 phase_loop=1");
    assert_eq!(timer[9], "rtapp_loop: event=start thread_loop=0 phase=1 phase_loop=0");
    assert_eq!(timer[13], "rtapp_loop: event=start thread_loop=1 phase=0 phase_loop=0");
    let short = of("short-12-1012 ");
    assert_eq!(short.len(), 4, "{short:?}");
    assert_eq!(short[3], "rtapp_task: event=end");
    assert_eq!(of("rt-app-999 "), ["rtapp_main: event=start", "rtapp_main: event=end"]);
}

#[test]
fn idle_states_are_left_as_often_as_entered_and_last_as_long_as_the_machine_says() {
    let mut machine = rtapp_machine();
    let files = export(&mut machine, None, Some(EventGroups::from_slice(&[Group::Idle])));
    let text = String::from_utf8(files["ftrace"].clone()).expect("a trace is text");
    let mut since: BTreeMap<usize, (usize, u64)> = BTreeMap::new();
    let mut residency = vec![[(0_u64, 0_u64); 2]; 8];
    for line in text.lines().filter(|line| line.contains("cpu_idle: ")) {
        let at = readers::nanos(line);
        let (state, cpu) = line.split_once("state=").and_then(|(_, rest)| rest.split_once(" cpu_id=")).expect("both");
        let cpu: usize = cpu.parse().expect("a number");
        if state == "4294967295" {
            let (state, since) = since.remove(&cpu).expect("it was entered");
            residency[cpu][state].0 += 1;
            residency[cpu][state].1 += at - since;
        } else {
            assert_eq!(since.insert(cpu, (state.parse().expect("a number"), at)), None, "it was left");
        }
    }
    let end = machine.now().0;
    for (cpu, (state, since)) in since {
        residency[cpu][state].0 += 1;
        residency[cpu][state].1 += end - since;
    }
    for cpu in machine.sched().cpu_ids() {
        let expected: Vec<(u64, u64)> =
            machine.idle_residency(cpu, machine.now()).iter().map(|idle| (idle.entries, idle.time.0)).collect();
        assert_eq!(residency[cpu.index()].to_vec(), expected, "CPU {}", cpu.0);
    }
}

#[test]
fn tables_have_a_row_for_each_event_and_sums_that_the_machine_knows() {
    let mut machine = rtapp_machine();
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let mut exporter = Exporter::new(&machine, Some("rt-app"));
    let format = ExportFormat::from_name("csv").expect("there is such a format");
    format
        .open(ExportTarget::Directory(directory.path()), None, machine.hardware(), &mut exporter)
        .expect("there is room");
    exporter.begin(&machine);
    machine.run(&mut exporter).expect("the tasks make progress");
    exporter.finish(&machine).unwrap_or_else(|(place, error)| panic!("{place}: {error}"));
    let table = |name: &str| {
        let text = std::fs::read_to_string(directory.path().join(format!("{name}.csv")));
        let text = text.unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        (lines.next().expect("the names of the columns"), lines.collect::<Vec<_>>())
    };
    let counters = machine.counters();
    for (name, nr) in
        [("switches", counters.switches), ("wakeups", counters.wakeups), ("migrations", counters.migrations)]
    {
        let (columns, rows) = table(name);
        assert_eq!(rows.len() as u64, nr, "{name}");
        assert!(rows.iter().all(|row| row.len() == columns.len()), "{name}");
    }
    let (columns, rows) = table("passes");
    let moved = columns.iter().position(|column| column == "nr_moved").expect("there is such a column");
    let moved: u64 = rows.iter().map(|row| row[moved].parse::<u64>().expect("a number")).sum();
    assert!(moved > 0 && moved <= counters.migrations, "{moved}");
    let (_, tasks) = table("tasks");
    assert_eq!(tasks.len(), 1 + 8 + 8 + 1 + machine.tasks().iter().filter(|task| task.id.is_some()).count());
    assert!(std::fs::metadata(directory.path().join("averages.csv")).is_ok_and(|file| file.len() > 10_000));
}

#[test]
fn schedstat_before_and_after_a_run_tells_what_the_scheduler_has_counted() {
    let mut machine = rtapp_machine();
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let mut exporter = Exporter::new(&machine, Some("rt-app"));
    let format = ExportFormat::from_name("schedstat").expect("there is such a format");
    format
        .open(ExportTarget::Directory(directory.path()), None, machine.hardware(), &mut exporter)
        .expect("there is room");
    exporter.begin(&machine);
    machine.run(&mut exporter).expect("the tasks make progress");
    exporter.finish(&machine).unwrap_or_else(|(place, error)| panic!("{place}: {error}"));
    let read = |name: &str| {
        let text = std::fs::read_to_string(directory.path().join(name));
        let text = text.unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut lines = text.lines().map(str::to_owned);
        assert_eq!(lines.next().as_deref(), Some("version 15"));
        assert!(lines.next().is_some_and(|line| line.starts_with("timestamp ")));
        lines.map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let (before, after) = (read("schedstat-before"), read("schedstat-after"));
    let of = |lines: &[Vec<String>], place: usize| -> u64 {
        let cpus = lines.iter().filter(|line| line[0].starts_with("cpu"));
        cpus.map(|line| line[place].parse::<u64>().expect("a number")).sum()
    };
    assert!(after.iter().all(|line| line.len() == if line[0].starts_with("cpu") { 10 } else { 2 + 36 }));
    assert_eq!(after.iter().filter(|line| line[0] == "domain1").count(), 8, "hikey960 has two levels");
    let stats = machine.sched().cpu_ids().map(|cpu| machine.sched().snapshot(cpu).stats);
    assert_eq!(of(&after, 5), stats.map(|stats| u64::from(stats.ttwu_count)).sum::<u64>());
    let run = of(&after, 7) - of(&before, 7);
    let of_tasks: i64 = machine.tasks().iter().map(|task| task.runtime_ns).sum();
    // The kernel counts a run when the task leaves its CPU, which some tasks have not done.
    assert!(run > 500_000_000 && run < of_tasks as u64 + 1_000_000, "{run} of {of_tasks}");
}
