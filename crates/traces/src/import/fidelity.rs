// SPDX-License-Identifier: GPL-2.0-or-later
//! Fidelity of a replay: run times, waits and switches of tasks and CPUs, simulated next to recorded.

use super::behaviour::ImportedWorkload;
use super::event::Recording;
use super::event_sink::{TraceEventFn, TraceEventSink};
use super::measure::{CpuMeasurement, LatencyBasis, ThreadMeasurement, TraceMeasurement};
use crate::export::Exporter;
use crate::export::record::{EventGroups, Group};
use fairlab_machine::sim::{Machine, START};
use fairlab_measure::latency::{Latency, LatencySummary};
use fairlab_sched::units::Nanos;
use fairlab_workload::recorded::is_governor_thread;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Pair of the recorded and the simulated value of a metric.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordedSimulated<T> {
    pub recorded: T,
    pub simulated: T,
}

/// Comparison for a task, or for all tasks of a family.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TaskFidelity {
    pub name: String,
    /// Number of tasks that the row covers.
    pub tasks: u64,
    pub run_ns: RecordedSimulated<u64>,
    /// Time runnable without a CPU.
    pub wait_ns: RecordedSimulated<u64>,
    /// Number of times that the tasks were switched in.
    pub switches: RecordedSimulated<u64>,
    /// Number of times that the tasks were switched in on another CPU than before.
    pub migrations: RecordedSimulated<u64>,
    /// Wake-up latency: from the wake-up until the task runs.
    pub latency: RecordedSimulated<Option<LatencySummary>>,
    /// Share of the recorded run time that the simulated tasks spend on the same CPUs, in percent.
    pub same_cpu_percent: f64,
}

/// Comparison for a CPU.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CpuFidelity {
    /// Time with a task other than the idle task.
    pub busy_ns: RecordedSimulated<u64>,
    pub switches: RecordedSimulated<u64>,
}

/// Comparison of a recording with its replay.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize)]
pub struct ReplayFidelity {
    pub length_ns: u64,
    /// Whether the trace has wake-up events, which waiting times and latencies need.
    pub has_wakeups: bool,
    /// Tasks by family, in descending order of recorded run time.
    pub families: Vec<TaskFidelity>,
    /// Tasks, in the order of the workload.
    pub tasks: Vec<TaskFidelity>,
    pub cpus: Vec<CpuFidelity>,
    pub all: TaskFidelity,
    /// Sum of the tasks' run time differences, in percent of the recorded run time.
    pub run_off_percent: f64,
    /// Sum of the tasks' waiting time differences, in percent of the recorded run time.
    pub wait_off_percent: f64,
    /// Sum of the CPUs' busy time differences, in percent of the recorded run time.
    pub cpu_off_percent: f64,
    /// Kolmogorov-Smirnov distance of the wake-up latencies, 0 to 1; `None` without wake-up events.
    pub latency_distance: Option<f64>,
    /// Descriptions of the largest differences, at most three.
    pub largest: Vec<String>,
}

/// Measures a run as a trace is measured.
pub struct ReplayMeter(Rc<RefCell<TraceMeasurement>>);

impl ReplayMeter {
    /// Creates the meter of a run that has not begun, and the exporter that feeds it.
    pub fn new(machine: &Machine, basis: LatencyBasis) -> (Exporter, Self) {
        let nr_cpus = u32::try_from(machine.hardware().nr_cpus()).unwrap_or(u32::MAX);
        let measure = Rc::new(RefCell::new(TraceMeasurement::new(START.0, nr_cpus, basis)));
        let counting = Rc::clone(&measure);
        let listener: TraceEventFn = Rc::new(RefCell::new(move |event: &_, _: &_| counting.borrow_mut().event(event)));
        let mut exporter = Exporter::new(machine, None);
        exporter.add(EventGroups::from_slice(&[Group::Sched]), Box::new(TraceEventSink::new(listener)));
        exporter.begin(machine);
        (exporter, Self(measure))
    }

