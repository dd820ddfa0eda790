// SPDX-License-Identifier: GPL-2.0-or-later
//! Comparison of the built-in scheduler with a compiled-kernel engine, on scenarios with statements that the reference
//! does not know.

use super::{FuzzOracleArgs, draw, shrink};
use crate::oracle::{self, CaseOutcome, TracePair, TraceSource};
use crate::programs;
use crate::requirement::skip_or_fail;
use anyhow::{Context, Result, bail};
use fairlab_sched::series::KernelSeries;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Differences that are shrunk; more are only counted.
const MAX_SHRUNK: usize = 20;

/// Result of a seed.
struct SeedResult {
    seed: u64,
    outcome: CaseOutcome,
}

/// Scenario with a difference, and how the two sides differ.
struct Difference {
    seed: u64,
    text: String,
    how: String,
}

pub(super) fn compare(root: &Path, args: &FuzzOracleArgs, series: KernelSeries) -> Result<()> {
    let program = match &args.program {
        Some(file) => std::path::absolute(file)?,
        None => programs::build_program(root)?,
    };
    let folder = programs::target(root).join("fuzz-oracle").join(&args.version);
    fs::create_dir_all(&folder)?;
    let Some(pairs) = Pairs::build(&program, args, series)? else { return Ok(()) };
    let next = AtomicU64::new(args.first);
    let (results, failure) = (Mutex::new(Vec::new()), Mutex::new(None));
    std::thread::scope(|scope| {
        for _ in 0..args.jobs {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= args.first + args.scenarios || failure.lock().expect("no thread panics").is_some() {
                        return;
                    }
                    match compare_seed(&pairs, &folder, seed, series) {
                        Ok(result) => results.lock().expect("no thread panics").push(result),
                        Err(error) => *failure.lock().expect("no thread panics") = Some(error),
                    }
                }
            });
        }
    });
    if let Some(error) = failure.into_inner().expect("no thread panics") {
        return Err(error);
    }
    let mut results = results.into_inner().expect("no thread panics");
    results.sort_by_key(|result| result.seed);
    report(&pairs, &folder, series, args.first, results)
}

/// The built-in scheduler beside two engines.
///
/// The built-in scheduler tracks thermal pressure in runs with thermal limits. Scenarios without such limits have an engine
/// that is built without it.
struct Pairs<'a> {
    with_pressure: TracePair<'a>,
    without_pressure: TracePair<'a>,
}

impl<'a> Pairs<'a> {
    /// Builds the engines. If there is no tree, reports SKIPPED in CI and fails elsewhere.
    fn build(program: &'a Path, args: &FuzzOracleArgs, series: KernelSeries) -> Result<Option<Self>> {
        let option = if series == KernelSeries::V6_12 {
            "CONFIG_SCHED_HW_PRESSURE=n"
        } else {
            "CONFIG_SCHED_THERMAL_PRESSURE=n"
        };
        let pair = |name: &str, options: &[&str]| -> Result<Option<TracePair<'a>>> {
            let engine = build_engine(program, args, name, options)?;
            Ok(engine.map(|engine| TracePair {
                program,
                tested: TraceSource::BuiltIn(oracle::kernel_arguments(&args.version)),
                reference: TraceSource::Engine(engine),
            }))
        };
        let with_pressure = pair(&args.version, &[])?;
        let without_pressure = pair(&format!("{}-no-pressure", args.version), &["--config", option])?;
        Ok(with_pressure
            .zip(without_pressure)
            .map(|(with_pressure, without_pressure)| Self { with_pressure, without_pressure }))
    }

    fn of(&self, scenario: &str) -> &TracePair<'a> {
        let is_limit = |line: &str| line.starts_with("thermal ");
        if scenario.lines().any(is_limit) { &self.with_pressure } else { &self.without_pressure }
    }
}

