// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab bench`: models of benchmarks with the benchmarks' own options and output formats.

pub(crate) mod args;
pub(crate) mod line;
pub(crate) mod models;

use crate::args::{Plain, VariantArgs};
use crate::engine;
use crate::error::CliError;
use crate::exports::ExportWriters;
use crate::input;
use crate::interrupt;
use crate::output::Output;
use crate::output::progress::Progress;
use crate::plan::{Choices, DEFAULT_MACHINE, Variant, drive, employ, hold_latency, price};
use args::{Bench, On};
use fairlab_machine::engine::Engine;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::{Observer, Observers};
use fairlab_machine::sim::{Machine, Setup};
use fairlab_machine::vary::vary_starts;
use fairlab_observe::bench::{self, BenchObserver, BenchObserverRef, BenchResult, RunProgress};
use fairlab_sched::units::Nanos;
use fairlab_workload::workload::Workload;
use models::Model;
use serde::Serialize;

/// Longest simulated time of a benchmark that runs until it is done.
const MAX_DURATION: Nanos = Nanos::from_secs(3600);

/// Name and version of the JSON output.
pub(crate) const SCHEMA: &str = "bench/1";

/// Result of a benchmark.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct BenchOutput {
    /// Name and version of this format.
    schema: &'static str,
    /// Name of the benchmark.
    bench: &'static str,
    /// Name of the machine.
    machine: String,
    /// Name of the kernel.
    kernel: &'static str,
    /// Seed, if one was given.
    seed: Option<u64>,
    /// Simulated time including the warm-up, in nanoseconds.
    simulated_ns: u64,
    /// Planned simulated time in nanoseconds, if a signal has ended the run early.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_short_of_ns: Option<u64>,
    /// Hash over all actions of the scheduler.
    digest: String,
    /// Metrics of the benchmark, under its own names.
    result: serde_json::Value,
}

pub(crate) fn bench(output: &mut Output, bench: &Bench) -> Result<(), CliError> {
    let On { variant, seed, vary, perturb, duration, warmup, exports, engine_trial: _ } = bench.run_options();
    let warmup = warmup.unwrap_or_default();
    let choices = Choices { duration: *duration, seed: *seed, perturb: *perturb, vary: *vary, ..Choices::default() };
    exports.refuse_stdout("bench")?;
    if let Some(engine) = variant.kernel_engine() {
        return engine::bench(output, bench, warmup, choices, engine);
    }
    let ReadyBench { about, mut machine, mut meter } = new_machine(bench, variant, warmup, choices)?;
    let mut traces = ExportWriters::open(exports, &machine, Some(about.name))?;
    let mut also = traces.as_mut().map(|traces| &mut traces.exporter as &mut dyn Observer);
    let measured = measure(&about, &mut machine, &mut *meter, &mut also, warmup)?;
    traces.map_or(Ok(()), |traces| traces.finish(&machine))?;
    print_result(output, &about, &machine, measured, *seed)
}

/// Result of a benchmark, with its planned length if it was stopped.
pub(crate) struct MeasuredBench {
    outcome: BenchResult,
    warmup: Nanos,
    cut_short_of: Option<Nanos>,
}

/// Runs a benchmark on a machine of any engine.
pub(crate) fn measure<E: Engine>(
    about: &BenchContext,
    machine: &mut Machine<E>,
    meter: &mut dyn BenchObserver,
    also: &mut Option<&mut dyn Observer<E>>,
    warmup: Nanos,
) -> Result<MeasuredBench, CliError> {
    interrupt::install_handlers();
    let whole = machine.duration();
    let mut progress = Progress::new("simulating", whole);
    let on_progress = &mut |elapsed: Nanos| {
        progress.show(elapsed);
        interrupt::requested().is_none()
    };
    let run = bench::warm_up(machine, &mut bench_observers(&mut BenchObserverRef(meter), also), warmup, on_progress)
        .and_then(|()| {
            if warmup > Nanos::ZERO {
                meter.reset();
            }
            bench::run_to_end(machine, &mut bench_observers(&mut BenchObserverRef(meter), also), on_progress)
        });
    progress.clear();
    run.map_err(|error| CliError::run(format!("{}: {error}", about.name)))?;
    let reached = machine.duration();
    Ok(MeasuredBench {
        outcome: meter.outcome(RunProgress::from_machine(machine), reached.saturating_since(warmup)),
        warmup,
        cut_short_of: (reached < whole).then_some(whole),
    })
}
pub(crate) fn print_result(
    output: &mut Output,
    about: &BenchContext,
    machine: &Machine<impl Engine>,
    measured: MeasuredBench,
    seed: Option<u64>,
) -> Result<(), CliError> {
    let MeasuredBench { outcome, warmup, cut_short_of } = measured;
    if output.is_json() {
        output.json(&BenchOutput {
            schema: SCHEMA,
            bench: about.name,
            machine: machine.hardware().name.clone(),
            kernel: about.kernel,
            seed,
            simulated_ns: machine.elapsed().0,
            cut_short_of_ns: cut_short_of.map(|whole| whole.0),
            digest: machine.digest().to_string(),
            result: outcome.data,
        })?;
    } else {
        if let Some(whole) = cut_short_of {
            let reached = machine.duration();
            output.text(&format!(
                "stopped before the end, after {reached} of {whole}: {}\n",
                measured_part(reached, warmup)
            ))?;
        }
        output.text(&outcome.text)?;
    }
    interrupt::end(cut_short_of)
}

