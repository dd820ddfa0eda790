// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab run`: runs a workload on a machine and prints the run summary.

pub(crate) mod watch;

use crate::args::run::RunArgs;
use crate::execution::execute::{Executed, execute_alone, execute_with, failed, refuse_engine};
use crate::output::{Output, Styles, report};
use crate::values::error::{CliError, command_line};
use crate::values::interrupt;
use fairlab_observe::findings::Finding;
use fairlab_observe::summary::RunSummary;
use fairlab_run::input::InputFile;
use fairlab_run::job::RunOutputs;
use fairlab_run::manifest::{self, MANIFEST, Manifest, ManifestResult, SUMMARY};
use fairlab_run::prepare::{RunAbout, prepare};
use fairlab_run::result::RunResult;
use fairlab_run::run_directory::{INPUTS, RunDirectory};
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_run::values::CostSource;
use serde::Serialize;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Instant;

/// Finished run, whose files are written.
pub(crate) struct FinishedRun {
    pub(crate) spec: RunSpec,
    pub(crate) executed: Executed,
    /// Summary of the run with its speed, if it was requested.
    pub(crate) summary: Option<RunSummary>,
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
    fn is_on_stdout(&self) -> bool {
        self.trace_work || self.trace_jsonl.as_deref() == Some("-") || self.exports.is_on_stdout()
    }

    /// Returns the run: the workload with the settings, or the spec in the file with settings on top.
    pub(crate) fn spec(&self) -> Result<RunSpec, CliError> {
        let file = InputFile::new(&self.file).read_workload()?;
        let text = file.text().unwrap_or_default();
        if let Some(spec) = manifest::spec_of_json(file.path(), text) {
            return Ok(spec?.with_changes(&self.settings.changes));
        }
        Ok(RunSpec { workload: WorkloadSpec::File(file), settings: self.settings.settings() })
    }
}

/// Runs `fairlab run`, with the built-in scheduler or in a worker with a compiled-kernel engine.
pub(crate) fn run(output: &mut Output, args: &RunArgs) -> Result<(), CliError> {
    let spec = args.spec()?;
    let wants_report = wants_report(args);
    let finished = execute(output, args, spec, wants_report)?;
    print_summary(output, args, finished, wants_report)
}

/// Whether the run summary is printed: not if a trace takes standard output and standard error is no terminal.
fn wants_report(args: &RunArgs) -> bool {
    !args.trace_work && (!args.is_on_stdout() || std::io::stderr().is_terminal())
}

/// Prints the summary of a run.
fn print_summary(
    output: &mut Output,
    args: &RunArgs,
    finished: FinishedRun,
    wants_report: bool,
) -> Result<(), CliError> {
    let FinishedRun { executed, summary, .. } = finished;
    let cut_short_of = executed.result.cut_short_of();
    let Some(summary) = summary.filter(|_| wants_report) else { return interrupt::end(cut_short_of) };
    if output.is_json() {
        output.json(&RunOutput { summary, findings: executed.result.findings })?;
        return interrupt::end(cut_short_of);
    }
    let styles = if args.is_on_stdout() { output.stderr_styles() } else { output.styles() };
    let report = summary_text(&executed, &summary, styles, args);
    if args.is_on_stdout() {
        output.eprint(&report)?;
    } else {
        output.text(&report)?;
    }
    interrupt::end(cut_short_of)
}

/// Returns the run summary as text.
pub(crate) fn summary_text(executed: &Executed, summary: &RunSummary, styles: Styles, args: &RunArgs) -> String {
    let options = report::SummaryOptions {
        per_cpu: args.per_cpu,
        is_default_duration: executed.about.is_default_duration,
        tables: &args.tables,
        measures: &args.measure,
    };
    report::run(summary, executed.result.findings.as_deref(), &executed.hardware, styles, &options)
}

