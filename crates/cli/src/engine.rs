// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs with the scheduler of a kernel tree. They happen in a worker process, one run each: this program once more, so that a kernel that crashes,
//! panics or does not end takes one run with it.

use crate::args::{RunArgs, VariantArgs};
use crate::error::CliError;
use crate::input::{self, WorkloadText};
use crate::interrupt;
use crate::output::progress::Progress;
use crate::output::{Output, report};
use crate::plan::{About, Choices, Prepared};
use fairlab_kernel::engine::KernelEngine;
use fairlab_kernel::store::{Entry, Store};
use fairlab_kernel::worker::{self, End, Report};
use fairlab_machine::engine::{Machine, RunError, START, SetupError};
use fairlab_observe::recorder::Recorder;
use fairlab_observe::summary::{EngineSummary, KernelLine, Summary};
use fairlab_sched::units::Nanos;
use std::fmt::Write as _;
use std::fs::OpenOptions;
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
        let entry = store.get(name)?;
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

fn this_program() -> Result<Command, CliError> {
    let program = std::env::current_exe().map_err(|error| CliError::Run(format!("this program: {error}")))?;
    Ok(Command::new(program))
}

/// `fairlab run --engine`: this process starts another one for the kernel's code, or is that one.
pub(crate) fn run(output: &mut Output, args: &RunArgs, name: &str) -> Result<(), CliError> {
    let unused = [
        (args.output.is_some(), "-o"),
        (args.trace_jsonl.is_some(), "--trace-jsonl"),
        (!args.exports.export.is_empty(), "--export"),
    ];
    if let Some((_, option)) = unused.iter().find(|(is_given, _)| *is_given) {
        let help = "leave it out, or --engine";
        return Err(CliError::Input(format!("kernel engines do not have yet: {option}\nhelp: {help}")));
    }
    let engine = Engine::named(name)?;
    if let Some(report) = worker::report_of_worker() {
        return simulate(output, args, &engine, &report);
    }
    let mut command = this_program()?;
    command.args(std::env::args_os().skip(1)).stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let (ended, report) = engine.work(&mut command)?;
    if !output.is_json() || report.end.is_some() {
        tell_log(output, &report)?;
    }
    engine.failure(ended.status, report.end.as_ref()).map_or(Ok(()), Err)
}

/// What is run, for [`trial`].
pub(crate) struct Wanted<'a> {
    pub(crate) text: &'a WorkloadText,
    pub(crate) variant: &'a VariantArgs,
    pub(crate) choices: Choices,
    pub(crate) warmup: Nanos,
}

impl Wanted<'_> {
    /// The run as words of a command.
    fn words(&self, engine: &str) -> Vec<String> {
        let Self { text, variant, choices, warmup } = self;
        let mut words = ["--json", "run", &text.given, "--engine"].map(str::to_owned).to_vec();
        words.push(format!("kernel:{engine}"));
        words.extend(variant.switch_words());
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        if let Some(prices) = variant.prices {
            option("--prices", prices.name().to_owned());
        }
        if *warmup > Nanos::ZERO {
            option("--engine-warmup", format!("{}ns", warmup.0));
        }
        if let Some(machine) = &variant.machine {
            option("--machine", machine.clone());
        }
        if let Some(kernel) = variant.kernel {
            option("--kernel", kernel.name.to_owned());
        }
        if let Some(duration) = choices.duration {
            option("--for", format!("{}ns", duration.0));
        }
        for (name, number) in [("--seed", choices.seed), ("--perturb", choices.perturb)] {
            if let Some(number) = number {
                option(name, number.to_string());
            }
        }
        let flags = [("--vary", choices.vary), ("--keep-duplicate-keys", choices.keep_duplicate_keys)];
        words.extend(flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| (*flag).to_owned()));
        words
    }
}

