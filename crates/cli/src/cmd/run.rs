// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab run`: a workload on a machine, and what came of it.

use crate::args::RunArgs;
use crate::error::CliError;
use crate::exports::{Traces, process_of};
use crate::output::progress::Progress;
use crate::output::{Output, report};
use crate::plan::{Choices, Plan};
use fairlab_machine::engine::{Machine, RunError, START};
use fairlab_machine::observer::{MachineEvent, Observer, Wants};
use fairlab_observe::manifest::{self, Manifest, RunDirectory};
use fairlab_observe::recorder::Recorder;
use fairlab_observe::summary::Summary;
use fairlab_observe::trace_jsonl::TraceJsonl;
use fairlab_sched::features::Feature;
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::tunables::TUNABLES;
use fairlab_sched::units::Nanos;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// In how many parts a run is simulated, to show progress and to notice that nobody reads any more.
const PARTS: u64 = 1000;

/// Where a trace goes.
enum TraceTarget {
    Stdout,
    File(PathBuf),
}

/// Who listens to a run.
pub(crate) struct Listeners {
    pub(crate) recorder: Option<Recorder>,
    trace: Option<TraceJsonl<Box<dyn Write>>>,
    traces: Option<Traces>,
}

impl Listeners {
    /// Only what a summary needs.
    pub(crate) fn recording(machine: &Machine) -> Self {
        Self { recorder: Some(Recorder::new(machine)), trace: None, traces: None }
    }

    /// Only what writes traces.
    pub(crate) fn exporting(traces: Option<Traces>) -> Self {
        Self { recorder: None, trace: None, traces }
    }

    /// The same listeners, and traces.
    pub(crate) fn and_exporting(self, traces: Option<Traces>) -> Self {
        Self { traces, ..self }
    }

    /// Ends the traces, after the run.
    pub(crate) fn finish_traces(&mut self, machine: &Machine) -> Result<(), CliError> {
        self.traces.take().map_or(Ok(()), |traces| traces.finish(machine))
    }

    /// Whether a trace could not be written, so that the rest of the run is of no use.
    fn has_failed(&self) -> bool {
        let has_failed = self.traces.as_ref().is_some_and(|traces| traces.exporter.has_failed());
        has_failed || self.trace.as_ref().is_some_and(TraceJsonl::has_failed)
    }
}

impl Probe for Listeners {
    #[inline]
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.event(now, event);
        }
        if let Some(trace) = &mut self.trace {
            trace.event(now, event);
        }
        if let Some(traces) = &mut self.traces {
            traces.exporter.event(now, event);
        }
    }

    fn wants_pelt(&self) -> bool {
        let of_traces = self.traces.as_ref().is_some_and(|traces| traces.exporter.wants_pelt());
        of_traces || self.trace.as_ref().is_some_and(Probe::wants_pelt)
    }
}

impl Observer for Listeners {
    fn wants(&self) -> Wants {
        let recorder = self.recorder.as_ref().map_or(Wants::NOTHING, Observer::wants);
        let traces = self.traces.as_ref().map_or(Wants::NOTHING, |traces| traces.exporter.wants());
        recorder.or(traces).or(self.trace.as_ref().map_or(Wants::NOTHING, Observer::wants))
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        if let Some(recorder) = &mut self.recorder {
            recorder.machine_event(now, event);
        }
        if let Some(trace) = &mut self.trace {
            trace.machine_event(now, event);
        }
        if let Some(traces) = &mut self.traces {
            traces.exporter.machine_event(now, event);
        }
    }

    fn wants_kernel_paths(&self) -> bool {
        self.recorder.is_some() || self.traces.is_some()
    }

    fn snapshot(&mut self, machine: &Machine) {
        if let Some(trace) = &mut self.trace {
            trace.snapshot(machine);
        }
    }
}

/// Runs the command.
pub(crate) fn run(output: &mut Output, args: &RunArgs) -> Result<(), CliError> {
    let choices = Choices {
        duration: args.duration,
        seed: args.seed,
        perturb: args.perturb,
        keep_duplicate_keys: args.keep_duplicate_keys,
        is_check: false,
    };
    let mut plan = Plan::new(&args.file, &args.variant, choices)?;
    let directory = args.output.as_deref().map(RunDirectory::create).transpose()?;
    let target = args.trace_jsonl.as_deref().map(|file| trace_target(file, args.output.as_deref()));
    let to_stdout = matches!(target, Some(TraceTarget::Stdout)) || args.exports.is_on_stdout();
    let wants_report = !to_stdout || std::io::stderr().is_terminal();
    let mut listeners = Listeners {
        recorder: (wants_report || directory.is_some()).then(|| Recorder::new(&plan.machine)),
        trace: target.as_ref().map(|target| open_trace(target, &plan)).transpose()?,
        traces: Traces::open(
            &args.exports.inside(args.output.as_deref()),
            &plan.machine,
            process_of(&plan.subject.kind),
        )?,
    };
    let start = Instant::now();
    simulate(&mut plan.machine, &mut listeners)
        .map_err(|error| CliError::run(format!("{}: {error}", plan.input.name)))?;
    let wall = start.elapsed();
    if let (Some(mut trace), Some(target)) = (listeners.trace.take(), &target) {
        trace.write_totals(&plan.machine);
        trace.finish().map_err(|error| CliError::write(&target.name(), &error))?;
    }
    listeners.finish_traces(&plan.machine)?;
    let Some(recorder) = listeners.recorder else { return Ok(()) };
    let summary = Summary::new(plan.subject.clone(), &plan.machine, &recorder);
    if let Some(directory) = directory {
        directory.write_json(manifest::SUMMARY, &summary)?;
        directory.write_json(manifest::MANIFEST, &manifest_of(args, &plan, &directory)?)?;
    }
    if !wants_report {
        return Ok(());
    }
    let summary = summary.with_speed(wall, peak_rss_bytes());
    if output.is_json() && !to_stdout {
        return output.json(&summary);
    }
    let styles = if to_stdout { output.stderr_styles() } else { output.styles() };
    let report = report::run(
        &summary,
        plan.machine.hardware(),
        styles,
        &report::Options {
            per_cpu: args.per_cpu,
            is_default_duration: plan.is_default_duration,
            measures: &args.measure,
        },
    );
    if to_stdout { output.note(&report) } else { output.text(&report) }
}

