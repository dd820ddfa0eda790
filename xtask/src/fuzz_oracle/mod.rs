// SPDX-License-Identifier: GPL-2.0-or-later
//! Random scenarios of the whole grammar, compared with the reference program byte by byte.
//!
//! `cargo xtask oracle` has one profile per mechanism. This command mixes all statements, with odd numbers,
//! limits, and many simultaneous events. A scenario is defined by its seed, so each difference can be reproduced.
//!
//! The reference does not know hotplug, cpusets, steal time, frequency limits and others. A second grammar has
//! them too; its scenarios are compared with a compiled-kernel engine ([`engines`]).

pub(crate) mod draw;
mod engines;
mod shrink;

use crate::oracle;
use crate::programs;
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_traces::conformance::CASES;
use fairlab_traces::trace_jsonl::{TraceJsonl, TraceOptions};
use fairlab_workload::message::Message;
use fairlab_workload::scenario::{self, KernelLookup, ParseContext, SwitchNames};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(ClapArgs)]
pub(crate) struct FuzzOracleArgs {
    /// Number of random scenarios to compare.
    #[arg(long, default_value_t = 1000)]
    scenarios: u64,
    /// Seed of the first scenario, or `commit`: a number that follows from the hash of the last commit.
    #[arg(long, default_value = "1", value_parser = parse_first_seed)]
    first: u64,
    /// Number of parallel comparisons.
    #[arg(long, default_value_t = 2)]
    jobs: u64,
    /// Version of the reference program: 6.1 or 6.12.
    #[arg(long, default_value = "6.1", value_parser = ["6.1", "6.12"])]
    version: String,
    /// Scenarios that also have the statements which the reference does not know, compared with a compiled-kernel
    /// engine of the version, which is built first. A difference is shrunk and printed.
    #[arg(long)]
    extensions: bool,
    /// Source of the engine's tree, as `fairlab kernel add` takes it.
    #[arg(long, value_name = "SOURCE", requires = "extensions")]
    source: Option<String>,
    /// Program to test instead of a release build.
    #[arg(long, value_name = "FILE", requires = "extensions")]
    program: Option<PathBuf>,
    /// Only print the scenario of the first seed.
    #[arg(long)]
    print: bool,
    /// Comparison for CI: reports SKIPPED and succeeds if the reference or the engine cannot be built.
    #[arg(long)]
    ci: bool,
}

fn parse_first_seed(text: &str) -> Result<u64> {
    if text == oracle::SEEDS_OF_COMMIT {
        return oracle::first_seed_of_commit().map(|(seed, _)| u64::from(seed));
    }
    text.parse().context("write a number, or `commit`")
}

/// Result of a comparison.
enum FuzzOutcome {
    Identical {
        lines: u64,
    },
    /// Both programs reject the scenario, for instance because a deadline task exceeds the bandwidth.
    BothRefuse,
    Different(String),
}

pub(crate) fn run(root: &Path, args: &FuzzOracleArgs) -> Result<()> {
    let series = if args.version == "6.12" { KernelSeries::V6_12 } else { KernelSeries::V6_1 };
    if args.print {
        let draw = if args.extensions { draw::scenario_with_extensions } else { draw::scenario };
        print!("{}", draw(args.first, series));
        return Ok(());
    }
    if args.extensions {
        return engines::compare(root, args, series);
    }
    let Some(place) = oracle::find_or_skip(root, args.ci)? else { return Ok(()) };
    let Some(reference) = oracle::build_or_skip(&place, &args.version, args.ci)? else { return Ok(()) };
    let folder = programs::target(root).join("fuzz-oracle");
    fs::create_dir_all(&folder)?;
    if series == KernelSeries::V6_12 {
        compare_conformance_cases(&reference, &folder, series)?;
    }
    let next = AtomicU64::new(args.first);
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..args.jobs {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= args.first + args.scenarios {
                        return;
                    }
                    let outcome = compare_seed(&reference, &folder, seed, series);
                    outcomes.lock().expect("no thread panics").push((seed, outcome));
                }
            });
        }
    });
    report(outcomes.into_inner().expect("no thread panics"))
}

