// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors of trace readers: the position in the file, the problem, and a remedy.

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

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.place.is_empty() { "" } else { ": " };
        write!(f, "{}{separator}{}: {}\nhelp: {}", self.file, self.place, self.message, self.help)
    }
}

impl std::error::Error for ImportError {}

/// Read error without the file name, which the readers do not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadError {
    pub(super) place: String,
    pub(super) message: String,
    pub(super) help: String,
}

impl ReadError {
    pub(super) fn at(byte: usize, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { place: format!("byte {byte}"), message: message.into(), help: help.into() }
    }

    pub(super) fn whole(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { place: String::new(), message: message.into(), help: help.into() }
    }

    pub(super) fn in_file(self, file: &str) -> ImportError {
        let Self { place, message, help } = self;
        ImportError { file: file.to_owned(), place, message, help }
    }
}

/// Result of reading a part of a file.
pub(super) type ReadResult<T> = Result<T, ReadError>;
