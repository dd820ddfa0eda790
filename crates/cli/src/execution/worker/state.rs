// SPDX-License-Identifier: GPL-2.0-or-later
//! Detailed output of a run with an engine, from its worker: every event, the state at a given time, or the
//! functions that calls enter.

use crate::execution::execute::failed;
use crate::values::error::CliError;
use fairlab_kernel::engine::KernelEngine;
use fairlab_kernel::functions;
use fairlab_kernel::object::{SchedDomainState, TracedCall};
use fairlab_kernel::store::Store;
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, START};
use fairlab_run::drive::{drive, drive_on, drive_to};
use fairlab_run::observers::{EventWriters, RunObservers};
use fairlab_run::prepare::ReadyRun;
use fairlab_run::warmup::WarmupPlan;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::units::Nanos;
use fairlab_traces::trace_jsonl::{TraceJsonl, TraceOptions};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufWriter, Write};

/// Switches, wake-ups, migrations, interrupts, steps of load balancing.
const TRACE: TraceOptions = TraceOptions { level: 3, pelt: false, lags: false };

/// State of a CPU, with the kernel's names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub(crate) struct CpuState {
    pub(crate) cpu: u32,
    pub(crate) nr_running: u32,
    pub(crate) h_nr_running: u32,
    pub(crate) curr: String,
    pub(crate) util_avg: u64,
    pub(crate) load_avg: u64,
    pub(crate) runnable_avg: u64,
    pub(crate) cpu_capacity: u64,
    /// Average idle time, in nanoseconds.
    #[serde(default)]
    pub(crate) avg_idle: u64,
    /// Sched domains of the CPU, lowest first.
    #[serde(default)]
    pub(crate) domains: Vec<SchedDomainState>,
    /// Names of the tasks on the CPU's runqueue.
    #[serde(default)]
    pub(crate) queued: Vec<String>,
}

/// State of a task, with the kernel's names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub(crate) struct TaskState {
    pub(crate) task: String,
    pub(crate) pid: i32,
    pub(crate) cpu: u32,
    pub(crate) util_avg: u64,
    /// Virtual runtime in ns, which begins shortly below 0.
    pub(crate) vruntime: i64,
}

/// State of an engine: CPUs and tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EngineState {
    pub(crate) cpus: Vec<CpuState>,
    pub(crate) tasks: Vec<TaskState>,
}

/// Runs a machine up to a time on its clock and returns its state.
pub(super) fn state_at(ready: ReadyRun<KernelEngine>, until_ns: u64) -> Result<EngineState, CliError> {
    let ReadyRun { mut machine, about, .. } = ready;
    drive_to(&mut machine, &mut NoObserver, Nanos(until_ns)).map_err(|error| failed(&about, error))?;
    Ok(state(&machine))
}

/// Returns the functions that each call at a time on the machine's clock enters.
pub(super) fn calls_at(ready: ReadyRun<KernelEngine>, at_ns: u64) -> Result<Vec<TracedCall>, CliError> {
    let ReadyRun { mut machine, about, .. } = ready;
    drive_to(&mut machine, &mut NoObserver, Nanos(at_ns.saturating_sub(1))).map_err(|error| failed(&about, error))?;
    machine.sched().object().trace(true);
    let came = drive_on(&mut machine, &mut NoObserver, Nanos(at_ns));
    let calls = machine.sched().object().take_traced_calls();
    came.map_err(|error| failed(&about, error))?;
    Ok(calls)
}

/// Runs a machine and writes every event as a line of JSON to standard output.
pub(super) fn write_trace(ready: ReadyRun<KernelEngine>) -> Result<(), CliError> {
    let ReadyRun { mut machine, about, .. } = ready;
    let out: Box<dyn Write> = Box::new(io::stdout());
    let trace = TraceJsonl::new(out, machine.hardware().nr_cpus(), TRACE);
    let writers = EventWriters { trace: Some(trace), ..EventWriters::default() };
    let mut observers = RunObservers { writers: writers.boxed(), ..RunObservers::default() };
    drive(&mut machine, &mut observers, WarmupPlan::NONE, &mut |_| true).map_err(|error| failed(&about, error))?;
    let trace = observers.writers.and_then(|writers| writers.trace).expect("it was there before the run");
    trace.finish().map_err(|error| CliError::write("standard output", &error))
}

