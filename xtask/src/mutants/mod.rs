// SPDX-License-Identifier: GPL-2.0-or-later
//! Mutation tests of the code that reports numbers: measurement, findings, explanations, traces, the command line's output, and comparisons.
//!
//! `cargo mutants` lists the mutants, and a seed draws some of them. A build of each one would take hours, so a
//! copy of the workspace contains all drawn mutants, each behind a switch: one build, then one run of the tests
//! per mutant. A mutant without a switch, such as one in constant code, is built alone. The tests are those of
//! the three packages and the small audit; with `--by audit`, those of the audit alone.

mod switches;
mod test_programs;
mod tree;

use crate::audit::RANDOM_IN_CI;
use crate::programs::{cargo, target};
use crate::random::DrawRng;
use anyhow::{Context, Result, ensure};
use clap::Args as ClapArgs;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use test_programs::{TestPrograms, TestedBy};
use tree::{MutantTree, PACKAGES};

#[derive(ClapArgs)]
pub(crate) struct MutantsArgs {
    /// Number of mutants to draw; about two of three compile
    #[arg(long, default_value_t = 150)]
    count: usize,
    /// Seed of the draw
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// File of the results; mutants that it contains are not tested again [default: target/mutants/SEED.jsonl]
    #[arg(long)]
    results: Option<PathBuf>,
    /// Files whose mutants are drawn, as a glob, repeatable [default: all files with reported numbers]
    #[arg(long = "file", value_name = "GLOB")]
    files: Vec<String>,
    /// Expression that names of drawn mutants match; a name ends with that of the function
    #[arg(long, value_name = "REGEX")]
    re: Option<String>,
    /// Expression that names of drawn mutants do not match
    #[arg(long, value_name = "REGEX")]
    exclude_re: Option<String>,
    /// Programs that test the mutants
    #[arg(long, value_enum, default_value = "all")]
    by: TestedBy,
    /// Number of random runs of the audit
    #[arg(long, default_value_t = RANDOM_IN_CI)]
    random: u32,
    /// Test the survivors again
    #[arg(long)]
    retry: bool,
    /// Build the mutants with switches, and do not test them
    #[arg(long)]
    build_only: bool,
}

/// Files whose mutants are drawn.
const FILES: [&str; 6] = [
    "crates/measure/src/**",
    "crates/traces/src/**",
    "crates/explain/src/**",
    "crates/findings/src/**",
    "crates/cli/src/output/**",
    "crates/experiment/src/**",
];
const UNVIABLE: &str = "does not compile";
const SURVIVED: &str = "survived";

/// Mutant as `cargo mutants` lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mutant {
    name: String,
    file: String,
    genre: String,
    /// Line and column of the replaced code, from 1: its start and its end.
    span: Range<(usize, usize)>,
    replacement: String,
}

impl Mutant {
    fn from_json(entry: &Value) -> Option<Self> {
        let text = |key: &str| entry[key].as_str().map(str::to_owned);
        let place = |end: &str| {
            let number = |key: &str| entry["span"][end][key].as_u64().and_then(|it| usize::try_from(it).ok());
            Some((number("line")?, number("column")?))
        };
        let span = place("start")?..place("end")?;
        let (name, file, genre) = (text("name")?, text("file")?, text("genre")?);
        Some(Self { name, file, genre, span, replacement: text("replacement")? })
    }
}

