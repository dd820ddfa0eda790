// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of `fairlab bisect`.

use crate::args::JobsArgs;
use crate::args::compare::{percent_of, share_of};
use crate::args::work::WorkArgs;
use crate::values::arms::{Arm, parse_arm};
use crate::values::hints::{self, with_hints};
use clap::Args;
use fairlab_experiment::metrics::RequestedMetric;

const EXAMPLES: &str = "\
Both ends are arms, as in `fairlab compare`. Delta debugging halves the set of switches in which they differ, again \
and again. Repetitions with shared seeds decide whether a subset of the switches makes the difference.

Examples:
  fairlab bisect app.json --from kernel=5.4 --to kernel=6.1 \\
      --metric 'worker: wake to run p99'
  fairlab bisect --bench 'netperf -t TCP_RR -l 1 --instances 224' \\
      --machine xeon-1s-112 --warmup 700ms --for 20ms \\
      --from kernel=5.18 --to kernel=6.1
  fairlab bisect app.json --from unchanged --runs 16 \\
      --to NO_SIS_UTIL,migration_cost_ns=0,governor=performance";

#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("work").args(["file", "bench"]).required(true))]
pub(crate) struct BisectArgs {
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// First end, as changes of an arm
    #[arg(long, value_name = "CHANGE,CHANGE", value_parser = with_hints(parse_arm, hints::changes))]
    pub(crate) from: Arm,
    /// Second end, as changes of an arm
    #[arg(long, value_name = "CHANGE,CHANGE", value_parser = with_hints(parse_arm, hints::changes))]
    pub(crate) to: Arm,
    /// Metric whose difference is bisected: a name as in `fairlab compare`, or a path [default: the first
    /// metric with a better direction]
    #[arg(long, value_name = "METRIC", value_parser = RequestedMetric::parse)]
    pub(crate) metric: Option<RequestedMetric>,
    /// Number of repetitions of each set of switches to begin with
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) runs: u64,
    /// Largest number of repetitions, where fewer do not decide
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) most_runs: u64,
    /// Seed of the first repetition
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Let repetitions differ only in the scheduler's random numbers
    #[arg(long)]
    pub(crate) hold_still: bool,
    /// Percentage of decisions that may be wrong
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent_of)]
    pub(crate) level: f64,
    /// Smallest difference between the ends in percent that matters
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = share_of)]
    pub(crate) matters: f64,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
}
