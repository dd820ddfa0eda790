// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of `fairlab kernel regressions`.

use clap::Args as ClapArgs;

const EXAMPLES: &str = "\
Exit status: 0 all bugs are detected, 1 a bug is not detected, 2 the corpus could not be run.

Examples:
  fairlab kernel regressions --list
  fairlab kernel regressions
  fairlab kernel regressions --source debian:6.12
  fairlab kernel regressions slices-expire pinned-misfit --json";

#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RegressionsArgs {
    /// Names of bugs [default: all]
    pub(crate) names: Vec<String>,
    /// List the bugs and their effects instead
    #[arg(long)]
    pub(crate) list: bool,
    /// Tree into which the bugs of its release are put back: a folder, a tarball, or debian:VERSION [default:
    /// for each bug, debian:VERSION of its release]
    #[arg(long, value_name = "DIR|TARBALL|debian:VERSION")]
    pub(crate) source: Option<String>,
    /// Put each bug back alone: slower, but no other edits are in its engine
    #[arg(long)]
    pub(crate) alone: bool,
}
