// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors that end a command early, their exit status, and the report of a panic.

use crate::values::{host, interrupt};
use fairlab_kernel::error::KernelError;
use fairlab_run::error::RequestError;
use fairlab_workload::message::Message;
use std::panic::PanicHookInfo;
use std::{fmt, io};

/// Number of characters of a panic's message that are shown: some messages contain whole structures.
const MAX_PANIC: usize = 1000;

/// Reason why a command ends early.
#[derive(Debug)]
pub(crate) enum CliError {
    /// Wrong input of the user. The message says what is wrong, where, and gives a remedy.
    Input(Message),
    /// A run could not continue, or its results could not be written.
    Run(Message),
    /// A required condition does not hold. The results have been written.
    Gate(Message),
    /// A worker process has reported the error.
    AlreadyReported { status: u8 },
    /// The reader of standard output has closed it.
    ClosedPipe,
    Stopped {
        /// Number of the signal.
        signal: u8,
    },
}

impl CliError {
    /// Wraps an error about wrong input.
    pub(crate) fn input(error: impl Into<Message>) -> Self {
        Self::Input(error.into())
    }

    /// Returns the error of wrong input without a place.
    pub(crate) fn with_help(text: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Input(Message::new(text).with_help(help))
    }

    /// Wraps the error of a failed run.
    pub(crate) fn run(error: impl Into<Message>) -> Self {
        Self::Run(error.into())
    }

    /// Wraps the error of a library, which has neither place nor remedy, in a failed run.
    pub(crate) fn failed(error: impl fmt::Display) -> Self {
        Self::Run(Message::new(error.to_string()))
    }

    /// Wraps an error of writing to `what`, a file or stream.
    pub(crate) fn write(what: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Self::Run(Message::in_file(what, format!("cannot be written: {error}")))
    }

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
            Self::Input(message) | Self::Run(message) | Self::Gate(message) => message.fmt(f),
            Self::AlreadyReported { status } => write!(f, "a worker ended with status {status}"),
            Self::ClosedPipe => f.write_str("the output was closed"),
            Self::Stopped { signal } => write!(f, "stopped by signal {signal}"),
        }
    }
}

impl From<CliError> for Message {
    fn from(error: CliError) -> Self {
        match error {
            CliError::Input(message) | CliError::Run(message) | CliError::Gate(message) => message,
            error => Self::new(error.to_string()),
        }
    }
}

impl From<RequestError> for CliError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Input(message) => Self::Input(message),
            RequestError::Run(message) => Self::Run(message),
        }
    }
}

impl From<KernelError> for CliError {
    fn from(error: KernelError) -> Self {
        match error {
            KernelError::Stopped => {
                Self::Stopped { signal: interrupt::requested().unwrap_or(interrupt::DEFAULT_SIGNAL) }
            }
            error if error.is_input() => Self::input(error),
            error => Self::run(error),
        }
    }
}

/// Returns the command line, or that of the embedding program. Bytes that are not UTF-8 are replaced: the
/// text is only shown and stored.
pub(crate) fn command_line() -> Vec<String> {
    if let Some(words) = host::words() {
        return words;
    }
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Quotes a command for a shell.
pub(crate) fn quote_for_shell(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// Prints a panic with a request to report it as a bug.
pub(crate) fn report_panic(panic: &PanicHookInfo<'_>) {
    use std::io::Write;
    let command = command_line();
    let panic: String = panic.to_string().chars().take(MAX_PANIC).collect();
    let mut stderr = io::stderr().lock();
    // A failure to write has no remedy here.
    let command = quote_for_shell(&command);
    let help = format!("please report it, with this command and its input files: {command}");
    let _ = writeln!(stderr, "{}", Message::new(format!("fairlab has a bug: {panic}")).with_help(help));
}
