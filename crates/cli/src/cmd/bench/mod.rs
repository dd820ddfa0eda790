// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab bench`: models of benchmarks with the benchmarks' own options and words.

pub(crate) mod args;
pub(crate) mod line;
pub(crate) mod models;

use crate::args::{Plain, VariantArgs};
use crate::engine;
use crate::error::CliError;
use crate::exports::Traces;
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

/// The longest that a benchmark is given which runs until it is done.
const PATIENCE: Nanos = Nanos::from_secs(3600);

/// The form of what is written as JSON.
pub(crate) const SCHEMA: &str = "bench/1";

/// What is written as JSON.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct BenchOutput {
    /// The form of this.
    schema: &'static str,
    /// The benchmark.
    bench: &'static str,
    /// The machine's name.
    machine: String,
    /// The kernel's name.
    kernel: &'static str,
    /// The seed, if one was given.
    seed: Option<u64>,
    /// For how long it ran, warm-up and all.
    simulated_ns: u64,
    /// How long it was to be, if a signal has cut it short.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_short_of_ns: Option<u64>,
    /// The hash over all that the scheduler did.
    digest: String,
    /// The benchmark's own figures, under its own names.
    result: serde_json::Value,
}

/// Runs the command.
pub(crate) fn bench(output: &mut Output, bench: &Bench) -> Result<(), CliError> {
    let On { variant, seed, vary, perturb, duration, warmup, exports, engine_trial: _ } = bench.on();
    let warmup = warmup.unwrap_or_default();
    let choices = Choices { duration: *duration, seed: *seed, perturb: *perturb, vary: *vary, ..Choices::default() };
    exports.refuse_stdout("bench")?;
    if let Some(engine) = variant.kernel_engine() {
        return engine::bench(output, bench, warmup, choices, engine);
    }
    let ReadyBench { about, mut machine, mut meter } = ready(bench, variant, warmup, choices)?;
    let mut traces = Traces::open(exports, &machine, Some(about.name))?;
    let mut also = traces.as_mut().map(|traces| &mut traces.exporter as &mut dyn Observer);
    let told = measure(&about, &mut machine, &mut *meter, &mut also, warmup)?;
    traces.map_or(Ok(()), |traces| traces.finish(&machine))?;
    print_result(output, &about, &machine, told, *seed)
}

/// What came of a benchmark, and how long it was to be if it was stopped.
pub(crate) struct MeasuredBench {
    outcome: BenchResult,
    warmup: Nanos,
    cut_short_of: Option<Nanos>,
}

/// Runs a benchmark, on a machine of any engine.
pub(crate) fn measure<E: Engine>(
    about: &BenchContext,
    machine: &mut Machine<E>,
    meter: &mut dyn BenchObserver,
    also: &mut Option<&mut dyn Observer<E>>,
    warmup: Nanos,
) -> Result<MeasuredBench, CliError> {
    interrupt::listen();
    let whole = machine.duration();
    let mut progress = Progress::new("simulating", whole);
    let told = &mut |elapsed: Nanos| {
        progress.show(elapsed);
        interrupt::requested().is_none()
    };
    let run = bench::warm_up(machine, &mut both(&mut BenchObserverRef(meter), also), warmup, told).and_then(|()| {
        if warmup > Nanos::ZERO {
            meter.reset();
        }
        bench::run_to_end(machine, &mut both(&mut BenchObserverRef(meter), also), told)
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

/// Tells what came of it.
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
            output
                .text(&format!("STOPPED before its end, after {reached} of {whole}: {}\n", part_of(reached, warmup)))?;
        }
        output.text(&outcome.text)?;
    }
    interrupt::end(cut_short_of)
}

/// What the figures of a run that was stopped are about.
fn part_of(reached: Nanos, warmup: Nanos) -> &'static str {
    if reached > warmup { "the figures are of what was reached" } else { "it was still in its warm-up" }
}

/// Who listens to the run: the benchmark's meter, and perhaps somebody else.
fn both<'a, E>(meter: &'a mut BenchObserverRef<'_>, also: &'a mut Option<&mut dyn Observer<E>>) -> Observers<'a, E>
where
    E: Engine,
{
    let mut observers: Vec<&mut dyn Observer<E>> = vec![meter];
    observers.extend(also.as_mut().map(|also| &mut **also as &mut dyn Observer<E>));
    Observers(observers)
}

/// What is known of a benchmark before its run.
pub(crate) struct BenchContext {
    pub(crate) name: &'static str,
    pub(crate) kernel: &'static str,
    /// Its machine, as it was given.
    pub(crate) given: String,
    /// How much later it begins than it would if nothing varied.
    pub(crate) later: Nanos,
}

/// A benchmark before there is a machine for it, of whichever engine.
pub(crate) struct PreparedRun {
    pub(crate) about: BenchContext,
    pub(crate) setup: Setup,
    pub(crate) meter: Box<dyn BenchObserver>,
}

/// A benchmark on a machine, before its run.
pub(crate) struct ReadyBench {
    pub(crate) about: BenchContext,
    pub(crate) machine: Machine,
    pub(crate) meter: Box<dyn BenchObserver>,
}

/// Makes the machine for a benchmark.
pub(crate) fn ready(
    bench: &Bench,
    variant: &VariantArgs,
    warmup: Nanos,
    choices: Choices,
) -> Result<ReadyBench, CliError> {
    let PreparedRun { about, setup, meter } = prepare(bench, variant, warmup, choices)?;
    let mut machine = Machine::new(setup).map_err(|error| CliError::Input(format!("{}: {error}", about.given)))?;
    if let Some(seed) = choices.seed {
        machine.seed(seed);
    }
    Ok(ReadyBench { about, machine, meter })
}

/// All that a benchmark's machine is made of. A varying seed moves its tasks' starts.
pub(crate) fn prepare(
    bench: &Bench,
    variant: &VariantArgs,
    warmup: Nanos,
    choices: Choices,
) -> Result<PreparedRun, CliError> {
    let given = input::machine(variant.machine.as_deref().unwrap_or(DEFAULT_MACHINE))?;
    let nr_cpus = u32::try_from(given.description.nr_cpus()).expect("machines have at most some thousand CPUs");
    let Model { name, mut workload, mut meter } = bench.model(nr_cpus)?;
    if warmup > Nanos::ZERO && !meter.reset() {
        let help = "leave --warmup out: it runs until it is done";
        return Err(CliError::Input(format!("{name} has no warm-up\nhelp: {help}")));
    }
    let duration = Nanos(choices.duration.or(workload.duration).unwrap_or(PATIENCE).0.saturating_add(warmup.0));
    let settings = Variant::new(variant, Some(given.description.kernel()), Vec::new(), Vec::new());
    let kernel = settings.kernel.name;
    let mut hardware = Hardware::from_description(&given.description);
    price(&mut hardware, variant)?;
    if hardware.prices.is_free() && bench.is_kernel_work() {
        let is_plain = variant.plain == Some(Plain::Shape);
        let help = if is_plain {
            "--plain=priced leaves the machine its prices, if it has some"
        } else {
            "choose a machine with prices (`fairlab machine show NAME` has them), or give its file `base = \"xeon-1s-112\"`"
        };
        return Err(CliError::Input(format!(
            "{name} does nothing but kernel work, and kernel code is free on {} without prices: no time would pass\nhelp: {help}",
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
    Ok(PreparedRun { about: BenchContext { name, kernel, given: given.given, later }, setup, meter })
}
