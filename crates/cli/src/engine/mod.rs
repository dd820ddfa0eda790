// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs with the scheduler of a kernel tree, one run per worker process.
//!
//! The worker is this program with a report file in its environment, so a kernel that crashes, panics or does
//! not return ends only one run. [`trial`] makes one of several runs.

pub(crate) mod look;
mod reports;
pub(crate) mod study;
pub(crate) mod trial;

use crate::args::{CheckArgs, ExportCommandArgs, RunArgs};
use crate::cmd::bench;
use crate::cmd::bench::args::{Bench, On};
use crate::cmd::{check, export, report, run};
use crate::embed;
use crate::error::CliError;
use crate::exports::ExportWriters;
use crate::input;
use crate::interrupt;
use crate::output::Output;
use crate::output::figures::counted;
use crate::plan::{About, Choices, Plan, Prepared};
use crate::rerun;
use fairlab_kernel::engine::KernelEngine;
use fairlab_kernel::store::{Store, StoreEntry};
use fairlab_kernel::worker::{self, CrashReport, WorkerReport};
use fairlab_machine::observer::Observer;
use fairlab_machine::sim::{Machine, Setup, SetupError};
use fairlab_observe::manifest::{self, Manifest};
use fairlab_observe::summary::{EngineSummary, KernelLogLine};
use fairlab_sched::units::Nanos;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;

/// Largest number of lines of a kernel's log that are printed; JSON has all.
const MOST_LINES: usize = 20;

/// Engine that was built.
struct Engine {
    store: Store,
    entry: StoreEntry,
}

impl Engine {
    fn named(name: &str) -> Result<Self, CliError> {
        let store = Store::for_user()?;
        let entry = store.get_usable(name)?;
        Ok(Self { store, entry })
    }

    /// Runs a command as the worker of this engine.
    fn work(&self, command: &mut Command) -> Result<(std::process::Output, WorkerReport), CliError> {
        Ok(worker::run(command, &self.store.object_path(&self.entry.key))?)
    }

    /// Returns the error of a worker that has failed.
    fn failure(&self, status: ExitStatus, end: Option<&CrashReport>, command: Option<&str>) -> Option<CliError> {
        let name = &self.entry.name;
        match (end, status.code()) {
            (Some(end), _) => Some(CliError::Run(reports::sentences(&self.store, &self.entry, end, command))),
            (None, Some(0)) => None,
            (None, Some(code)) => Some(CliError::AlreadyReported { status: u8::try_from(code).unwrap_or(1) }),
            (None, None) => Some(CliError::Run(format!("the worker process of kernel:{name} was ended: {status}"))),
        }
    }
}

/// Returns the command that starts this program as a worker.
fn this_program() -> Result<Command, CliError> {
    if embed::is_embedded() {
        let help = "use the command line: fairlab run|compare|sweep --engine kernel:NAME";
        let what =
            "a compiled-kernel engine needs a worker process of the fairlab command, and this program embeds fairlab";
        return Err(CliError::Input(format!("{what}\nhelp: {help}")));
    }
    let program = std::env::current_exe().map_err(|error| CliError::Run(format!("this program: {error}")))?;
    Ok(Command::new(program))
}

/// Runs `fairlab run --engine`: starts the worker, or is the worker.
pub(crate) fn run(output: &mut Output, args: &RunArgs, name: &str) -> Result<(), CliError> {
    let engine = Engine::named(name)?;
    match worker::worker_report_path() {
        Some(report) => simulate(output, args, engine, &report),
        None => reexec_as_worker(output, &engine),
    }
}

/// Runs `fairlab bench --engine`: starts the worker, or is the worker.
pub(crate) fn bench(
    output: &mut Output,
    bench: &Bench,
    warmup: Nanos,
    choices: Choices,
    name: &str,
) -> Result<(), CliError> {
    let On { variant, exports, engine_trial, .. } = bench.run_options();
    let engine = Engine::named(name)?;
    let Some(report) = worker::worker_report_path() else { return reexec_as_worker(output, &engine) };
    let ready = bench::prepare(bench, variant, warmup, choices)?;
    let bench::PreparedBench { about, setup, mut meter } = ready;
    let Loaded { mut machine, _report } = machine(&engine, setup, &report, &about.given, choices.seed)?;
    if look::is_wanted(variant) {
        return look::look(output, &mut machine, variant, about.name);
    }
    if *engine_trial {
        interrupt::install_handlers();
        let mut result = crate::trial::measure(&about, &mut machine, &mut *meter, warmup, about.name, &mut |_, _| {})?;
        result.summary.engine = Some(about_engine(&engine, &report)?);
        return output.json(&result);
    }
    let mut traces = ExportWriters::open(exports, &machine, Some(about.name))?;
    let mut also = traces.as_mut().map(|traces| &mut traces.exporter as &mut dyn Observer<KernelEngine>);
    let measured = bench::measure(&about, &mut machine, &mut *meter, &mut also, warmup)?;
    traces.map_or(Ok(()), |traces| traces.finish(&machine))?;
    bench::print_result(output, &about, &machine, measured, choices.seed)
}

