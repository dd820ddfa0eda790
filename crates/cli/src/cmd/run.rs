// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab run`: runs a workload on a machine and prints the run summary.

use super::watch::{self, watcher::Watcher};
use crate::args::RunArgs;
use crate::engine;
use crate::error::{CliError, command_line};
use crate::exports::{ExportWriters, process_name};
use crate::interrupt;
use crate::output::progress::Progress;
use crate::output::{Output, Styles, report};
use crate::plan::{About, Choices, Plan};
use crate::whole_file::{AtomicFile, refuse_to_replace};
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, RunError, START};
use fairlab_observe::findings::{Finding, Findings, Limits, sampling_interval};
use fairlab_observe::manifest::{self, Manifest};
use fairlab_observe::run_directory::{INPUTS, RunDirectory};
use fairlab_observe::summary::{EngineSummary, RunSubject, RunSummary};
use fairlab_observe::summary_observer::SummaryObserver;
use fairlab_observe::trace_jsonl::TraceJsonl;
use fairlab_observe::work_jsonl::WorkJsonl;
use fairlab_sched::features::Feature;
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::sched::Sched;
use fairlab_sched::tunables::TUNABLES;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::any::Any;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Progress is printed after this share of a run.
const NR_PROGRESS_STEPS: u64 = 1000;
/// Longest simulated time without a check for signals.
const MAX_PART: Nanos = Nanos::from_millis(10);

/// Destination of a trace.
pub(crate) enum TraceTarget {
    Stdout,
    File(PathBuf),
}

/// Observers of a run.
#[derive(Default)]
pub(crate) struct RunObservers {
    pub(crate) recorder: Option<SummaryObserver>,
    trace: Option<OpenTrace>,
    traces: Option<ExportWriters>,
    /// Rules over what happens; only of the built-in scheduler, whose state they sample.
    findings: Option<Findings>,
    /// Observer that draws the live view of `--watch`.
    watcher: Option<Watcher>,
}

impl RunObservers {
    /// Returns the observers that a summary needs.
    pub(crate) fn for_summary(machine: &Machine<impl Engine>) -> Self {
        Self { recorder: Some(SummaryObserver::new(machine)), ..Self::default() }
    }

    /// Returns observers that only write traces.
    pub(crate) fn for_traces(traces: Option<ExportWriters>) -> Self {
        Self { traces, ..Self::default() }
    }

    /// Returns the observer of `--watch` alone.
    #[cfg(test)]
    pub(super) fn for_watch(machine: &Machine) -> Self {
        Self { watcher: Some(Watcher::new(machine)), ..Self::default() }
    }

    /// Adds writers of traces.
    pub(crate) fn with_traces(self, traces: Option<ExportWriters>) -> Self {
        Self { traces, ..self }
    }

    /// Ends the traces after the run.
    pub(crate) fn finish_traces(&mut self, machine: &Machine<impl Engine>) -> Result<(), CliError> {
        self.traces.take().map_or(Ok(()), |traces| traces.finish(machine))
    }

    /// Returns the observer of `--watch`.
    ///
    /// # Panics
    /// Without `--watch`.
    pub(super) fn watcher(&self) -> &Watcher {
        self.watcher.as_ref().expect("the run has --watch")
    }

    /// Lets traces sample state whose changes have no event.
    pub(super) fn sample(&mut self, machine: &Machine<impl Engine>) {
        if let Some(traces) = &mut self.traces {
            traces.exporter.sample(machine);
        }
    }

    /// Lets findings sample the state of the built-in scheduler.
    fn sample_findings<E: Engine>(&mut self, machine: &Machine<E>) {
        let machine: &dyn Any = machine;
        if let (Some(findings), Some(machine)) = (&mut self.findings, machine.downcast_ref::<Machine>()) {
            findings.sample(machine);
        }
    }

    /// Whether a trace could not be written, so that the run need not go on.
    pub(super) fn has_failed(&self) -> bool {
        let has_failed = self.traces.as_ref().is_some_and(|traces| traces.exporter.has_failed());
        has_failed || self.trace.as_ref().is_some_and(|open| open.trace.has_failed())
    }
}

