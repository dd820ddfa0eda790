// SPDX-License-Identifier: GPL-2.0-or-later
//! The commands, one module each.

pub(crate) mod bench;
pub(crate) mod bisect;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod conformance;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod features;
pub(crate) mod findings;
pub(crate) mod fuzz;
pub(crate) mod import;
pub(crate) mod kernel;
pub(crate) mod kernels;
pub(crate) mod lab;
pub(crate) mod machine;
pub(crate) mod man;
pub(crate) mod patch;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod study;
pub(crate) mod sweep;
pub(crate) mod tunables;

use crate::args::Command;
use crate::output::Output;
use crate::values::error::CliError;

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

/// Runs a command.
pub(crate) fn dispatch(output: &mut Output, command: &Command) -> Result<(), CliError> {
    refuse_several_engines(command)?;
    match command {
        Command::Run(run) => run::run(output, run),
        Command::Compare(compare) => compare::compare(output, compare),
        Command::Sweep(sweep) => sweep::sweep(output, sweep),
        Command::Bisect(bisect) => bisect::bisect(output, bisect),
        Command::Fuzz(fuzz) => fuzz::fuzz(output, fuzz),
        Command::Explain(explain) => explain::explain(output, explain),
        Command::Export(export) => export::export(output, export),
        Command::Import(import) => import::import(output, import),
        Command::Replay(replay) => replay::replay(output, replay),
        Command::Findings(findings) => findings::findings(output, findings),
        Command::Report(report) => report::report(output, report),
        Command::Bench(bench) => bench::bench(output, bench),
        Command::Check(check) => check::check(output, check),
        Command::Lab(args) => lab::lab(output, args),
        Command::Machine(machine) => machine::machine(output, machine),
        Command::Features(features) => features::features(output, features),
        Command::Tunables(tunables) => tunables::tunables(output, tunables),
        Command::Kernel(kernel) => kernel::kernel(output, kernel),
        Command::Patch(patch) => patch::patch(output, patch),
        Command::Kernels(kernels) => kernels::kernels(output, kernels),
        Command::Study(study) => study::study(output, study),
        Command::Conformance(conformance) => conformance::conformance(output, conformance),
        Command::Schema(schema) => schema::schema(output, schema),
        Command::Man(man) => man::man(output, man),
        Command::Completions(completions) => completions::completions(output, completions),
    }
}
