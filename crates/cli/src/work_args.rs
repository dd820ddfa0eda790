// SPDX-License-Identifier: GPL-2.0-or-later
//! Options of commands that repeat a workload: the workload or benchmark, its machine, its duration.
//! `compare` and `bisect` share them.

use crate::args::VariantArgs;
use crate::values::parse_time;
use clap::{Args, ValueHint};
use fairlab_sched::units::Nanos;

#[derive(Debug, Args)]
pub(crate) struct WorkArgs {
    /// Workload file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<String>,
    /// Benchmark with its options instead of a file, as for `fairlab bench`: 'netperf -t TCP_RR --instances
    /// 56'
    #[arg(long, value_name = "LINE", conflicts_with = "file")]
    pub(crate) bench: Option<String>,
    #[command(flatten)]
    pub(crate) variant: VariantArgs,
    /// Simulated time of each run: 5s, 300ms, ... [default: the file's duration, or 5s]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    pub(crate) duration: Option<Nanos>,
    /// Simulated time before anything is measured; --for is counted after it
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) warmup: Option<Nanos>,
}