impl SchedObserver for RunObservers {
    #[inline]
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.event(now, event);
        }
        if let Some(OpenTrace { trace, .. }) = &mut self.trace {
            trace.event(now, event);
        }
        if let Some(traces) = &mut self.traces {
            traces.exporter.event(now, event);
        }
        if let Some(findings) = &mut self.findings {
            findings.event(now, event);
        }
        if let Some(watcher) = &mut self.watcher {
            watcher.event(now, event);
        }
    }

    fn wants_pelt(&self) -> bool {
        let of_traces = self.traces.as_ref().is_some_and(|traces| traces.exporter.wants_pelt());
        of_traces || self.trace.as_ref().is_some_and(|open| open.trace.wants_pelt())
    }
}

impl<E: Engine> Observer<E> for RunObservers {
    fn wants(&self) -> Interest {
        let recorder = self.recorder.as_ref().map_or(Interest::NONE, <SummaryObserver as Observer<E>>::wants);
        let traces = self.traces.as_ref().map_or(Interest::NONE, |traces| Observer::<E>::wants(&traces.exporter));
        let watcher = self.watcher.as_ref().map_or(Interest::NONE, |_| Watcher::WANTS);
        let findings = self.findings.as_ref().map_or(Interest::NONE, Observer::<Sched>::wants);
        let trace = self.trace.as_ref().map_or(Interest::NONE, |open| Observer::<E>::wants(&open.trace));
        recorder.merge(traces).merge(watcher).merge(trace).merge(findings)
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        if let Some(recorder) = &mut self.recorder {
            <SummaryObserver as Observer<E>>::machine_event(recorder, now, event);
        }
        if let Some(OpenTrace { trace, .. }) = &mut self.trace {
            Observer::<E>::machine_event(trace, now, event);
        }
        if let Some(traces) = &mut self.traces {
            Observer::<E>::machine_event(&mut traces.exporter, now, event);
        }
        if let Some(findings) = &mut self.findings {
            findings.machine_event(now, event);
        }
        if let Some(watcher) = &mut self.watcher {
            watcher.machine_event(now, event);
        }
    }

    fn wants_kernel_paths(&self) -> bool {
        self.recorder.is_some() || self.traces.is_some()
    }

    fn snapshot(&mut self, machine: &Machine<E>) {
        if let Some(OpenTrace { trace, .. }) = &mut self.trace {
            trace.snapshot(machine);
        }
    }
}

/// Finished run, whose files are written.
pub(crate) struct FinishedRun<E = Sched> {
    pub(crate) plan: Plan<E>,
    /// Summary of the run, if it was requested.
    pub(crate) summary: Option<RunSummary>,
    /// Findings, the worst first; none if they were not computed.
    pub(crate) findings: Option<Vec<Finding>>,
    cut_short_of: Option<Nanos>,
}

/// Result of a run as JSON.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct RunOutput {
    #[serde(flatten)]
    summary: RunSummary,
    /// Findings, the worst first; only with `--findings`.
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<Vec<Finding>>,
}

impl RunArgs {
    /// Returns the options that do not belong to the variant.
    pub(crate) fn choices(&self) -> Choices {
        Choices {
            duration: self.duration,
            seed: self.seed,
            vary: self.vary,
            perturb: self.perturb,
            keep_duplicate_keys: self.keep_duplicate_keys,
            is_check: false,
        }
    }

    pub(crate) fn is_on_stdout(&self) -> bool {
        self.trace_jsonl.as_deref() == Some("-") || self.exports.is_on_stdout()
    }
}

/// Runs `fairlab run`, with the built-in scheduler or in a worker with a compiled-kernel engine.
pub(crate) fn run(output: &mut Output, args: &RunArgs) -> Result<(), CliError> {
    if let Some(engine) = args.variant.kernel_engine() {
        return engine::run(output, args, engine);
    }
    if args.trace_work {
        let Plan { mut machine, about } = Plan::new(&args.file, &args.variant, args.choices())?;
        return trace_work(&mut machine, &about.input.name);
    }
    let wants_report = wants_report(args);
    let finished = execute(output, args, wants_report)?;
    print_summary(output, args, finished, wants_report)
}

/// Whether the run summary is printed: not if a trace takes standard output and standard error is no terminal.
pub(crate) fn wants_report(args: &RunArgs) -> bool {
    !args.is_on_stdout() || std::io::stderr().is_terminal()
}

