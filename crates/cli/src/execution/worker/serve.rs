// SPDX-License-Identifier: GPL-2.0-or-later
//! The worker: reads a job, runs it with its engine, and writes the answer to the report.

use super::{Engine, object_of, state, study};
use crate::execution::execute::{drive_shown, execute_with, failed};
use crate::execution::{check, page};
use crate::values::error::CliError;
use fairlab_kernel::costs::CostPlan;
use fairlab_kernel::engine::KernelEngine;
use fairlab_kernel::worker::{self as process, LOOP_SECONDS_VAR, WorkerLogLine};
use fairlab_machine::sim::{Machine, Setup, SetupError};
use fairlab_measure::summary::{EngineSummary, KernelLogLine, UncommonCall};
use fairlab_run::error::RequestError;
use fairlab_run::job::{Job, SwitchStates};
use fairlab_run::manifest::ManifestEngine;
use fairlab_run::prepare::{ReadyRun, prepare};
use fairlab_run::settings::Settings;
use fairlab_run::spec::RunSpec;
use fairlab_run::values::CallCosts;
use fairlab_workload::message::Message;
use serde::Serialize;
use serde_json::Value;
use std::cell::OnceCell;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// An engine in its worker. The report file stays open while the kernel may write to it.
pub(super) struct LoadedEngine<'a> {
    engine: Engine,
    /// Names of the engines with which it has its costs in common, itself among them.
    compared: Vec<String>,
    plan: CostPlan,
    /// Calls of the functions in the plan that not all of these engines have, with their time, after the run.
    uncommon: OnceCell<Vec<UncommonCall>>,
    object: PathBuf,
    report: &'a Path,
    file: File,
}

impl<'a> LoadedEngine<'a> {
    /// `object_of` chooses one of the objects of an engine by the path of the first.
    fn new(settings: &Settings, report: &'a Path, object_of: fn(&Path) -> PathBuf) -> Result<Self, CliError> {
        let engine = Engine::named(settings.kernel_engine().unwrap_or_default())?;
        let mut compared = match &settings.costs {
            CallCosts::Common(engines) => engines.clone(),
            CallCosts::Counted | CallCosts::Zero => Vec::new(),
        };
        let own = compared.iter().position(|name| *name == engine.entry.name);
        let own = own.unwrap_or_else(|| {
            compared.push(engine.entry.name.clone());
            compared.len() - 1
        });
        let object = |name: &String| Ok(object_of(&engine.store.object_path(&engine.store.get_usable(name)?.key)));
        let objects = compared.iter().map(object).collect::<Result<Vec<_>, CliError>>()?;
        let plan = CostPlan::of_objects(&objects.iter().map(PathBuf::as_path).collect::<Vec<_>>(), own)?;
        let file = OpenOptions::new().append(true).open(report).map_err(|error| unusable(report, &error))?;
        let object = objects[own].clone();
        Ok(Self { engine, compared, plan, uncommon: OnceCell::new(), object, report, file })
    }

    /// Boots a machine with the engine.
    pub(super) fn boot(&self, setup: Setup) -> Result<Machine<KernelEngine>, SetupError> {
        let seconds = std::env::var(LOOP_SECONDS_VAR).ok().and_then(|text| text.parse().ok());
        let seconds = seconds.unwrap_or(process::DEFAULT_LOOP_SECONDS);
        Machine::with_engine(setup, |config| {
            KernelEngine::load(&self.object, &self.plan, config, self.file.as_raw_fd(), seconds)
                .map_err(|error| SetupError::Unsupported(error.into()))
        })
    }

    fn ready(&self, spec: &RunSpec) -> Result<ReadyRun<KernelEngine>, CliError> {
        Ok(prepare(spec)?.boot_with(|setup| self.boot(setup))?)
    }

    /// Records the calls, after a run, of functions that not all compared engines have.
    fn record_uncommon(&self, machine: &Machine<KernelEngine>) {
        let costs = &machine.hardware().costs;
        let calls = machine.sched().uncharged_calls();
        let recorded = self.plan.uncommon.iter().zip(calls).map(|(uncommon, calls)| UncommonCall {
            function: uncommon.function.clone(),
            operation: uncommon.operation.name().to_owned(),
            engines: self
                .compared
                .iter()
                .zip(&uncommon.is_in)
                .filter(|(_, is_in)| **is_in)
                .map(|(name, _)| format!("kernel:{name}"))
                .collect(),
            charged_to: uncommon.charged_to.clone(),
            calls: *calls,
            cost_ps: costs.op_ps(uncommon.operation),
        });
        self.uncommon.set(recorded.collect()).expect("a worker runs once");
    }

    /// Describes the engine for a summary, with the messages of its kernel so far.
    fn summary(&self) -> Result<EngineSummary, CliError> {
        let entry = &self.engine.entry;
        let text = std::fs::read_to_string(self.report).map_err(|error| unusable(self.report, &error))?;
        let mut log = process::parse(&text).0.log;
        process::name_callers(&mut log, &self.object);
        let log =
            log.into_iter().map(|WorkerLogLine { at_ns, cpu, text, trace }| KernelLogLine { at_ns, cpu, text, trace });
        Ok(EngineSummary {
            name: format!("kernel:{}", entry.name),
            version: entry.version.clone(),
            source: entry.source.clone(),
            patches: entry.patches.clone(),
            log: log.collect(),
            uncommon: self.uncommon.get().cloned().unwrap_or_default(),
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
    CliError::Run(Message::in_file(report, error.to_string()))
}

/// Serves the one job of a worker and returns its exit status.
pub(crate) fn serve(report: &Path) -> ExitCode {
    let answer: Result<Value, RequestError> = serve_job(report).map_err(|error| match error {
        CliError::Input(message) => RequestError::Input(message),
        error => RequestError::Run(error.into()),
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
        .map_err(|error| CliError::Run(Message::new(format!("a worker got no job: {error}"))))?;
    let object_of = object_of(&job);
    let with_settings = |settings: &Settings| LoadedEngine::new(settings, report, object_of);
    let loaded = |spec: &RunSpec| with_settings(&spec.settings);
    match job {
        Job::Run { spec, outputs } => {
            let engine = loaded(&spec)?;
            let ready = engine.ready(&spec)?;
            let executed = execute_with(ready, &outputs, |machine, observers, about| {
                let driven = drive_shown(machine, observers, about).map_err(|error| failed(about, error));
                engine.record_uncommon(machine);
                driven
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
    serde_json::to_value(value).map_err(CliError::failed)
}