/// Runs a spec and writes the requested files.
pub(crate) fn execute(
    output: &Output,
    args: &RunArgs,
    spec: RunSpec,
    wants_report: bool,
) -> Result<FinishedRun, CliError> {
    refuse_conflicts(output, args, &spec)?;
    let directory = args.output.as_deref().map(RunDirectory::create).transpose()?;
    let mut outputs = RunOutputs {
        summary: wants_report || directory.is_some(),
        findings: wants_report && (args.findings || output.is_text()),
        trace: args.trace_jsonl.as_deref().map(|file| trace_file(file, directory.as_ref())).transpose()?,
        ops: args.trace_work,
        ..RunOutputs::default()
    };
    args.exports.add_to(&mut outputs, directory.as_ref().map(RunDirectory::path));
    let start = Instant::now();
    let executed = if args.watch {
        refuse_engine(&spec.settings)?;
        execute_with(prepare(&spec)?.boot()?, &outputs, |machine, observers, about| {
            watch::simulate(machine, observers, about).map_err(|ended| match ended {
                watch::WatchError::Run(error) => failed(about, error),
                watch::WatchError::Screen(error) => CliError::write("the terminal", &error),
            })
        })?
    } else {
        execute_alone(output, &spec, &outputs)?
    };
    let wall = start.elapsed();
    if let (Some(directory), Some(summary)) = (directory, &executed.result.summary) {
        directory.write_json(SUMMARY, summary)?;
        directory.write_json(MANIFEST, &manifest_of(args, &spec, &executed, &directory)?)?;
        directory.finish()?;
    }
    if let Some(summary) = &executed.result.summary {
        output.warn_all(&summary.warnings)?;
    }
    let summary = executed.result.summary.clone().map(|summary| summary.with_speed(wall, peak_rss_bytes()));
    Ok(FinishedRun { spec, executed, summary })
}

/// Rejects options that exclude each other.
fn refuse_conflicts(output: &Output, args: &RunArgs, spec: &RunSpec) -> Result<(), CliError> {
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
    if args.output.is_some() && spec.settings.policy.is_some() {
        let help = "leave the directory out";
        return Err(CliError::Input(format!(
            "a run directory has no place for a policy, so its run could not be repeated\nhelp: {help}"
        )));
    }
    Ok(())
}

/// Returns the peak resident memory of this process in bytes, from `/proc`; `None` without it.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Returns the file of a trace. With a run directory, a plain name is a file in it.
fn trace_file(file: &str, directory: Option<&RunDirectory>) -> Result<String, CliError> {
    let path = Path::new(file);
    let Some(directory) = directory.filter(|_| file != "-" && path.is_relative()) else { return Ok(file.to_owned()) };
    let is_plain = path.file_name() == Some(path.as_os_str());
    if !is_plain || [MANIFEST, SUMMARY, INPUTS].contains(&file) {
        let help = "with -o, give the trace a name of its own there, such as trace.jsonl, or an absolute path";
        return Err(CliError::Input(format!("--trace-jsonl {file}: is no name for a trace\nhelp: {help}")));
    }
    Ok(directory.path().join(file).display().to_string())
}

/// Stores copies of the inputs, and returns the manifest that repeats the run.
fn manifest_of(
    args: &RunArgs,
    spec: &RunSpec,
    executed: &Executed,
    directory: &RunDirectory,
) -> Result<Manifest, CliError> {
    let Executed { result, about, .. } = executed;
    let mut spec = spec.clone();
    let RunAbout { subject, workload, machine, .. } = about;
    if let (WorkloadSpec::File(file), Some(read)) = (&mut spec.workload, workload) {
        let name = if subject.kind == "scenario" { "workload.scn" } else { "workload.json" };
        *file = keep(directory, read, name)?;
    }
    spec.settings.machine = machine.as_ref().map(|machine| keep(directory, machine, "machine.toml")).transpose()?;
    if let Some(CostSource::Of(machine)) = &mut spec.settings.prices.source {
        *machine = keep(directory, &machine.read_machine()?.file, "prices.toml")?;
    }
    let RunResult { digest, events, duration_ns, cut_short_of_ns, features, tunables, engine, .. } = result.clone();
    let files = args.trace_jsonl.iter().chain(args.exports.export.iter().map(|export| &export.file));
    let files = files.filter(|file| *file != "-" && Path::new(file).is_relative()).cloned().collect();
    Ok(Manifest {
        schema: manifest::SCHEMA.to_owned(),
        fairlab: env!("CARGO_PKG_VERSION").to_owned(),
        command: command_line(),
        spec,
        result: ManifestResult {
            kind: subject.kind.clone(),
            machine: subject.machine.clone(),
            kernel: subject.kernel.clone(),
            engine,
            features,
            tunables,
            duration_ns,
            cut_short_of_ns,
            digest,
            events,
            files,
        },
    })
}

fn keep(directory: &RunDirectory, input: &InputFile, name: &str) -> Result<InputFile, CliError> {
    let copy = directory.keep(name, input.text().unwrap_or_default().as_bytes())?;
    Ok(input.clone().with_copy(copy))
}