/// Prints the summary of a run.
pub(crate) fn print_summary<E: Engine>(
    output: &mut Output,
    args: &RunArgs,
    finished: FinishedRun<E>,
    wants_report: bool,
) -> Result<(), CliError> {
    let FinishedRun { plan, summary, findings, cut_short_of } = finished;
    let Some(summary) = summary.filter(|_| wants_report) else { return interrupt::end(cut_short_of) };
    if output.is_json() {
        output.json(&RunOutput { summary, findings })?;
        return interrupt::end(cut_short_of);
    }
    let to_stdout = args.is_on_stdout();
    let styles = if to_stdout { output.stderr_styles() } else { output.styles() };
    let report = summary_text(&plan, &summary, findings.as_deref(), styles, args);
    if to_stdout {
        output.eprint(&report)?;
    } else {
        output.text(&report)?;
    }
    interrupt::end(cut_short_of)
}

/// Runs a machine and writes the operation counts of each call.
pub(crate) fn trace_work<E: Engine>(machine: &mut Machine<E>, name: &str) -> Result<(), CliError> {
    let mut lines = WorkJsonl::new(std::io::stdout().lock());
    machine.run(&mut lines).map_err(|error| CliError::run(format!("{name}: {error}")))?;
    lines.finish().map_err(|error| CliError::write("standard output", &error))
}

/// Returns the run summary.
pub(crate) fn summary_text<E: Engine>(
    plan: &Plan<E>,
    summary: &RunSummary,
    findings: Option<&[Finding]>,
    styles: Styles,
    args: &RunArgs,
) -> String {
    report::run(
        summary,
        findings,
        plan.machine.hardware(),
        styles,
        &report::SummaryOptions {
            per_cpu: args.per_cpu,
            is_default_duration: plan.about.is_default_duration,
            tables: &args.tables,
            measures: &args.measure,
        },
    )
}

/// Runs the workload and writes the requested files.
pub(crate) fn execute(output: &Output, args: &RunArgs, wants_report: bool) -> Result<FinishedRun, CliError> {
    refuse_conflicts(output, args)?;
    let mut plan = Plan::new(&args.file, &args.variant, args.choices())?;
    let mut open = OpenOutputs::new(args, &plan, wants_report)?;
    if wants_report && (args.findings || output.is_text()) {
        open.listeners.findings = Some(Findings::new(&plan.machine, Limits::of(&plan.machine)));
    }
    open.listeners.watcher = args.watch.then(|| Watcher::new(&plan.machine));
    let start = Instant::now();
    let whole = plan.machine.duration();
    let failed = |error: RunError| CliError::run(format!("{}: {error}", plan.about.input.name));
    if args.watch {
        let RunSubject { workload, machine, kernel, .. } = &plan.about.subject;
        let title = format!("{workload} on {machine}, {kernel}");
        watch::simulate(&mut plan.machine, &mut open.listeners, &title).map_err(|ended| match ended {
            watch::WatchError::Run(error) => failed(error),
            watch::WatchError::Screen(error) => CliError::write("the terminal", &error),
        })?;
    } else {
        simulate(&mut plan.machine, &mut open.listeners).map_err(failed)?;
    }
    let engine = || Ok(None);
    finish(output, args, plan, open, RunTiming { whole, wall: start.elapsed() }, engine)
}

/// Runs a workload with a compiled-kernel engine, in its worker, and writes the requested files.
///
/// The time before `warmup` is not measured. `engine` describes the engine after the run.
pub(crate) fn execute_with<E: Engine>(
    output: &Output,
    args: &RunArgs,
    mut plan: Plan<E>,
    warmup: Nanos,
    engine: impl FnOnce() -> Result<Option<(EngineSummary, manifest::ManifestEngine)>, CliError>,
) -> Result<FinishedRun<E>, CliError> {
    refuse_conflicts(output, args)?;
    let mut open = OpenOutputs::new(args, &plan, true)?;
    let start = Instant::now();
    let (whole, machine) = (plan.machine.duration(), &mut plan.machine);
    let mut progress = Progress::new("simulating", whole);
    let run = machine.start(&mut open.listeners).and_then(|()| {
        if warmup > Nanos::ZERO {
            machine.advance(&mut open.listeners, START + warmup)?;
            if let Some(recorder) = &mut open.listeners.recorder {
                recorder.reset(machine, START + warmup);
            }
        }
        advance_run(machine, &mut open.listeners, START + warmup, &mut |elapsed| progress.show(elapsed))
    });
    progress.clear();
    run.map_err(|error| CliError::run(format!("{}: {error}", plan.about.input.name)))?;
    finish(output, args, plan, open, RunTiming { whole, wall: start.elapsed() }, engine)
}

