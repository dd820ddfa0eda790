// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs of a study with an engine, each in its own worker.

use super::serve::LoadedEngine;
use super::{Engine, WorkerStreams};
use crate::values::error::CliError;
use fairlab_run::job::{Job, StudyCase};
use fairlab_study::loaded::LoadedStudy;
use fairlab_study::{ExternalRunner, StudyError, StudyLength, StudyOptions};
use fairlab_workload::message::Message;
use serde_json::Value;

/// Starts workers for the runs of a study.
pub(crate) struct StudyWorkers {
    name: String,
    engine: Engine,
    /// Case that all jobs share.
    case: StudyCase,
}

impl StudyWorkers {
    /// Creates the runner for a study and an engine that was built. `study` is the study's name or path.
    pub(crate) fn new(name: &str, study: &str, engine: &str, options: &StudyOptions) -> Result<Self, CliError> {
        let case = StudyCase {
            study: study.to_owned(),
            is_quick: options.options.quick,
            settings: options.settings.clone(),
            case: String::new(),
            arm: String::new(),
            seed: 0,
        };
        Ok(Self { name: name.to_owned(), engine: Engine::named(engine)?, case })
    }

    fn rejected(&self, case: &str, arm: &str, error: Message) -> StudyError {
        let subject = format!("study {}: arm `{arm}` of run {case}, with kernel:{}", self.name, self.engine.entry.name);
        StudyError::Input(error.about(subject).or_help("choose rows without that arm: --row, --table"))
    }
}

impl ExternalRunner for StudyWorkers {
    fn name(&self) -> String {
        let plain = self
            .case
            .settings
            .plain
            .map_or_else(String::new, |plain| format!(", machines as with --plain={}", plain.name()));
        format!("{}{plain})", self.engine.title())
    }

    fn run(&self, case: &str, arm: &str, seed: u64) -> Result<Value, StudyError> {
        let job = StudyCase { case: case.to_owned(), arm: arm.to_owned(), seed, ..self.case.clone() };
        let ended = self.engine.work(&Job::StudyCase(job), WorkerStreams::Captured);
        ended.and_then(|ended| self.engine.answer(&ended, None)).map_err(|error| match error {
            CliError::Input(error) => self.rejected(case, arm, error),
            error => StudyError::Measurement(Message::from(error).about(format!("run {case}, arm {arm}, seed {seed}"))),
        })
    }
}

/// Runs one case of a study in the worker.
pub(super) fn serve(engine: &LoadedEngine<'_>, case: &StudyCase) -> Result<Value, CliError> {
    let study = LoadedStudy::new(&case.study).map_err(study_error)?;
    let options = StudyOptions {
        options: StudyLength { quick: case.is_quick },
        settings: case.settings.clone(),
        ..StudyOptions::default()
    };
    let (setup, prepared) = study.begin(&options, &case.case, &case.arm, case.seed).map_err(study_error)?;
    let mut machine = engine.boot(setup).map_err(|error| CliError::Input(Message::from(error).about(&case.study)))?;
    prepared.run(&mut machine).map_err(CliError::run)
}

/// Classifies an error of a study as wrong input or as a failed run.
pub(crate) fn study_error(error: StudyError) -> CliError {
    match error {
        StudyError::Input(message) => CliError::Input(message),
        StudyError::Run(message) | StudyError::Measurement(message) => CliError::Run(message),
    }
}
