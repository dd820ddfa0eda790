// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of `fairlab kernel bisect`.

use crate::values::expectation::Expectation;
use clap::{Args, ValueHint};
use fairlab_run::values::{Plain, parse_time};
use fairlab_sched::units::Nanos;

const EXAMPLES: &str = "\
Both commits are tested first: the expectation must hold for the good one and fail for the bad one. The value of \
several runs is their median.

Examples:
  fairlab kernel bisect ~/linux v6.5 v6.6 --file load.scn \\
      --expect 'totals.migrations < 500'
  fairlab kernel bisect ~/linux v6.1 v6.6 --bench 'hackbench -g 4 -l 100' \\
      --machine laptop-8 --expect 'time < 80ms' --runs 5
  fairlab kernel bisect ~/linux good bad --file ui.json --machine phone-8 \\
      --expect 'ui: wake to run p99 < 2ms'";

#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct KernelBisectArgs {
    /// Kernel tree with its history
    #[arg(value_name = "TREE", value_hint = ValueHint::DirPath)]
    pub(crate) tree: String,
    /// Commit for which the expectation holds
    pub(crate) good: String,
    /// Later commit for which the expectation fails
    pub(crate) bad: String,
    /// Workload file
    #[arg(long, visible_alias = "scenario", value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "bench")]
    pub(crate) file: Option<String>,
    /// Benchmark line, as `fairlab bench` takes it
    #[arg(long, value_name = "LINE", conflicts_with = "file", requires = "machine")]
    pub(crate) bench: Option<String>,
    /// Machine [default: that of the workload file]
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) machine: Option<String>,
    /// Simplify the machine, as `fairlab run --plain` does
    #[arg(
        long, value_parser = Plain::parse, value_name = "shape|priced", num_args = 0..=1, require_equals = true, default_missing_value = "shape",
    )]
    pub(crate) plain: Option<Plain>,
    /// Expectation: a metric as in `fairlab compare`, or a path; `<` or `>`; and a number or a time
    #[arg(long, value_name = "METRIC < VALUE", value_parser = Expectation::parse)]
    pub(crate) expect: Expectation,
    /// Number of runs of each commit, each with its own seed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub(crate) runs: u64,
    /// Simulated time of each run: 5s, 300ms, ... [default: the file's duration, or 5s]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    pub(crate) duration: Option<Nanos>,
    /// Line for the configuration of all kernels, such as CONFIG_HZ_1000=y; may be repeated
    #[arg(long, value_name = "CONFIG_X=VALUE")]
    pub(crate) config: Vec<String>,
}
