// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors of trace readers: the position in the file, the problem, and a remedy.

use fairlab_workload::message::Message;

/// Reason why a trace cannot be read, from a reader that does not know the name of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadError {
    /// Position in the file: a byte or a line; empty if the error concerns the whole file.
    pub(super) place: String,
    pub(super) message: String,
    /// Remedy, printed after `help:`.
    pub(super) help: String,
}

impl ReadError {
    pub(super) fn at(byte: usize, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { place: format!("byte {byte}"), ..Self::whole(message, help) }
    }

    pub(super) fn whole(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { place: String::new(), message: message.into(), help: help.into() }
    }

    pub(super) fn in_file(self, file: &str) -> Message {
        let message = Message::in_file(file, self.message).with_help(self.help);
        if self.place.is_empty() { message } else { message.about(self.place) }
    }
}

pub(super) type ReadResult<T> = Result<T, ReadError>;
