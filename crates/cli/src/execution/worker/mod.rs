// SPDX-License-Identifier: GPL-2.0-or-later
//! Worker processes of compiled-kernel engines, one per run.
//!
//! A worker is this program with a report file in its environment. It reads one [`Job`] from its standard
//! input and writes the answer to its report, beside the kernel's messages. A kernel that crashes, panics or
//! does not return ends only one run. [`serve`] is the worker; the other functions start one.

mod reports;
mod serve;
pub(crate) mod state;
pub(crate) mod study;

pub(crate) use serve::serve;

use crate::output::Output;
use crate::output::figures::counted;
use crate::values::error::CliError;
use crate::values::{host, interrupt};
use fairlab_kernel::functions;
use fairlab_kernel::meanings::{self, SwitchMeanings};
use fairlab_kernel::store::{Store, StoreEntry};
pub(crate) use fairlab_kernel::worker::WorkerStreams;
use fairlab_kernel::worker::{self as process, CrashReport, WorkerReport};
use fairlab_run::error::RequestError;
use fairlab_run::job::Job;
use fairlab_run::manifest::inputs_mut;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_workload::message::Message;
use serde::de::DeserializeOwned;
use std::fmt::Write as _;
use std::io::{Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use tempfile::NamedTempFile;

/// Largest number of lines of a kernel's log that are printed; JSON has all.
const MOST_LINES: usize = 20;

/// Engine that was built.
pub(crate) struct Engine {
    store: Store,
    entry: StoreEntry,
}

/// Worker that has ended.
pub(crate) struct EndedWorker {
    /// Standard output, if it was captured.
    pub(crate) stdout: Vec<u8>,
    pub(crate) report: WorkerReport,
    status: ExitStatus,
    stderr: Vec<u8>,
}

impl Engine {
    pub(crate) fn named(name: &str) -> Result<Self, CliError> {
        let store = Store::for_user()?;
        let entry = store.get_usable(name)?;
        Ok(Self { store, entry })
    }

    /// Returns what the source of the tree says of features and tunables, by their names.
    pub(crate) fn meanings(&self) -> Result<SwitchMeanings, CliError> {
        Ok(meanings::of_object(&self.store.object_path(&self.entry.key))?)
    }

    /// Name with the prefix `kernel:`, and the version of the tree.
    pub(crate) fn title(&self) -> String {
        format!("kernel:{} (Linux {}", self.entry.name, self.entry.version)
    }

    /// Runs a worker to its end.
    pub(crate) fn work(&self, job: &Job, streams: WorkerStreams) -> Result<EndedWorker, CliError> {
        let object = object_of(job)(&self.store.object_path(&self.entry.key));
        let (ended, report) = process::run(&mut worker_command(job)?, &object, streams)?;
        Ok(EndedWorker { stdout: ended.stdout, report, status: ended.status, stderr: ended.stderr })
    }

    /// Returns the answer of a worker that has ended; `command` repeats its run if it is not the command that
    /// was given.
    pub(crate) fn answer<T: DeserializeOwned>(
        &self,
        ended: &EndedWorker,
        command: Option<&str>,
    ) -> Result<T, CliError> {
        let name = &self.entry.name;
        if let Some(end) = &ended.report.end {
            return Err(self.crash(end, command));
        }
        let Some(answer) = &ended.report.answer else {
            let stderr_text = String::from_utf8_lossy(&ended.stderr);
            let stderr_text = stderr_text.trim();
            let what = format!("the worker process of kernel:{name} was ended: {}", ended.status);
            return Err(CliError::Run(if stderr_text.is_empty() {
                Message::new(what)
            } else {
                Message::new(format!("{what}: {stderr_text}"))
            }));
        };
        let unread =
            |error| CliError::Run(Message::new(format!("the output of kernel:{name} cannot be read: {error}")));
        serde_json::from_str::<Result<T, RequestError>>(answer).map_err(unread)?.map_err(CliError::from)
    }

    /// Returns the error of a kernel that did not end normally.
    fn crash(&self, end: &CrashReport, command: Option<&str>) -> CliError {
        CliError::Run(reports::message(&self.store, &self.entry, end, command))
    }
}

/// Returns the function that chooses the object for a job among those of an engine, by the path of the first.
fn object_of(job: &Job) -> fn(&Path) -> PathBuf {
    match job {
        Job::Calls { .. } | Job::CallHashes { .. } => functions::traced_object,
        _ => Path::to_owned,
    }
}

/// Returns the command that starts this program as a worker with a job.
fn worker_command(job: &Job) -> Result<Command, CliError> {
    if host::is_embedded() {
        let help = "use the command line: fairlab run|compare|sweep --engine kernel:NAME";
        let what =
            "a compiled-kernel engine needs a worker process of the fairlab command, and this program embeds fairlab";
        return Err(CliError::with_help(what, help));
    }
    // Workers are not in the process group that the terminal interrupts.
    interrupt::install_handlers();
    let program =
        std::env::current_exe().map_err(|error| CliError::Run(Message::new(format!("this program: {error}"))))?;
    let of_file = |error: std::io::Error| CliError::run(Message::new(format!("a temporary file: {error}")));
    let mut file = tempfile::tempfile().map_err(of_file)?;
    let text = serde_json::to_vec(job).expect("a job is JSON");
    file.write_all(&text).and_then(|()| file.seek(SeekFrom::Start(0))).map_err(of_file)?;
    let mut command = Command::new(program);
    command.stdin(Stdio::from(file));
    Ok(command)
}

/// Returns a spec that needs nothing but its own text: no file, standard input or text in memory.
pub(crate) fn portable(spec: &RunSpec) -> Result<RunSpec, CliError> {
    let mut spec = spec.clone();
    if let WorkloadSpec::File(file) = &mut spec.workload {
        *file = file.read_workload()?;
    }
    for machine in inputs_mut(&mut spec).filter(|input| input.text().is_none()) {
        *machine = machine.read_machine()?.file;
    }
    Ok(spec)
}

/// Runs a job whose files and progress are the user's, prints the kernel's messages and returns the answer.
pub(crate) fn run_shown<T: DeserializeOwned>(output: &Output, name: &str, job: &Job) -> Result<T, CliError> {
    let engine = Engine::named(name)?;
    let ended = engine.work(job, WorkerStreams::Inherited)?;
    if !output.is_json() || ended.report.end.is_some() {
        print_log(output, &ended.report)?;
    }
    engine.answer(&ended, None)
}

/// Runs a job as one of several and returns its answer. `command` repeats it alone.
pub(crate) fn run_captured<T: DeserializeOwned>(name: &str, job: &Job, command: Option<&str>) -> Result<T, CliError> {
    let engine = Engine::named(name)?;
    let ended = engine.work(job, WorkerStreams::Captured)?;
    engine.answer(&ended, command)
}

/// Starts a worker whose standard output is read while it runs; also returns its report file.
pub(crate) fn spawn(name: &str, job: &Job) -> Result<(Child, NamedTempFile), CliError> {
    Engine::named(name)?;
    let report =
        NamedTempFile::new().map_err(|error| CliError::run(Message::new(format!("a temporary file: {error}"))))?;
    let mut command = worker_command(job)?;
    command.env(process::REPORT_VAR, report.path()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.spawn().map_err(|error| CliError::run(Message::new(format!("a worker: {error}"))))?;
    Ok((child, report))
}

fn print_log(output: &Output, report: &WorkerReport) -> Result<(), CliError> {
    let mut text = String::new();
    for line in report.log.iter().take(MOST_LINES) {
        writeln!(text, "[{}, CPU {}] {}", reports::on_runs_clock(line.at_ns), line.cpu, line.text)
            .expect("a string takes text");
        for frame in &line.trace {
            writeln!(text, "    {frame}").expect("a string takes text");
        }
    }
    let hidden = report.log.len().saturating_sub(MOST_LINES);
    if hidden > 0 {
        writeln!(text, "... and {} more: --json has all", counted(hidden, "line")).expect("a string takes text");
    }
    output.eprint(&text)
}
