// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of `fairlab study`.

use super::JobsArgs;
use crate::args::settings::SettingArgs;
use crate::values::hints;
use clap::{Args as ClapArgs, Subcommand, ValueHint};
use fairlab_run::settings::commands::STUDY;
use fairlab_run::values::parse_time;
use fairlab_sched::units::Nanos;
use std::path::PathBuf;

const STUDY_EXAMPLES: &str = "\
Examples:
  fairlab study list
  fairlab study run pelt-time-scaling --quick   run an included study
  fairlab study new mine                        write mine.toml, a template
  fairlab study check mine.toml                 check it, and begin each run
  fairlab study run mine.toml -o out            write report and charts to out
  fairlab study sensitivity mine.toml           vary facts of the processor";

const SENSITIVITY_EXAMPLES: &str = "\
The headline is the number that `[headline]` of the study's file names. It is simulated with each uncertain fact of the
machine's processor at the least and the greatest value of its range, one fact at a time (`fairlab machine show NAME`).
Noise is half of the 95 % interval of the unchanged headline over the seeds, at least three, times the root of two.

Examples:
  fairlab study sensitivity wakelist-idle --quick
  fairlab study sensitivity newidle-migration-cost --seeds 8
  fairlab study sensitivity mine.toml --span 200ms --json";

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
    /// Find the facts of the processor that move a study's headline most
    Sensitivity(StudySensitivityArgs),
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
    /// Settings of all runs, except those of arms that set them.
    #[command(flatten)]
    pub(crate) settings: SettingArgs<STUDY>,
    /// Write the report as DIR/NAME.html (self-contained) and DIR/NAME.json, and charts as DIR/*.svg
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = SENSITIVITY_EXAMPLES)]
pub(crate) struct StudySensitivityArgs {
    /// Name of a study, or path of its file
    #[arg(value_parser = hints::text(hints::studies))]
    pub(crate) study: String,
    /// Shorten all runs, for a first impression
    #[arg(long)]
    pub(crate) quick: bool,
    /// Number of seeds of each run; at least three for an interval
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) seeds: Option<u64>,
    /// Simulated time of each run that has a duration: 5s, 300ms, ...
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) span: Option<Nanos>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
}
