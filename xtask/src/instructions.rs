// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts the instructions of standard runs of the plain release build, and compares them with recorded counts.

use crate::programs::{self, RunInput};
use crate::{mixes, table, valgrind};
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

#[derive(ClapArgs)]
pub(crate) struct InstructionsArgs {
    /// Record the counts instead of comparing them with the recorded ones.
    #[arg(long, conflicts_with = "ci")]
    record: bool,
    /// Report missing valgrind as SKIPPED and succeed.
    #[arg(long)]
    ci: bool,
}

const RECORD: &str = "golden/instructions.toml";
const HEAD: &str = "# SPDX-License-Identifier: GPL-2.0-or-later\n\
                    # Instructions that standard runs of the plain release build execute, counted by valgrind.\n\
                    # Recorded by: cargo xtask instructions --record\n";
/// Largest difference from the record, in percent.
const BOUND_PERCENT: u64 = 3;

/// Run that is counted.
struct StandardRun {
    name: &'static str,
    options: &'static [&'static str],
    input: RunInput,
    output: RunOutput,
}

/// Output of a run that is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunOutput {
    Json,
    /// The printed summary, with findings.
    Text,
}

/// Returns the standard runs: small and large machines; periodic tasks, pairs and hogs; `hello` has costs, idle states
/// and frequencies. Three of them also print their summaries.
fn standard_runs() -> [StandardRun; 8] {
    let output = RunOutput::Json;
    let file =
        |name, options, path: &str| StandardRun { name, options, input: RunInput::File(path.to_owned()), output };
    let mix = |name, text| StandardRun { name, options: &[], input: RunInput::Text(text), output };
    let printed = |run| StandardRun { output: RunOutput::Text, ..run };
    [
        file("eight-cpus", &[], "scenarios/eight-cpus.scn"),
        file("numa", &[], "scenarios/numa.scn"),
        mix("crowded-16", mixes::crowded(16, "100ms")),
        file("hello", &["--for", "500ms"], "scenarios/hello.json"),
        mix("crowded-64", mixes::crowded(64, "30ms")),
        printed(file("eight-cpus-printed", &[], "scenarios/eight-cpus.scn")),
        printed(file("hello-printed", &["--for", "500ms"], "scenarios/hello.json")),
        printed(mix("crowded-64-printed", mixes::crowded(64, "30ms"))),
    ]
}

/// Kernels with which each run is counted, and what is added to its name.
const KERNELS: [(&str, &str); 2] = [("6.1", ""), ("6.12", "-eevdf")];

/// Counts and their compiler: counts of different compilers cannot be compared.
#[derive(Debug, PartialEq, Eq)]
struct RecordedCounts {
    compiler: String,
    counts: Vec<(String, u64)>,
}

impl RecordedCounts {
    fn parse(text: &str) -> Result<Self> {
        let table: toml::Table = text.parse()?;
        let compiler = table.get("compiler").and_then(toml::Value::as_str).context("the compiler is missing")?;
        let runs = table.get("runs").and_then(toml::Value::as_table).context("[runs] is missing")?;
        let count = |(name, value): (&String, &toml::Value)| {
            let count = value.as_integer().and_then(|count| u64::try_from(count).ok());
            Ok((name.clone(), count.with_context(|| format!("runs.{name} is not a count"))?))
        };
        Ok(Self { compiler: compiler.to_owned(), counts: runs.iter().map(count).collect::<Result<_>>()? })
    }

    fn text(&self) -> String {
        let mut text = format!("{HEAD}compiler = \"{}\"\n\n[runs]\n", self.compiler);
        for (name, count) in &self.counts {
            writeln!(text, "{name} = {count}").expect("text can be written");
        }
        text
    }

    fn count_of(&self, name: &str) -> Option<u64> {
        self.counts.iter().find(|(other, _)| other == name).map(|(_, count)| *count)
    }
}

/// Result of comparing a count with the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountVerdict {
    Same,
    Fewer,
    More,
}

impl CountVerdict {
    fn from_counts(recorded: u64, counted: u64) -> Self {
        if counted * 100 > recorded * (100 + BOUND_PERCENT) {
            Self::More
        } else if counted * 100 < recorded * (100 - BOUND_PERCENT) {
            Self::Fewer
        } else {
            Self::Same
        }
    }
}

fn change_percent(recorded: u64, counted: u64) -> f64 {
    (counted as f64 / recorded as f64 - 1.0) * 100.0
}

pub(crate) fn run(root: &Path, args: &InstructionsArgs) -> Result<()> {
    if !valgrind::find_or_skip(args.ci)? {
        return Ok(());
    }
    let compiler = valgrind::compiler(root)?;
    if args.record {
        let counted = RecordedCounts { compiler, counts: count_all(root)? };
        fs::write(root.join(RECORD), counted.text()).context(RECORD)?;
        print!("{}", counted.text());
        return Ok(());
    }
    let text = fs::read_to_string(root.join(RECORD)).context(RECORD)?;
    let record = RecordedCounts::parse(&text).context(RECORD)?;
    if record.compiler != compiler {
        bail!(
            "{RECORD} was recorded with {}, and this compiler is {compiler}\n\
             help: check out code that is fast enough and run cargo xtask instructions --record",
            record.compiler
        );
    }
    compare(&record, &count_all(root)?)
}

