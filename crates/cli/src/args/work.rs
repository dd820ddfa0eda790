// SPDX-License-Identifier: GPL-2.0-or-later
//! Options of commands that repeat a workload: the workload or benchmark, and the settings of its runs.
//! `compare` and `bisect` share them.

use crate::args::settings::SettingArgs;
use clap::{Args, ValueHint};
use fairlab_run::settings::commands::REPEAT;

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
    pub(crate) settings: SettingArgs<REPEAT>,
}
