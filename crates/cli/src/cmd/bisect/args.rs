// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `fairlab bisect`.

use crate::args::JobsArgs;
use crate::arms::{Arm, arm_of};
use crate::cmd::compare::args::percent_of;
use crate::hints::{self, hinted};
use crate::work_args::WorkArgs;
use clap::Args;
use fairlab_study::experiment::metrics::RequestedMetric;

const EXAMPLES: &str = "\
Both ends are arms, as of `fairlab compare`. What differs between them, switch by switch, is halved and halved again (delta debugging), and
repetitions with shared seeds decide whether a part of the switches has the difference.

Examples:
  fairlab bisect app.json --from kernel=5.4 --to kernel=6.1 --metric 'worker: wake to run p99'
  fairlab bisect --bench 'netperf -t TCP_RR -l 1 --instances 224' --machine xeon-1s-112 --warmup 700ms --for 20ms --from kernel=5.18 --to kernel=6.1
  fairlab bisect app.json --from unchanged --to NO_SIS_UTIL,migration_cost_ns=0,governor=performance --runs 16";

#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("work").args(["file", "bench"]).required(true))]
pub(crate) struct BisectArgs {
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// One end: changes as of an arm
    #[arg(long, value_name = "CHANGE,CHANGE", value_parser = hinted(arm_of, hints::changes))]
    pub(crate) from: Arm,
    /// The other end
    #[arg(long, value_name = "CHANGE,CHANGE", value_parser = hinted(arm_of, hints::changes))]
    pub(crate) to: Arm,
    /// What differs: a metric's name as in `fairlab compare`, or a path [default: the first one of which one way is better]
    #[arg(long, value_name = "METRIC", value_parser = RequestedMetric::parse)]
    pub(crate) metric: Option<RequestedMetric>,
    /// Repetitions of each set of switches to begin with
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) runs: u64,
    /// At most so many, where fewer do not decide
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) most_runs: u64,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Let repetitions differ in the scheduler's dice alone
    #[arg(long)]
    pub(crate) hold_still: bool,
    /// How many percent of decisions may be wrong
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent_of)]
    pub(crate) level: f64,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
}
