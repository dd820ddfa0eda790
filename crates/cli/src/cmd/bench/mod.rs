// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab bench`: models of benchmarks with the benchmarks' own options and words.

pub(crate) mod args;
pub(crate) mod line;
pub(crate) mod models;

use crate::args::VariantArgs;
use crate::error::CliError;
use crate::exports::Traces;
use crate::input;
use crate::interrupt;
use crate::output::Output;
use crate::output::progress::Progress;
use crate::plan::{Choices, DEFAULT_MACHINE, Variant, drive, hold_latency, price};
use args::{Bench, On};
use fairlab_machine::engine::{Machine, Setup};
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::{Observer, Observers};
use fairlab_machine::vary::vary_starts;
use fairlab_observe::bench::{self, Meter};
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
pub(crate) struct Answer {
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
    /// The hash over all that the scheduler did.
    digest: String,
    /// The benchmark's own figures, under its own names.
    result: serde_json::Value,
}

/// Runs the command.
pub(crate) fn bench(output: &mut Output, bench: &Bench) -> Result<(), CliError> {
    let On { variant, seed, perturb, duration, warmup, exports } = bench.on();
    let warmup = warmup.unwrap_or_default();
    let choices = Choices { duration: *duration, seed: *seed, perturb: *perturb, ..Choices::default() };
    let Ready { name, kernel, mut machine, mut meter, .. } = ready(bench, variant, warmup, choices)?;
    exports.refuse_stdout("bench")?;
    let mut traces = Traces::open(exports, &machine, Some(name))?;
    let mut progress = Progress::new("simulating", machine.duration());
    let run = bench::warm_up(&mut machine, &mut both(&mut *meter, &mut traces), warmup).and_then(|()| {
        if warmup > Nanos::ZERO {
            meter.reset();
        }
        bench::go_on_while(&mut machine, &mut both(&mut *meter, &mut traces), &mut |elapsed| {
            progress.show(elapsed);
            interrupt::requested().is_none()
        })
    });
    progress.clear();
    run.map_err(|error| CliError::run(format!("{name}: {error}")))?;
    if let Some(signal) = interrupt::requested() {
        return Err(CliError::Stopped { signal });
    }
    traces.map_or(Ok(()), |traces| traces.finish(&machine))?;
    let outcome = meter.outcome(&machine, machine.duration() - warmup);
    if output.is_json() {
        return output.json(&Answer {
            schema: SCHEMA,
            bench: name,
            machine: machine.hardware().name.clone(),
            kernel,
            seed: *seed,
            simulated_ns: machine.elapsed().0,
            digest: machine.digest().to_string(),
            result: outcome.data,
        });
    }
    output.text(&outcome.text)
}

/// Who listens to the run: the benchmark's meter, and traces if any are wanted.
fn both<'a>(meter: &'a mut dyn Meter, traces: &'a mut Option<Traces>) -> Observers<'a> {
    let mut observers: Vec<&mut dyn Observer> = vec![meter];
    observers.extend(traces.as_mut().map(|traces| &mut traces.exporter as &mut dyn Observer));
    Observers(observers)
}

/// A benchmark on a machine, before its run.
pub(crate) struct Ready {
    pub(crate) name: &'static str,
    pub(crate) kernel: &'static str,
    pub(crate) machine: Machine,
    pub(crate) meter: Box<dyn Meter>,
    /// How much later it begins than it would if nothing varied.
    pub(crate) later: Nanos,
}

/// Makes the machine for a benchmark. A varying seed moves its tasks' starts.
pub(crate) fn ready(bench: &Bench, variant: &VariantArgs, warmup: Nanos, choices: Choices) -> Result<Ready, CliError> {
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
    drive(&mut hardware, variant.governor)?;
    hold_latency(&mut workload, variant);
    let first = |workload: &Workload| workload.tasks.iter().filter_map(|task| task.start_at).min().unwrap_or_default();
    let planned = first(&workload);
    if let Some(seed) = choices.varying_seed() {
        vary_starts(&mut workload, &hardware, seed);
    }
    let later = first(&workload) - planned;
    let setup = Setup {
        hardware,
        features: settings.features,
        tunables: Vec::new(),
        named_tunables: settings.tunables,
        duration,
        workload,
        snapshot_every: None,
        perturb: choices.perturb,
    };
    let mut machine = Machine::new(setup).map_err(|error| CliError::Input(format!("{}: {error}", given.given)))?;
    if let Some(seed) = choices.seed {
        machine.seed(seed);
    }
    Ok(Ready { name, kernel, machine, meter, later })
}