/// Describes which part of a stopped run the metrics cover.
fn measured_part(reached: Nanos, warmup: Nanos) -> &'static str {
    if reached > warmup { "the results cover the time until then" } else { "the warm-up had not ended" }
}

/// Returns the observers of the run: the benchmark's, and an optional second one.
fn bench_observers<'a, E>(
    meter: &'a mut BenchObserverRef<'_>,
    also: &'a mut Option<&mut dyn Observer<E>>,
) -> Observers<'a, E>
where
    E: Engine,
{
    let mut observers: Vec<&mut dyn Observer<E>> = vec![meter];
    observers.extend(also.as_mut().map(|also| &mut **also as &mut dyn Observer<E>));
    Observers(observers)
}

/// Information about a benchmark before its run.
pub(crate) struct BenchContext {
    pub(crate) name: &'static str,
    pub(crate) kernel: &'static str,
    pub(crate) given: String,
    /// Delay of its first task's start by randomised start times.
    pub(crate) later: Nanos,
}

/// Benchmark before its machine exists, for any engine.
pub(crate) struct PreparedBench {
    pub(crate) about: BenchContext,
    pub(crate) setup: Setup,
    pub(crate) meter: Box<dyn BenchObserver>,
}

/// Benchmark on a machine, before its run.
pub(crate) struct ReadyBench {
    pub(crate) about: BenchContext,
    pub(crate) machine: Machine,
    pub(crate) meter: Box<dyn BenchObserver>,
}

/// Creates the machine for a benchmark.
pub(crate) fn new_machine(
    bench: &Bench,
    variant: &VariantArgs,
    warmup: Nanos,
    choices: Choices,
) -> Result<ReadyBench, CliError> {
    let PreparedBench { about, setup, meter } = prepare(bench, variant, warmup, choices)?;
    let mut machine = Machine::new(setup).map_err(|error| CliError::Input(format!("{}: {error}", about.given)))?;
    if let Some(seed) = choices.seed {
        machine.seed(seed);
    }
    Ok(ReadyBench { about, machine, meter })
}

/// Prepares a benchmark's machine. With a varying seed, start times of tasks are randomised.
pub(crate) fn prepare(
    bench: &Bench,
    variant: &VariantArgs,
    warmup: Nanos,
    choices: Choices,
) -> Result<PreparedBench, CliError> {
    let given = input::machine(variant.machine.as_deref().unwrap_or(DEFAULT_MACHINE))?;
    let nr_cpus = u32::try_from(given.description.nr_cpus()).expect("machines have at most some thousand CPUs");
    let Model { name, mut workload, mut meter } = bench.model(nr_cpus)?;
    if warmup > Nanos::ZERO && !meter.reset() {
        let help = "omit --warmup: the benchmark runs until it has completed its work";
        return Err(CliError::Input(format!("{name} has no warm-up\nhelp: {help}")));
    }
    let duration = Nanos(choices.duration.or(workload.duration).unwrap_or(MAX_DURATION).0.saturating_add(warmup.0));
    let settings = Variant::new(variant, Some(given.description.kernel()), Vec::new(), Vec::new());
    let kernel = settings.kernel.name;
    let mut hardware = Hardware::from_description(&given.description);
    price(&mut hardware, variant)?;
    if hardware.costs.is_zero_cost() && bench.is_kernel_work() {
        let is_plain = variant.plain == Some(Plain::Shape);
        let help = if is_plain {
            "`--plain=priced` keeps the costs of a machine that has them"
        } else {
            "choose a machine with costs (see `fairlab machine show NAME`), or write `base = \"xeon-1s-112\"` into its file"
        };
        return Err(CliError::Input(format!(
            "{name} does only kernel work, which has zero cost on {} without a cost model: no time would pass\nhelp: {help}",
            hardware.name
        )));
    }
    drive(&mut hardware, variant.governor)?;
    hold_latency(&mut workload, variant);
    let first = |workload: &Workload| workload.tasks.iter().filter_map(|task| task.start_at).min().unwrap_or_default();
    let planned = first(&workload);
    if let Some(seed) = choices.varying_seed() {
        vary_starts(&mut workload, &hardware, seed);
    }
    let later = first(&workload) - planned;
    let mut setup = Setup {
        hardware,
        features: settings.features,
        tunables: Vec::new(),
        named_tunables: settings.tunables,
        duration,
        workload,
        snapshot_every: None,
        perturb: choices.perturb,
        policy: None,
    };
    employ(&mut setup, variant)?;
    Ok(PreparedBench { about: BenchContext { name, kernel, given: given.given, later }, setup, meter })
}
