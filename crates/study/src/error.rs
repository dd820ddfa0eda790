// SPDX-License-Identifier: GPL-2.0-or-later
//! Reasons why a study cannot be run, and errors of its data.

use fairlab_machine::sim::{RunError, SetupError};
use fairlab_workload::message::Message;
use fairlab_workload::suggest;
use std::fmt;

/// Reason why a study could not be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StudyError {
    /// Wrong input: the study does not exist, its data are malformed, or the options do not apply to it.
    #[error("{0}")]
    Input(Message),
    /// A machine could not be set up, or a run stopped with an error.
    #[error("{0}")]
    Run(Message),
    /// A run did not produce the event or value to measure.
    #[error("{0}")]
    Measurement(Message),
}

impl StudyError {
    /// Returns the error of options that do not apply to the study of this name.
    pub fn rejected_options(study: &str, text: impl fmt::Display, help: impl Into<String>) -> Self {
        Self::Input(Message::new(format!("study {study}: {text}")).with_help(help))
    }

    /// Returns the error of a value that a run does not have.
    pub(crate) fn measurement(text: impl Into<String>) -> Self {
        Self::Measurement(Message::new(text))
    }
}

impl From<Message> for StudyError {
    /// Returns the error of malformed data.
    fn from(message: Message) -> Self {
        Self::Input(message)
    }
}

impl From<StudyError> for Message {
    fn from(error: StudyError) -> Self {
        match error {
            StudyError::Input(message) | StudyError::Run(message) | StudyError::Measurement(message) => message,
        }
    }
}

impl From<SetupError> for StudyError {
    fn from(error: SetupError) -> Self {
        Self::Run(error.into())
    }
}

impl From<RunError> for StudyError {
    fn from(error: RunError) -> Self {
        Self::Run(error.into())
    }
}

/// Returns the error of a name or value at one `place` of a study file: a table, row, arm or key.
pub(crate) fn error_in(file: &str, place: &str, text: impl fmt::Display, help: impl Into<String>) -> Message {
    Message::in_file(file, format!("{place}: {text}")).with_help(help)
}

/// Returns the error of a run with the names of the study's file and of the run; the place stays that in the workload.
pub(crate) fn of_run(file: &str, run: &str, error: Message) -> Message {
    let subject = if error.place.is_some() { format!("run {run} of {file}") } else { format!("run {run}") };
    error.about(subject).with_file(file)
}

/// Returns the error for an unknown name, with a suggestion from the `known` ones.
pub(crate) fn unknown(file: &str, place: &str, what: &str, name: &str, known: &[&str]) -> Message {
    error_in(file, place, format!("there is no {what} {name}"), suggest::help(name, &format!("{what}s"), known))
}