/// One of several runs with an engine: what it told.
pub(crate) fn trial(name: &str, wanted: &Wanted<'_>) -> Result<Summary, CliError> {
    let engine = Engine::named(name)?;
    let Wanted { text, variant, .. } = wanted;
    if !Path::new(&text.given).is_file() {
        let help = "write it to a file first";
        let what = format!("{}: a kernel engine's process reads the workload again, and this is no file", text.name);
        return Err(CliError::Input(format!("{what}\nhelp: {help}")));
    }
    if variant.prices_of.is_some() || !variant.price.is_empty() {
        let help = "give prices to arms with the built-in engine";
        return Err(CliError::Input(format!("kernel code takes no time in a kernel engine\nhelp: {help}")));
    }
    let (ended, report) = engine.work(this_program()?.args(wanted.words(name)).stdin(Stdio::null()))?;
    match engine.failure(ended.status, report.end.as_ref()) {
        None => serde_json::from_slice(&ended.stdout)
            .map_err(|error| CliError::Run(format!("what the engine kernel:{name} told cannot be read: {error}"))),
        Some(CliError::Told { status }) => {
            let said = String::from_utf8_lossy(&ended.stderr);
            let said = said.trim().trim_start_matches("error: ").to_owned();
            Err(if status == 2 { CliError::Input(said) } else { CliError::Run(said) })
        }
        Some(error) => Err(error),
    }
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

/// The worker's part: the run itself.
fn simulate(output: &mut Output, args: &RunArgs, engine: &Engine, report: &Path) -> Result<(), CliError> {
    let warmup = args.engine_warmup.unwrap_or_default();
    let mut choices = args.choices();
    choices.duration = choices.duration.map(|duration| Nanos(duration.0.saturating_add(warmup.0)));
    let prepared = Prepared::of(Arc::new(input::workload(&args.file)?), None, &args.variant, choices)?;
    let Prepared { setup, about: About { subject, input, is_default_duration, .. } } = prepared;
    let of_report = |error: std::io::Error| CliError::Run(format!("{}: {error}", report.display()));
    let file = OpenOptions::new().append(true).open(report).map_err(of_report)?;
    let seconds = std::env::var(worker::LOOP_SECONDS).ok().and_then(|text| text.parse().ok());
    let seconds = seconds.unwrap_or(worker::DEFAULT_LOOP_SECONDS);
    let Engine { store, entry } = engine;
    let load = |config| {
        KernelEngine::load(&store.object(&entry.key), config, file.as_raw_fd(), seconds)
            .map_err(|error| SetupError::Lacking(error.to_string()))
    };
    let machine = Machine::with_engine(setup, load);
    let mut machine = machine.map_err(|error| CliError::Input(format!("{}: {error}", input.name)))?;
    if let Some(seed) = choices.seed {
        machine.seed(seed);
    }
    interrupt::listen();
    let (began, whole) = (Instant::now(), machine.duration());
    let mut recorder = Recorder::new(&machine);
    advance(&mut machine, &mut recorder, warmup).map_err(|error| CliError::Run(format!("{}: {error}", input.name)))?;
    let cut_short_of = (machine.duration() < whole).then_some(whole);
    let mut summary = Summary::new(subject, &machine, &recorder);
    summary.cut_short_of_ns = cut_short_of.map(|whole| whole.0);
    let log = worker::parse(&std::fs::read_to_string(report).map_err(of_report)?).0.log.into_iter();
    summary.engine = Some(EngineSummary {
        name: format!("kernel:{}", entry.name),
        version: entry.version.clone(),
        source: entry.source.clone(),
        patches: entry.patches.clone(),
        log: log.map(|line| KernelLine { at_ns: line.at_ns, cpu: line.cpu, text: line.text }).collect(),
    });
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
fn advance(machine: &mut Machine<KernelEngine>, recorder: &mut Recorder, warmup: Nanos) -> Result<(), RunError> {
    let whole = machine.duration();
    let part = Nanos((whole.0 / PARTS).max(1));
    let mut progress = Progress::new("simulating", whole);
    machine.start(recorder)?;
    if warmup > Nanos::ZERO {
        machine.advance(recorder, START + warmup)?;
        recorder.forget(machine, START + warmup);
    }
    let mut until = START + warmup;
    loop {
        until += part;
        if !machine.advance(recorder, until)? {
            break;
        }
        if interrupt::requested().is_some() {
            machine.end_at(until);
            break;
        }
        progress.show(machine.elapsed());
    }
    progress.clear();
    machine.finish(recorder);
    Ok(())
}
