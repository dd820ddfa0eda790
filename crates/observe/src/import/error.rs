// SPDX-License-Identifier: GPL-2.0-or-later
//! What is wrong with a trace, where, and the way out.

use std::fmt;

/// Why a trace cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The file's name.
    pub file: String,
    /// Where: a byte or a line; empty: the file as a whole.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.place.is_empty() { "" } else { ": " };
        write!(f, "{}{separator}{}: {}\nhelp: {}", self.file, self.place, self.message, self.help)
    }
}

impl std::error::Error for ImportError {}

/// The same before the file's name is known.
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

/// What reading a part of a file gives.
pub(super) type ReadResult<T> = Result<T, ReadError>;
