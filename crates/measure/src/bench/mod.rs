// SPDX-License-Identifier: GPL-2.0-or-later
//! Observers that measure models of benchmarks, with results in the benchmarks' own units and output formats.
//!
//! [`fairlab_workload::bench`] has the models. Each observer here computes the results that the benchmark
//! itself would measure, from marks of the model, with histograms and counters.

pub mod cyclictest;
pub mod elapsed;
pub mod netperf;
pub mod oltp;
mod pair_states;
pub mod plat;
pub mod rounds;
pub mod schbench;
pub mod schbench_rps;
pub mod stress_sock;
pub mod tbench;

use crate::slot_mut;
use elapsed::{ElapsedFormat, ElapsedObserver};
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::Observer;
use fairlab_machine::sim::Machine;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::Benchmark;
use schemars::schema_for;

/// Returns the observer that measures a benchmark; only for the result of [`Benchmark::for_run`].
pub fn observer(benchmark: &Benchmark) -> Box<dyn BenchObserver> {
    match *benchmark {
        Benchmark::Schbench(bench) => Box::new(schbench::SchbenchObserver::new(&bench)),
        Benchmark::SchbenchRps(bench) => Box::new(schbench_rps::SchbenchRpsObserver::new(bench)),
        Benchmark::Hackbench(bench) => Box::new(ElapsedObserver::new(ElapsedFormat::Hackbench(bench))),
        Benchmark::Messaging(bench) => Box::new(ElapsedObserver::new(ElapsedFormat::Messaging(bench.0))),
        Benchmark::Pipe(bench) => Box::new(ElapsedObserver::new(ElapsedFormat::Pipe(bench))),
        Benchmark::Netperf(bench) => Box::new(netperf::NetperfObserver::new(bench)),
        Benchmark::Tbench(bench) => Box::new(tbench::TbenchObserver::new(bench)),
        Benchmark::Cyclictest(bench) => Box::new(cyclictest::CyclictestObserver::new(bench)),
        Benchmark::StressSock(bench) => Box::new(stress_sock::StressSockObserver::new(bench)),
        Benchmark::Oltp(_) => Box::<oltp::OltpObserver>::default(),
        Benchmark::KernelBuild(bench) => Box::new(ElapsedObserver::new(ElapsedFormat::Build(bench))),
        Benchmark::Micro(micro) => Box::new(ElapsedObserver::new(ElapsedFormat::Micro(micro))),
    }
}

/// Returns the schemas of the results of all benchmarks.
pub fn schemas() -> Vec<schemars::Schema> {
    vec![
        schema_for!(cyclictest::CyclictestResult),
        schema_for!(elapsed::ElapsedResult),
        schema_for!(netperf::NetperfResult),
        schema_for!(oltp::OltpResult),
        schema_for!(schbench::SchbenchResult),
        schema_for!(schbench_rps::SchbenchRpsResult),
        schema_for!(stress_sock::StressSockResult),
        schema_for!(tbench::TbenchResult),
    ]
}

/// Result of a benchmark.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BenchResult {
    pub text: String,
    pub data: serde_json::Value,
}

impl BenchResult {
    /// Creates a result from its text and its data.
    ///
    /// # Panics
    /// If the data cannot be serialised as JSON; results contain only numbers and names.
    pub fn new(text: String, data: &impl serde::Serialize) -> Self {
        Self { text, data: serde_json::to_value(data).expect("results are numbers and names") }
    }
}

/// Progress of a run, as far as benchmarks report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunProgress {
    /// Simulated time since the start of the run.
    pub elapsed: Nanos,
    /// Whether all tasks have exited.
    pub is_done: bool,
    /// Total run time of all tasks without kernel threads, in nanoseconds.
    pub cpu_ns: i64,
}

impl RunProgress {
    /// Returns the progress of a machine.
    pub fn from_machine(machine: &Machine<impl Engine>) -> Self {
        let of_workload = machine.tasks().iter().enumerate().filter(|&(task, _)| !machine.is_kthread(task));
        let cpu_ns = of_workload.map(|(_, task)| task.runtime_ns).sum();
        Self { elapsed: machine.elapsed(), is_done: machine.is_done(), cpu_ns }
    }
}

/// Observer that measures a benchmark during its run.
pub trait BenchObserver: Observer {
    /// Discards what was measured so far. Returns false if the benchmark runs to its end, without a warm-up.
    fn reset(&mut self) -> bool;

    /// Returns the result after the run, of which the time `measured` counts.
    fn outcome(&self, reached: RunProgress, measured: Nanos) -> BenchResult;
}