    /// Returns the measurement after the run.
    pub fn measurement(&self, machine: &Machine) -> TraceMeasurement {
        let mut measure = self.0.borrow().clone();
        measure.finish(START.0 + machine.duration().0);
        measure
    }
}

/// Compares a recording with the run that replayed it.
pub fn compare(
    recording: &Recording,
    imported: &ImportedWorkload,
    machine: &Machine,
    simulated: &TraceMeasurement,
) -> ReplayFidelity {
    let recorded = TraceMeasurement::of(recording);
    let nothing = ThreadMeasurement::default();
    let started = machine.tasks().iter().filter(|task| task.id.is_some());
    let spec_of: HashMap<i32, usize> = started.map(|task| (task.pid, task.spec)).collect();
    let mut of_task: Vec<&ThreadMeasurement> = vec![&nothing; imported.recorded.tasks.len()];
    for (thread, figures) in simulated.threads.list().iter().zip(&simulated.figures) {
        let Some(&spec) = spec_of.get(&thread.pid) else { continue };
        // A governor thread of the simulated kernel corresponds to the recorded thread with its name.
        let of_name = || {
            let name = &machine.workload().tasks[spec].name;
            imported.recorded.tasks.iter().position(|task| is_governor_thread(name) && task.family == *name)
        };
        let place = if spec < of_task.len() { Some(spec) } else { of_name() };
        if let Some(place) = place {
            of_task[place] = figures;
        }
    }
    let mut pairs: Vec<(&ThreadMeasurement, &ThreadMeasurement)> = of_task.iter().map(|&own| (&nothing, own)).collect();
    for (figures, task) in recorded.figures.iter().zip(&imported.task_of) {
        if let Some(task) = task {
            pairs[*task].0 = figures;
        }
    }
    let tasks: Vec<TaskFidelity> =
        imported.recorded.tasks.iter().zip(&pairs).map(|(task, &pair)| row(&task.name, &[pair])).collect();
    let mut by_family: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (task, pair) in imported.recorded.tasks.iter().zip(&pairs) {
        by_family.entry(&task.family).or_default().push(*pair);
    }
    let mut families: Vec<TaskFidelity> = by_family.iter().map(|(name, pairs)| row(name, pairs)).collect();
    families.sort_by_key(|row| std::cmp::Reverse(row.run_ns.recorded));
    let all = row("all", &pairs);
    let nr_cpus = recorded.cpus.len().max(simulated.cpus.len());
    let cpu = |list: &[CpuMeasurement], cpu: usize| list.get(cpu).copied().unwrap_or_default();
    let cpus: Vec<CpuFidelity> = (0..nr_cpus)
        .map(|place| {
            let (recorded, simulated) = (cpu(&recorded.cpus, place), cpu(&simulated.cpus, place));
            CpuFidelity {
                busy_ns: RecordedSimulated { recorded: recorded.busy_ns, simulated: simulated.busy_ns },
                switches: RecordedSimulated { recorded: recorded.switches, simulated: simulated.switches },
            }
        })
        .collect();
    let whole = all.run_ns.recorded.max(1) as f64;
    let off = |of: &dyn Fn(&TaskFidelity) -> RecordedSimulated<u64>| {
        let sum: u64 = tasks.iter().map(|row| of(row).recorded.abs_diff(of(row).simulated)).sum();
        100.0 * sum as f64 / whole
    };
    let busy: u64 = cpus.iter().map(|row| row.busy_ns.recorded.abs_diff(row.busy_ns.simulated)).sum();
    let has_wakeups = LatencyBasis::of(recording) != LatencyBasis::None;
    ReplayFidelity {
        length_ns: imported.recorded.end.0,
        has_wakeups,
        run_off_percent: off(&|row| row.run_ns),
        wait_off_percent: off(&|row| row.wait_ns),
        cpu_off_percent: 100.0 * busy as f64 / whole,
        latency_distance: has_wakeups.then(|| distance(&pairs)),
        largest: largest(&families, has_wakeups),
        families,
        tasks,
        cpus,
        all,
    }
}

