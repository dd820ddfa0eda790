// SPDX-License-Identifier: GPL-2.0-or-later
//! How far a replay can be believed: what tasks and CPUs did, simulated beside recorded.

use super::behaviour::ImportedWorkload;
use super::event::Recording;
use super::event_sink::{TraceEventFn, TraceEventSink};
use super::measure::{CpuMeasurement, LatencyBasis, ThreadMeasurement, TraceMeasurement};
use crate::export::Exporter;
use crate::export::record::{EventGroups, Group};
use crate::latency::{Latency, LatencySummary};
use fairlab_machine::sim::{Machine, RunError, START};
use fairlab_sched::units::Nanos;
use fairlab_workload::recorded::is_governor_thread;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// In so many parts a run is divided, after each of which somebody hears how far it is.
const NR_PARTS: u64 = 1000;

/// The same figure twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordedSimulated<T> {
    /// As it was recorded.
    pub recorded: T,
    /// As it was simulated.
    pub simulated: T,
}

/// What a task, or all tasks of a name, did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TaskFidelity {
    /// The name.
    pub name: String,
    /// How many tasks.
    pub tasks: u64,
    /// Time on CPUs.
    pub run_ns: RecordedSimulated<u64>,
    /// Time runnable without a CPU.
    pub wait_ns: RecordedSimulated<u64>,
    /// How often they got a CPU.
    pub switches: RecordedSimulated<u64>,
    /// How often they got another CPU than before.
    pub migrations: RecordedSimulated<u64>,
    /// From wake-up to running.
    pub latency: RecordedSimulated<Option<LatencySummary>>,
    /// The part of their recorded time, in percent, that they spend on the same CPUs.
    pub same_cpu_percent: f64,
}

/// What a CPU did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CpuFidelity {
    /// Time with a task.
    pub busy_ns: RecordedSimulated<u64>,
    /// Switches.
    pub switches: RecordedSimulated<u64>,
}

/// The whole.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayFidelity {
    /// Length of the recording.
    pub length_ns: u64,
    /// Whether the trace tells of wake-ups, so that waiting can be compared.
    pub has_wakeups: bool,
    /// Tasks by name, those that ran longest first.
    pub families: Vec<TaskFidelity>,
    /// Each task, in the order of the workload.
    pub tasks: Vec<TaskFidelity>,
    /// CPUs.
    pub cpus: Vec<CpuFidelity>,
    /// All tasks.
    pub all: TaskFidelity,
    /// Differences of run times, summed over tasks, in percent of all run time.
    pub run_off_percent: f64,
    /// The same of times of waiting, in percent of all run time.
    pub wait_off_percent: f64,
    /// The same of CPUs' busy times.
    pub cpu_off_percent: f64,
    /// The greatest distance between the distributions of wake-up latencies (Kolmogorov and Smirnov), 0 to 1.
    pub latency_distance: Option<f64>,
    /// The largest differences, in words.
    pub largest: Vec<String>,
}

/// Runs a machine and measures it as its trace was. `told` hears how far it is.
///
/// # Errors
/// If a program makes no progress.
pub fn replay(
    machine: &mut Machine,
    basis: LatencyBasis,
    told: &mut dyn FnMut(Nanos),
) -> Result<TraceMeasurement, RunError> {
    let nr_cpus = u32::try_from(machine.hardware().nr_cpus()).unwrap_or(u32::MAX);
    let measure = Rc::new(RefCell::new(TraceMeasurement::new(START.0, nr_cpus, basis)));
    let counting = Rc::clone(&measure);
    let listener: TraceEventFn = Rc::new(RefCell::new(move |event: &_, _: &_| counting.borrow_mut().event(event)));
    let mut exporter = Exporter::new(machine, None);
    exporter.add(EventGroups::from_slice(&[Group::Sched]), Box::new(TraceEventSink::new(listener)));
    exporter.begin(machine);
    machine.start(&mut exporter)?;
    let length = u128::from(machine.duration().0);
    for part in 1..=u128::from(NR_PARTS) {
        let until = START.0 + u64::try_from(length * part / u128::from(NR_PARTS)).unwrap_or(u64::MAX - START.0);
        let has_more = machine.advance(&mut exporter, Nanos(until))?;
        told(machine.elapsed());
        if !has_more {
            break;
        }
    }
    machine.finish(&mut exporter);
    drop(exporter);
    let mut measure = measure.borrow().clone();
    measure.finish(START.0 + machine.duration().0);
    Ok(measure)
}

/// Sets a recording beside the run that has replayed it.
pub fn compare(
    recording: &Recording,
    imported: &ImportedWorkload,
    machine: &Machine,
    simulated: &TraceMeasurement,
) -> ReplayFidelity {
    let recorded = TraceMeasurement::of(recording);
    let nothing = ThreadMeasurement::default();
    // The thread of each task in the run, by its pid.
    let mut spec_of = HashMap::new();
    for task in machine.tasks().iter().filter(|task| task.id.is_some()) {
        spec_of.insert(task.pid, task.spec);
    }
    let mut of_task: Vec<&ThreadMeasurement> = vec![&nothing; imported.recorded.tasks.len()];
    for (thread, figures) in simulated.threads.list().iter().zip(&simulated.figures) {
        let Some(&spec) = spec_of.get(&thread.pid) else { continue };
        // A thread of the kernel that the machine has is that of the same name, if there is one.
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
        recorded.latencies.iter().for_each(|&ns| recorded_latency.record(ns));
        simulated.latencies.iter().for_each(|&ns| simulated_latency.record(ns));
        let time = |cpu: &u32| simulated.by_cpu.get(cpu).copied().unwrap_or(0);
        same += recorded.by_cpu.iter().map(|(cpu, &ns)| ns.min(time(cpu))).sum::<u64>();
    }
    row.latency = RecordedSimulated { recorded: recorded_latency.summary(), simulated: simulated_latency.summary() };
    row.same_cpu_percent = 100.0 * same as f64 / row.run_ns.recorded.max(1) as f64;
    row
}

/// The greatest distance between the distributions of latencies.
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

/// How many differences are told.
const MAX_DIFFERENCES: usize = 3;

/// The largest differences, by time.
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
