// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of `fairlab patch`.

use crate::args::JobsArgs;
use crate::args::settings::SettingArgs;
use clap::{Args, ValueHint};
use fairlab_run::settings::commands;
use fairlab_run::values::parse_time;
use fairlab_sched::units::Nanos;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Both kernels are built if they do not exist yet, and run on a fleet of machines, each with workloads that suit it. \
Every repetition has its own seed, shared by both kernels. Exit status: 0 no metric became worse, 1 a metric became \
worse, or only the patched kernel warns, loses a wake-up or does not return, 2 the comparison could not be run. Ctrl-C \
ends it, and the cases that were run are printed.

Examples:
  fairlab patch ~/linux HEAD~1..HEAD       effect of the last commit
  fairlab patch ~/linux --patch fix.diff   effect of a patch
  fairlab patch kernel:base kernel:fix     two engines of `fairlab kernel list`
  fairlab patch ~/linux --patch fix.diff --only epyc --runs 20
  fairlab patch kernel:base kernel:fix --features NO_RUN_TO_PARITY
  fairlab patch kernel:base kernel:fix --budget 10m --json";

/// Kernels to compare, cases, and number of repetitions.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct PatchArgs {
    /// Kernel tree (folder, tarball, debian:VERSION), or kernel:NAME
    #[arg(value_name = "TREE|kernel:NAME", value_hint = ValueHint::AnyPath)]
    pub(crate) base: String,
    /// Commits of the tree, BASE..HEAD; or the second engine, kernel:NAME
    #[arg(value_name = "BASE..HEAD|kernel:NAME", required_unless_present = "patch", conflicts_with = "patch")]
    pub(crate) other: Option<String>,
    /// Patch to the tree (`git diff`); may be repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) patch: Vec<PathBuf>,
    /// Line for the configuration of both kernels, such as CONFIG_HZ_1000=y; may be repeated
    #[arg(long, value_name = "CONFIG_X=VALUE")]
    pub(crate) config: Vec<String>,
    /// Only cases whose machine or workload contains TEXT in its name; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Vec<String>,
    /// Number of runs of each case with each kernel [default: 12, the minimum for a significant difference;
    /// with a budget, as many as fit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) runs: Option<u64>,
    /// Time to spend on repetitions, divided equally between the cases
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with = "runs")]
    pub(crate) budget: Option<Nanos>,
    /// Seed of the first repetition
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Locate the first difference in up to N cases
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) differences: usize,
    /// Do not measure which statements of the patch the runs reach, which takes a second build and one more run
    /// of each case
    #[arg(long)]
    pub(crate) no_coverage: bool,
    /// List the cases, and run nothing
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) settings: SettingArgs<{ commands::PATCH }>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
}
