// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of `fairlab sweep`.

use crate::args::JobsArgs;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use fairlab_sweep::run::Shard;
use std::path::PathBuf;

const EXAMPLES: &str = "\
A plan is a TOML file with a workload and the settings of each point. Keys are those of arms (features, tunables, \
kernel, governor, machine, prices, price.OPERATION, fact.KEY, workload, bench), and all names in braces in the benchmark's line.

  bench = 'hackbench -g {groups} -l 100'   # or workload = 'app.json'
  seeds = 3                                # of each point
  vary = true                              # also randomise start times
  metrics = ['time']                       # default: all known metrics
  base = { machine = 'xeon-1s-112' }       # settings of all points
  [grid]                                   # all combinations
  groups = [1, 2, 4]
  SIS_UTIL = [true, false]
  [[list]]                                 # settings that belong together
  kernel = '5.18'
  [sample]                                 # random points
  draws = 20
  migration_cost_ns = { from = 1000, to = 10000000, log = true }

Paths are relative to the plan. Results are written to PLAN.sweep, or to --store. Repeat the command to continue after \
an interruption.

Examples:
  fairlab sweep plan.toml --dry-run                     estimate the time
  fairlab sweep plan.toml                               run on all cores
  fairlab sweep export plan.sweep -o results.csv
  fairlab sweep plan.toml --shard 2/8 --store 2.sweep   run a shard
  fairlab sweep merge -o all.sweep [1-8].sweep";

#[derive(Debug, Args)]
#[command(arg_required_else_help = true, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SweepCommand>,
    /// Plan, a TOML file
    #[arg(value_hint = ValueHint::FilePath, required = true)]
    pub(crate) plan: Option<PathBuf>,
    /// Store of the results [default: PLAN.sweep, beside the plan]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) store: Option<PathBuf>,
    /// Run only the i-th of N shards of the points
    #[arg(long, value_name = "i/N", value_parser = Shard::parse, default_value = "1/1", hide_default_value = true)]
    pub(crate) shard: Shard,
    /// Print the number of points and the estimated time; only a few points are run, briefly
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Repeat points that have failed
    #[arg(long)]
    pub(crate) retry: bool,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SweepCommand {
    /// Write results as a table, for other programs
    Export {
        /// Store to read
        #[arg(value_hint = ValueHint::FilePath)]
        store: PathBuf,
        /// File to write; its extension selects the format [default: standard output]
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// Format: csv, jsonl, or parquet if this fairlab was built with it [default: from the file's
        /// extension, or csv]
        #[arg(long, value_enum, hide_possible_values = true)]
        format: Option<TableFormat>,
        /// Include points that the plan no longer has
        #[arg(long)]
        all: bool,
    },
    /// Merge the results of several stores into one
    Merge {
        /// Stores to read
        #[arg(required = true, value_hint = ValueHint::FilePath)]
        stores: Vec<PathBuf>,
        /// Store to write
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: PathBuf,
        /// Read as much as possible from damaged stores
        #[arg(long)]
        salvage: bool,
    },
}

/// Format of an exported table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    Csv,
    Jsonl,
    Parquet,
}
