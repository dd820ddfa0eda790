// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `fairlab patch`.

use crate::args::JobsArgs;
use crate::values::time_of;
use clap::{Args, ValueHint};
use fairlab_sched::units::Nanos;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Both kernels are built, if they are not there yet, and run on a fleet of machines, each with the workloads that suit it. Every repetition has its own
seed, in both kernels the same. Exit status: 0 nothing became worse, 1 something did, 2 it could not be run.

Examples:
  fairlab patch ~/linux HEAD~1..HEAD                what the last commit does
  fairlab patch ~/linux --patch fix.diff            the tree with and without a patch
  fairlab patch kernel:base kernel:fix              two engines that are there (`fairlab kernel list`)
  fairlab patch ~/linux --patch fix.diff --only epyc --runs 20
  fairlab patch kernel:base kernel:fix --budget 10m --json";

/// What is compared, and how long.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct PatchArgs {
    /// A kernel tree (folder, tarball, debian:VERSION), or kernel:NAME
    #[arg(value_name = "TREE|kernel:NAME", value_hint = ValueHint::AnyPath)]
    pub(crate) base: String,
    /// Commits of the tree, BASE..HEAD; or the other kernel:NAME
    #[arg(value_name = "BASE..HEAD|kernel:NAME", required_unless_present = "patch", conflicts_with = "patch")]
    pub(crate) other: Option<String>,
    /// A patch to the tree (`git diff`); several times if need be
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) patch: Vec<PathBuf>,
    /// A line for the configuration of both, such as CONFIG_HZ_1000=y; several times if need be
    #[arg(long, value_name = "CONFIG_X=VALUE")]
    pub(crate) config: Vec<String>,
    /// Only cases whose machine or workload has this in its name; several times
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Vec<String>,
    /// Run each case so often with each kernel [default: as often as a difference needs to be found, 12 times; with a budget, as often as it has room for]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) runs: Option<u64>,
    /// Repeat for this long, each case as often as the others
    #[arg(long, value_name = "TIME", value_parser = time_of, conflicts_with = "runs")]
    pub(crate) budget: Option<Nanos>,
    /// The seed of the first repetition
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Show where the two first differ in so many cases
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) differences: usize,
    /// Do not ask which lines of the patch the runs have reached: that takes another build, and another run of each case
    #[arg(long)]
    pub(crate) no_coverage: bool,
    /// List the cases, and run nothing
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
}
