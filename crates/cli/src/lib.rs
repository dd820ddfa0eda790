// SPDX-License-Identifier: GPL-2.0-or-later
//! The `fairlab` command: glue and presentation only.
//!
//! Standard output carries results, standard error everything else. Exit status: 0 for success (a reader that closes the
//! pipe is one), 1 for a run that failed, 2 for input that is wrong, with the file, the place and the way out, 3 for a comparison that
//! was to fail on what it found, and 128 and the signal's number for a run that a signal has stopped.
//!
//! [`main`] is the program. [`embed`] is for programs of another kind that take the same words and hold the results, as the Python package
//! does.

mod args;
mod arms;
mod cmd;
pub mod embed;
mod engine;
mod error;
mod exports;
mod hints;
mod input;
mod interrupt;
mod output;
mod plan;
mod rerun;
mod trial;
mod values;
mod whole_file;
mod work_args;

use args::{Args, Command, VariantArgs};
use clap::Parser;
use clap::error::ErrorKind;
use error::CliError;
use output::Output;
use std::ffi::OsString;
use std::process::ExitCode;

/// A command without what it needs shows the help of `--help`, and has not done anything.
fn show_help() -> ExitCode {
    let words = std::env::args_os().chain([OsString::from("--help")]);
    if let Err(help) = Args::try_parse_from(words) {
        output::explain_usage(&help);
    }
    ExitCode::from(2)
}

/// The program.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(error::report_panic));
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
        // That has been said with what was reached.
        Err(CliError::Stopped { signal }) => ExitCode::from(128 + signal),
        Err(error) => {
            output.complain(&error);
            ExitCode::from(error.status())
        }
    }
}

/// What a command's workload runs on, if the command takes one engine.
fn variant_of(command: &Command) -> Option<&VariantArgs> {
    match command {
        Command::Run(run) => Some(&run.variant),
        Command::Bisect(bisect) => Some(&bisect.work.variant),
        Command::Fuzz(fuzz) => Some(&fuzz.variant),
        Command::Replay(replay) => Some(&replay.variant),
        Command::Bench(bench) => Some(&bench.bench.on().variant),
        Command::Check(check) => Some(&check.variant),
        _ => None,
    }
}

/// Does what a command says.
fn dispatch(output: &mut Output, command: &Command) -> Result<(), CliError> {
    variant_of(command).map_or(Ok(()), VariantArgs::has_one_engine)?;
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
        Command::Bench(bench) => cmd::bench::bench(output, &bench.bench),
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
