// SPDX-License-Identifier: GPL-2.0-or-later
//! fairlab inside another program, which passes the arguments of a command and gets results as values.
//! Options, defaults and errors are those of the command.
//!
//! [`command`] runs any command. A [`run::EmbeddedRun`] is a run with tables and an HTML report; a
//! [`sweep::EmbeddedSweep`] has points that are run one by one, in any process. [`specs::of_command`] returns the runs of a command
//! without running them. Workloads and machines may be
//! texts that the program holds, and its own policies may select CPUs ([`MemoryTexts`]). [`stop`] ends all
//! calls in progress.

pub mod run;
pub mod specs;
pub mod sweep;

pub use crate::values::host::stop;
pub use fairlab_run::memory::MemoryTexts;
pub use fairlab_run::policies::PolicyFactory;
pub use fairlab_workload::message::Message;

use crate::args::Args;
use crate::output::Output;
use crate::values::error::CliError;
use crate::values::host;
use clap::Parser;
use fairlab_run::manifest::from_json;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;

/// Error of a call. Messages are those of the command, with a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// Wrong input; the message names the place and a remedy.
    Input(Message),
    /// A run could not continue, or its results could not be written.
    Run(Message),
    /// A required condition does not hold.
    Gate(Message),
    /// The program requested the end of the call.
    Stopped,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) | Self::Run(message) | Self::Gate(message) => message.fmt(f),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for CallError {}

impl From<CliError> for CallError {
    fn from(error: CliError) -> Self {
        match error {
            CliError::Input(message) => Self::Input(message),
            CliError::Run(message) => Self::Run(message),
            CliError::Gate(message) => Self::Gate(message),
            CliError::Stopped { .. } => Self::Stopped,
            CliError::ClosedPipe | CliError::AlreadyReported { .. } => Self::Run(Message::new(error.to_string())),
        }
    }
}

/// Output of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOutput {
    /// Text for standard output, in pieces.
    pub results: Vec<String>,
    /// Text for standard error.
    pub warnings: Vec<String>,
}

/// Runs a command. `words` are the arguments after `fairlab`, and `settings` the settings of its run as JSON.
/// Both may have placeholders for texts and policies (see [`MemoryTexts`]).
///
/// # Errors
/// Those of the command.
pub fn command(words: &[String], settings: Option<&str>, texts: &MemoryTexts) -> Result<CallOutput, CallError> {
    let call = EmbeddedCall::new(words, texts);
    let mut args = parse(&call.words)?;
    if let Some(settings) = settings {
        args.command.add_settings(&read_value(settings, texts)?)?;
    }
    let mut output = Output::for_caller(args.json);
    let result = crate::cmd::dispatch(&mut output, &args.command);
    call.end(result)?;
    let (results, warnings) = output.into_results();
    Ok(CallOutput { results, warnings })
}

/// Runs a function with at most `jobs` runs at a time, instead of one per core.
///
/// # Errors
/// If the thread pool cannot be created.
pub fn with_jobs<T: Send>(jobs: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T, CallError> {
    let Some(jobs) = jobs else { return Ok(work()) };
    fairlab_experiment::pool::with(jobs, work)
        .map_err(|error| CallError::Input(Message::new(format!("{jobs} jobs at a time: {error}"))))
}

/// Parses arguments; errors have the texts of the command line.
fn parse(words: &[String]) -> Result<Args, CallError> {
    Args::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        CallError::Input(Message::new(text.trim_start_matches("error: ").trim_end().to_owned()))
    })
}

/// Reads a value from JSON whose strings may have placeholders.
fn read_value<T: DeserializeOwned>(json: &str, texts: &MemoryTexts) -> Result<T, CallError> {
    let mut json = serde_json::from_str(json).map_err(|error| CallError::Input(Message::new(error.to_string())))?;
    resolve_names(&mut json, texts);
    from_json(json).map_err(|error| CallError::Input(Message::new(error.to_string())))
}

fn resolve_names(json: &mut Value, texts: &MemoryTexts) {
    match json {
        Value::String(text) => *text = texts.resolve_names(text),
        Value::Array(values) => values.iter_mut().for_each(|value| resolve_names(value, texts)),
        Value::Object(members) => members.values_mut().for_each(|value| resolve_names(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Call of the embedding program; it ends when this is dropped.
struct EmbeddedCall {
    /// Arguments, beginning with `fairlab`.
    words: Vec<String>,
}

impl EmbeddedCall {
    fn new(words: &[String], texts: &MemoryTexts) -> Self {
        let words: Vec<String> =
            std::iter::once("fairlab".to_owned()).chain(words.iter().map(|word| texts.resolve_names(word))).collect();
        host::begin_call(words.clone());
        Self { words }
    }

    /// Ends the call and returns its result; a stopped call has none.
    fn end<T>(self, result: Result<T, CliError>) -> Result<T, CallError> {
        if host::is_stop_requested() { Err(CallError::Stopped) } else { result.map_err(CallError::from) }
    }
}

impl Drop for EmbeddedCall {
    fn drop(&mut self) {
        host::end_call();
    }
}

#[cfg(test)]
mod tests;
