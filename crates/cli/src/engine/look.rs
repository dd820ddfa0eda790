// SPDX-License-Identifier: GPL-2.0-or-later
//! Detailed output of a run with an engine, written by its worker: every event, the state at a given time, or
//! the functions that calls enter.

use crate::args::VariantArgs;
use crate::error::CliError;
use crate::output::Output;
use fairlab_kernel::engine::KernelEngine;
use fairlab_kernel::object::SchedDomainState;
use fairlab_kernel::operations;
use fairlab_kernel::store::Store;
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, RunError, START};
use fairlab_observe::trace_jsonl::TraceJsonl;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufWriter, Write};

/// Trace level: switches, wake-ups, migrations, interrupts, steps of load balancing.
const LEVEL: u8 = 3;

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
    pub(crate) vruntime: u64,
}

/// State of an engine: CPUs and tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EngineState {
    pub(crate) cpus: Vec<CpuState>,
    pub(crate) tasks: Vec<TaskState>,
}

/// Whether the options request detailed output.
pub(super) fn is_wanted(variant: &VariantArgs) -> bool {
    variant.engine_trace || variant.engine_state.is_some() || variant.engine_calls.is_some()
}

/// Runs the machine and writes the requested output.
pub(super) fn look(
    output: &mut Output,
    machine: &mut Machine<KernelEngine>,
    variant: &VariantArgs,
    name: &str,
) -> Result<(), CliError> {
    let failed = |error| CliError::run(format!("{name}: {error}"));
    if let Some(until) = variant.engine_state {
        machine.start(&mut NoObserver).map_err(failed)?;
        machine.advance(&mut NoObserver, Nanos(until)).map_err(failed)?;
        return output.json(&state(machine));
    }
    if let (Some(until), Some(beside)) = (variant.engine_calls, &variant.engine_beside) {
        let engines = [variant.kernel_engine(), beside.kernel()].map(Option::unwrap_or_default);
        return sums(machine, Nanos(until), &hashes(engines)?)
            .map_err(|error| CliError::write("standard output", &error))?;
    }
    if let Some(at) = variant.engine_calls {
        machine.start(&mut NoObserver).map_err(failed)?;
        machine.advance(&mut NoObserver, Nanos(at.saturating_sub(1))).map_err(failed)?;
        machine.sched().object().trace(true);
        let came = machine.advance(&mut NoObserver, Nanos(at)).map_err(failed);
        let calls = machine.sched().object().take_traced_calls();
        came?;
        return output.json(&calls);
    }
    let mut trace = TraceJsonl::new(io::stdout().lock(), machine.hardware().nr_cpus(), LEVEL, false);
    machine.run(&mut trace).map_err(failed)?;
    trace.finish().map_err(|error| CliError::write("standard output", &error))
}

/// Simulated time between two collections of traced calls.
const STEP: Nanos = Nanos(1_000_000);

/// Writes one line for each call: its time, and a hash of the called function, the CPU, and the functions
/// that it has entered.
fn sums(
    machine: &mut Machine<KernelEngine>,
    until: Nanos,
    hashes: &BTreeMap<u64, u64>,
) -> io::Result<Result<(), CliError>> {
    let failed = |error: RunError| CliError::run(error.to_string());
    let mut out = BufWriter::new(io::stdout().lock());
    machine.sched().object().trace(true);
    let mut came = machine.start(&mut NoObserver);
    let mut now = START;
    while came.is_ok() && now < until {
        now = until.min(now + STEP);
        came = machine.advance(&mut NoObserver, now).map(|_| ());
        for call in machine.sched().object().take_traced_calls() {
            let mut hasher = DefaultHasher::new();
            (call.what, call.cpu).hash(&mut hasher);
            for hash in call.functions.iter().filter_map(|(_, place)| hashes.get(place)) {
                hash.hash(&mut hasher);
            }
            writeln!(out, "{} {:x}", call.at_ns, hasher.finish())?;
        }
    }
    out.flush()?;
    Ok(came.map_err(failed))
}

/// Returns hashes of the function names that both engines have, by address in the first engine.
fn hashes(engines: [&str; 2]) -> Result<BTreeMap<u64, u64>, CliError> {
    let store = Store::for_user()?;
    let [own, other] =
        engines.map(|name| Ok::<_, CliError>(operations::names_by_address(&store.object_path(&store.get(name)?.key))?));
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
        let task = machine.tasks().iter().find(|task| task.id.is_some_and(|its| its.0 == id));
        task.map_or_else(|| "idle".to_owned(), |task| task.name.clone())
    };
    let queued = |cpu: u32| {
        let is_there = |id: &TaskId| {
            let its = machine.sched().task_snapshot(*id);
            its.on_rq != 0 && its.cpu == cpu
        };
        let tasks = machine.tasks().iter().filter(|task| !task.is_dead && task.id.as_ref().is_some_and(is_there));
        tasks.map(|task| task.name.clone()).collect()
    };
    let cpu = |cpu: CpuId| {
        let its = machine.sched().rq_snapshot(cpu);
        CpuState {
            cpu: cpu.0,
            nr_running: its.nr_running,
            h_nr_running: its.h_nr_running,
            curr: name_of(object.rq_curr(cpu.0)),
            util_avg: its.util_avg,
            load_avg: its.load_avg,
            runnable_avg: its.runnable_avg,
            cpu_capacity: its.cpu_capacity,
            avg_idle: its.avg_idle,
            domains: object.domains(cpu.0),
            queued: queued(cpu.0),
        }
    };
    let task = |task: &fairlab_machine::sim::SimTask| {
        let id = task.id.filter(|_| !task.is_dead)?;
        let its = machine.sched().task_snapshot(id);
        let (util_avg, vruntime) = (its.avg.util_avg, its.vruntime);
        Some(TaskState { task: task.name.clone(), pid: task.pid, cpu: its.cpu, util_avg, vruntime })
    };
    EngineState {
        cpus: machine.sched().cpu_ids().map(cpu).collect(),
        tasks: machine.tasks().iter().filter_map(task).collect(),
    }
}
