// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of `fairlab replay`.

use crate::args::import::LeapArgs;
use crate::args::settings::SettingArgs;
use crate::values::hints;
use clap::{Args as ClapArgs, ValueHint};
use fairlab_run::settings::commands::REPLAY;

const EXAMPLES: &str = "\
With --as-recorded the trace is simulated on the machine on which it was recorded, with zero-cost kernel code: \
recorded run times include the kernel's time. Differences from the recording then measure the fidelity of other \
replays of this trace. `fairlab machine capture` describes a machine more exactly than a trace does.

Examples:
  fairlab replay trace.dat --as-recorded
  fairlab replay trace.dat --as-recorded --machine board.toml
  fairlab replay trace.dat --machine xeon-2s-224 --recorded-on board.toml
  fairlab replay trace.dat --features NO_SIS_UTIL --json";

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct ReplayArgs {
    /// Trace to replay; see `fairlab import --help`
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) trace: String,
    /// Simulate on the machine of the recording: --machine, or as far as the trace describes it
    #[arg(long, conflicts_with = "recorded_on")]
    pub(crate) as_recorded: bool,
    /// Machine on which the trace was recorded, if it differs from --machine [default: described by the
    /// trace]
    #[arg(long, value_name = "NAME|PATH", value_parser = hints::text(hints::machines))]
    pub(crate) recorded_on: Option<String>,
    #[command(flatten)]
    pub(crate) leaps: LeapArgs,
    #[command(flatten)]
    pub(crate) settings: SettingArgs<REPLAY>,
    /// Show all task names and all CPUs
    #[arg(long)]
    pub(crate) all: bool,
}