/// Runs a command in a worker; returns its output and the kernel's report.
pub(crate) fn work(name: &str, words: &[String]) -> Result<(std::process::Output, WorkerReport), CliError> {
    Engine::named(name)?.work(this_program()?.args(words).stdin(Stdio::null()))
}

/// Runs this command again in a worker.
fn reexec_as_worker(output: &Output, engine: &Engine) -> Result<(), CliError> {
    let mut command = this_program()?;
    command.args(std::env::args_os().skip(1)).stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let (ended, report) = engine.work(&mut command)?;
    if !output.is_json() || report.end.is_some() {
        tell_log(output, &report)?;
    }
    engine.failure(ended.status, report.end.as_ref(), None).map_or(Ok(()), Err)
}

fn tell_log(output: &Output, report: &WorkerReport) -> Result<(), CliError> {
    let mut text = String::new();
    for line in report.log.iter().take(MOST_LINES) {
        writeln!(text, "[{}, CPU {}] {}", reports::on_runs_clock(line.at_ns), line.cpu, line.text)
            .expect("a string takes text");
    }
    let hidden = report.log.len().saturating_sub(MOST_LINES);
    if hidden > 0 {
        writeln!(text, "... and {} more: --json has all", counted(hidden, "line")).expect("a string takes text");
    }
    output.eprint(&text)
}

/// Creates a machine with the engine, in its worker. Messages of the kernel are written to the report.
fn machine(engine: &Engine, setup: Setup, report: &Path, name: &str, seed: Option<u64>) -> Result<Loaded, CliError> {
    let of_report = |error: std::io::Error| CliError::Run(format!("{}: {error}", report.display()));
    let file = OpenOptions::new().append(true).open(report).map_err(of_report)?;
    let seconds = std::env::var(worker::LOOP_SECONDS_VAR).ok().and_then(|text| text.parse().ok());
    let seconds = seconds.unwrap_or(worker::DEFAULT_LOOP_SECONDS);
    let Engine { store, entry } = engine;
    let load = |config| {
        KernelEngine::load(&store.object_path(&entry.key), config, file.as_raw_fd(), seconds)
            .map_err(|error| SetupError::Unsupported(error.to_string()))
    };
    let mut machine = Machine::with_engine(setup, load).map_err(|error| CliError::Input(format!("{name}: {error}")))?;
    if let Some(seed) = seed {
        machine.seed(seed);
    }
    Ok(Loaded { machine, _report: file })
}

/// Machine with its report file, which stays open while the kernel may write to it.
struct Loaded {
    machine: Machine<KernelEngine>,
    _report: File,
}

/// Describes the engine for a summary.
fn about_engine(engine: &Engine, report: &Path) -> Result<EngineSummary, CliError> {
    let of_report = |error: std::io::Error| CliError::Run(format!("{}: {error}", report.display()));
    let log = worker::parse(&std::fs::read_to_string(report).map_err(of_report)?).0.log.into_iter();
    let entry = &engine.entry;
    Ok(EngineSummary {
        name: format!("kernel:{}", entry.name),
        version: entry.version.clone(),
        source: entry.source.clone(),
        patches: entry.patches.clone(),
        log: log.map(|line| KernelLogLine { at_ns: line.at_ns, cpu: line.cpu, text: line.text }).collect(),
    })
}

