// SPDX-License-Identifier: GPL-2.0-or-later
//! The worker: reads a job, runs it with its engine, and writes the answer to the report.

use super::{Engine, state, study};
use crate::execution::execute::{drive_shown, execute_with, failed};
use crate::execution::{check, page};
use crate::values::error::CliError;
use fairlab_kernel::engine::KernelEngine;
use fairlab_kernel::worker::{self as process, LOOP_SECONDS_VAR};
use fairlab_machine::sim::{Machine, Setup, SetupError};
use fairlab_observe::summary::{EngineSummary, KernelLogLine};
use fairlab_run::error::RequestError;
use fairlab_run::job::{Job, SwitchStates};
use fairlab_run::manifest::ManifestEngine;
use fairlab_run::prepare::{ReadyRun, prepare};
use fairlab_run::settings::Settings;
use fairlab_run::spec::RunSpec;
use serde::Serialize;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::ExitCode;

/// An engine in its worker. The report file stays open while the kernel may write to it.
pub(super) struct LoadedEngine<'a> {
    engine: Engine,
    report: &'a Path,
    file: File,
}

impl<'a> LoadedEngine<'a> {
    fn new(name: &str, report: &'a Path) -> Result<Self, CliError> {
        let file = OpenOptions::new().append(true).open(report);
        Ok(Self { engine: Engine::named(name)?, report, file: file.map_err(|error| unusable(report, &error))? })
    }

    /// Boots a machine with the engine.
    pub(super) fn boot(&self, setup: Setup) -> Result<Machine<KernelEngine>, SetupError> {
        let seconds = std::env::var(LOOP_SECONDS_VAR).ok().and_then(|text| text.parse().ok());
        let seconds = seconds.unwrap_or(process::DEFAULT_LOOP_SECONDS);
        let object = self.engine.store.object_path(&self.engine.entry.key);
        Machine::with_engine(setup, |config| {
            KernelEngine::load(&object, config, self.file.as_raw_fd(), seconds)
                .map_err(|error| SetupError::Unsupported(error.to_string()))
        })
    }

    fn ready(&self, spec: &RunSpec) -> Result<ReadyRun<KernelEngine>, CliError> {
        Ok(prepare(spec)?.boot_with(|setup| self.boot(setup))?)
    }

    /// Describes the engine for a summary, with the messages of its kernel so far.
    fn summary(&self) -> Result<EngineSummary, CliError> {
        let text = std::fs::read_to_string(self.report).map_err(|error| unusable(self.report, &error))?;
        let log = process::parse(&text).0.log.into_iter();
        let entry = &self.engine.entry;
        Ok(EngineSummary {
            name: format!("kernel:{}", entry.name),
            version: entry.version.clone(),
            source: entry.source.clone(),
            patches: entry.patches.clone(),
            log: log.map(|line| KernelLogLine { at_ns: line.at_ns, cpu: line.cpu, text: line.text }).collect(),
        })
    }

    fn for_manifest(&self) -> ManifestEngine {
        let entry = &self.engine.entry;
        ManifestEngine {
            name: entry.name.clone(),
            version: entry.version.clone(),
            source: entry.source.clone(),
            patches: entry.patches.clone(),
            key: entry.key.clone(),
        }
    }
}

fn unusable(report: &Path, error: &std::io::Error) -> CliError {
    CliError::Run(format!("{}: {error}", report.display()))
}

/// Serves the one job of a worker and returns its exit status.
pub(crate) fn serve(report: &Path) -> ExitCode {
    let answer: Result<Value, RequestError> = serve_job(report).map_err(|error| match error {
        CliError::Input(message) => RequestError::Input(message),
        error => RequestError::Run(error.to_string()),
    });
    let line = serde_json::to_string(&answer).expect("an answer is JSON");
    let file = OpenOptions::new().append(true).open(report);
    match file.and_then(|mut file| writeln!(file, "answer {line}")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve_job(report: &Path) -> Result<Value, CliError> {
    let job: Job = serde_json::from_reader(std::io::stdin().lock())
        .map_err(|error| CliError::Run(format!("a worker got no job: {error}")))?;
    let with_settings = |settings: &Settings| LoadedEngine::new(settings.kernel_engine().unwrap_or_default(), report);
    let loaded = |spec: &RunSpec| with_settings(&spec.settings);
    match job {
        Job::Run { spec, outputs } => {
            let engine = loaded(&spec)?;
            let ready = engine.ready(&spec)?;
            let executed = execute_with(ready, &outputs, |machine, observers, about| {
                drive_shown(machine, observers, about).map_err(|error| failed(about, error))
            });
            let mut result = executed?.result;
            if let Some(summary) = &mut result.summary {
                summary.engine = Some(engine.summary()?);
            }
            result.engine = Some(engine.for_manifest());
            answer(&result)
        }
        Job::Check { spec } => {
            let engine = loaded(&spec)?;
            answer(&check::check_run(&spec, |prepared| prepared.boot_with(|setup| engine.boot(setup)))?)
        }
        Job::Switches { spec } => answer(&SwitchStates::of(loaded(&spec)?.ready(&spec)?.machine.sched())),
        Job::Page { spec, name } => {
            let engine = loaded(&spec)?;
            answer(&page::page_of(engine.ready(&spec)?, name, || engine.summary().map(Some))?)
        }
        Job::Trace { spec } => answer(&state::write_trace(loaded(&spec)?.ready(&spec)?)?),
        Job::State { spec, until_ns } => answer(&state::state_at(loaded(&spec)?.ready(&spec)?, until_ns)?),
        Job::Calls { spec, at_ns } => answer(&state::calls_at(loaded(&spec)?.ready(&spec)?, at_ns)?),
        Job::CallHashes { spec, until_ns, beside } => {
            let engine = loaded(&spec)?;
            let names = [engine.engine.entry.name.as_str(), &beside];
            answer(&state::write_call_hashes(engine.ready(&spec)?, until_ns, names)?)
        }
        Job::StudyCase(case) => study::serve(&with_settings(&case.settings)?, &case),
    }
}

fn answer(value: &impl Serialize) -> Result<Value, CliError> {
    serde_json::to_value(value).map_err(CliError::run)
}
