// SPDX-License-Identifier: GPL-2.0-or-later
//! The `fairlab` command: glue and presentation only.
//!
//! Standard output carries results, standard error everything else. Exit status: 0 for success (a reader that closes the
//! pipe is one), 1 for a run that failed, 2 for input that is wrong, with the file, the place and the way out.

mod args;
mod cmd;
mod error;
mod exports;
mod input;
mod output;
mod plan;
mod rerun;

use args::{Args, Command};
use clap::Parser;
use error::CliError;
use output::Output;
use std::process::ExitCode;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(error::report_panic));
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return output::explain_usage(&error),
    };
    let mut output = Output::new(args.color, args.json);
    let result = match &args.command {
        Command::Run(run) => cmd::run::run(&mut output, run),
        Command::Compare(compare) => cmd::compare::compare(&mut output, compare),
        Command::Explain(explain) => cmd::explain::explain(&mut output, explain),
        Command::Export(export) => cmd::export::export(&mut output, export),
        Command::Findings(findings) => cmd::findings::findings(&mut output, findings),
        Command::Report(report) => cmd::report::report(&mut output, report),
        Command::Bench(bench) => cmd::bench::bench(&mut output, &bench.bench),
        Command::Check(check) => cmd::check::check(&mut output, check),
        Command::Machine(machine) => cmd::machine::machine(&mut output, machine),
        Command::Features => cmd::features::features(&mut output),
        Command::Tunables(tunables) => cmd::tunables::tunables(&mut output, tunables),
        Command::Kernels => cmd::kernels::kernels(&mut output),
        Command::Study(study) => cmd::study::study(&mut output, study),
        Command::Completions(completions) => cmd::completions::completions(&mut output, completions),
    };
    match result.and_then(|()| output.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(CliError::ClosedPipe) => ExitCode::SUCCESS,
        Err(error) => {
            output.complain(&error);
            ExitCode::from(error.status())
        }
    }
}
