// SPDX-License-Identifier: GPL-2.0-or-later
//! Benchmarks by their command lines, for commands and studies.
//!
//! [`fairlab_workload::bench`] has the options of each benchmark, and [`fairlab_measure::bench`] its observer.

use crate::settings::Setting;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser};
use fairlab_workload::bench::{BenchCommand, Benchmark, CommandLine as _};
use fairlab_workload::message::Message;

pub use fairlab_measure::bench::observer;

/// Command line of a benchmark, for a command that takes one.
#[derive(Debug, Args)]
pub struct BenchLine {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Debug, Parser)]
#[command(name = "bench", disable_help_flag = true, disable_help_subcommand = true)]
struct BareLine {
    #[command(flatten)]
    line: BenchLine,
}

/// Purpose of a benchmark's line, which decides where settings of fairlab belong.
#[derive(Clone, Copy, Debug)]
pub enum LineOf<'a> {
    /// Run of a study.
    Study,
    /// Option of this command.
    Command(&'a str),
}

impl BenchLine {
    /// Returns the benchmark.
    ///
    /// # Errors
    /// If options exclude each other; with a remedy.
    pub fn benchmark(&self) -> Result<Benchmark, Message> {
        self.command.benchmark()
    }
}

/// Parses a benchmark with its options, as after `fairlab bench`.
///
/// # Errors
/// A description of the error in the line, with a remedy. Settings of fairlab are rejected: they belong to
/// the command or the study that has the line.
pub fn parse(line: &str, of: LineOf<'_>) -> Result<Benchmark, Message> {
    let words = std::iter::once("bench").chain(line.split_whitespace());
    let parsed = BareLine::try_parse_from(words).map_err(|error| usage_error(line, of, &error))?;
    parsed.line.benchmark().map_err(|error| error.about(line))
}

fn usage_error(line: &str, of: LineOf<'_>, error: &clap::Error) -> Message {
    if let Some((option, in_study)) = option_of_fairlab(error) {
        return match of {
            LineOf::Study => Message::new(format!("{line}: --{option} is set by the study"))
                .with_help(format!("omit it, and set {in_study} in the study's data")),
            LineOf::Command(command) => Message::new(format!("{line}: --{option} is not an option of the benchmark"))
                .with_help(format!("give it to `{command}`")),
        };
    }
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let what = lines.next().unwrap_or_default().trim_start_matches("error: ");
    let tip = lines.find_map(|line| line.strip_prefix("tip: ")).unwrap_or("see `fairlab bench --help`");
    Message::new(format!("{line}: {what}")).with_help(tip)
}

fn option_of_fairlab(error: &clap::Error) -> Option<(String, &'static str)> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return None };
    let option = given.strip_prefix("--")?.split('=').next()?;
    let in_study = match option {
        "export" | "events" => "nothing: studies write no traces",
        _ => Setting::from_option(option)?.in_study,
    };
    Some((option.to_owned(), in_study))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, Subcommand as _};

    fn complaint(line: &str, of: LineOf<'_>) -> String {
        parse(line, of).expect_err("the line is wrong").to_string()
    }

    #[test]
    fn a_line_is_read_as_behind_bench_and_has_the_seed_of_its_run() {
        let bench = parse("hackbench -g 2 -f 3 --pipe", LineOf::Study).expect("it is a benchmark");
        assert!(bench.for_run(8, true, 1).workload(8).tasks.len() > 12);
        let make = |seed| parse("make -j 4", LineOf::Study).expect("it is a benchmark").for_run(8, true, seed);
        assert_ne!(make(1), make(2));
    }

    #[test]
    fn every_setting_on_a_line_is_refused_with_its_place() {
        for (line, option, key) in [
            ("hackbench --machine hikey", "--machine is set by the study", "set `machine` of a run"),
            ("hackbench --set scan_cost=1", "--set is set", "`tunables` of an arm"),
            ("schbench -r 5 --warmup 1s", "--warmup is set", "`warm_up` of a run"),
            ("schbench --seed 3", "--seed is set", "`first_seed`"),
            ("hackbench -g 4 --governor powersave", "--governor is set", "`governor` of a run"),
            ("hackbench --export ftrace=x.txt", "--export is set", "no traces"),
        ] {
            let message = complaint(line, LineOf::Study);
            assert!(message.starts_with(line) && message.contains(option) && message.contains(key), "{message}");
        }
        for setting in crate::settings::SETTINGS {
            let option = setting.option;
            let message = complaint(&format!("netperf --{option}=1"), LineOf::Command("fairlab compare"));
            let expected = Message::new(format!("--{option} is not an option of the benchmark"))
                .with_help("give it to `fairlab compare`");
            assert!(message.contains(&expected.to_string()), "{message}");
        }
    }

    #[test]
    fn every_benchmark_has_examples_that_can_be_run() {
        let mut commands = vec![BenchCommand::augment_subcommands(Command::new("bench"))];
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands().cloned());
            if command.has_subcommands() {
                continue;
            }
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  fairlab bench ")).collect();
            assert!(!examples.is_empty(), "{} has no example", command.get_name());
            for example in examples {
                let options = example.find(" --machine").or_else(|| example.find(" --for")).unwrap_or(example.len());
                parse(&example[..options], LineOf::Study).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }

    #[test]
    fn a_misspelt_line_is_rejected_with_a_hint() {
        let message = complaint("hackbnch -g 2", LineOf::Study);
        assert!(
            message.contains("hackbnch -g 2: unrecognized subcommand") && message.contains("similar subcommand"),
            "{message}"
        );
        let message = complaint("hackbench --grops 2", LineOf::Study);
        assert!(
            message.contains("unexpected argument '--grops'") && message.contains("help: a similar argument exists"),
            "{message}"
        );
    }
}
