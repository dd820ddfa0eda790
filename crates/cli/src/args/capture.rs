// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of `fairlab machine capture`.

use clap::{Args as ClapArgs, ValueHint};
use std::path::PathBuf;

const EXAMPLES: &str = "\
FROM is the root directory of a machine (of this one: /), a directory or a tar of /sys (from hwloc-gather-topology), \
hwloc's XML (lstopo machine.xml), or the JSON of lscpu (lscpu -J -e, lscpu -J). Comments in the machine file name the \
data that FROM lacks.

Examples:
  fairlab machine capture -o mine.toml       this machine; root reads more data
  fairlab machine capture board.tar.gz --name board -o board.toml
      create the archive on the board with:
      tar czf board.tar.gz --ignore-failed-read /sys/devices/system/cpu \\
          /sys/devices/system/node /proc/cpuinfo
  lscpu -J -e > there.json; fairlab machine capture there.json
  fairlab run app.json --machine mine.toml";

#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CaptureArgs {
    /// Source of the description; see below
    #[arg(value_name = "FROM", value_hint = ValueHint::AnyPath, default_value = "/")]
    pub(crate) from: PathBuf,
    /// Name of the machine
    #[arg(long, default_value = "captured")]
    pub(crate) name: String,
    /// Machine file to write [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Add facts of the processor from a measurement, so that kernel code has costs (see `fairlab machine calibrate`)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) measured: Option<PathBuf>,
    /// Write the file even if fairlab cannot simulate that machine, as a draft to edit
    #[arg(long)]
    pub(crate) raw: bool,
}
