// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs with the scheduler of a kernel tree. They happen in a worker process, one run each: this program once more, so that a kernel that crashes,
//! panics or does not end takes one run with it. [`trial`] makes one of several runs.

pub(crate) mod look;
pub(crate) mod trial;

use crate::args::RunArgs;
use crate::cmd::bench;
use crate::cmd::bench::args::{Bench, On};
use crate::cmd::run::{OpenTrace, TraceTarget, open_trace, trace_target, trace_work};
use crate::embed;
use crate::error::CliError;
use crate::exports::{Traces, process_of};
use crate::input;
use crate::interrupt;
use crate::output::progress::Progress;
use crate::output::{Output, report};
use crate::plan::{About, Choices, Prepared};
use fairlab_kernel::engine::KernelEngine;
use fairlab_kernel::store::{Entry, Store};
use fairlab_kernel::worker::{self, End, Report};
use fairlab_machine::engine::{Machine, RunError, START, Setup, SetupError};
use fairlab_machine::observer::{MachineEvent, Observer, Wants};
use fairlab_observe::recorder::Recorder;
use fairlab_observe::summary::{EngineSummary, KernelLine, Summary};
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::units::Nanos;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// So many lines of a kernel's log are shown; JSON has all.
const MOST_LINES: usize = 20;
/// A run is simulated in so many parts, between which it can be stopped.
const PARTS: u64 = 200;

/// An engine that was built.
struct Engine {
    store: Store,
    entry: Entry,
}

impl Engine {
    fn named(name: &str) -> Result<Self, CliError> {
        let store = Store::of_user()?;
        let entry = store.usable(name)?;
        Ok(Self { store, entry })
    }

    /// Runs a command as its worker.
    fn work(&self, command: &mut Command) -> Result<(std::process::Output, Report), CliError> {
        Ok(worker::run(command, &self.store.object(&self.entry.key))?)
    }

    /// What became of a worker that did not end well.
    fn failure(&self, status: ExitStatus, end: Option<&End>) -> Option<CliError> {
        let name = &self.entry.name;
        match (end, status.code()) {
            (Some(end), _) => Some(CliError::Run(sentences(&self.entry, end))),
            (None, Some(0)) => None,
            (None, Some(code)) => Some(CliError::Told { status: u8::try_from(code).unwrap_or(1) }),
            (None, None) => {
                Some(CliError::Run(format!("the process with the engine kernel:{name} was ended: {status}")))
            }
        }
    }
}

/// The program that becomes a worker.
fn this_program() -> Result<Command, CliError> {
    if embed::is_embedded() {
        let help = "use the command: fairlab run|compare|sweep --engine kernel:NAME";
        let what = "a kernel engine runs in a process of the command, and this is another program";
        return Err(CliError::Input(format!("{what}\nhelp: {help}")));
    }
    let program = std::env::current_exe().map_err(|error| CliError::Run(format!("this program: {error}")))?;
    Ok(Command::new(program))
}

/// `fairlab run --engine`: this process starts another one for the kernel's code, or is that one.
pub(crate) fn run(output: &mut Output, args: &RunArgs, name: &str) -> Result<(), CliError> {
    if args.output.is_some() {
        let help = "leave it out, or --engine";
        return Err(CliError::Input(format!("kernel engines do not have yet: -o\nhelp: {help}")));
    }
    let engine = Engine::named(name)?;
    match worker::report_of_worker() {
        Some(report) => simulate(output, args, &engine, &report),
        None => once_more(output, &engine),
    }
}

/// `fairlab bench --engine`: the same.
pub(crate) fn bench(
    output: &mut Output,
    bench: &Bench,
    warmup: Nanos,
    choices: Choices,
    name: &str,
) -> Result<(), CliError> {
    let On { variant, exports, engine_trial, .. } = bench.on();
    if !exports.export.is_empty() {
        let help = "leave it out, or --engine";
        return Err(CliError::Input(format!("kernel engines do not have yet: --export\nhelp: {help}")));
    }
    let engine = Engine::named(name)?;
    let Some(report) = worker::report_of_worker() else { return once_more(output, &engine) };
    let ready = bench::prepare(bench, variant, warmup, choices)?;
    let bench::Prepared { about, setup, mut meter } = ready;
    let Loaded { mut machine, _report } = machine(&engine, setup, &report, &about.given, choices.seed)?;
    if look::is_wanted(variant) {
        return look::look(output, &mut machine, variant, about.name);
    }
    if engine_trial.is_some() {
        interrupt::listen();
        let mut told = crate::trial::measure(&about, &mut machine, &mut *meter, warmup, about.name, &mut |_, _| {})?;
        told.summary.engine = Some(about_engine(&engine, &report)?);
        return output.json(&told);
    }
    let measured = bench::measure(&about, &mut machine, &mut *meter, &mut None, warmup)?;
    bench::tell(output, &about, &machine, measured, choices.seed)
}

