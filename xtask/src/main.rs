// SPDX-License-Identifier: GPL-2.0-or-later
//! Commands for developers of the project: `cargo xtask --help`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command for people")]

mod arrows;
mod audit;
mod bench_oracle;
mod benchmarks;
mod book;
mod browser;
mod codegen;
mod count;
mod engine_walk;
mod engines;
mod extended;
mod fuzz_oracle;
mod fuzz_targets;
mod instructions;
mod lab;
mod language;
mod layers;
mod licences;
mod mixes;
mod mutants;
mod oracle;
mod pair_states;
mod paths;
mod programs;
mod python;
mod random;
mod readme;
mod real_programs;
mod release;
mod requirement;
mod scale;
#[cfg(test)]
mod shared_features;
mod study_results;
mod table;
mod tables;
mod tidy;
mod valgrind;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use std::path::PathBuf;

/// Commands for developers of the project.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: XtaskCommand,
}

#[derive(Subcommand)]
enum XtaskCommand {
    /// Check file headers and lengths, plain language, commit subjects, and the direction of dependencies.
    Tidy,
    /// Print calls and references between the files of a crate, their cycles, and calls between layers.
    #[command(alias = "storeys")]
    Layers(layers::LayersArgs),
    /// Write the generated parts of the book: switches, intended differences from the kernel, keys and
    /// statements.
    Codegen(codegen::CodegenArgs),
    /// Print avoided words, statistics of comments and names, and passages for readers.
    Language(language::LanguageArgs),
    /// Check that deny.toml allows the licences of all dependencies.
    Licences,
    /// Print one of the README's two commands.
    ReadmeCommand {
        /// README command to print.
        which: readme::ReadmeCommand,
    },
    /// Compare random scenarios with the reference program or an engine, line by line.
    Oracle(oracle::OracleArgs),
    /// Compare random scenarios of the whole grammar with the reference program, byte by byte.
    FuzzOracle(fuzz_oracle::FuzzOracleArgs),
    /// Run the fuzz targets of the parsers for a given time.
    FuzzTargets(fuzz_targets::FuzzTargetsArgs),
    /// Recompute every reported metric from event logs, and compare.
    ///
    /// Runs are the scenarios, those of xtask/audit/runs, and random ones. An interrupted audit continues.
    Audit(audit::AuditArgs),
    /// Test the tests: change the code that reports numbers, and count how many changes they find.
    Mutants(mutants::MutantsArgs),
    /// Compare the speed of whole runs with the reference program.
    BenchOracle(bench_oracle::BenchOracleArgs),
    /// Use every control of the page of `fairlab report` in a headless Chromium.
    Browser(browser::BrowserArgs),
    /// Build the page of `fairlab lab`, or check its WebAssembly module in Node.
    ///
    /// Needs rustup's target wasm32-unknown-unknown.
    Lab(lab::LabArgs),
    /// Write the book as a site that opens from disk, with buttons that run its commands in the page of `fairlab lab`.
    ///
    /// Needs rustup's target wasm32-unknown-unknown.
    Book(book::BookArgs),
    /// Measure time and memory of whole runs on machines of 16 to 4096 CPUs.
    BenchScale(scale::BenchScaleArgs),
    /// Build the optimised program: a static file, compiled with a profile of the project's own runs.
    Release(release::ReleaseArgs),
    /// Count the instructions of standard runs, and compare with golden/instructions.toml.
    Instructions(instructions::InstructionsArgs),
    /// Count the instructions of each path of the scheduler, beside those of the reference program.
    ///
    /// The paths are those of xtask/paths.toml. Each instruction belongs to one path: in fairlab to that of the
    /// source function, so that inlined code counts where it is written, and in the reference program to that
    /// of the compiled function. Functions of no path count for their callers. Compares fairlab with
    /// golden/paths.toml.
    Paths(paths::PathsArgs),
    /// Count the instructions and cache-line transfers of running kernels under QEMU, and write count sheets.
    ///
    /// Needs Debian's qemu-system-x86 or qemu-system-arm and a C compiler. A count takes minutes; an interrupted
    /// command continues with the counts that are complete.
    Count(count::CountArgs),
    /// Record what real benchmark programs do in a booted kernel, per transaction.
    ///
    /// Needs Debian's qemu-system-x86, busybox-static, a C compiler, and the programs.
    RealPrograms(real_programs::RealProgramsArgs),
    /// Record which kernel threads, timers and softirqs of an otherwise idle and of a busy kernel run, and how long.
    ///
    /// Needs Debian's qemu-system-x86 and busybox-static, and a C compiler.
    Background(real_programs::background::BackgroundArgs),
    /// Run the extended tests: all tests, large swarms, ten thousand scenarios against the reference, the
    /// book, the optimised program.
    #[command(alias = "long")]
    Extended(extended::ExtendedArgs),
    /// Build an engine of each available kernel tree, and run all scenarios with it.
    Engines(engines::EnginesArgs),
    /// Check that engines are those of the requested commits, whatever was built or interrupted before.
    EngineWalk(engine_walk::EngineWalkArgs),
}

fn main() -> Result<()> {
    match Cli::parse().command {
        XtaskCommand::Tidy => tidy::check(&root(), &command_names()),
        XtaskCommand::Layers(args) => layers::print(&root(), &args),
        XtaskCommand::Codegen(args) => codegen::run(&root(), &args),
        XtaskCommand::Language(args) => language::run(&root(), &args),
        XtaskCommand::Licences => licences::check(&root()),
        XtaskCommand::ReadmeCommand { which } => readme::print_command(&root(), which),
        XtaskCommand::Oracle(args) => oracle::compare(&root(), &args),
        XtaskCommand::FuzzOracle(args) => fuzz_oracle::run(&root(), &args),
        XtaskCommand::FuzzTargets(args) => fuzz_targets::run(&root(), &args),
        XtaskCommand::Audit(args) => audit::run(&root(), &args),
        XtaskCommand::Mutants(args) => mutants::run(&root(), &args),
        XtaskCommand::BenchOracle(args) => bench_oracle::bench(&root(), &args),
        XtaskCommand::Browser(args) => browser::run(&root(), &args),
        XtaskCommand::Lab(args) => lab::run(&root(), &args),
        XtaskCommand::Book(args) => book::run(&root(), &args),
        XtaskCommand::BenchScale(args) => scale::bench(&root(), &args),
        XtaskCommand::Release(args) => release::build(&root(), &args),
        XtaskCommand::Instructions(args) => instructions::run(&root(), &args),
        XtaskCommand::Paths(args) => paths::run(&root(), &args),
        XtaskCommand::Count(args) => count::run(&root(), &args),
        XtaskCommand::RealPrograms(args) => real_programs::run(&root(), &args),
        XtaskCommand::Background(args) => real_programs::background::run(&root(), &args),
        XtaskCommand::Extended(args) => extended::run(&root(), &args),
        XtaskCommand::Engines(args) => engines::run(&root(), &args),
        XtaskCommand::EngineWalk(args) => engine_walk::run(&root(), &args),
    }
}

/// Returns the root of the workspace.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}

/// Returns the names of the commands and their aliases.
fn command_names() -> Vec<String> {
    let of = |command: &clap::Command| {
        let names = command.get_all_aliases().chain([command.get_name()]);
        names.map(str::to_owned).collect::<Vec<String>>()
    };
    Cli::command().get_subcommands().flat_map(of).collect()
}