/// Simulated time between two collections of traced calls.
const STEP: Nanos = Nanos(1_000_000);

/// Writes one line for each call up to a time to standard output: its time, and a hash of the called
/// function, the CPU, and the functions that it has entered and that both engines have.
pub(super) fn write_call_hashes(
    ready: ReadyRun<KernelEngine>,
    until_ns: u64,
    engines: [&str; 2],
) -> Result<(), CliError> {
    let hashes = hashes(engines)?;
    let ReadyRun { mut machine, about, .. } = ready;
    let mut out = BufWriter::new(io::stdout().lock());
    machine.sched().object().trace(true);
    let mut now = START;
    let mut came = drive_to(&mut machine, &mut NoObserver, Nanos(until_ns).min(now + STEP));
    loop {
        for call in machine.sched().object().take_traced_calls() {
            let mut hasher = DefaultHasher::new();
            (call.what, call.cpu).hash(&mut hasher);
            for hash in call.functions.iter().filter_map(|(_, place)| hashes.get(place)) {
                hash.hash(&mut hasher);
            }
            let line = writeln!(out, "{} {:x}", call.at_ns, hasher.finish());
            line.map_err(|error| CliError::write("standard output", &error))?;
        }
        now = Nanos(until_ns).min(now + STEP);
        if came.is_err() || now >= Nanos(until_ns) {
            break;
        }
        came = drive_on(&mut machine, &mut NoObserver, Nanos(until_ns).min(now + STEP)).map(drop);
    }
    out.flush().map_err(|error| CliError::write("standard output", &error))?;
    came.map_err(|error| failed(&about, error))
}

/// Returns hashes of the function names that both engines have, by address in the first engine.
fn hashes(engines: [&str; 2]) -> Result<BTreeMap<u64, u64>, CliError> {
    let store = Store::for_user()?;
    let object = |name: &str| Ok::<_, CliError>(functions::traced_object(&store.object_path(&store.get(name)?.key)));
    let [own, other] = engines.map(|name| Ok::<_, CliError>(functions::names_by_address(&object(name)?)?));
    let (own, other) = (own?, other?);
    let others: BTreeSet<&String> = other.values().collect();
    let hash = |name: &String| {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        hasher.finish()
    };
    Ok(own.iter().filter(|(_, name)| others.contains(name)).map(|(place, name)| (*place, hash(name))).collect())
}

fn state(machine: &Machine<KernelEngine>) -> EngineState {
    let object = machine.sched().object();
    let name_of = |id: u32| {
        let task = machine.tasks().iter().find(|task| task.id.is_some_and(|snapshot| snapshot.0 == id));
        task.map_or_else(|| "idle".to_owned(), |task| task.name.clone())
    };
    let queued = |cpu: u32| {
        let is_there = |id: &TaskId| {
            let snapshot = machine.sched().task_snapshot(*id);
            snapshot.on_rq != 0 && snapshot.cpu == cpu
        };
        let tasks = machine.tasks().iter().filter(|task| !task.is_dead && task.id.as_ref().is_some_and(is_there));
        tasks.map(|task| task.name.clone()).collect()
    };
    let cpu = |cpu: CpuId| {
        let snapshot = machine.sched().rq_snapshot(cpu);
        CpuState {
            cpu: cpu.0,
            nr_running: snapshot.nr_running,
            h_nr_running: snapshot.h_nr_running,
            curr: name_of(object.rq_curr(cpu.0)),
            util_avg: snapshot.util_avg,
            load_avg: snapshot.load_avg,
            runnable_avg: snapshot.runnable_avg,
            cpu_capacity: snapshot.cpu_capacity,
            avg_idle: snapshot.avg_idle,
            domains: object.domains(cpu.0),
            queued: queued(cpu.0),
        }
    };
    let task = |task: &fairlab_machine::sim::SimTask| {
        let id = task.id.filter(|_| !task.is_dead)?;
        let snapshot = machine.sched().task_snapshot(id);
        let (util_avg, vruntime) = (snapshot.avg.util_avg, snapshot.vruntime as i64);
        Some(TaskState { task: task.name.clone(), pid: task.pid, cpu: snapshot.cpu, util_avg, vruntime })
    };
    EngineState {
        cpus: machine.sched().cpu_ids().map(cpu).collect(),
        tasks: machine.tasks().iter().filter_map(task).collect(),
    }
}