fn compare(record: &RecordedCounts, counted: &[(String, u64)]) -> Result<()> {
    let mut rows = Vec::new();
    let mut verdicts = Vec::new();
    for (name, count) in counted {
        let Some(before) = record.count_of(name) else {
            bail!("{RECORD} has no run {name}\nhelp: cargo xtask instructions --record");
        };
        let change = format!("{:+.2} %", change_percent(before, *count));
        rows.push(vec![name.clone(), before.to_string(), count.to_string(), change]);
        verdicts.push(CountVerdict::from_counts(before, *count));
    }
    print!("{}", table::render(1, &["run", "recorded", "instructions", "change"], &rows));
    if verdicts.contains(&CountVerdict::More) {
        bail!(
            "a standard run executes more than {BOUND_PERCENT} % more instructions than recorded\n\
             help: if the change is worth it, state that in the commit, and run cargo xtask instructions --record"
        );
    }
    if verdicts.contains(&CountVerdict::Fewer) {
        println!("faster by more than {BOUND_PERCENT} %: record it with cargo xtask instructions --record");
    }
    Ok(())
}

fn count_all(root: &Path) -> Result<Vec<(String, u64)>> {
    let binary = programs::build_program(root)?;
    let runs = standard_runs();
    let cases = KERNELS.iter().flat_map(|kernel| runs.iter().map(move |run| (kernel, run)));
    cases
        .map(|((kernel, suffix), run)| Ok((format!("{}{suffix}", run.name), count(root, &binary, kernel, run)?)))
        .collect()
}

/// Counts the instructions of one run. callgrind's output file is not needed.
fn count(root: &Path, binary: &Path, kernel: &str, run: &StandardRun) -> Result<u64> {
    let mut command = valgrind::callgrind(Path::new("/dev/null"));
    command.arg(binary).args(["run", "--kernel", kernel]).args(run.options);
    if run.output == RunOutput::Json {
        command.arg("--json");
    }
    let output = programs::run_to_end(&mut command, root, Some(&run.input))?;
    let report = String::from_utf8_lossy(&output.stderr);
    parse_count(&report).with_context(|| format!("{}: valgrind reports no count:\n{report}", run.name))
}

/// Returns the count at the end of callgrind's output.
fn parse_count(report: &str) -> Option<u64> {
    report.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_is_written() {
        let record =
            RecordedCounts { compiler: "rustc 1".to_owned(), counts: vec![("a-1".to_owned(), 5), ("b".to_owned(), 7)] };
        assert_eq!(RecordedCounts::parse(&record.text()).expect("it is one"), record);
        assert!(RecordedCounts::parse("compiler = \"rustc 1\"\n[runs]\na = -1\n").is_err());
    }

    #[test]
    fn three_percent_more_are_too_many_and_three_percent_fewer_are_news() {
        assert_eq!(CountVerdict::from_counts(1000, 1030), CountVerdict::Same);
        assert_eq!(CountVerdict::from_counts(1000, 1031), CountVerdict::More);
        assert_eq!(CountVerdict::from_counts(1000, 970), CountVerdict::Same);
        assert_eq!(CountVerdict::from_counts(1000, 969), CountVerdict::Fewer);
    }

    #[test]
    fn a_run_that_got_slower_fails_and_one_that_got_faster_does_not() {
        let record = RecordedCounts { compiler: String::new(), counts: vec![("a".to_owned(), 1000)] };
        let error = compare(&record, &[("a".to_owned(), 2000)]).expect_err("it has twice as many instructions");
        assert!(error.to_string().contains("cargo xtask instructions --record"), "{error}");
        compare(&record, &[("a".to_owned(), 500)]).expect("it has fewer instructions");
        compare(&record, &[("b".to_owned(), 500)]).expect_err("there is no such run");
    }

    #[test]
    fn the_count_is_found_in_the_output_of_callgrind() {
        let report = "==1== Events    : Ir\n==1== Collected : 42973598\n==1==\n==1== I   refs:      42,973,598\n";
        assert_eq!(parse_count(report), Some(42_973_598));
        assert_eq!(parse_count("valgrind: failed to start\n"), None);
    }

    #[test]
    fn the_record_has_the_standard_runs() {
        let text = fs::read_to_string(crate::root().join(RECORD)).expect("the record exists");
        let record = RecordedCounts::parse(&text).expect("it is one");
        for (_, suffix) in KERNELS {
            for run in standard_runs() {
                assert!(record.count_of(&format!("{}{suffix}", run.name)).is_some(), "{}{suffix}", run.name);
            }
        }
    }
}