/// Rejects options that exclude each other.
fn refuse_conflicts(output: &Output, args: &RunArgs) -> Result<(), CliError> {
    let to_stdout = args.is_on_stdout();
    if to_stdout && output.is_json() {
        let help = "give the trace a file: --trace-jsonl FILE, --export FORMAT=FILE";
        return Err(CliError::Input(format!("--json and a trace both want standard output\nhelp: {help}")));
    }
    if args.watch {
        watch::require_terminal()?;
        if to_stdout {
            let help = "give the trace a file, or leave --watch out";
            return Err(CliError::Input(format!("--watch and a trace both want standard output\nhelp: {help}")));
        }
    }
    if args.output.is_some() && args.variant.policy.is_some() {
        let help = "leave the directory out";
        return Err(CliError::Input(format!(
            "a run directory has no place for a policy, so its run could not be repeated\nhelp: {help}"
        )));
    }
    Ok(())
}

/// Files and observers that are open during a run.
struct OpenOutputs {
    directory: Option<RunDirectory>,
    listeners: RunObservers,
}

impl OpenOutputs {
    fn new<E: Engine>(args: &RunArgs, plan: &Plan<E>, wants_report: bool) -> Result<Self, CliError> {
        let directory = args.output.as_deref().map(RunDirectory::create).transpose()?;
        let target = args.trace_jsonl.as_deref().map(|file| trace_target(file, directory.as_ref())).transpose()?;
        let exports = args.exports.in_directory(directory.as_ref().map(RunDirectory::path));
        exports.refuse_to_replace(&plan.about.inputs())?;
        interrupt::install_handlers();
        let open = |target: &TraceTarget| open_trace(target, &plan.about, plan.machine.hardware().nr_cpus());
        let listeners = RunObservers {
            recorder: (wants_report || directory.is_some()).then(|| SummaryObserver::new(&plan.machine)),
            trace: target.as_ref().map(open).transpose()?,
            traces: ExportWriters::open(&exports, &plan.machine, process_name(&plan.about.subject.kind))?,
            ..RunObservers::default()
        };
        Ok(Self { directory, listeners })
    }
}

/// Requested length and duration of a run.
struct RunTiming {
    /// Simulated length that was requested; a stopped run is shorter.
    whole: Nanos,
    /// Wall time of the simulation.
    wall: Duration,
}

/// Writes the files of a finished run.
fn finish<E: Engine>(
    output: &Output,
    args: &RunArgs,
    plan: Plan<E>,
    open: OpenOutputs,
    ended: RunTiming,
    engine: impl FnOnce() -> Result<Option<(EngineSummary, manifest::ManifestEngine)>, CliError>,
) -> Result<FinishedRun<E>, CliError> {
    let OpenOutputs { directory, mut listeners } = open;
    let cut_short_of = (plan.machine.duration() < ended.whole).then_some(ended.whole);
    if let Some(trace) = listeners.trace.take() {
        trace.finish(&plan.machine)?;
    }
    listeners.finish_traces(&plan.machine)?;
    let Some(recorder) = listeners.recorder else {
        return Ok(FinishedRun { plan, summary: None, findings: None, cut_short_of });
    };
    let mut summary = RunSummary::new(plan.about.subject.clone(), &plan.machine, &recorder);
    summary.cut_short_of_ns = cut_short_of.map(|whole| whole.0);
    let (engine, of_manifest) = engine()?.unzip();
    summary.engine = engine;
    if let Some(directory) = directory {
        directory.write_json(manifest::SUMMARY, &summary)?;
        let mut manifest = manifest_of(args, &plan, &directory)?;
        (manifest.cut_short_of_ns, manifest.engine) = (summary.cut_short_of_ns, of_manifest);
        directory.write_json(manifest::MANIFEST, &manifest)?;
        directory.finish()?;
    }
    output.warn_all(&summary.warnings)?;
    let machine: &dyn Any = &plan.machine;
    let findings = listeners.findings.zip(machine.downcast_ref::<Machine>());
    let findings = findings.map(|(findings, machine)| findings.finish(machine, &summary.families));
    let summary = Some(summary.with_speed(ended.wall, peak_rss_bytes()));
    Ok(FinishedRun { plan, summary, findings, cut_short_of })
}