fn row(name: &str, pairs: &[(&ThreadMeasurement, &ThreadMeasurement)]) -> TaskFidelity {
    let mut row = TaskFidelity { name: name.to_owned(), tasks: pairs.len() as u64, ..TaskFidelity::default() };
    let (mut recorded_latency, mut simulated_latency) = (Latency::default(), Latency::default());
    let mut same = 0;
    for (recorded, simulated) in pairs {
        let add = |sum: &mut RecordedSimulated<u64>, of: fn(&ThreadMeasurement) -> u64| {
            sum.recorded += of(recorded);
            sum.simulated += of(simulated);
        };
        add(&mut row.run_ns, |figures| figures.run_ns);
        add(&mut row.wait_ns, |figures| figures.wait_ns);
        add(&mut row.switches, |figures| figures.switches);
        add(&mut row.migrations, |figures| figures.migrations);
        for (thread, latency) in [(recorded, &mut recorded_latency), (simulated, &mut simulated_latency)] {
            thread.latencies.iter().for_each(|&ns| latency.record(ns));
            thread.open_latency.into_iter().for_each(|ns| latency.record_open(ns));
        }
        let time = |cpu: &u32| simulated.by_cpu.get(cpu).copied().unwrap_or(0);
        same += recorded.by_cpu.iter().map(|(cpu, &ns)| ns.min(time(cpu))).sum::<u64>();
    }
    row.latency = RecordedSimulated { recorded: recorded_latency.summary(), simulated: simulated_latency.summary() };
    row.same_cpu_percent = 100.0 * same as f64 / row.run_ns.recorded.max(1) as f64;
    row
}

/// Returns the largest distance between the distributions of latencies.
fn distance(pairs: &[(&ThreadMeasurement, &ThreadMeasurement)]) -> f64 {
    let sorted = |of: &dyn Fn(&(&ThreadMeasurement, &ThreadMeasurement)) -> Vec<u64>| {
        let mut all: Vec<u64> = pairs.iter().flat_map(of).collect();
        all.sort_unstable();
        all
    };
    let recorded = sorted(&|pair| pair.0.latencies.clone());
    let simulated = sorted(&|pair| pair.1.latencies.clone());
    if recorded.is_empty() || simulated.is_empty() {
        return if recorded.len() == simulated.len() { 0.0 } else { 1.0 };
    }
    let part = |list: &[u64], ns: u64| list.partition_point(|&own| own <= ns) as f64 / list.len() as f64;
    let distances = recorded.iter().chain(&simulated).map(|&ns| (part(&recorded, ns) - part(&simulated, ns)).abs());
    distances.fold(0.0, f64::max)
}

const MAX_DIFFERENCES: usize = 3;

fn largest(families: &[TaskFidelity], has_wakeups: bool) -> Vec<String> {
    let mut all: Vec<(u64, String)> = Vec::new();
    for row in families {
        let mut tell = |what: &str, figures: RecordedSimulated<u64>| {
            let (recorded, simulated) = (Nanos(figures.recorded), Nanos(figures.simulated));
            let by = figures.recorded.abs_diff(figures.simulated);
            all.push((by, format!("{} {what} {simulated} where {recorded} were recorded", row.name)));
        };
        tell("run for", row.run_ns);
        if has_wakeups {
            tell("wait for", row.wait_ns);
        }
    }
    all.sort_by_key(|(by, _)| std::cmp::Reverse(*by));
    all.into_iter().filter(|(by, _)| *by > 0).take(MAX_DIFFERENCES).map(|(_, text)| text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_differ_by_the_largest_distance() {
        let with = |latencies: &[u64]| ThreadMeasurement { latencies: latencies.to_vec(), ..Default::default() };
        let of = |recorded: &[u64], simulated: &[u64]| distance(&[(&with(recorded), &with(simulated))]);
        assert_eq!((of(&[], &[]), of(&[5], &[]), of(&[], &[5])), (0.0, 1.0, 1.0));
        assert_eq!((of(&[1, 2, 3, 4], &[4, 3, 2, 1]), of(&[1, 2, 3, 4], &[2, 3, 4, 5])), (0.0, 0.25));
    }
}