/// Draws mutants, and tests each one.
pub(crate) fn run(root: &Path, args: &MutantsArgs) -> Result<()> {
    let directory = target(root).join("mutants");
    fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
    let files: Vec<&str> = args.files.iter().map(String::as_str).collect();
    let drawn = draw(list(root, if files.is_empty() { &FILES } else { &files }, args)?, args);
    let path = args.results.clone().unwrap_or_else(|| directory.join(format!("{}.jsonl", args.seed)));
    let mut results = MutantResults::open(&path, args.retry)?;
    let tree = MutantTree::new(root, &directory);
    let todo: Vec<_> = drawn.iter().filter(|mutant| !results.has(mutant)).cloned().collect();
    let switched = tree.switch(&todo)?;
    let (with_switch, alone): (Vec<_>, Vec<_>) = todo.iter().enumerate().partition(|(id, _)| switched.contains(id));
    println!("{} mutants drawn, {} to test, {} of them with switches", drawn.len(), todo.len(), with_switch.len());
    if !todo.is_empty() {
        let mut programs = TestPrograms::build(&tree, args.by, args.random)?
            .context("the mutants with switches do not compile together")?;
        if args.build_only {
            return Ok(());
        }
        programs.record_reached(&directory)?;
        for (id, mutant) in with_switch {
            results.record(mutant, programs.first_failure(Some(id))?.as_deref().unwrap_or(SURVIVED))?;
        }
    }
    for (_, mutant) in alone {
        tree.apply(mutant)?;
        let failure = match TestPrograms::build(&tree, args.by, args.random)? {
            None => Some(UNVIABLE.to_owned()),
            Some(programs) => programs.first_failure(None)?,
        };
        results.record(mutant, failure.as_deref().unwrap_or(SURVIVED))?;
    }
    results.print(&drawn);
    Ok(())
}

/// Returns all mutants of the files.
fn list(root: &Path, files: &[&str], args: &MutantsArgs) -> Result<Vec<Mutant>> {
    let mut command = cargo();
    command.args(["mutants", "--list", "--json"]);
    command.args(PACKAGES.iter().flat_map(|(package, _)| ["--package", package]));
    command.args(files.iter().flat_map(|files| ["--file", files]));
    for (option, expression) in [("--re", &args.re), ("--exclude-re", &args.exclude_re)] {
        command.args(expression.iter().flat_map(|expression| [option, expression]));
    }
    let output = command.current_dir(root).output().context("cargo mutants")?;
    ensure!(
        output.status.success(),
        "cargo mutants --list fails: {}\nhelp: cargo install cargo-mutants --locked",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let entries: Vec<Value> = serde_json::from_slice(&output.stdout)?;
    entries.iter().map(|entry| Mutant::from_json(entry).with_context(|| format!("unknown mutant: {entry}"))).collect()
}

fn draw(mut mutants: Vec<Mutant>, args: &MutantsArgs) -> Vec<Mutant> {
    let mut random = DrawRng::new(&[args.seed.to_string()]);
    let count = args.count.min(mutants.len());
    (0..count).map(|_| mutants.swap_remove(random.below(mutants.len()))).collect()
}

/// Results so far, by the name of the mutant, and the file that has them.
struct MutantResults {
    by_name: BTreeMap<String, String>,
    file: File,
}

impl MutantResults {
    fn open(path: &Path, retry: bool) -> Result<Self> {
        let place = || path.display().to_string();
        let before = fs::read_to_string(path).unwrap_or_default();
        let rows: Vec<Value> =
            before.lines().map(serde_json::from_str).collect::<Result<_, _>>().with_context(place)?;
        let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let mut by_name: BTreeMap<_, _> = rows.iter().map(|row| (text(row, "mutant"), text(row, "result"))).collect();
        by_name.retain(|_, result| !(retry && result == SURVIVED));
        let file = File::options().create(true).append(true).open(path).with_context(place)?;
        Ok(Self { by_name, file })
    }

    fn has(&self, mutant: &Mutant) -> bool {
        self.by_name.contains_key(&mutant.name)
    }

    fn record(&mut self, mutant: &Mutant, result: &str) -> Result<()> {
        println!("{}: {result}", mutant.name);
        writeln!(self.file, "{}", json!({ "mutant": mutant.name, "result": result }))?;
        self.by_name.insert(mutant.name.clone(), result.to_owned());
        Ok(())
    }

    fn print(&self, drawn: &[Mutant]) {
        let results = || drawn.iter().filter_map(|mutant| Some((mutant, self.by_name.get(&mutant.name)?)));
        let viable: Vec<_> = results().filter(|(_, result)| *result != UNVIABLE).collect();
        let survivors: Vec<_> = viable.iter().filter(|(_, result)| *result == SURVIVED).collect();
        println!("{} mutants compile; the tests find {} of them", viable.len(), viable.len() - survivors.len());
        for (mutant, _) in survivors {
            println!("survived: {}", mutant.name);
        }
    }
}