/// A command in a process of its own, which has the engine: what it wrote, and what the kernel reported.
pub(crate) fn work(name: &str, words: &[String]) -> Result<(std::process::Output, Report), CliError> {
    Engine::named(name)?.work(this_program()?.args(words).stdin(Stdio::null()))
}

/// The same command in a process of its own, which has the engine.
fn once_more(output: &Output, engine: &Engine) -> Result<(), CliError> {
    let mut command = this_program()?;
    command.args(std::env::args_os().skip(1)).stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let (ended, report) = engine.work(&mut command)?;
    if !output.is_json() || report.end.is_some() {
        tell_log(output, &report)?;
    }
    engine.failure(ended.status, report.end.as_ref()).map_or(Ok(()), Err)
}

fn tell_log(output: &Output, report: &Report) -> Result<(), CliError> {
    let mut text = String::new();
    for line in report.log.iter().take(MOST_LINES) {
        writeln!(text, "[{} ns, CPU {}] {}", line.at_ns, line.cpu, line.text).expect("a string takes text");
    }
    let hidden = report.log.len().saturating_sub(MOST_LINES);
    if hidden > 0 {
        writeln!(text, "... and {hidden} lines more: --json has all").expect("a string takes text");
    }
    output.note(&text)
}

/// What somebody has to know whose kernel did not come back.
fn sentences(entry: &Entry, end: &End) -> String {
    let what = match end.why.as_str() {
        "panic" => "the kernel has panicked",
        "crash" => "the kernel has crashed",
        "loop" => "kernel code does not end",
        "lock" => "a lock is not used as it must be",
        "forbidden" => "the kernel has called what an engine does not have",
        "books" => "the scheduler's books are wrong, as seen at a tick",
        _ => "the engine is used as it cannot be",
    };
    let mut text = format!(
        "kernel:{} (Linux {}): {what}: {}\n  at {} ns on CPU {}, in: {}\n",
        entry.name, entry.version, end.text, end.at_ns, end.cpu, end.during
    );
    for frame in &end.stack {
        writeln!(text, "    {frame}").expect("a string takes text");
    }
    text.push_str("help: the run is the same each time: the same command repeats it");
    text
}

/// A machine with the engine, in its worker. What the kernel says goes to the report.
fn machine(engine: &Engine, setup: Setup, report: &Path, name: &str, seed: Option<u64>) -> Result<Loaded, CliError> {
    let of_report = |error: std::io::Error| CliError::Run(format!("{}: {error}", report.display()));
    let file = OpenOptions::new().append(true).open(report).map_err(of_report)?;
    let seconds = std::env::var(worker::LOOP_SECONDS).ok().and_then(|text| text.parse().ok());
    let seconds = seconds.unwrap_or(worker::DEFAULT_LOOP_SECONDS);
    let Engine { store, entry } = engine;
    let load = |config| {
        KernelEngine::load(&store.object(&entry.key), config, file.as_raw_fd(), seconds)
            .map_err(|error| SetupError::Lacking(error.to_string()))
    };
    let mut machine = Machine::with_engine(setup, load).map_err(|error| CliError::Input(format!("{name}: {error}")))?;
    if let Some(seed) = seed {
        machine.seed(seed);
    }
    Ok(Loaded { machine, _report: file })
}

/// The kernel writes to its report as long as it is there.
struct Loaded {
    machine: Machine<KernelEngine>,
    _report: File,
}

/// What a summary tells of the engine.
fn about_engine(engine: &Engine, report: &Path) -> Result<EngineSummary, CliError> {
    let of_report = |error: std::io::Error| CliError::Run(format!("{}: {error}", report.display()));
    let log = worker::parse(&std::fs::read_to_string(report).map_err(of_report)?).0.log.into_iter();
    let entry = &engine.entry;
    Ok(EngineSummary {
        name: format!("kernel:{}", entry.name),
        version: entry.version.clone(),
        source: entry.source.clone(),
        patches: entry.patches.clone(),
        log: log.map(|line| KernelLine { at_ns: line.at_ns, cpu: line.cpu, text: line.text }).collect(),
    })
}

