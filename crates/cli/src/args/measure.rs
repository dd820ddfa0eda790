// SPDX-License-Identifier: GPL-2.0-or-later
//! Command lines of `fairlab machine calibrate` and `fairlab machine validate`.

use crate::args::JobsArgs;
use crate::args::settings::SettingArgs;
use clap::{Args as ClapArgs, ValueHint};
use fairlab_run::settings::commands::VALIDATE;
use fairlab_run::values::parse_time;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::micro::parse_two_cpus;
use std::path::PathBuf;

/// Options of a measurement.
#[derive(Debug, ClapArgs)]
pub(crate) struct MeasureArgs {
    /// Time to measure for; on large machines one pass over all pairs of CPUs may take longer
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s")]
    pub(crate) time: Nanos,
    /// CPUs for operations that need two [default: two cores with a common cache]
    #[arg(long, value_name = "A,B", value_parser = parse_two_cpus)]
    pub(crate) cpus: Option<[u32; 2]>,
    /// Do not run installed programs: perf bench, hackbench, cyclictest, stress-ng, schbench, rt-app
    #[arg(long)]
    pub(crate) no_programs: bool,
}

const CALIBRATE_EXAMPLES: &str = "\
Measured are: an empty system call, messages through futex, eventfd, pipe, socket pair, UDP and TCP on one and on two \
CPUs, sleeps, threads, messaging, interrupts between CPUs, wake-ups of idle CPUs, and the latency of a cache line \
between all pairs of CPUs; then installed programs run: perf bench, hackbench, cyclictest, stress-ng, schbench, rt-app. Speed \
of kernel code and the time of a switch follow from these. No root is needed. Let \
nothing else run meanwhile: the share of other processes is part of the result.

Examples:
  fairlab machine calibrate
  fairlab machine calibrate --time 5m -o measured.json
  fairlab machine validate --measured measured.json";

#[derive(Debug, ClapArgs)]
#[command(after_help = CALIBRATE_EXAMPLES)]
pub(crate) struct CalibrateArgs {
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
    /// File to write the measurement to, as JSON
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

const VALIDATE_EXAMPLES: &str = "\
Without --machine the simulated machine is this one, as `fairlab machine capture --measured` describes it. A machine \
file without facts of a processor has no costs of kernel code: --prices NAME takes those of another machine.

The command ends with status 3 if fewer than 15 operations can be compared.

Examples:
  fairlab machine validate
  fairlab machine validate --machine mine.toml --html validation.html
  fairlab machine validate --machine mine.toml --measured measured.json --json";

#[derive(Debug, ClapArgs)]
#[command(after_help = VALIDATE_EXAMPLES)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
    /// Measurement to compare with, as written by calibrate, instead of a new one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["time", "cpus", "no_programs"])]
    pub(crate) measured: Option<PathBuf>,
    /// HTML page to write
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
    /// Number of simulated runs of each operation, with seeds from 1
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) runs: u64,
    #[command(flatten)]
    pub(crate) settings: SettingArgs<VALIDATE>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
}
