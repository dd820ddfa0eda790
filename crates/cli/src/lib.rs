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

mod args;
mod arms;
mod cmd;
#[cfg(test)]
mod documentation;
pub mod embed;
mod error;
mod execute;
mod exports;
mod hints;
mod interrupt;
mod output;
mod rerun;
mod settings_args;
mod trial;
mod whole_file;
mod work_args;
mod worker;

use args::{Args, Command};
use clap::Parser;
use clap::error::ErrorKind;
use error::CliError;
use output::Output;
use std::ffi::OsString;
use std::process::ExitCode;

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
        return worker::serve(&report);
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return show_help(),
        Err(error) => return output::explain_usage(&error),
    };
    let mut output = Output::new(args.color, args.json);
    let result = dispatch(&mut output, &args.command);
    match result.and_then(|()| output.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(CliError::ClosedPipe) => ExitCode::SUCCESS,
        Err(CliError::AlreadyReported { status }) => ExitCode::from(status),
        // The signal has been reported with the partial results.
        Err(CliError::Stopped { signal }) => ExitCode::from(128 + signal),
        Err(error) => {
            output.report_error(&error);
            ExitCode::from(error.status())
        }
    }
}

/// Rejects several engines for a command that takes one.
fn refuse_several_engines(command: &Command) -> Result<(), CliError> {
    match command {
        Command::Run(run) => run.settings.refuse_several_engines(),
        Command::Bisect(bisect) => bisect.work.settings.refuse_several_engines(),
        Command::Fuzz(fuzz) => fuzz.settings.refuse_several_engines(),
        Command::Replay(replay) => replay.settings.refuse_several_engines(),
        Command::Bench(bench) => bench.settings.refuse_several_engines(),
        Command::Check(check) => check.settings.refuse_several_engines(),
        _ => Ok(()),
    }
}

fn dispatch(output: &mut Output, command: &Command) -> Result<(), CliError> {
    refuse_several_engines(command)?;
    match command {
        Command::Run(run) => cmd::run::run(output, run),
        Command::Compare(compare) => cmd::compare::compare(output, compare),
        Command::Sweep(sweep) => cmd::sweep::sweep(output, sweep),
        Command::Bisect(bisect) => cmd::bisect::bisect(output, bisect),
        Command::Fuzz(fuzz) => cmd::fuzz::fuzz(output, fuzz),
        Command::Explain(explain) => cmd::explain::explain(output, explain),
        Command::Export(export) => cmd::export::export(output, export),
        Command::Import(import) => cmd::import::import(output, import),
        Command::Replay(replay) => cmd::replay::replay(output, replay),
        Command::Findings(findings) => cmd::findings::findings(output, findings),
        Command::Report(report) => cmd::report::report(output, report),
        Command::Bench(bench) => cmd::bench::bench(output, bench),
        Command::Check(check) => cmd::check::check(output, check),
        Command::Machine(machine) => cmd::machine::machine(output, machine),
        Command::Features(features) => cmd::features::features(output, features),
        Command::Tunables(tunables) => cmd::tunables::tunables(output, tunables),
        Command::Kernel(kernel) => cmd::kernel::kernel(output, kernel),
        Command::Patch(patch) => cmd::patch::patch(output, patch),
        Command::Kernels(kernels) => cmd::kernels::kernels(output, kernels),
        Command::Study(study) => cmd::study::study(output, study),
        Command::Schema(schema) => cmd::schema::schema(output, schema),
        Command::Man(man) => cmd::man::man(output, man),
        Command::Completions(completions) => cmd::completions::completions(output, completions),
    }
}
