// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of `fairlab bench`: the options of a benchmark, and after them those of fairlab.

use crate::args::exports::ExportArgs;
use crate::args::settings::SettingArgs;
use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use fairlab_run::bench::BenchLine;
use fairlab_run::settings::commands::BENCH;

const EXAMPLES: &str = "\
Examples:
  fairlab bench schbench --release 2020 -m 2 -t 2 -r 5 --machine sc7180
  fairlab bench hackbench -g 4 -f 14 -l 1000 --pipe --machine xeon-2s-224
  fairlab bench netperf -t TCP_RR -l 1 --instances 28 --machine xeon-2s-224 --kernel 5.18
  fairlab bench perf sched pipe -l 10000 --machine hikey
  fairlab bench cyclictest -t 8 -S -p 80 --hogs 16 --for 2s

Each model prints the output of its benchmark. --machine, --kernel, --features, --set, --prices, --seed and --for \
are options of fairlab.";

/// Benchmark, and options of fairlab, which every benchmark's command has beside its own.
#[derive(Debug)]
pub(crate) struct BenchArgs {
    pub(crate) line: BenchLine,
    pub(crate) settings: SettingArgs<BENCH>,
    pub(crate) exports: ExportArgs,
}

/// Adds the options of fairlab to the commands that are a benchmark, once such a command is used: a run of another
/// command does not pay for them.
fn with_settings(command: Command) -> Command {
    if command.has_subcommands() { command.mut_subcommands(with_settings) } else { command.defer(add_settings) }
}

fn add_settings(command: Command) -> Command {
    let (about, long_about) = (command.get_about().cloned(), command.get_long_about().cloned());
    let command = command.next_help_heading("Options of fairlab");
    // A group of options describes the command, if it is added by hand.
    let command = ExportArgs::augment_args(SettingArgs::<BENCH>::augment_args(command));
    command.about(about.unwrap_or_default()).long_about(long_about.unwrap_or_default())
}

impl Args for BenchArgs {
    fn augment_args(command: Command) -> Command {
        let command = BenchLine::augment_args(command).mut_subcommands(with_settings);
        command.after_help(EXAMPLES).arg_required_else_help(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for BenchArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut benchmark = matches;
        while let Some((_, inner)) = benchmark.subcommand() {
            benchmark = inner;
        }
        Ok(Self {
            line: BenchLine::from_arg_matches(matches)?,
            settings: SettingArgs::from_arg_matches(benchmark)?,
            exports: ExportArgs::from_arg_matches(benchmark)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
