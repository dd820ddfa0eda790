// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs of a command as values, without running them.

use super::{CallError, parse};
use crate::args::Command;
use fairlab_run::spec::RunSpec;
use fairlab_workload::message::Message;
use serde::Serialize;

/// Runs of `fairlab run` or `fairlab compare`.
#[derive(Debug, Serialize)]
pub struct CommandSpecs {
    /// Run of each arm, in the order of the arms; with repetitions, the first one. Texts of workload files are included.
    pub specs: Vec<RunSpec>,
    /// Whether each arm runs several times.
    pub is_repeated: bool,
}

/// Returns the runs of a command line, whose first word is `fairlab`. Workload files are read, and nothing is run.
///
/// # Errors
/// If the command line is wrong, a workload cannot be read, or the command is neither `run` nor `compare`.
pub fn of_command(words: &[String]) -> Result<CommandSpecs, CallError> {
    match parse(words)?.command {
        Command::Run(args) => Ok(CommandSpecs { specs: vec![args.spec()?], is_repeated: false }),
        Command::Compare(args) => Ok(CommandSpecs { specs: args.specs()?, is_repeated: !args.is_single() }),
        _ => Err(CallError::Input(
            Message::new("this command has no runs as values").with_help("give `run` or `compare`"),
        )),
    }
}
