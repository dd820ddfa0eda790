// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab run`: runs a workload on a machine and prints the run summary.

pub(crate) mod watch;

use crate::args::run::RunArgs;
use crate::execution::execute::{Executed, execute_alone, execute_with, failed, refuse_engine};
use crate::output::headline::{HeadlineStatement, headlines};
use crate::output::measure::Measure;
use crate::output::{Output, Styles, report};
use crate::values::error::{CliError, command_line};
use crate::values::interrupt;
use fairlab_findings::Finding;
use fairlab_measure::summary::RunSummary;
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
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Run with the files that it writes.
pub(crate) struct RunRequest {
    pub(crate) spec: RunSpec,
    /// Run directory; relative files are placed in it.
    pub(crate) directory: Option<PathBuf>,
    pub(crate) outputs: RunOutputs,
    /// Whether the run is shown on the terminal.
    pub(crate) is_watched: bool,
}

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
    /// First lines of the summary; not in the summary of a run directory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    headlines: Vec<HeadlineStatement>,
}

impl RunArgs {
    /// Returns the run with the files and results that are requested.
    fn request(&self, spec: RunSpec, output: &Output) -> RunRequest {
        let mut outputs = RunOutputs { trace: self.trace_jsonl.clone(), ops: self.trace_work, ..RunOutputs::default() };
        self.exports.add_to(&mut outputs);
        // Without a terminal, a trace on standard output leaves no place for the summary.
        outputs.summary = !self.trace_work && (!outputs.is_on_stdout() || std::io::stderr().is_terminal());
        outputs.findings = outputs.summary && (self.findings || output.is_text());
        RunRequest { spec, directory: self.output.clone(), outputs, is_watched: self.watch }
    }

    /// Returns the run: the workload with the settings, or the spec in the file with settings on top.
    pub(crate) fn spec(&self) -> Result<RunSpec, CliError> {
        let workload = WorkloadSpec::File(InputFile::new(&self.file));
        Ok(manifest::resolve(RunSpec { workload, settings: self.settings.settings() })?)
    }
}

/// Runs `fairlab run`, with the built-in scheduler or in a worker with a compiled-kernel engine.
pub(crate) fn run(output: &mut Output, args: &RunArgs) -> Result<(), CliError> {
    let spec = args.spec()?;
    let request = args.request(spec, output);
    let wants_report = request.outputs.summary;
    let is_on_stdout = request.outputs.is_on_stdout();
    refuse_conflicts(output, args, is_on_stdout)?;
    let finished = execute(output, request)?;
    print_summary(output, args, finished, wants_report, is_on_stdout)
}

/// Prints the summary of a run.
fn print_summary(
    output: &mut Output,
    args: &RunArgs,
    finished: FinishedRun,
    wants_report: bool,
    is_on_stdout: bool,
) -> Result<(), CliError> {
    let FinishedRun { executed, summary, .. } = finished;
    let cut_short_of = executed.result.cut_short_of();
    let Some(summary) = summary.filter(|_| wants_report) else { return interrupt::end(cut_short_of) };
    if output.is_json() {
        let findings = executed.result.findings;
        let headlines = headlines(&summary, findings.as_deref()).into_iter().map(HeadlineStatement::from).collect();
        output.json(&RunOutput { summary, findings, headlines })?;
        return interrupt::end(cut_short_of);
    }
    let styles = if is_on_stdout { output.stderr_styles() } else { output.styles() };
    let tables = RunTables { per_cpu: args.per_cpu, tables: &args.tables, measures: &args.measure };
    let report = summary_text(&executed, &summary, styles, tables);
    if is_on_stdout {
        output.eprint(&report)?;
    } else {
        output.text(&report)?;
    }
    interrupt::end(cut_short_of)
}

/// Tables of the run summary beside the usual ones.
#[derive(Clone, Copy, Default)]
pub(crate) struct RunTables<'a> {
    per_cpu: bool,
    tables: &'a [report::ReportTables],
    measures: &'a [Measure],
}

