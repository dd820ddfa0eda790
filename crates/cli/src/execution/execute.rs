// SPDX-License-Identifier: GPL-2.0-or-later
//! Execution of a spec: in this process with the built-in scheduler, or in a worker with a compiled-kernel
//! engine. Both write the requested files and give the same result.

use super::exports::{ExportWriters, OpenTrace, refuse_to_replace_inputs};
use crate::execution::worker;
use crate::output::Output;
use crate::output::progress::Progress;
use crate::values::error::{CliError, quote_for_shell};
use crate::values::interrupt;
use fairlab_explain::responses::ResponsePaths;
use fairlab_findings::{Findings, Limits};
use fairlab_machine::engine::Engine;
use fairlab_machine::event_log::EventLog;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::{Machine, RunError};
use fairlab_measure::summary_observer::SummaryObserver;
use fairlab_run::drive::drive;
use fairlab_run::job::{Job, RunOutputs};
use fairlab_run::observers::{EventWriters, RunObservers};
use fairlab_run::prepare::{ReadyRun, RunAbout, prepare};
use fairlab_run::result::RunResult;
use fairlab_run::settings::Settings;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_sched::units::Nanos;
use fairlab_traces::trace_jsonl::TraceJsonl;
use fairlab_traces::work_jsonl::WorkJsonl;
use fairlab_workload::message::Message;
use std::io::BufWriter;

/// Finished run with what its report needs.
pub(crate) struct Executed {
    pub(crate) result: RunResult,
    pub(crate) about: RunAbout,
    pub(crate) hardware: Hardware,
}

/// Checks that no trace replaces an input, and that interrupts only end the run.
fn begin(outputs: &RunOutputs, about: &RunAbout) -> Result<(), CliError> {
    refuse_to_replace_inputs(outputs, &about.inputs())?;
    interrupt::install_handlers();
    Ok(())
}

/// Called with the length of the run and the simulated time; returns whether the run continues.
pub(crate) type OnStep<'a> = &'a mut dyn FnMut(Nanos, Nanos) -> bool;

/// Destination of a worker's messages and progress.
#[derive(Clone, Copy)]
pub(crate) enum Shown<'a> {
    /// To the terminal: the run is the command's only one.
    Alone(&'a Output),
    /// Into errors: the run is one of several.
    OneOfSeveral,
}

/// Runs a spec to its end, or until `on_step` returns false. A workload that uses something that the kernel does not
/// have is rejected if the run is the command's only one; one of several runs without it. A worker ends at a signal by itself; `on_step` is
/// called at its end.
pub(crate) fn execute(
    spec: &RunSpec,
    outputs: &RunOutputs,
    shown: Shown<'_>,
    on_step: OnStep<'_>,
) -> Result<Executed, CliError> {
    let mut prepared = prepare(spec)?;
    if matches!(shown, Shown::Alone(_)) {
        prepared = prepared.with_whole_workload()?;
    }
    let Some(engine) = spec.settings.kernel_engine() else {
        return execute_here(prepared.boot()?, outputs, on_step);
    };
    if spec.settings.policy.is_some() {
        let help = "use the policy with the built-in engine";
        return Err(CliError::with_help("compiled-kernel engines do not support policies", help));
    }
    let (about, hardware, whole) = (prepared.about, prepared.setup.hardware, prepared.setup.duration);
    begin(outputs, &about)?;
    let job = Job::Run { spec: worker::portable(spec)?, outputs: outputs.clone() };
    let result = match shown {
        Shown::Alone(output) => worker::run_shown(output, engine, &job)?,
        Shown::OneOfSeveral => worker::run_captured(engine, &job, Some(&command_of(spec)))?,
    };
    on_step(whole, whole);
    Ok(Executed { result, about, hardware })
}

/// Returns the command that repeats a run alone.
fn command_of(spec: &RunSpec) -> String {
    let mut words = vec!["fairlab".to_owned()];
    match &spec.workload {
        WorkloadSpec::File(file) => words.extend(["run".to_owned(), file.given.clone()]),
        WorkloadSpec::Bench(bench) => {
            words.push("bench".to_owned());
            words.extend(bench.line.split_whitespace().map(str::to_owned));
        }
    }
    words.extend(spec.settings.command_words());
    quote_for_shell(&words)
}

/// Rejects a compiled-kernel engine for a command that needs the reasons of decisions.
pub(crate) fn refuse_engine(settings: &Settings) -> Result<(), CliError> {
    if settings.kernel_engine().is_none() {
        return Ok(());
    }
    let help = "compiled-kernel engines support run, check, bench, compare, sweep, export and report; other commands need the reasons that only the built-in scheduler records";
    Err(CliError::with_help("this command does not support compiled-kernel engines", help))
}

