// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `fairlab compare`.

use crate::args::JobsArgs;
use crate::args::exports::ExportArgs;
use crate::args::work::WorkArgs;
use crate::output::experiment::formats::{self, RequestedFormat, parse_format};
use crate::values::arms::{Arm, parse_arm};
use crate::values::hints::{self, with_hints};
use clap::{Args, ValueEnum};
use fairlab_experiment::metrics::RequestedMetric;
use fairlab_experiment::statistics::Statistic;
use fairlab_run::values::parse_time;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;

const EXAMPLES: &str = "\
An arm is a list of changes, each a feature (NAME or NO_NAME), a tunable (NAME=VALUE), kernel=RELEASE, governor=NAME, cpu_dma_latency=TIME, machine=NAME,
prices=machine|zero|MACHINE, price.OPERATION=NS, fact.KEY=VALUE, workload=FILE or bench=LINE; `unchanged` is none. `NAME: CHANGES` gives it a name. A single
arm is compared with the workload as it is. Each arm is compared with the first one. Without --runs each arm runs once, and no difference
is tested.

With --runs each repetition has its own seed, in all arms the same. Of each metric: medians, the median change of the pairs with its 95 %
interval, a verdict, and the smallest difference that so many repetitions could have shown.

Examples:
  fairlab compare app.json --machine hikey960 --arm energy_aware=1 --arm energy_aware=0    joules and latency
  fairlab compare app.json --arm NO_SIS_UTIL
  fairlab compare app.json --arm kernel=5.4 --arm kernel=6.1 --json
  fairlab compare app.json --engine kernel:6.1 --engine kernel:6.12        the schedulers of two kernel trees
  fairlab compare app.json --arm NO_SIS_UTIL --runs 20
  fairlab compare --bench 'hackbench -g 4 -l 100' --machine xeon-1s-112 --arm NO_SIS_UTIL --until-significant --budget 5m
  fairlab compare app.json --arm kernel=5.4 --arm kernel=6.1 --runs 20 --format lkp --format html=page.html
  fairlab compare app.json --arm old: --arm 'new: NO_SIS_UTIL' --runs 20 --fail-on worse --at-least 2      exit status 3";

#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("seeded").args(["seed", "runs", "until_significant"]).multiple(true))]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// Arm to compare, repeatable. Without it: the given engines, or one engine with the built-in scheduler
    #[arg(long, value_name = "CHANGE,CHANGE", value_parser = with_hints(parse_arm, hints::changes), required_unless_present = "engine")]
    pub(crate) arm: Vec<Arm>,
    /// Seed of random numbers in all arms; with repetitions, the first seed [default: as the kernel after its boot; 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Also randomise start times and random run lengths, alike in all arms; repetitions always do
    #[arg(long, requires = "seeded")]
    pub(crate) vary: bool,
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,
    /// Output format, repeatable: text, std, mmtests, lkp, markdown, json, html, junit
    ///
    /// std is the `baseline(std%) compare%(std%)` of scheduler patches, mmtests its Amean and Hmean, lkp the %stddev and %change of the
    /// kernel test robot. With =FILE it goes into a file.
    #[arg(long, value_name = "FORM[=FILE]", value_parser = with_hints(parse_format, formats::names))]
    pub(crate) format: Vec<RequestedFormat>,
    /// Print the rows of all metrics, not only of those that differ; without --runs text output has all
    #[arg(long)]
    pub(crate) all: bool,
    /// Fail, with exit status 3, if a metric became worse, or differs at all: worse, difference
    #[arg(long, value_enum, value_name = "WHAT", hide_possible_values = true)]
    pub(crate) fail_on: Option<FailOn>,
    /// Smallest difference for --fail-on, in percent
    #[arg(long, value_name = "PERCENT", requires = "fail_on", value_parser = percent_of)]
    pub(crate) at_least: Option<f64>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    #[command(flatten)]
    pub(crate) exports: ExportArgs,
}

/// How often, and what is looked at.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Experiments")]
pub(crate) struct ExperimentArgs {
    /// Number of runs of each arm, with seeds that all arms share
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) runs: Option<u64>,
    /// Vary only the scheduler's random numbers between repetitions, not start times and run lengths
    #[arg(long)]
    pub(crate) hold_still: bool,
    /// Repeat until every metric differs significantly, or a difference of --detect would have been found
    #[arg(long, conflicts_with = "runs")]
    pub(crate) until_significant: bool,
    /// Time limit of --until-significant [default: 5m]
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "until_significant")]
    pub(crate) budget: Option<Nanos>,
    /// Reported change: median of the pairs' changes, or mean, whose interval is too narrow if few runs differ widely
    #[arg(long, value_name = "WHAT", default_value = "median", value_parser = statistic_of)]
    pub(crate) statistic: Statistic,
    /// Test only this metric, repeatable: its name as in the table, or a path as in studies, with `:less` or `:more` for the better direction
    #[arg(long, value_name = "METRIC", value_parser = RequestedMetric::parse)]
    pub(crate) metric: Vec<RequestedMetric>,
    /// Significance level in percent: share of experiments that find a difference where there is none
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent_of)]
    pub(crate) level: f64,
    /// Difference in percent to detect; the output says how many repetitions that takes
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent_of)]
    pub(crate) detect: f64,
    /// Smallest difference in percent that matters: a smaller one is neither better nor worse
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = share_of)]
    pub(crate) matters: f64,
}

/// Condition on which a comparison fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Worse,
    Difference,
}

impl CompareArgs {
    /// Whether each arm runs once.
    pub(crate) fn is_single(&self) -> bool {
        self.experiment.runs.is_none_or(|runs| runs == 1) && !self.experiment.until_significant
    }
}

fn statistic_of(text: &str) -> Result<Statistic, Message> {
    match text {
        "mean" => Ok(Statistic::Mean),
        "median" => Ok(Statistic::Median),
        _ => Err(Message::new("it is mean or median")),
    }
}

/// Parses a percentage, which may be 0.
pub(crate) fn share_of(text: &str) -> Result<f64, Message> {
    let percent = text.trim_end_matches('%').parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| Message::new("it is a number of percent, from 0 to 100"))
}

pub(crate) fn percent_of(text: &str) -> Result<f64, Message> {
    let percent = text.trim_end_matches('%').parse::<f64>().ok().filter(|percent| *percent > 0.0 && *percent <= 100.0);
    percent.ok_or_else(|| Message::new("it is a number of percent, more than 0 and at most 100"))
}
