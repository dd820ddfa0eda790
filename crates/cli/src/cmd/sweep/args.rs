// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `fairlab sweep`.

use crate::args::JobsArgs;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use fairlab_study::sweep::run::Shard;
use std::path::PathBuf;

const EXAMPLES: &str = "\
A plan is a TOML file: what is run, and which settings each point has. Keys are those of arms (features, tunables, kernel, governor, machine,
prices, price.OPERATION, workload, bench), and whatever stands in braces in the benchmark's line.

  bench = 'hackbench -g {groups} -l 100'     # or workload = 'app.json', from where the plan is
  seeds = 3                                  # of each point; vary = true lets starts vary with them
  metrics = ['time']                         # all that are known, without it
  base = { machine = 'xeon-1s-112' }         # of all points
  [grid]                                     # all combinations
  groups = [1, 2, 4]
  SIS_UTIL = [true, false]
  [[list]]                                   # rows of what belongs together
  kernel = '5.18'
  [sample]                                   # and draws
  draws = 20
  migration_cost_ns = { from = 1000, to = 10000000, log = true }

Results go into PLAN.sweep, or --store. The same command again goes on where the last one ended, however it ended.

Examples:
  fairlab sweep plan.toml --dry-run                    how many points, how long
  fairlab sweep plan.toml                              on all cores
  fairlab sweep export plan.sweep -o results.csv
  fairlab sweep plan.toml --shard 2/8 --store 2.sweep  on the second of eight machines
  fairlab sweep merge -o all.sweep [1-8].sweep";

#[derive(Debug, Args)]
#[command(arg_required_else_help = true, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SweepCommand>,
    /// The plan
    #[arg(value_hint = ValueHint::FilePath, required = true)]
    pub(crate) plan: Option<PathBuf>,
    /// Where results are kept [default: PLAN.sweep, beside the plan]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) store: Option<PathBuf>,
    /// Run only the i-th of N parts of the points
    #[arg(long, value_name = "i/N", value_parser = Shard::parse, default_value = "1/1", hide_default_value = true)]
    pub(crate) shard: Shard,
    /// Tell how many points there are and how long they will take, and run nothing but a few of them for a moment
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run points again that have failed
    #[arg(long)]
    pub(crate) retry: bool,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SweepCommand {
    /// Write results as a table, for other programs
    Export {
        /// The store
        #[arg(value_hint = ValueHint::FilePath)]
        store: PathBuf,
        /// The file; its ending says the format [default: standard output]
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// csv, jsonl, or parquet if this fairlab was built with it [default: what the file's ending says, csv]
        #[arg(long, value_enum, hide_possible_values = true)]
        format: Option<TableFormat>,
        /// Also what the plan no longer has
        #[arg(long)]
        all: bool,
    },
    /// Put the results of several stores into one
    Merge {
        /// The stores
        #[arg(required = true, value_hint = ValueHint::FilePath)]
        stores: Vec<PathBuf>,
        /// The store that gets all of them
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: PathBuf,
        /// Take what can be read of damaged stores
        #[arg(long)]
        salvage: bool,
    },
}

/// Formats of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    Csv,
    Jsonl,
    Parquet,
}