/// Builds an engine and returns its name; `None` without a tree.
fn build_engine(program: &Path, args: &FuzzOracleArgs, name: &str, options: &[&str]) -> Result<Option<String>> {
    let source = args.source.clone().unwrap_or_else(|| format!("debian:{}", args.version));
    let output = Command::new(program)
        .args(["kernel", "add", name, "--source", &source])
        .args(options)
        .output()
        .context("fairlab kernel add")?;
    if output.status.success() {
        return Ok(Some(format!("kernel:{name}")));
    }
    let message = format!("no engine of {source}: {}", String::from_utf8_lossy(&output.stderr).trim_end());
    skip_or_fail(args.ci, &format!("linux-source-{}", args.version), &message)?;
    Ok(None)
}

fn compare_seed(pairs: &Pairs<'_>, folder: &Path, seed: u64, series: KernelSeries) -> Result<SeedResult> {
    let path = folder.join(format!("{seed}.scn"));
    let scenario = draw::scenario_with_extensions(seed, series);
    fs::write(&path, &scenario)?;
    let outcome = pairs.of(&scenario).compare_traces(&path)?;
    if how_they_differ(&path, &outcome)?.is_none() {
        fs::remove_file(&path)?;
    }
    Ok(SeedResult { seed, outcome })
}

/// Describes a difference: the first line that differs, without its numbers, or the failure. Returns `None` for an
/// outcome without a difference.
fn how_they_differ(path: &Path, outcome: &CaseOutcome) -> Result<Option<String>> {
    match outcome {
        CaseOutcome::Identical { .. } | CaseOutcome::Rejected(_) => Ok(None),
        CaseOutcome::Failed(why) => Ok(Some(why.clone())),
        CaseOutcome::Different { line } => {
            let line_of = |side: &str| -> Result<String> {
                let file = path.with_extension(format!("{side}.jsonl"));
                let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
                Ok(text.lines().nth(line - 1).unwrap_or("the end").chars().take(300).collect())
            };
            Ok(Some(format!("line {line}\n  built-in {}\n  engine   {}", line_of("tested")?, line_of("reference")?)))
        }
    }
}

/// Prints the counts and the shrunk scenarios of the differences. Fails if there is one.
fn report(pairs: &Pairs<'_>, folder: &Path, series: KernelSeries, first: u64, results: Vec<SeedResult>) -> Result<()> {
    let (mut nr_identical, mut nr_lines, mut rejected, mut different) = (0, 0, BTreeMap::new(), Vec::new());
    for SeedResult { seed, outcome } in results {
        match outcome {
            CaseOutcome::Identical { lines, .. } => (nr_identical, nr_lines) = (nr_identical + 1, nr_lines + lines),
            CaseOutcome::Rejected(why) => *rejected.entry(why).or_insert(0) += 1,
            CaseOutcome::Different { .. } | CaseOutcome::Failed(_) => different.push(seed),
        }
    }
    println!(
        "{nr_identical} scenarios from seed {first} identical in {nr_lines} lines, {} rejected, {} different",
        rejected.values().sum::<u32>(),
        different.len()
    );
    for (why, number) in rejected {
        println!("rejected {number} by {why}");
    }
    for &seed in different.iter().take(MAX_SHRUNK) {
        let Difference { seed, text, how } = shrink_seed(pairs, folder, seed, series)?;
        println!("\nseed {seed}, {how}\n{text}");
    }
    if different.is_empty() { Ok(()) } else { bail!("not identical: seeds {different:?}") }
}

/// Shrinks the scenario of a seed while both sides still differ.
fn shrink_seed(pairs: &Pairs<'_>, folder: &Path, seed: u64, series: KernelSeries) -> Result<Difference> {
    let path: PathBuf = folder.join(format!("{seed}-small.scn"));
    let differs = |text: &str| -> Result<Option<String>> {
        // Without an end, the scenario would be longer than the one that was drawn.
        if !text.lines().any(|line| line.starts_with("end ")) {
            return Ok(None);
        }
        fs::write(&path, text)?;
        let outcome = pairs.of(text).compare_traces(&path)?;
        how_they_differ(&path, &outcome)
    };
    let text = shrink::shrink(draw::scenario_with_extensions(seed, series), &|text| Ok(differs(text)?.is_some()))?;
    let how = differs(&text)?.unwrap_or_else(|| "differs only once".to_owned());
    Ok(Difference { seed, text, how })
}