/// Runs a machine of any engine in this process.
pub(crate) fn execute_here<E: Engine>(
    ready: ReadyRun<E>,
    outputs: &RunOutputs,
    on_step: OnStep<'_>,
) -> Result<Executed, CliError> {
    execute_with(ready, outputs, |machine, observers, about| {
        let whole = machine.duration();
        let run = drive(machine, observers, about.warmup, &mut |elapsed| on_step(whole, elapsed));
        run.map_err(|error| failed(about, error))?;
        // A benchmark may finish early; progress counts its whole length.
        on_step(whole, whole);
        Ok(())
    })
}

/// Runs a machine as `run` does it, between opening and completing the files.
pub(crate) fn execute_with<E: Engine>(
    ready: ReadyRun<E>,
    outputs: &RunOutputs,
    run: impl FnOnce(&mut Machine<E>, &mut RunObservers, &RunAbout) -> Result<(), CliError>,
) -> Result<Executed, CliError> {
    let ReadyRun { mut machine, about, bench } = ready;
    begin(outputs, &about)?;
    let open = |file: &Option<String>, option| {
        file.as_deref().map(|file| OpenTrace::create(file, option, &about.inputs())).transpose()
    };
    let trace = open(&outputs.trace, "--trace-jsonl")?;
    let (event_log, log_out) = open(&outputs.event_log, "--event-log")?.unzip();
    let (trace, lines) = trace.unzip();
    let exports = ExportWriters::open(outputs, &machine, about.process())?;
    let (exporter, exports) = exports.unzip();
    let writers = EventWriters {
        trace: lines.map(|out| {
            let nr_cpus = machine.hardware().nr_cpus();
            TraceJsonl::new(out, nr_cpus, about.trace)
        }),
        event_log: log_out.map(|out| EventLog::new(Box::new(BufWriter::new(out)) as _, &machine)),
        exporter,
        ops: outputs.ops.then(|| WorkJsonl::new(Box::new(std::io::stdout()) as _)),
        paths: outputs.summary.then(|| ResponsePaths::new(&machine)).flatten(),
    };
    let mut observers = RunObservers {
        summary: outputs.summary.then(|| SummaryObserver::new(&machine)),
        bench,
        findings: machine
            .as_built_in()
            .filter(|_| outputs.findings)
            .map(|machine| Findings::new(machine, Limits::of(machine))),
        writers: writers.boxed(),
        ..RunObservers::default()
    };
    let whole = machine.duration();
    run(&mut machine, &mut observers, &about)?;
    let mut writers = observers.writers.take().map_or_else(EventWriters::default, |writers| *writers);
    observers.writers = EventWriters { paths: writers.paths.take(), ..EventWriters::default() }.boxed();
    let EventWriters { trace: lines, event_log: log, exporter, ops, paths: _ } = writers;
    if let Some((mut lines, trace)) = lines.zip(trace) {
        lines.write_totals(&machine);
        trace.finish(lines.finish())?;
    }
    if let Some((log, event_log)) = log.zip(event_log) {
        event_log.finish(log.finish(&machine))?;
    }
    if let Some((mut exporter, exports)) = exporter.zip(exports) {
        exports.finish(&mut exporter, &machine)?;
    }
    if let Some(ops) = ops {
        ops.finish().map_err(|error| CliError::write("standard output", &error))?;
    }
    let result = RunResult::new(&machine, observers, &about, whole);
    Ok(Executed { result, hardware: machine.hardware().clone(), about })
}

/// Returns the error of a run that could not go on.
pub(crate) fn failed(about: &RunAbout, error: impl Into<Message>) -> CliError {
    CliError::Run(error.into().about(&about.name))
}

/// Runs a machine with progress on the terminal; a signal ends the run.
pub(crate) fn drive_shown<E: Engine>(
    machine: &mut Machine<E>,
    observers: &mut RunObservers,
    about: &RunAbout,
) -> Result<(), RunError> {
    let mut progress = Progress::new("simulating", machine.duration());
    let run = drive(machine, observers, about.warmup, &mut |elapsed| {
        progress.show(elapsed);
        interrupt::requested().is_none()
    });
    progress.clear();
    run
}

/// Returns a step callback for one of several runs: it reports the length and the time since the last call.
pub(crate) fn one_of_several(mut on_progress: impl FnMut(Nanos, Nanos)) -> impl FnMut(Nanos, Nanos) -> bool {
    let mut shown = Nanos::ZERO;
    move |whole, elapsed| {
        on_progress(whole, elapsed.saturating_since(std::mem::replace(&mut shown, elapsed)));
        interrupt::requested().is_none()
    }
}

/// Runs a spec with progress on the terminal, which a signal ends.
pub(crate) fn execute_alone(output: &Output, spec: &RunSpec, outputs: &RunOutputs) -> Result<Executed, CliError> {
    let mut progress: Option<Progress> = None;
    let executed = execute(spec, outputs, Shown::Alone(output), &mut |whole, elapsed| {
        progress.get_or_insert_with(|| Progress::new("simulating", whole)).show(elapsed);
        interrupt::requested().is_none()
    });
    if let Some(progress) = &mut progress {
        progress.clear();
    }
    executed
}
