// SPDX-License-Identifier: GPL-2.0-or-later
//! Instructions that standard runs execute, against those that are recorded: a measure of speed that does not depend on what
//! else a machine does.
//!
//! The plain release build runs under valgrind's callgrind, with nothing in its environment, so that neither names of paths
//! nor variables are part of the count. The C library is told to use the code that every x86-64 CPU has. What is left are a
//! few instructions for the digits of times.

use crate::mixes;
use crate::programs::{self, Input};
use crate::table;
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

#[derive(ClapArgs)]
pub(crate) struct InstructionsArgs {
    /// Record the counts instead of comparing with those that are recorded.
    #[arg(long, conflicts_with = "ci")]
    record: bool,
    /// Say so and succeed where valgrind is missing.
    #[arg(long)]
    ci: bool,
}

const RECORD: &str = "golden/instructions.toml";
const HEAD: &str = "# SPDX-License-Identifier: GPL-2.0-or-later\n\
                    # Instructions that standard runs of the plain release build execute, counted by valgrind.\n\
                    # Recorded by: cargo xtask instructions --record\n";
/// So many parts of a hundred may a count differ from the record.
const BOUND_PERCENT: u64 = 3;
/// Functions of the C library that depend on the CPU are chosen as if it had none of these.
const PLAIN_CPU: &str = "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-FSRM,-MOVBE,-RTM";

/// A run that is counted.
struct Standard {
    name: &'static str,
    options: &'static [&'static str],
    input: Input,
}

/// Small machines and large ones; periodic work, pairs and hogs; the second last one has prices, idle states and frequencies.
fn standard_runs() -> [Standard; 5] {
    let file = |name, options, path: &str| Standard { name, options, input: Input::File(path.to_owned()) };
    let mix = |name, text| Standard { name, options: &[], input: Input::Text(text) };
    [
        file("eight-cpus", &[], "scenarios/eight-cpus.scn"),
        file("numa", &[], "scenarios/numa.scn"),
        mix("crowded-16", mixes::crowded(16, "100ms")),
        file("hello", &["--for", "500ms"], "scenarios/hello.json"),
        mix("crowded-64", mixes::crowded(64, "30ms")),
    ]
}

/// What was counted, and of what: counts of different compilers say nothing about the code.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    compiler: String,
    counts: Vec<(String, u64)>,
}

