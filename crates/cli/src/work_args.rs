// SPDX-License-Identifier: GPL-2.0-or-later
//! What is run by commands that run it again and again, and on what: options that comparisons and bisections share.

use crate::args::VariantArgs;
use crate::values::time_of;
use clap::{Args, ValueHint};
use fairlab_sched::units::Nanos;

#[derive(Debug, Args)]
pub(crate) struct WorkArgs {
    /// Workload file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<String>,
    /// Or a benchmark with its options, as behind `fairlab bench`: 'netperf -t TCP_RR --instances 56'
    #[arg(long, value_name = "LINE", conflicts_with = "file")]
    pub(crate) bench: Option<String>,
    #[command(flatten)]
    pub(crate) variant: VariantArgs,
    /// How long to simulate each: 5s, 300ms, ... [default: what the file says; 5s if it says nothing]
    #[arg(long = "for", value_name = "TIME", value_parser = time_of)]
    pub(crate) duration: Option<Nanos>,
    /// Simulate for this long before anything is measured; --for comes behind it
    #[arg(long, value_name = "TIME", value_parser = time_of)]
    pub(crate) warmup: Option<Nanos>,
}
