// SPDX-License-Identifier: GPL-2.0-or-later
//! The `fairlab` command: argument handling and presentation of results.
//!
//! Standard output carries results, standard error everything else. Exit status:
//! - 0: success, also if a reader closes the pipe.
//! - 1: a run failed.
//! - 2: the input is wrong; the message names the file, the place and a remedy.
//! - 3: a comparison failed a condition that an option set.
//! - 128 plus the signal's number: a signal stopped the run.
//!
//! [`main`] is the program. [`embed`] is for programs that pass command-line arguments and keep results as
//! values, such as the Python package.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests advance machines by hand"))]

mod args;
mod cmd;
#[cfg(test)]
mod documentation;
pub mod embed;
mod execution;
mod output;
mod values;

use args::Args;
use clap::Parser;
use clap::error::ErrorKind;
use output::Output;
use std::ffi::OsString;
use std::process::ExitCode;
use values::error::{self, CliError};

/// Prints the help of a command that lacks its required arguments, and returns status 2.
fn show_help() -> ExitCode {
    let words = std::env::args_os().chain([OsString::from("--help")]);
    if let Err(help) = Args::try_parse_from(words) {
        output::explain_usage(&help);
    }
    ExitCode::from(2)
}

/// Runs the program and returns its exit status.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(error::report_panic));
    if let Some(report) = fairlab_kernel::worker::worker_report_path() {
        return execution::worker::serve(&report);
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return show_help(),
        Err(error) => return output::explain_usage(&error),
    };
    let mut output = Output::new(args.color, args.json);
    let result = cmd::dispatch(&mut output, &args.command);
    match result.and_then(|()| output.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(CliError::ClosedPipe) => ExitCode::SUCCESS,
        Err(CliError::AlreadyReported { status }) => ExitCode::from(status),
        // The signal has been reported with the partial results.
        Err(CliError::Stopped { signal }) => ExitCode::from(128 + signal),
        Err(error) => {
            let status = error.status();
            output.report_error(error);
            ExitCode::from(status)
        }
    }
}
