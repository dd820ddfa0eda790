// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of `fairlab study`.

use super::JobsArgs;
use crate::values::hints::{self, with_hints};
use clap::{Args as ClapArgs, Subcommand, ValueHint};
use fairlab_run::values::{EngineName, Plain, parse_engine, parse_time};
use fairlab_sched::units::Nanos;
use std::path::PathBuf;

const STUDY_EXAMPLES: &str = "\
Examples:
  fairlab study list
  fairlab study run pelt-time-scaling --quick   run an included study
  fairlab study new mine                        write mine.toml, a template
  fairlab study check mine.toml                 check it, and begin each run
  fairlab study run mine.toml -o out            write report and charts to out";

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true)]
#[command(after_help = STUDY_EXAMPLES)]
pub(crate) struct StudyArgs {
    #[command(subcommand)]
    pub(crate) command: StudyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StudyCommand {
    /// List the studies
    List,
    /// Write NAME.toml: a study that runs unchanged, with all keys and their meaning
    New {
        /// Name of the study, or path of its file
        name: String,
    },
    /// Check a study's file: read it, resolve all names in it, and begin each run
    Check {
        /// Name of a study, or path of its file
        #[arg(value_parser = hints::text(hints::studies))]
        study: String,
        #[command(flatten)]
        jobs: JobsArgs,
    },
    /// Run a study and print its published tables beside the simulated values
    Run(Box<StudyRunArgs>),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StudyRunArgs {
    /// Name of a study, or path of its file
    #[arg(value_parser = hints::text(hints::studies))]
    pub(crate) study: String,
    /// Shorten all runs, for a first impression
    #[arg(long)]
    pub(crate) quick: bool,
    /// Run only this table, by its name in the study's file; may be repeated
    #[arg(long = "table", value_name = "NAME")]
    pub(crate) tables: Vec<String>,
    /// Run only rows whose names begin with TEXT; may be repeated
    #[arg(long = "row", value_name = "TEXT")]
    pub(crate) rows: Vec<String>,
    /// Number of seeds of each run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) seeds: Option<u64>,
    /// Simulated time of each run that has a duration: 5s, 300ms, ...
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) span: Option<Nanos>,
    /// Permute simultaneous events, differently for each N; results that change depend only on the order of
    /// simultaneous events
    #[arg(long, value_name = "N")]
    pub(crate) perturb: Option<u64>,
    /// Machine of all runs, except those of arms that name one
    #[arg(long, value_name = "NAME|PATH", value_parser = hints::text(hints::machines))]
    pub(crate) machine: Option<String>,
    /// Scheduler of a kernel tree instead of the built-in one, as built by `fairlab kernel add NAME`
    ///
    /// For studies of data. Arms that need a feature that the tree lacks are rejected. No row is then
    /// evidence for the model.
    #[arg(long, value_name = "kernel:NAME", value_parser = with_hints(parse_engine, hints::engines))]
    pub(crate) engine: Option<EngineName>,
    /// With --engine: simplify machines as `fairlab run --plain` does; `--plain=priced` keeps costs and idle
    /// states
    #[arg(
        long, value_parser = Plain::parse, value_name = "shape|priced", num_args = 0..=1, require_equals = true,
        default_missing_value = "shape", requires = "engine"
    )]
    pub(crate) plain: Option<Plain>,
    /// Write the report as DIR/NAME.html (self-contained) and DIR/NAME.json, and charts as DIR/*.svg
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
}