fn report(mut outcomes: Vec<(u64, Result<FuzzOutcome>)>) -> Result<()> {
    outcomes.sort_by_key(|(seed, _)| *seed);
    let (mut identical, mut refused, mut lines, mut bad) = (0, 0, 0, Vec::new());
    for (seed, outcome) in outcomes {
        match outcome? {
            FuzzOutcome::Identical { lines: more } => (identical, lines) = (identical + 1, lines + more),
            FuzzOutcome::BothRefuse => refused += 1,
            FuzzOutcome::Different(how) => bad.push(format!("seed {seed}: {how}")),
        }
    }
    println!("{identical} scenarios identical in {lines} lines, {refused} rejected by both, {} different", bad.len());
    if bad.is_empty() { Ok(()) } else { bail!("{}", bad.join("\n")) }
}

/// Compares the cases of the conformance kit: their results are those of the reference.
fn compare_conformance_cases(reference: &Path, folder: &Path, series: KernelSeries) -> Result<()> {
    for case in CASES {
        let text = format!("{}trace 3\ntracelag 1\n", case.scenario);
        match compare(reference, &folder.join("conformance.scn"), &text, series)? {
            FuzzOutcome::Identical { .. } => {}
            FuzzOutcome::BothRefuse => bail!("conformance case {}: both programs reject it", case.name),
            FuzzOutcome::Different(how) => bail!("conformance case {}: {how}", case.name),
        }
    }
    println!("{} conformance cases identical", CASES.len());
    Ok(())
}

fn compare_seed(reference: &Path, folder: &Path, seed: u64, series: KernelSeries) -> Result<FuzzOutcome> {
    compare(reference, &folder.join(format!("{seed}.scn")), &draw::scenario(seed, series), series)
}

/// Compares the traces of a scenario, which stays in the file `path` if they differ.
fn compare(reference: &Path, path: &Path, text: &str, series: KernelSeries) -> Result<FuzzOutcome> {
    fs::write(path, text)?;
    let reference_trace =
        Command::new(reference).arg(path).stdin(Stdio::null()).output().context("the reference program")?;
    let reference_trace = reference_trace.status.success().then_some(reference_trace.stdout);
    let fairlab =
        std::panic::catch_unwind(|| fairlab_trace(text, series)).unwrap_or_else(|_| Err(Message::new("it panics")));
    let outcome = match (reference_trace, fairlab) {
        (Some(reference_trace), Ok(fairlab)) if reference_trace == fairlab => {
            FuzzOutcome::Identical { lines: reference_trace.iter().filter(|&&byte| byte == b'\n').count() as u64 }
        }
        (Some(reference_trace), Ok(fairlab)) => FuzzOutcome::Different(first_difference(&reference_trace, &fairlab)),
        (None, Err(_)) => FuzzOutcome::BothRefuse,
        (Some(_), Err(why)) => FuzzOutcome::Different(format!("only the built-in scheduler stops: {why}")),
        (None, Ok(_)) => FuzzOutcome::Different("only the reference stops".to_owned()),
    };
    if !matches!(outcome, FuzzOutcome::Different(_)) {
        fs::remove_file(path)?;
    }
    Ok(outcome)
}

/// Returns the trace of the built-in scheduler.
fn fairlab_trace(text: &str, series: KernelSeries) -> Result<Vec<u8>, Message> {
    // The names of features and tunables are checked when they are set.
    let named = &|_: &str| Err(Message::new("random scenarios name no machine"));
    let kernel: KernelLookup<'_> = &|_| Ok(SwitchNames::CompiledKernel(series));
    let context = ParseContext { given: None, named, vary: None, kernel };
    let scenario = scenario::parse_with_context("fuzz.scn", &oracle::to_fairlab_grammar(text), context)?;
    let (nr_cpus, options) = (scenario.machine.nr_cpus as usize, TraceOptions::of_scenario(&scenario, 1));
    let mut machine = Machine::new(Setup::from_scenario(scenario))?;
    let mut out = Vec::new();
    let mut trace = TraceJsonl::new(&mut out, nr_cpus, options);
    machine.run(&mut trace)?;
    trace.write_totals(&machine);
    trace.finish().map_err(|error| Message::new(error.to_string()))?;
    Ok(out)
}

fn first_difference(reference_trace: &[u8], fairlab: &[u8]) -> String {
    let lines = |text: &[u8]| String::from_utf8_lossy(text).lines().map(str::to_owned).collect::<Vec<_>>();
    let (reference_trace, fairlab) = (lines(reference_trace), lines(fairlab));
    let same = reference_trace.iter().zip(&fairlab).take_while(|(a, b)| a == b).count();
    let of = |lines: &[String]| {
        lines.get(same).map_or_else(|| "the end".to_owned(), |line| line.chars().take(120).collect())
    };
    format!("line {}: reference {}, built-in {}", same + 1, of(&reference_trace), of(&fairlab))
}
