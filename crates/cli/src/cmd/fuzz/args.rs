// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `fairlab fuzz`.

use crate::args::{JobsArgs, VariantArgs};
use crate::arms::arm_of;
use crate::cmd::compare::args::percent_of;
use crate::values::time_of;
use clap::{Args, ValueEnum, ValueHint};
use fairlab_sched::units::Nanos;
use fairlab_study::experiment::metrics::RequestedMetric;
use fairlab_study::fuzz::ingredients::Ingredient;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Machines and workloads are drawn from seeds and run; what breaks a property is made as small as it can be, and told once. With -o each
finding is kept: as a scenario, as rt-app files with a script for a real machine, and as what --again runs again.

Examples:
  fairlab fuzz                                                  a minute of what goes wrong in 6.1
  fairlab fuzz --property idle-while-waiting --idle 100ms --budget 10m -o found
  fairlab fuzz --property late-wakeup --latency 50ms --machine hikey960 --without nice,idle-policy
  fairlab fuzz --from unchanged --to NO_WAKEUP_PREEMPTION --metric 'sleeperA: wake to run p99' --by 50
  fairlab fuzz --again found                                    status 3 if one of them still breaks its property
  fairlab fuzz --again found --kernel 5.4                       does another kernel break them too";

/// What is not to happen.
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
    /// The rule of findings that tells of it.
    pub(super) fn rule(self) -> String {
        self.to_possible_value().expect("none is hidden").get_name().to_owned()
    }
}

/// An arm that can be read, as it is written: findings keep it so.
fn arm_text(text: &str) -> Result<String, String> {
    arm_of(text).map(|_| text.to_owned())
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FuzzArgs {
    /// What is looked for: idle-while-waiting, starvation, late-wakeup, unfair-share, ping-pong, misfit-left [default: the first four]
    #[arg(
        long,
        value_enum,
        value_name = "A,B",
        value_delimiter = ',',
        hide_possible_values = true,
        conflicts_with = "to"
    )]
    pub(crate) property: Vec<Property>,
    /// A CPU may idle so long while a task waits that it may run
    #[arg(long, value_name = "TIME", value_parser = time_of, default_value = "50ms")]
    pub(crate) idle: Nanos,
    /// A task may run so late after its wake-up
    #[arg(long, value_name = "TIME", value_parser = time_of, default_value = "50ms")]
    pub(crate) latency: Nanos,
    /// A task may wait so long at a time
    #[arg(long, value_name = "TIME", value_parser = time_of, default_value = "500ms")]
    pub(crate) starvation: Nanos,
    /// Look for a metric that is worse in another arm than in this one
    #[arg(long, value_name = "CHANGE,CHANGE", value_parser = arm_text, requires = "to", default_value = "unchanged", hide_default_value = true)]
    pub(crate) from: String,
    /// The other arm
    #[arg(long, value_name = "CHANGE,CHANGE", value_parser = arm_text)]
    pub(crate) to: Option<String>,
    /// Which metric: a name as in `fairlab compare`, or a path [default: any of which one way is better]
    #[arg(long, value_name = "METRIC", value_parser = RequestedMetric::parse, requires = "to")]
    pub(crate) metric: Option<RequestedMetric>,
    /// By how many percent it is worse at the least
    #[arg(long, value_name = "PERCENT", value_parser = percent_of, default_value = "20", requires = "to")]
    pub(crate) by: f64,
    #[command(flatten)]
    pub(crate) variant: VariantArgs,
    /// Leave out: threads, caches, nodes, little-cpus, groups, quota, affinity, nice, batch, idle-policy, fifo, hogs, sleepers, wakers, late-start
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = Ingredient::parse)]
    pub(crate) without: Vec<Ingredient>,
    /// Draw features and tunables too
    #[arg(long)]
    pub(crate) switches: bool,
    /// Stop after so long; what is being made small is finished
    #[arg(long, value_name = "TIME", value_parser = time_of, default_value = "1m")]
    pub(crate) budget: Nanos,
    /// Stop after so many cases
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    pub(crate) cases: u64,
    /// Stop with so many findings
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) findings: usize,
    /// The seed of the first case
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Keep each finding in a folder of its own in this directory
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Search nothing: run the findings of a directory again
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["output", "property", "to", "switches"])]
    pub(crate) again: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
}
