// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of `fairlab run`.

use crate::args::exports::ExportArgs;
use crate::args::settings::SettingArgs;
use crate::output::measure::Measure;
use crate::output::report::ReportTables;
use clap::{Args as ClapArgs, ValueHint};
use fairlab_run::settings::commands::RUN;
use std::path::PathBuf;

const RUN_EXAMPLES: &str = "\
FILE is a scenario (one statement per line, begins with `cpus N`), a JSON file of rt-app, a spec \
(`fairlab schema spec`) or the manifest of an earlier run. Its text decides which, not its name.

Examples:
  fairlab run scenarios/hello.json
  fairlab run app.json --machine xeon-2s-224 --for 2s
  fairlab run app.json --kernel 5.4 --set migration_cost_ns=0
  fairlab run app.json --seed 7 --perturb 7 -o runs/7
  fairlab run app.json --measure kicks,search   NOHZ kicks, idle-CPU scans
  fairlab run scenario.scn --trace-jsonl - | head
  generate-workload | fairlab run - --json";

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// Workload file; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) settings: SettingArgs<RUN>,
    /// Watch the run on the terminal: CPUs, queues, domains, decisions. Space runs and pauses, s and n step,
    /// w explains, q quits
    #[arg(long, conflicts_with = "engine")]
    pub(crate) watch: bool,
    /// Show every CPU and every task family, however many
    #[arg(long)]
    pub(crate) per_cpu: bool,
    /// Compute findings for --json too, which takes 5 to 15 % longer. Text output always includes
    /// them
    #[arg(long, conflicts_with = "engine")]
    pub(crate) findings: bool,
    /// Print more tables: residency, cpus, frequencies, decisions, all
    #[arg(long, value_enum, value_name = "TABLE,TABLE", value_delimiter = ',', hide_possible_values = true)]
    pub(crate) tables: Vec<ReportTables>,
    /// Print measurements in detail: search, kicks, blocked, balance, energy, residency, times, histograms,
    /// all. JSON always contains all of them
    #[arg(long, value_enum, value_name = "WHAT,WHAT", value_delimiter = ',', hide_possible_values = true)]
    pub(crate) measure: Vec<Measure>,
    /// Write a run directory: manifest.json (repeats the run), copies of inputs, summary.json
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Write every event as a line of JSON; `-` is standard output, which then carries nothing else
    ///
    /// A scenario's `trace` statement sets the level; without one it is 3 (switches, wake-ups, migrations,
    /// interrupts, steps of load balancing). With -o, a relative FILE is placed in DIR.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace_jsonl: Option<String>,
    /// Write the operation counts of each scheduler call as lines of JSON to standard output, and nothing else
    #[arg(long)]
    pub(crate) trace_work: bool,
    #[command(flatten)]
    pub(crate) exports: ExportArgs,
}