/// Returns the peak resident memory of this process in bytes, from `/proc`; `None` without it.
pub(crate) fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Simulates to the end of the run, or until a trace cannot be written, and prints progress.
pub(crate) fn simulate<E: Engine>(machine: &mut Machine<E>, listeners: &mut RunObservers) -> Result<(), RunError> {
    let mut progress = Progress::new("simulating", machine.duration());
    let result = simulate_with_progress(machine, listeners, &mut |elapsed| progress.show(elapsed));
    progress.clear();
    result
}

/// Simulates up to a time without progress output. Returns whether the run goes on; a signal ends it.
pub(crate) fn advance_interruptible(
    machine: &mut Machine,
    listeners: &mut RunObservers,
    until: Nanos,
) -> Result<bool, RunError> {
    let mut at = machine.now();
    while at < until {
        at = (at + MAX_PART).min(until);
        if !machine.advance(listeners, at)? {
            return Ok(false);
        }
        if interrupt::requested().is_some() {
            machine.end_at(at);
            return Ok(false);
        }
    }
    Ok(true)
}

/// Simulates to the end of the run, and reports the simulated time to a callback now and then.
pub(crate) fn simulate_with_progress<E: Engine>(
    machine: &mut Machine<E>,
    listeners: &mut RunObservers,
    on_progress: &mut dyn FnMut(Nanos),
) -> Result<(), RunError> {
    machine.start(listeners)?;
    advance_run(machine, listeners, START, on_progress)
}

/// Simulates a run that has begun from `from` to its end.
fn advance_run<E: Engine>(
    machine: &mut Machine<E>,
    listeners: &mut RunObservers,
    from: Nanos,
    on_progress: &mut dyn FnMut(Nanos),
) -> Result<(), RunError> {
    let duration = machine.duration();
    let part = sampling_interval(duration);
    let (mut until, mut reported_at) = (from, Nanos::ZERO);
    loop {
        until += part;
        let has_more = machine.advance(listeners, until)?;
        listeners.sample_findings(machine);
        if !has_more || listeners.has_failed() {
            break;
        }
        listeners.sample(machine);
        if interrupt::requested().is_some() {
            machine.end_at(until);
            break;
        }
        if machine.elapsed().saturating_since(reported_at).0 >= duration.0 / NR_PROGRESS_STEPS {
            reported_at = machine.elapsed();
            on_progress(reported_at);
        }
    }
    machine.finish(listeners);
    Ok(())
}

/// Returns the destination of a trace. With a run directory, a plain name is a file in it.
pub(crate) fn trace_target(file: &str, directory: Option<&RunDirectory>) -> Result<TraceTarget, CliError> {
    let path = Path::new(file);
    match directory {
        _ if file == "-" => Ok(TraceTarget::Stdout),
        Some(directory) if path.is_relative() => {
            let is_plain = path.file_name() == Some(path.as_os_str());
            if !is_plain || [manifest::MANIFEST, manifest::SUMMARY, INPUTS].contains(&file) {
                let help = "with -o, give the trace a name of its own there, such as trace.jsonl, or an absolute path";
                return Err(CliError::Input(format!("--trace-jsonl {file}: is no name for a trace\nhelp: {help}")));
            }
            Ok(TraceTarget::File(directory.path().join(file)))
        }
        _ => Ok(TraceTarget::File(path.to_owned())),
    }
}

/// Trace that is being written.
pub(crate) struct OpenTrace {
    pub(crate) trace: TraceJsonl<Box<dyn Write>>,
    /// File that gets its name when the trace is complete.
    file: Option<AtomicFile>,
    /// Name of the output in error messages: the path of the file.
    name: String,
}

impl OpenTrace {
    /// Ends the trace after the run.
    pub(crate) fn finish<E: Engine>(mut self, machine: &Machine<E>) -> Result<(), CliError> {
        self.trace.write_totals(machine);
        self.trace.finish().map_err(|error| CliError::write(&self.name, &error))?;
        self.file.map_or(Ok(()), AtomicFile::finish)
    }
}