/// The worker's part of a run.
fn simulate(output: &mut Output, args: &RunArgs, engine: &Engine, report: &Path) -> Result<(), CliError> {
    let warmup = args.engine_warmup.unwrap_or_default();
    let mut choices = args.choices();
    choices.duration = choices.duration.map(|duration| Nanos(duration.0.saturating_add(warmup.0)));
    let prepared = Prepared::of(Arc::new(input::workload(&args.file)?), None, &args.variant, choices)?;
    let Prepared { setup, about } = prepared;
    let Loaded { mut machine, _report } = machine(engine, setup, report, &about.input.name, choices.seed)?;
    interrupt::listen();
    if look::is_wanted(&args.variant) {
        return look::look(output, &mut machine, &args.variant, &about.input.name);
    }
    if args.trace_work {
        return trace_work(&mut machine, &about.input.name);
    }
    let (began, whole) = (Instant::now(), machine.duration());
    let target = args.trace_jsonl.as_deref().map(|file| trace_target(file, None)).transpose()?;
    let open = |target: &TraceTarget| open_trace(target, &about, machine.hardware().nr_cpus());
    let trace = target.as_ref().map(open).transpose()?;
    args.exports.refuse_to_replace(&about.inputs())?;
    let traces = Traces::open(&args.exports, &machine, process_of(&about.subject.kind))?;
    let mut listeners = Listeners { recorder: Recorder::new(&machine), trace, traces };
    advance(&mut machine, &mut listeners, warmup)
        .map_err(|error| CliError::Run(format!("{}: {error}", about.input.name)))?;
    let Listeners { recorder, trace, traces } = listeners;
    if let Some(trace) = trace {
        trace.finish(&machine)?;
    }
    if let Some(traces) = traces {
        traces.finish(&machine)?;
    }
    let cut_short_of = (machine.duration() < whole).then_some(whole);
    if args.is_on_stdout() {
        return interrupt::end(cut_short_of);
    }
    let About { subject, is_default_duration, .. } = about;
    let mut summary = Summary::new(subject, &machine, &recorder);
    summary.cut_short_of_ns = cut_short_of.map(|whole| whole.0);
    summary.engine = Some(about_engine(engine, report)?);
    output.warn_all(&summary.warnings)?;
    let summary = summary.with_speed(began.elapsed(), crate::cmd::run::peak_rss_bytes());
    if output.is_json() {
        output.json(&summary)?;
    } else {
        let options = report::Options { per_cpu: args.per_cpu, is_default_duration, measures: &args.measure };
        output.text(&report::run(&summary, machine.hardware(), output.styles(), &options))?;
    }
    interrupt::end(cut_short_of)
}

/// Simulates to the end, or until somebody stops it; what comes before `warmup` is not measured.
fn advance(machine: &mut Machine<KernelEngine>, listeners: &mut Listeners, warmup: Nanos) -> Result<(), RunError> {
    let whole = machine.duration();
    let part = Nanos((whole.0 / PARTS).max(1));
    let mut progress = Progress::new("simulating", whole);
    machine.start(listeners)?;
    if warmup > Nanos::ZERO {
        machine.advance(listeners, START + warmup)?;
        listeners.recorder.forget(machine, START + warmup);
    }
    let mut until = START + warmup;
    loop {
        until += part;
        if !machine.advance(listeners, until)? {
            break;
        }
        if interrupt::requested().is_some() {
            machine.end_at(until);
            break;
        }
        progress.show(machine.elapsed());
    }
    progress.clear();
    machine.finish(listeners);
    Ok(())
}

/// Who listens to a run with an engine.
struct Listeners {
    recorder: Recorder,
    trace: Option<OpenTrace>,
    traces: Option<Traces>,
}

impl Probe for Listeners {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.recorder.event(now, event);
        if let Some(OpenTrace { trace, .. }) = &mut self.trace {
            trace.event(now, event);
        }
        if let Some(traces) = &mut self.traces {
            traces.exporter.event(now, event);
        }
    }
}

impl Observer<KernelEngine> for Listeners {
    fn wants(&self) -> Wants {
        let of_trace = self.trace.as_ref().map_or(Wants::NOTHING, |open| Observer::<KernelEngine>::wants(&open.trace));
        let of_traces =
            self.traces.as_ref().map_or(Wants::NOTHING, |traces| Observer::<KernelEngine>::wants(&traces.exporter));
        Observer::<KernelEngine>::wants(&self.recorder).or(of_trace).or(of_traces)
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        Observer::<KernelEngine>::machine_event(&mut self.recorder, now, event);
        if let Some(OpenTrace { trace, .. }) = &mut self.trace {
            Observer::<KernelEngine>::machine_event(trace, now, event);
        }
        if let Some(traces) = &mut self.traces {
            Observer::<KernelEngine>::machine_event(&mut traces.exporter, now, event);
        }
    }

    fn wants_kernel_paths(&self) -> bool {
        true
    }

    fn snapshot(&mut self, machine: &Machine<KernelEngine>) {
        if let Some(OpenTrace { trace, .. }) = &mut self.trace {
            trace.snapshot(machine);
        }
    }
}
