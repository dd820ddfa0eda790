// SPDX-License-Identifier: GPL-2.0-or-later
//! What ends a command early, and how that is told.

use crate::embed;
use fairlab_observe::run_directory::DirectoryError;
use std::fmt;
use std::io;
use std::panic::PanicHookInfo;

/// As much is shown of a panic's message: some name whole structures.
const MAX_PANIC: usize = 1000;

/// What ends a command early.
#[derive(Debug)]
pub(crate) enum CliError {
    /// Something that the user gave is wrong. The message says what, where and the way out.
    Input(String),
    /// A run could not go on, or its results could not be written.
    Run(String),
    /// What was asked to hold does not. The results have been written.
    Gate(String),
    /// A process that did the work has said what is wrong.
    AlreadyReported {
        /// The exit status.
        status: u8,
    },
    /// Whoever read the output has had enough.
    ClosedPipe,
    /// A signal has stopped the run.
    Stopped {
        /// Its number.
        signal: u8,
    },
}

impl CliError {
    /// Wrong input, from any error that says so on its own.
    pub(crate) fn input(error: impl fmt::Display) -> Self {
        Self::Input(error.to_string())
    }

    /// A failed run.
    pub(crate) fn run(error: impl fmt::Display) -> Self {
        Self::Run(error.to_string())
    }

    /// Something could not be written.
    pub(crate) fn write(what: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Self::Run(format!("{what}: cannot be written: {error}"))
    }

    /// The exit status.
    pub(crate) const fn status(&self) -> u8 {
        match self {
            Self::Input(_) => 2,
            Self::Run(_) => 1,
            Self::Gate(_) => 3,
            Self::AlreadyReported { status } => *status,
            Self::ClosedPipe => 0,
            Self::Stopped { signal } => 128 + *signal,
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) | Self::Run(message) | Self::Gate(message) => f.write_str(message),
            Self::AlreadyReported { status } => write!(f, "a worker ended with status {status}"),
            Self::ClosedPipe => f.write_str("the output was closed"),
            Self::Stopped { signal } => write!(f, "stopped by signal {signal}"),
        }
    }
}

impl From<DirectoryError> for CliError {
    fn from(error: DirectoryError) -> Self {
        if error.is_unsuitable {
            return Self::Input(format!("{error}\nhelp: -o takes a new or empty directory, or that of an earlier run"));
        }
        Self::Run(format!("{error}\nhelp: is there room on the device? Nothing has been written"))
    }
}

/// The command as it was given, or as another program would have given it. What is not UTF-8 in it is replaced, since it is only shown and
/// kept.
pub(crate) fn command_line() -> Vec<String> {
    if let Some(words) = embed::words() {
        return words;
    }
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// A command as a shell takes it: what has blanks or signs in it is quoted.
pub(crate) fn for_shell(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// Says what to do about a bug.
pub(crate) fn report_panic(panic: &PanicHookInfo<'_>) {
    use std::io::Write;
    let command = command_line();
    let panic: String = panic.to_string().chars().take(MAX_PANIC).collect();
    let mut stderr = io::stderr().lock();
    // Nothing can be done if this cannot be written.
    let _ = writeln!(
        stderr,
        "fairlab has a bug: {panic}\nhelp: please report it, with this command and its input files: {}",
        for_shell(&command)
    );
}
