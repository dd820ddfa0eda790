// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab bench`: models of benchmarks with the benchmarks' own options and output formats.

use crate::args::bench::BenchArgs;
use crate::execution::execute::{Executed, execute_alone};
use crate::output::Output;
use crate::values::error::CliError;
use crate::values::interrupt;
use fairlab_measure::summary::Settling;
use fairlab_run::job::RunOutputs;
use fairlab_run::spec::{BenchSpec, RunSpec, WorkloadSpec};
use fairlab_sched::units::Nanos;
use serde::Serialize;

/// Name and version of the JSON output.
pub(crate) const SCHEMA: &str = "bench/2";

/// Result of a benchmark.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct BenchOutput<'a> {
    /// Name and version of this format.
    schema: &'static str,
    /// Name of the benchmark.
    bench: &'static str,
    /// Name of the machine.
    machine: &'a str,
    /// Name of the kernel.
    kernel: &'a str,
    /// Seed, if one was given.
    seed: Option<u64>,
    /// Simulated time including the warm-up, in nanoseconds.
    simulated_ns: u64,
    /// Planned simulated time in nanoseconds, if a signal has ended the run early.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_short_of_ns: Option<u64>,
    /// End of a warm-up that lasted until the run had settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    settling: Option<Settling>,
    /// Hash over all actions of the scheduler.
    digest: String,
    /// Metrics of the benchmark, under its own names.
    result: serde_json::Value,
}

pub(crate) fn bench(output: &mut Output, args: &BenchArgs) -> Result<(), CliError> {
    let BenchArgs { line, settings, exports } = args;
    exports.refuse_stdout("bench")?;
    let benchmark = line.benchmark().map_err(CliError::input)?;
    let name = benchmark.name();
    let workload = WorkloadSpec::Bench(BenchSpec { line: name.to_owned(), benchmark });
    let spec = RunSpec { workload, settings: settings.settings() };
    let mut outputs = RunOutputs::default();
    exports.add_to(&mut outputs);
    let Executed { result, about, hardware } = execute_alone(output, &spec, &outputs)?;
    let outcome = result.bench.clone().expect("a benchmark has a result");
    let (cut_short_of, settling) = (result.cut_short_of(), result.settling);
    if let Some(settling) = settling.filter(|settling| !settling.has_settled) {
        output.warn(&settling.sentence())?;
    }
    if output.is_json() {
        output.json(&BenchOutput {
            schema: SCHEMA,
            bench: name,
            machine: &hardware.name,
            kernel: &about.subject.kernel,
            seed: spec.settings.seed,
            simulated_ns: result.elapsed_ns,
            cut_short_of_ns: result.cut_short_of_ns,
            settling,
            digest: result.digest,
            result: outcome.data,
        })?;
    } else {
        if let Some(whole) = cut_short_of {
            let reached = Nanos(result.duration_ns);
            // Which part of a stopped run the metrics cover.
            let part = if reached > about.warmup.length(settling.as_ref()) {
                "the results cover the time until then"
            } else {
                "the warm-up had not ended"
            };
            output.text(&format!("stopped before the end, after {reached} of {whole}: {part}\n"))?;
        }
        output.text(&outcome.text)?;
        if let Some(settling) = settling.filter(|settling| settling.has_settled) {
            output.text(&format!("{}\n", settling.sentence()))?;
        }
    }
    interrupt::end(cut_short_of)
}
