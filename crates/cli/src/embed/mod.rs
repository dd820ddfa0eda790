// SPDX-License-Identifier: GPL-2.0-or-later
//! fairlab inside another program, which gives the words of a command and gets results as values: options, defaults and errors are those
//! of the command, since it is the command.
//!
//! [`command`] does any command. A [`run::Run`] is a run that can be asked for its tables and its page; a [`sweep::Sweep`] has points that are run
//! one by one, wherever. Workloads and machines may be texts that the program holds, and its own policies may select CPUs ([`MemoryTexts`]). [`stop`] ends everything that is under way.

pub(crate) mod memory_files;
pub(crate) mod policies;
pub mod run;
pub mod sweep;

pub use memory_files::MemoryTexts;
pub use policies::MakePolicy;

use crate::args::Args;
use crate::error::CliError;
use crate::output::Output;
use clap::Parser;
use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many calls are under way.
static CALLS: AtomicUsize = AtomicUsize::new(0);
/// Whether there has been one.
static IS_EMBEDDED: AtomicBool = AtomicBool::new(false);
/// Whether they are to end.
static IS_ASKED_TO_STOP: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The words of the call of this thread.
    static WORDS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Why something was not done. Messages are those of the command, with the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallFailure {
    /// Something that was given is wrong.
    Input(String),
    /// A run could not go on, or its results could not be written.
    Run(String),
    /// What was asked to hold does not.
    Gate(String),
    /// Somebody asked for the end.
    Stopped,
}

impl fmt::Display for CallFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) | Self::Run(message) | Self::Gate(message) => f.write_str(message),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for CallFailure {}

impl From<CliError> for CallFailure {
    fn from(error: CliError) -> Self {
        match error {
            CliError::Input(message) => Self::Input(message),
            CliError::Run(message) => Self::Run(message),
            CliError::Gate(message) => Self::Gate(message),
            CliError::Stopped { .. } => Self::Stopped,
            CliError::ClosedPipe | CliError::AlreadyReported { .. } => Self::Run(error.to_string()),
        }
    }
}

/// What a command told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOutput {
    /// What it would have written to standard output, piece by piece.
    pub results: Vec<String>,
    /// What it would have said beside that.
    pub warnings: Vec<String>,
}

/// Does a command: words as behind `fairlab`, in which texts stand by their places (see [`MemoryTexts`]).
///
/// # Errors
/// Those of the command.
pub fn command(words: &[String], texts: &MemoryTexts) -> Result<CallOutput, CallFailure> {
    let call = EmbeddedCall::new(words, texts);
    let args = parse(&call.words)?;
    let mut output = Output::for_caller(args.json);
    let result = crate::dispatch(&mut output, &args.command);
    call.end(result)?;
    let (results, warnings) = output.into_results();
    Ok(CallOutput { results, warnings })
}

/// Asks everything that is under way to end. What begins when all of it has ended is not meant.
pub fn stop() {
    if CALLS.load(Ordering::SeqCst) > 0 {
        IS_ASKED_TO_STOP.store(true, Ordering::SeqCst);
    }
}

/// At most so many runs of one call at a time, instead of one for each core.
///
/// # Errors
/// If there cannot be so many.
pub fn with_jobs<T: Send>(jobs: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T, CallFailure> {
    let Some(jobs) = jobs else { return Ok(work()) };
    fairlab_study::pool::with(jobs, work).map_err(|error| CallFailure::Input(format!("{jobs} jobs at a time: {error}")))
}

/// The words of the command that a program gives, as if somebody had typed them.
pub(crate) fn words() -> Option<Vec<String>> {
    WORDS.with_borrow(Clone::clone)
}

/// Whether signals, and what is shown on a terminal, are another program's affair.
pub(crate) fn is_embedded() -> bool {
    IS_EMBEDDED.load(Ordering::Relaxed)
}

/// Whether what is under way is to end.
pub(crate) fn is_asked_to_stop() -> bool {
    IS_ASKED_TO_STOP.load(Ordering::Relaxed)
}

/// Reads words; what is wrong with them is told as on the command line.
fn parse(words: &[String]) -> Result<Args, CallFailure> {
    Args::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        CallFailure::Input(text.trim_start_matches("error: ").trim_end().to_owned())
    })
}

/// A call that is under way.
struct EmbeddedCall {
    /// The words, with `fairlab` before them.
    words: Vec<String>,
}

impl EmbeddedCall {
    fn new(words: &[String], texts: &MemoryTexts) -> Self {
        IS_EMBEDDED.store(true, Ordering::Relaxed);
        CALLS.fetch_add(1, Ordering::SeqCst);
        let words: Vec<String> =
            std::iter::once("fairlab".to_owned()).chain(words.iter().map(|word| texts.named(word))).collect();
        WORDS.set(Some(words.clone()));
        Self { words }
    }

    /// The result of the call. What somebody has stopped has none.
    fn end<T>(self, result: Result<T, CliError>) -> Result<T, CallFailure> {
        if is_asked_to_stop() { Err(CallFailure::Stopped) } else { result.map_err(CallFailure::from) }
    }
}

impl Drop for EmbeddedCall {
    fn drop(&mut self) {
        WORDS.set(None);
        if CALLS.fetch_sub(1, Ordering::SeqCst) == 1 {
            IS_ASKED_TO_STOP.store(false, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests;