/// The most memory that this program has had, as Linux tells it; `None` elsewhere.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Simulates to the end of the run, or until the trace cannot be written any more, and shows progress.
pub(crate) fn simulate(machine: &mut Machine, listeners: &mut Listeners) -> Result<(), RunError> {
    let mut progress = Progress::new("simulating", machine.duration());
    let result = simulate_telling(machine, listeners, &mut |elapsed| progress.show(elapsed));
    progress.clear();
    result
}

/// The same where somebody else shows progress: `told` hears now and then how much is done.
pub(crate) fn simulate_telling(
    machine: &mut Machine,
    listeners: &mut Listeners,
    told: &mut dyn FnMut(Nanos),
) -> Result<(), RunError> {
    let duration = machine.duration();
    machine.start(listeners)?;
    for part in 1.. {
        let done = u128::from(duration.0) * u128::from(part.min(PARTS)) / u128::from(PARTS);
        let until = Nanos(START.0.saturating_add(u64::try_from(done).unwrap_or(u64::MAX)));
        let goes_on = machine.advance(listeners, until)?;
        if !goes_on || listeners.has_failed() {
            break;
        }
        if let Some(traces) = &mut listeners.traces {
            traces.exporter.sample(machine);
        }
        told(machine.elapsed());
    }
    machine.finish(listeners);
    Ok(())
}

fn trace_target(file: &str, directory: Option<&Path>) -> TraceTarget {
    match directory {
        _ if file == "-" => TraceTarget::Stdout,
        Some(directory) => TraceTarget::File(directory.join(file)),
        None => TraceTarget::File(PathBuf::from(file)),
    }
}

impl TraceTarget {
    fn name(&self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }
}

fn open_trace(target: &TraceTarget, plan: &Plan) -> Result<TraceJsonl<Box<dyn Write>>, CliError> {
    let out: Box<dyn Write> = match target {
        TraceTarget::Stdout => Box::new(std::io::stdout()),
        TraceTarget::File(path) => {
            let file = std::fs::File::create(path).map_err(|error| {
                let help = "--trace-jsonl takes a file that can be written, or - for standard output";
                CliError::Input(format!("{}: cannot be written: {error}\nhelp: {help}", path.display()))
            })?;
            Box::new(file)
        }
    };
    Ok(TraceJsonl::new(out, plan.machine.hardware().nr_cpus(), plan.trace_level, plan.trace_pelt))
}

/// Keeps the inputs, and says how to repeat the run.
fn manifest_of(args: &RunArgs, plan: &Plan, directory: &RunDirectory) -> Result<Manifest, CliError> {
    let name = match plan.subject.kind.as_str() {
        "scenario" => "workload.scn",
        _ => "workload.json",
    };
    let workload = directory.keep(&plan.input.given, name, plan.input.text.as_bytes())?;
    let machine = match &plan.machine_text {
        Some(machine) => Some(directory.keep(&machine.given, "machine.toml", machine.text.as_bytes())?),
        None => None,
    };
    let mut repeat: Vec<String> = ["fairlab", "run"].map(str::to_owned).to_vec();
    repeat.push(workload.copy.clone());
    let mut option = |name: &str, value: String| repeat.extend([name.to_owned(), value]);
    if let Some(machine) = &machine {
        option("--machine", machine.copy.clone());
    }
    option("--kernel", plan.subject.kernel.clone());
    let switched = args.variant.features.iter();
    let switched: Vec<String> =
        switched.map(|(feature, on)| format!("{}{}", if *on { "" } else { "NO_" }, feature.name())).collect();
    if !switched.is_empty() {
        option("--features", switched.join(","));
    }
    for (name, value) in &args.variant.set {
        option("--set", format!("{name}={value}"));
    }
    option("--for", format!("{}ns", plan.machine.duration().0));
    option("--prices", args.variant.prices.name().to_owned());
    if let Some(seed) = args.seed {
        option("--seed", seed.to_string());
    }
    if let Some(perturb) = args.perturb {
        option("--perturb", perturb.to_string());
    }
    if args.keep_duplicate_keys {
        repeat.push("--keep-duplicate-keys".to_owned());
    }
    let sched = plan.machine.sched();
    Ok(Manifest {
        fairlab: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args().collect(),
        repeat,
        workload,
        kind: plan.subject.kind.clone(),
        machine,
        kernel: plan.subject.kernel.clone(),
        features: Feature::ALL.iter().map(|&f| (f.name().to_owned(), sched.features().has(f))).collect(),
        tunables: TUNABLES.iter().map(|info| (info.name.to_owned(), info.get(sched.tunables()))).collect(),
        seed: args.seed,
        perturb: args.perturb,
        prices: args.variant.prices.name().to_owned(),
        duration_ns: plan.machine.duration().0,
        digest: plan.machine.digest().to_string(),
        events: plan.machine.counters().events,
    })
}