/// Runs `fairlab run` in the worker.
fn simulate(output: &mut Output, args: &RunArgs, engine: Engine, report: &Path) -> Result<(), CliError> {
    let warmup = args.engine_warmup.unwrap_or_default();
    let mut choices = args.choices();
    choices.duration = choices.duration.map(|duration| Nanos(duration.0.saturating_add(warmup.0)));
    let prepared = Prepared::of(Arc::new(input::workload(&args.file)?), None, &args.variant, choices)?;
    let Prepared { setup, about } = prepared;
    let Loaded { mut machine, _report } = machine(&engine, setup, report, &about.input.name, choices.seed)?;
    if look::is_wanted(&args.variant) {
        interrupt::install_handlers();
        return look::look(output, &mut machine, &args.variant, &about.input.name);
    }
    if args.trace_work {
        return run::trace_work(&mut machine, &about.input.name);
    }
    let wants_report = run::wants_report(args);
    let engine_reports = || Ok(Some((about_engine(&engine, report)?, for_manifest(&engine.entry))));
    let finished = run::execute_with(output, args, Plan { machine, about }, warmup, engine_reports)?;
    run::print_summary(output, args, finished, wants_report)
}

fn for_manifest(entry: &StoreEntry) -> manifest::ManifestEngine {
    let StoreEntry { name, version, source, patches, key, .. } = entry.clone();
    manifest::ManifestEngine { name, version, source, patches, key }
}

/// Repeated run of a run directory, with its engine.
struct Again {
    loaded: Loaded,
    about: About,
}

/// Prepares the repetition of a run in the worker. Returns `None` in the parent process, after its worker has
/// ended.
fn again(output: &Output, dir: &Path, manifest: &Manifest, name: &str) -> Result<Option<Again>, CliError> {
    let engine = Engine::named(name)?;
    let Some(report) = worker::worker_report_path() else { return reexec_as_worker(output, &engine).map(|()| None) };
    let (Prepared { setup, about }, seed) = rerun::prepare(dir, manifest)?;
    let loaded = machine(&engine, setup, &report, &about.input.name, seed)?;
    Ok(Some(Again { loaded, about }))
}

/// Runs `fairlab export` for a run with an engine.
pub(crate) fn export(
    output: &mut Output,
    args: &ExportCommandArgs,
    manifest: &Manifest,
    name: &str,
) -> Result<(), CliError> {
    let Some(Again { loaded, about }) = again(output, &args.dir, manifest, name)? else { return Ok(()) };
    export::repeat_and_export(output, args, manifest, Plan { machine: loaded.machine, about })
}

/// Returns the report data of a run with an engine, from its own worker: the runs of one report may have
/// several engines.
pub(crate) fn page(output: &Output, dir: &Path, name: &str) -> Result<Value, CliError> {
    let engine = Engine::named(name)?;
    let mut command = this_program()?;
    command.arg("report").arg(dir).args(["--engine-page", "-o", "-"]).stdin(Stdio::null());
    let (ended, report) = engine.work(&mut command)?;
    let said = String::from_utf8_lossy(&ended.stderr);
    match engine.failure(ended.status, report.end.as_ref(), None) {
        Some(CliError::AlreadyReported { .. }) => {
            return Err(CliError::Run(said.trim().trim_start_matches("error: ").to_owned()));
        }
        Some(error) => return Err(error),
        None => output.eprint(&said)?,
    }
    let unread = |error| CliError::Run(format!("the output of kernel:{name} cannot be read: {error}"));
    serde_json::from_slice(&ended.stdout).map_err(unread)
}

/// Writes the report data in the worker.
pub(crate) fn page_of_worker(output: &mut Output, dir: &Path, manifest: &Manifest) -> Result<(), CliError> {
    let name = manifest.engine.as_ref().map_or("", |engine| engine.name.as_str());
    let engine = Engine::named(name)?;
    let Some(report) = worker::worker_report_path() else {
        return Err(CliError::Input("--engine-page is for workers\nhelp: omit it".to_owned()));
    };
    let (Prepared { setup, about }, seed) = rerun::prepare(dir, manifest)?;
    let Loaded { machine, _report } = machine(&engine, setup, &report, &about.input.name, seed)?;
    let engine_report = || Ok(Some(about_engine(&engine, &report)?));
    let page = report::repeat(output, dir, manifest, Plan { machine, about }, engine_report)?;
    output.json(&page)
}

/// Runs `fairlab check --engine`.
pub(crate) fn check(output: &mut Output, args: &CheckArgs, choices: Choices, name: &str) -> Result<(), CliError> {
    let engine = Engine::named(name)?;
    let Some(report) = worker::worker_report_path() else { return reexec_as_worker(output, &engine) };
    let Prepared { setup, about } = Prepared::of(Arc::new(input::workload(&args.file)?), None, &args.variant, choices)?;
    let Loaded { machine, _report } = machine(&engine, setup, &report, &about.input.name, None)?;
    check::check_plan(output, Plan { machine, about })
}
