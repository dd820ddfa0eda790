// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts the instructions of standard runs, and compares them with recorded counts.

use crate::programs::{self, RunInput};
use crate::{mixes, release, table, valgrind};
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(ClapArgs)]
pub(crate) struct InstructionsArgs {
    /// Count the profile-guided program that is published, instead of the plain release build.
    #[arg(long, conflicts_with = "ci")]
    shipped: bool,
    /// Record the counts instead of comparing them with the recorded ones.
    #[arg(long, conflicts_with = "ci")]
    record: bool,
    /// Report missing valgrind as SKIPPED and succeed.
    #[arg(long)]
    ci: bool,
}

const RECORD: &str = "golden/instructions.toml";
const HEAD: &str = "# SPDX-License-Identifier: GPL-2.0-or-later\n\
                    # Instructions that standard runs execute, counted by valgrind: of the plain release build, and of the\n\
                    # profile-guided program that is published. Recorded by: cargo xtask instructions [--shipped] --record\n";
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
/// and frequencies. Half of them print their summaries.
fn standard_runs() -> Vec<StandardRun> {
    use RunOutput::{Json, Text};
    use mixes::crowded;
    let scn =
        |name, output, path: &str| StandardRun { name, options: &[], input: RunInput::File(path.to_owned()), output };
    let mix = |name, output, text| StandardRun { name, options: &[], input: RunInput::Text(text), output };
    let hello = |name, output, options| StandardRun {
        name,
        options,
        input: RunInput::File("scenarios/hello.json".to_owned()),
        output,
    };
    vec![
        scn("eight-cpus", Json, "scenarios/eight-cpus.scn"),
        scn("numa", Json, "scenarios/numa.scn"),
        mix("crowded-16", Json, crowded(16, "100ms")),
        hello("hello", Json, &["--for", "500ms"]),
        mix("crowded-64", Json, crowded(64, "30ms")),
        mix("crowded-1024", Json, crowded(1024, "8ms")),
        scn("eight-cpus-printed", Text, "scenarios/eight-cpus.scn"),
        mix("crowded-16-printed", Text, crowded(16, "100ms")),
        hello("hello-printed", Text, &["--for", "500ms"]),
        hello("hello-224-printed", Text, &["--for", "200ms", "--machine", "xeon-2s-224"]),
        mix("crowded-64-printed", Text, crowded(64, "30ms")),
        mix("crowded-1024-printed", Text, crowded(1024, "8ms")),
    ]
}

/// Kernels with which each run is counted or profiled, and what is added to its name.
pub(crate) const KERNELS: [(&str, &str); 2] = [("6.1", ""), ("6.12", "-eevdf")];

/// Program whose instructions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountedProgram {
    /// `cargo build --release`.
    Plain,
    /// `cargo xtask release`.
    Shipped,
}

impl CountedProgram {
    const ALL: [Self; 2] = [Self::Plain, Self::Shipped];

    /// Table of the record.
    const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Shipped => "shipped",
        }
    }

    /// Options of this command for the program.
    const fn options(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Shipped => " --shipped",
        }
    }

    fn build(self, root: &Path) -> Result<PathBuf> {
        match self {
            Self::Plain => programs::build_program(root),
            Self::Shipped => release::build_program(root),
        }
    }
}

/// Counts of a program and their compiler: counts of different compilers cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProgramCounts {
    compiler: String,
    counts: Vec<(String, u64)>,
}

impl ProgramCounts {
    fn from_toml(table: &toml::Table) -> Result<Self> {
        let compiler = table.get("compiler").and_then(toml::Value::as_str).context("the compiler is missing")?;
        let runs = table.get("runs").and_then(toml::Value::as_table).context("the runs are missing")?;
        let count = |(name, value): (&String, &toml::Value)| {
            let count = value.as_integer().and_then(|count| u64::try_from(count).ok());
            Ok((name.clone(), count.with_context(|| format!("runs.{name} is not a count"))?))
        };
        Ok(Self { compiler: compiler.to_owned(), counts: runs.iter().map(count).collect::<Result<_>>()? })
    }

    fn count_of(&self, name: &str) -> Option<u64> {
        self.counts.iter().find(|(other, _)| other == name).map(|(_, count)| *count)
    }
}

/// Recorded counts, by program.
#[derive(Debug, Default, PartialEq, Eq)]
struct CountRecord(Vec<(CountedProgram, ProgramCounts)>);

impl CountRecord {
    fn parse(text: &str) -> Result<Self> {
        let table: toml::Table = text.parse()?;
        let mut record = Self::default();
        for program in CountedProgram::ALL {
            if let Some(counts) = table.get(program.name()).and_then(toml::Value::as_table) {
                record.0.push((program, ProgramCounts::from_toml(counts).context(program.name())?));
            }
        }
        Ok(record)
    }

    fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (program, ProgramCounts { compiler, counts }) in &self.0 {
            let name = program.name();
            write!(text, "\n[{name}]\ncompiler = \"{compiler}\"\n\n[{name}.runs]\n").expect("text can be written");
            for (run, count) in counts {
                writeln!(text, "{run} = {count}").expect("text can be written");
            }
        }
        text
    }

    fn get(&self, program: CountedProgram) -> Option<&ProgramCounts> {
        self.0.iter().find(|(other, _)| *other == program).map(|(_, counts)| counts)
    }

    fn set(&mut self, program: CountedProgram, mut counts: ProgramCounts) {
        counts.counts.sort();
        self.0.retain(|(other, _)| *other != program);
        self.0.push((program, counts));
        self.0.sort_by_key(|(program, _)| program.name());
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
    let program = if args.shipped { CountedProgram::Shipped } else { CountedProgram::Plain };
    let compiler = valgrind::compiler(root)?;
    let text = fs::read_to_string(root.join(RECORD)).context(RECORD)?;
    let mut record = CountRecord::parse(&text).context(RECORD)?;
    if args.record {
        record.set(program, ProgramCounts { compiler, counts: count_all(root, program)? });
        fs::write(root.join(RECORD), record.text()).context(RECORD)?;
        print!("{}", record.text());
        return Ok(());
    }
    let help = format!("cargo xtask instructions{} --record", program.options());
    let Some(recorded) = record.get(program) else {
        bail!("{RECORD} has no counts of the {} program\nhelp: {help}", program.name());
    };
    if recorded.compiler != compiler {
        bail!(
            "{RECORD} was recorded with {}, and this compiler is {compiler}\n\
             help: check out code that is fast enough and run {help}",
            recorded.compiler
        );
    }
    compare(recorded, &count_all(root, program)?, &help)
}

fn compare(record: &ProgramCounts, counted: &[(String, u64)], help: &str) -> Result<()> {
    let mut rows = Vec::new();
    let mut verdicts = Vec::new();
    for (name, count) in counted {
        let Some(before) = record.count_of(name) else {
            bail!("{RECORD} has no run {name}\nhelp: {help}");
        };
        let change = format!("{:+.2} %", change_percent(before, *count));
        rows.push(vec![name.clone(), before.to_string(), count.to_string(), change]);
        verdicts.push(CountVerdict::from_counts(before, *count));
    }
    print!("{}", table::render(1, &["run", "recorded", "instructions", "change"], &rows));
    if verdicts.contains(&CountVerdict::More) {
        bail!(
            "a standard run executes more than {BOUND_PERCENT} % more instructions than recorded\n\
             help: if the change is worth it, state that in the commit, and run {help}"
        );
    }
    if verdicts.contains(&CountVerdict::Fewer) {
        println!("faster by more than {BOUND_PERCENT} %: record it with {help}");
    }
    Ok(())
}

fn count_all(root: &Path, program: CountedProgram) -> Result<Vec<(String, u64)>> {
    let binary = program.build(root)?;
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

    const HELP: &str = "cargo xtask instructions --record";

    #[test]
    fn a_record_is_read_as_it_is_written() {
        let counts = |count| ProgramCounts {
            compiler: "rustc 1".to_owned(),
            counts: vec![("a-1".to_owned(), count), ("b".to_owned(), 7)],
        };
        let mut record = CountRecord::default();
        record.set(CountedProgram::Shipped, counts(4));
        record.set(CountedProgram::Plain, counts(5));
        let text = record.text();
        assert_eq!(CountRecord::parse(&text).expect("it is one"), record);
        record.set(CountedProgram::Plain, counts(6));
        assert_eq!(record.text(), text.replace("a-1 = 5", "a-1 = 6"), "the other table stays");
        assert!(CountRecord::parse("[plain]\ncompiler = \"rustc 1\"\n[plain.runs]\na = -1\n").is_err());
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
        let record = ProgramCounts { compiler: String::new(), counts: vec![("a".to_owned(), 1000)] };
        let error = compare(&record, &[("a".to_owned(), 2000)], HELP).expect_err("it has twice as many instructions");
        assert!(error.to_string().contains(HELP), "{error}");
        compare(&record, &[("a".to_owned(), 500)], HELP).expect("it has fewer instructions");
        compare(&record, &[("b".to_owned(), 500)], HELP).expect_err("there is no such run");
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
        let record = CountRecord::parse(&text).expect("it is one");
        for program in CountedProgram::ALL {
            let counts = record.get(program).expect("both programs are recorded");
            for (_, suffix) in KERNELS {
                for run in standard_runs() {
                    let name = format!("{}{suffix}", run.name);
                    assert!(counts.count_of(&name).is_some(), "{name} of the {} program", program.name());
                }
            }
        }
    }
}