impl TraceTarget {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }
}

pub(crate) fn open_trace(target: &TraceTarget, about: &About, nr_cpus: usize) -> Result<OpenTrace, CliError> {
    let (out, file): (Box<dyn Write>, _) = match target {
        TraceTarget::Stdout => (Box::new(std::io::stdout()), None),
        TraceTarget::File(path) => {
            refuse_to_replace(path, "--trace-jsonl", about.inputs())?;
            let (whole, file) = AtomicFile::create(path).map_err(|error| {
                let help = "--trace-jsonl takes a file that can be written, or - for standard output";
                CliError::Input(format!("{}: cannot be written: {error}\nhelp: {help}", path.display()))
            })?;
            (Box::new(file), Some(whole))
        }
    };
    let trace = TraceJsonl::new(out, nr_cpus, about.trace_level, about.trace_pelt);
    Ok(OpenTrace { trace, file, name: target.name() })
}

/// Stores copies of the inputs, and returns the manifest that repeats the run.
fn manifest_of<E: Engine>(args: &RunArgs, plan: &Plan<E>, directory: &RunDirectory) -> Result<Manifest, CliError> {
    let name = match plan.about.subject.kind.as_str() {
        "scenario" => "workload.scn",
        _ => "workload.json",
    };
    let workload = directory.keep(&plan.about.input.given, name, plan.about.input.text.as_bytes())?;
    let machine = match &plan.about.machine_text {
        Some(machine) => Some(directory.keep(&machine.given, "machine.toml", machine.text.as_bytes())?),
        None => None,
    };
    let mut repeat: Vec<String> = ["fairlab", "run"].map(str::to_owned).to_vec();
    repeat.push(workload.copy.clone());
    let mut option = |name: &str, value: String| repeat.extend([name.to_owned(), value]);
    if let Some(machine) = &machine {
        option("--machine", machine.copy.clone());
    }
    option("--kernel", plan.about.subject.kernel.clone());
    if let Some(engine) = args.variant.kernel_engine() {
        option("--engine", format!("kernel:{engine}"));
    }
    repeat.extend(args.variant.switch_words());
    let mut option = |name: &str, value: String| repeat.extend([name.to_owned(), value]);
    option("--for", format!("{}ns", plan.machine.duration().0));
    option("--prices", args.variant.price_choice().name().to_owned());
    if let Some(seed) = args.seed {
        option("--seed", seed.to_string());
    }
    if args.vary {
        repeat.push("--vary".to_owned());
    }
    let mut option = |name: &str, value: String| repeat.extend([name.to_owned(), value]);
    if let Some(perturb) = args.perturb {
        option("--perturb", perturb.to_string());
    }
    if args.keep_duplicate_keys {
        repeat.push("--keep-duplicate-keys".to_owned());
    }
    let sched = plan.machine.as_built_in().map(Machine::sched);
    Ok(Manifest {
        schema: manifest::SCHEMA.to_owned(),
        fairlab: env!("CARGO_PKG_VERSION").to_owned(),
        command: command_line(),
        repeat,
        workload,
        kind: plan.about.subject.kind.clone(),
        machine,
        kernel: plan.about.subject.kernel.clone(),
        engine: None,
        features: sched.map(features_of).unwrap_or_default(),
        tunables: sched.map(tunables_of).unwrap_or_default(),
        seed: args.seed,
        vary: args.vary,
        perturb: args.perturb,
        prices: args.variant.price_choice().name().to_owned(),
        duration_ns: plan.machine.duration().0,
        cut_short_of_ns: None,
        digest: plan.machine.digest().to_string(),
        events: plan.machine.counters().events,
        files: args
            .trace_jsonl
            .iter()
            .chain(args.exports.export.iter().map(|export| &export.file))
            .filter(|file| *file != "-" && Path::new(file).is_relative())
            .cloned()
            .collect(),
    })
}

fn features_of(sched: &Sched) -> BTreeMap<String, bool> {
    Feature::ALL.iter().map(|&feature| (feature.name().to_owned(), sched.features().has(feature))).collect()
}

fn tunables_of(sched: &Sched) -> BTreeMap<String, i64> {
    TUNABLES.iter().map(|info| (info.name.to_owned(), info.get(sched.tunables()))).collect()
}
