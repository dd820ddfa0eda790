// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of `fairlab fuzz`.

use crate::args::JobsArgs;
use crate::args::compare::percent_of;
use crate::args::settings::SettingArgs;
use crate::values::arms::parse_arm;
use clap::{Args, ValueEnum, ValueHint};
use fairlab_experiment::metrics::RequestedMetric;
use fairlab_fuzz::ingredients::Ingredient;
use fairlab_run::settings::commands::FUZZ;
use fairlab_run::values::parse_time;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Machines and workloads are drawn from seeds and run. A case that breaks a property is minimised and reported once. \
With -o each finding is saved: as a scenario, as rt-app files with a script for a real machine, and as input of \
--again.

Examples:
  fairlab fuzz                              search in 6.1 for a minute
  fairlab fuzz --property idle-while-waiting --idle 100ms --budget 10m -o found
  fairlab fuzz --property late-wakeup --machine hikey960 --without nice
  fairlab fuzz --to NO_WAKEUP_PREEMPTION --metric 'sleeperA: wake to run p99'
  fairlab fuzz --again found                exit status 3 if a finding persists
  fairlab fuzz --again found --kernel 5.4   repeat with an older kernel";

/// Property that a run must keep; named after the rule of findings that detects its violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Property {
    IdleWhileWaiting,
    Starvation,
    LateWakeup,
    UnfairShare,
    PingPong,
    MisfitLeft,
}

impl Property {
    /// Returns the name of the findings rule that detects a violation.
    pub(crate) fn rule(self) -> String {
        self.to_possible_value().expect("none is hidden").get_name().to_owned()
    }
}

/// Checks that the text is a valid arm and returns it unchanged: findings keep the text.
fn arm_text(text: &str) -> Result<String, Message> {
    parse_arm(text).map(|_| text.to_owned())
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FuzzArgs {
    /// Properties to check: idle-while-waiting, starvation, late-wakeup, unfair-share, ping-pong, misfit-left
    /// [default: the first four]
    #[arg(
        long,
        value_enum,
        value_name = "A,B",
        value_delimiter = ',',
        hide_possible_values = true,
        conflicts_with = "to"
    )]
    pub(crate) property: Vec<Property>,
    /// Longest time that a CPU may idle while a task waits that may run there
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "50ms")]
    pub(crate) idle: Nanos,
    /// Longest wake-up latency
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "50ms")]
    pub(crate) latency: Nanos,
    /// Longest time that a task may wait at once
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "500ms")]
    pub(crate) starvation: Nanos,
    /// First arm; search for a metric that is worse in the second one (--to)
    #[arg(long, value_name = "CHANGE,CHANGE", value_parser = arm_text, requires = "to", default_value = "unchanged", hide_default_value = true)]
    pub(crate) from: String,
    /// Second arm, as changes
    #[arg(long, value_name = "CHANGE,CHANGE", value_parser = arm_text)]
    pub(crate) to: Option<String>,
    /// Metric to compare: a name as in `fairlab compare`, or a path [default: all metrics with a better
    /// direction]
    #[arg(long, value_name = "METRIC", value_parser = RequestedMetric::parse, requires = "to")]
    pub(crate) metric: Option<RequestedMetric>,
    /// Smallest difference to report, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent_of, default_value = "20", requires = "to")]
    pub(crate) by: f64,
    #[command(flatten)]
    pub(crate) settings: SettingArgs<FUZZ>,
    /// Exclude ingredients: threads, caches, nodes, little-cpus, groups, quota, affinity, nice, batch,
    /// idle-policy, fifo, hogs, sleepers, wakers, late-start
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = Ingredient::parse)]
    pub(crate) without: Vec<Ingredient>,
    /// Also draw features and tunables
    #[arg(long)]
    pub(crate) switches: bool,
    /// Stop after this time; a minimisation that has begun is completed
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "1m")]
    pub(crate) budget: Nanos,
    /// Stop after N cases
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    pub(crate) cases: u64,
    /// Stop after N findings
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) findings: usize,
    /// Seed of the first case
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Keep each finding in its own folder of this directory
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Do not search: repeat the findings of a directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["output", "property", "to", "switches"])]
    pub(crate) again: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
}
