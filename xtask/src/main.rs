// SPDX-License-Identifier: GPL-2.0-or-later
//! Chores of the project: `cargo xtask --help`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command for people")]

mod bench_oracle;
mod browser;
mod codegen;
mod engines;
mod fuzz_oracle;
mod fuzz_targets;
mod instructions;
mod language;
mod licences;
mod long;
mod mixes;
mod oracle;
mod programs;
mod readme;
mod release;
mod scale;
mod storeys;
mod table;
mod tables;
mod tidy;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Chores of the project.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check heads and lengths of files, plain language, commit subjects, and the direction of dependencies.
    Tidy,
    /// Print how the files of the scheduler's crate call each other, by storeys.
    Storeys,
    /// Write what is generated: the book's page of switches, and its list of places that differ on purpose.
    Codegen(codegen::Args),
    /// Print avoided words, numbers about comments and names, and passages for readers.
    Language(language::Args),
    /// Check that the licences of all dependencies are among those that deny.toml allows.
    Licences,
    /// Print one of the README's two commands.
    ReadmeCommand {
        /// Which one.
        which: readme::Which,
    },
    /// Compare random scenarios with the reference program or an engine, line by line.
    Oracle(oracle::Args),
    /// Compare random scenarios of the whole grammar with the reference program, byte by byte.
    FuzzOracle(fuzz_oracle::Args),
    /// Run the fuzz targets of the readers, each for some time.
    FuzzTargets(fuzz_targets::Args),
    /// Compare the speed of whole runs with the reference program, in one run.
    BenchOracle(bench_oracle::Args),
    /// Use every control of the page of `fairlab report` in a headless Chromium.
    Browser(browser::Args),
    /// Time and memory of whole runs on machines of 16 to 4096 CPUs, in one run.
    BenchScale(scale::Args),
    /// Build the optimised program: a static file, compiled with a profile of the project's own runs.
    Release(release::Args),
    /// Count the instructions of standard runs, and compare with golden/instructions.toml.
    Instructions(instructions::Args),
    /// The long check: all tests, large swarms, ten thousand scenarios against the reference, the book, the optimised program.
    Long(long::Args),
    /// Builds an engine of each kernel tree that is there, and runs all scenarios with it.
    Engines(engines::Args),
}

fn main() -> Result<()> {
    match Cli::parse().chore {
        Chore::Tidy => tidy::check(&root()),
        Chore::Storeys => storeys::print(&root()),
        Chore::Codegen(args) => codegen::run(&root(), &args),
        Chore::Language(args) => language::run(&root(), &args),
        Chore::Licences => licences::check(&root()),
        Chore::ReadmeCommand { which } => readme::print_command(&root(), which),
        Chore::Oracle(args) => oracle::compare(&root(), &args),
        Chore::FuzzOracle(args) => fuzz_oracle::run(&root(), &args),
        Chore::FuzzTargets(args) => fuzz_targets::run(&root(), &args),
        Chore::BenchOracle(args) => bench_oracle::bench(&root(), &args),
        Chore::Browser(args) => browser::run(&root(), &args),
        Chore::BenchScale(args) => scale::bench(&root(), &args),
        Chore::Release(args) => release::build(&root(), &args),
        Chore::Instructions(args) => instructions::run(&root(), &args),
        Chore::Long(args) => long::run(&root(), &args),
        Chore::Engines(args) => engines::run(&root(), &args),
    }
}

/// The root of the workspace.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}
