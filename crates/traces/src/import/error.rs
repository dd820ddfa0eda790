// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors of trace readers: the position in the file, the problem, and a remedy.

use fairlab_workload::message::Message;
use std::fmt;

/// Reason why a trace cannot be read.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    pub file: String,
    /// Position in the file: a byte or a line; empty if the error concerns the whole file.
    pub place: String,
    pub message: String,
    /// Remedy, printed after `help:`.
    pub help: String,
}

impl From<&ImportError> for Message {
    fn from(error: &ImportError) -> Self {
        let message = Self::in_file(error.file.clone(), error.message.clone()).with_help(error.help.clone());
        if error.place.is_empty() { message } else { message.about(&error.place) }
    }
}

impl From<ImportError> for Message {
    fn from(error: ImportError) -> Self {
        Self::from(&error)
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Message::from(self).fmt(f)
    }
}

impl std::error::Error for ImportError {}

/// Errors of the readers, which do not know the name of the file.
impl ImportError {
    pub(super) fn at(byte: usize, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { place: format!("byte {byte}"), ..Self::whole(message, help) }
    }

    pub(super) fn whole(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { file: String::new(), place: String::new(), message: message.into(), help: help.into() }
    }

    pub(super) fn in_file(self, file: &str) -> Self {
        Self { file: file.to_owned(), ..self }
    }
}

pub(super) type ReadResult<T> = Result<T, ImportError>;
