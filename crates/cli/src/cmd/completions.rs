// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab completions`: scripts that let a shell complete fairlab's commands and options.

use crate::args::{Args, CompletionsArgs};
use crate::error::CliError;
use crate::output::Output;
use clap::CommandFactory;

/// Runs the command.
pub(crate) fn completions(output: &mut Output, args: &CompletionsArgs) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "fairlab", &mut script);
    output.text(&String::from_utf8_lossy(&script))
}
