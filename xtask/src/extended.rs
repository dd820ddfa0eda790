// SPDX-License-Identifier: GPL-2.0-or-later
//! Extended tests: checks that take too long for every change. All steps run, and failures are listed at the
//! end.

use anyhow::{Result, bail};
use clap::Args as ClapArgs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

#[derive(ClapArgs)]
pub(crate) struct ExtendedArgs {
    /// Only print the steps.
    #[arg(long)]
    list: bool,
    /// Only the steps whose name contains this text.
    #[arg(long, default_value = "")]
    only: String,
}

/// Step of the extended tests: its purpose, its program and arguments.
struct CheckStep {
    name: &'static str,
    program: &'static str,
    arguments: &'static str,
}

/// All steps; those that find most errors come first.
const STEPS: &[CheckStep] = &[
    CheckStep { name: "all tests", program: "cargo", arguments: "test --workspace --release --quiet" },
    CheckStep {
        name: "traces as Parquet",
        program: "cargo",
        arguments: "test -p fairlab-traces --release --quiet --features parquet",
    },
    CheckStep {
        name: "two thousand random machines, every invariant after every event",
        program: "cargo",
        arguments: "run --quiet --profile sim -p fairlab-machine --example swarm -- 1 2000",
    },
    CheckStep {
        name: "ten thousand scenarios of the whole grammar against the reference",
        program: "cargo",
        arguments: "xtask fuzz-oracle --ci --scenarios 10000",
    },
    CheckStep {
        name: "ten thousand scenarios of the whole grammar against the reference of 6.12",
        program: "cargo",
        arguments: "xtask fuzz-oracle --ci --scenarios 10000 --version 6.12",
    },
    CheckStep {
        name: "five thousand scenarios with hotplug, cpusets and others against an engine of 6.1",
        program: "cargo",
        arguments: "xtask fuzz-oracle --ci --extensions --scenarios 5000 --first commit",
    },
    CheckStep {
        name: "five thousand scenarios with hotplug, cpusets and others against an engine of 6.12",
        program: "cargo",
        arguments: "xtask fuzz-oracle --ci --extensions --scenarios 5000 --first commit --version 6.12",
    },
    CheckStep {
        name: "a hundred seeds of every profile against the reference",
        program: "cargo",
        arguments: "xtask oracle --seeds 1..100",
    },
    CheckStep {
        name: "a hundred seeds of every profile against the reference of 6.12",
        program: "cargo",
        arguments: "xtask oracle --seeds 1..100 --version 6.12",
    },
    CheckStep {
        name: "long commands of README and book, with small budgets",
        program: "cargo",
        arguments: "test -p fairlab --release --quiet --test it tutorials -- --ignored",
    },
    CheckStep {
        name: "engines of kernel trees, all scenarios and switches",
        program: "cargo",
        arguments: "xtask engines",
    },
    CheckStep {
        name: "engines of twelve commits, in every order and with interruptions",
        program: "cargo",
        arguments: "xtask engine-walk",
    },
    CheckStep {
        name: "the fuzz targets of the parsers, five minutes each",
        program: "cargo",
        arguments: "xtask fuzz-targets --seconds 300",
    },
    CheckStep { name: "the book", program: "cargo", arguments: "xtask book" },
    CheckStep { name: "the optimised program, twice", program: "cargo", arguments: "xtask release --twice" },
];

pub(crate) fn run(root: &Path, args: &ExtendedArgs) -> Result<()> {
    let steps: Vec<&CheckStep> = STEPS.iter().filter(|step| step.name.contains(&args.only)).collect();
    if steps.is_empty() {
        bail!("no step has {:?} in its name\nhelp: `cargo xtask extended --list` lists the steps", args.only);
    }
    let mut failed: Vec<&str> = Vec::new();
    for step in steps {
        println!("== {}: {} {}", step.name, step.program, step.arguments);
        if args.list {
            continue;
        }
        let start = Instant::now();
        if let Err(why) = run_step(root, step) {
            println!("   FAILED: {why}");
            failed.push(step.name);
        }
        println!("   {} s", start.elapsed().as_secs());
    }
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join("; ")) }
}

fn run_step(root: &Path, step: &CheckStep) -> Result<()> {
    let mut command = Command::new(step.program);
    let status = command.args(step.arguments.split(' ')).current_dir(root).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("{status}"),
        Err(error) => {
            bail!("{0} cannot be started: {error}\nhelp: `cargo install --locked {0}`", step.program)
        }
    }
}