impl Record {
    fn parse(text: &str) -> Result<Self> {
        let table: toml::Table = text.parse()?;
        let compiler = table.get("compiler").and_then(toml::Value::as_str).context("it names no compiler")?;
        let runs = table.get("runs").and_then(toml::Value::as_table).context("it has no [runs]")?;
        let count = |(name, value): (&String, &toml::Value)| {
            let count = value.as_integer().and_then(|count| u64::try_from(count).ok());
            Ok((name.clone(), count.with_context(|| format!("runs.{name} is no count"))?))
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

    fn of(&self, name: &str) -> Option<u64> {
        self.counts.iter().find(|(other, _)| other == name).map(|(_, count)| *count)
    }
}

/// What a count is, beside the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountVerdict {
    Same,
    Fewer,
    More,
}

impl CountVerdict {
    fn of(recorded: u64, counted: u64) -> Self {
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
    if !has_valgrind()? {
        let message = "there is no valgrind, which counts instructions (Debian's package valgrind)";
        if !args.ci {
            bail!("{message}");
        }
        println!("SKIPPED: {message}");
        return Ok(());
    }
    let compiler = compiler(root)?;
    if args.record {
        let counted = Record { compiler, counts: count_all(root)? };
        fs::write(root.join(RECORD), counted.text()).context(RECORD)?;
        print!("{}", counted.text());
        return Ok(());
    }
    let text = fs::read_to_string(root.join(RECORD)).context(RECORD)?;
    let record = Record::parse(&text).context(RECORD)?;
    if record.compiler != compiler {
        bail!(
            "{RECORD} is of {}, and this is {compiler}\n\
             help: on a state of the code that is fast enough: cargo xtask instructions --record",
            record.compiler
        );
    }
    compare(&record, &count_all(root)?)
}

fn compare(record: &Record, counted: &[(String, u64)]) -> Result<()> {
    let mut rows = Vec::new();
    let mut verdicts = Vec::new();
    for (name, count) in counted {
        let Some(before) = record.of(name) else {
            bail!("{RECORD} has no run {name}\nhelp: cargo xtask instructions --record");
        };
        let change = format!("{:+.2} %", change_percent(before, *count));
        rows.push(vec![name.clone(), before.to_string(), count.to_string(), change]);
        verdicts.push(CountVerdict::of(before, *count));
    }
    print!("{}", table::render(1, &["run", "recorded", "instructions", "change"], &rows));
    if verdicts.contains(&CountVerdict::More) {
        bail!(
            "a standard run executes more than {BOUND_PERCENT} % more instructions than recorded\n\
             help: if what came is worth it, say so in the commit: cargo xtask instructions --record"
        );
    }
    if verdicts.contains(&CountVerdict::Fewer) {
        println!("faster by more than {BOUND_PERCENT} %: keep it with cargo xtask instructions --record");
    }
    Ok(())
}

fn has_valgrind() -> Result<bool> {
    match Command::new("valgrind").arg("--version").output() {
        Ok(output) => Ok(output.status.success()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).context("valgrind"),
    }
}

/// The compiler and its host, in one line.
fn compiler(root: &Path) -> Result<String> {
    let output = programs::finish(Command::new("rustc").arg("-vV"), root, None)?;
    let text = String::from_utf8(output.stdout).context("rustc -vV says text")?;
    let version = text.lines().next().context("rustc -vV says a version")?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV says a host")?;
    Ok(format!("{version} for {host}"))
}

fn count_all(root: &Path) -> Result<Vec<(String, u64)>> {
    let binary = programs::plain(root)?;
    standard_runs().iter().map(|run| Ok((run.name.to_owned(), count(root, &binary, run)?))).collect()
}

/// The instructions of one run. Where callgrind would write its findings does not matter, nobody reads them.
fn count(root: &Path, binary: &Path, run: &Standard) -> Result<u64> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(binary)
        .args(["run", "--json"])
        .args(run.options)
        .env_clear()
        .env("GLIBC_TUNABLES", PLAIN_CPU);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    let output = programs::finish(&mut command, root, Some(&run.input))?;
    let told = String::from_utf8_lossy(&output.stderr);
    counted(&told).with_context(|| format!("{}: valgrind tells no count:\n{told}", run.name))
}

/// The count at the end of what callgrind tells.
fn counted(told: &str) -> Option<u64> {
    told.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_is_written() {
        let record =
            Record { compiler: "rustc 1".to_owned(), counts: vec![("a-1".to_owned(), 5), ("b".to_owned(), 7)] };
        assert_eq!(Record::parse(&record.text()).expect("it is one"), record);
        assert!(Record::parse("compiler = \"rustc 1\"\n[runs]\na = -1\n").is_err());
    }

    #[test]
    fn three_percent_more_are_too_many_and_three_percent_fewer_are_news() {
        assert_eq!(CountVerdict::of(1000, 1030), CountVerdict::Same);
        assert_eq!(CountVerdict::of(1000, 1031), CountVerdict::More);
        assert_eq!(CountVerdict::of(1000, 970), CountVerdict::Same);
        assert_eq!(CountVerdict::of(1000, 969), CountVerdict::Fewer);
    }

    #[test]
    fn a_run_that_got_dearer_fails_and_one_that_got_cheaper_does_not() {
        let record = Record { compiler: String::new(), counts: vec![("a".to_owned(), 1000)] };
        let error = compare(&record, &[("a".to_owned(), 2000)]).expect_err("it is twice as dear");
        assert!(error.to_string().contains("cargo xtask instructions --record"), "{error}");
        compare(&record, &[("a".to_owned(), 500)]).expect("it is cheaper");
        compare(&record, &[("b".to_owned(), 500)]).expect_err("there is no such run");
    }

    #[test]
    fn the_count_is_found_in_what_callgrind_tells() {
        let told = "==1== Events    : Ir\n==1== Collected : 42973598\n==1==\n==1== I   refs:      42,973,598\n";
        assert_eq!(counted(told), Some(42_973_598));
        assert_eq!(counted("valgrind: failed to start\n"), None);
    }

    #[test]
    fn the_record_has_the_standard_runs() {
        let text = fs::read_to_string(crate::root().join(RECORD)).expect("the record exists");
        let record = Record::parse(&text).expect("it is one");
        for run in standard_runs() {
            assert!(record.of(run.name).is_some(), "{}", run.name);
        }
    }
}