/// Returns the run summary as text.
pub(crate) fn summary_text(
    executed: &Executed,
    summary: &RunSummary,
    styles: Styles,
    RunTables { per_cpu, tables, measures }: RunTables<'_>,
) -> String {
    let is_default_duration = executed.about.is_default_duration;
    let options = report::SummaryOptions { per_cpu, is_default_duration, tables, measures };
    report::run(summary, executed.result.findings.as_deref(), &executed.hardware, styles, &options)
}

/// Runs a spec and writes the requested files.
pub(crate) fn execute(output: &Output, request: RunRequest) -> Result<FinishedRun, CliError> {
    let RunRequest { spec, directory, mut outputs, is_watched } = request;
    if directory.is_some() && spec.settings.policy.is_some() {
        let help = "leave the directory out";
        return Err(CliError::with_help(
            "a run directory has no place for a policy, so its run could not be repeated",
            help,
        ));
    }
    let directory = directory.as_deref().map(RunDirectory::create).transpose()?;
    let files = outputs.files();
    if let Some(directory) = &directory {
        outputs.summary = true;
        place_files(&mut outputs, directory)?;
    }
    let start = Instant::now();
    let executed = if is_watched {
        refuse_engine(&spec.settings)?;
        execute_with(prepare(&spec)?.with_whole_workload()?.boot()?, &outputs, |machine, observers, about| {
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
        directory.write_json(MANIFEST, &manifest_of(&spec, &executed, files, &directory)?)?;
        directory.finish()?;
    }
    if let Some(summary) = &executed.result.summary {
        output.warn_all(&summary.warnings)?;
    }
    let summary = executed.result.summary.clone().map(|summary| summary.with_speed(wall, peak_rss_bytes()));
    Ok(FinishedRun { spec, executed, summary })
}

/// Rejects options that exclude each other.
fn refuse_conflicts(output: &Output, args: &RunArgs, to_stdout: bool) -> Result<(), CliError> {
    if to_stdout && output.is_json() {
        let help = "give the trace a file: --trace-jsonl FILE, --event-log FILE, --export FORMAT=FILE";
        return Err(CliError::with_help("--json and a trace both want standard output", help));
    }
    if args.watch {
        watch::require_terminal()?;
        if to_stdout {
            let help = "give the trace a file, or leave --watch out";
            return Err(CliError::with_help("--watch and a trace both want standard output", help));
        }
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

/// Places relative files in a run directory.
fn place_files(outputs: &mut RunOutputs, directory: &RunDirectory) -> Result<(), CliError> {
    for export in outputs.exports.iter_mut().filter(|export| export.file != "-") {
        export.file = directory.path().join(&export.file).display().to_string();
    }
    for (file, option) in [(&mut outputs.trace, "--trace-jsonl"), (&mut outputs.event_log, "--event-log")] {
        if let Some(file) = file {
            *file = trace_file(file, option, directory)?;
        }
    }
    Ok(())
}

/// Returns the file of a trace in a run directory. A relative one must be a plain name.
fn trace_file(file: &str, option: &str, directory: &RunDirectory) -> Result<String, CliError> {
    let path = Path::new(file);
    if file == "-" || !path.is_relative() {
        return Ok(file.to_owned());
    }
    let is_plain = path.file_name() == Some(path.as_os_str());
    if !is_plain || [MANIFEST, SUMMARY, INPUTS].contains(&file) {
        let help = "with -o, give the trace a name of its own there, such as trace.jsonl, or an absolute path";
        return Err(CliError::with_help(format!("{option} {file}: is no name for a trace"), help));
    }
    Ok(directory.path().join(file).display().to_string())
}

/// Stores copies of the inputs, and returns the manifest that repeats the run.
fn manifest_of(
    spec: &RunSpec,
    executed: &Executed,
    files: Vec<String>,
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
    let RunResult { digest, events, duration_ns, cut_short_of_ns, settling, features, tunables, engine, .. } =
        result.clone();
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
            settling,
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
