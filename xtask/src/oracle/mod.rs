// SPDX-License-Identifier: GPL-2.0-or-later
//! Comparison with a reference: the reference program, which is the scheduler code of Linux 6.1 or 6.12 built from
//! Debian's package `linux-source-6.1` or `-6.12`, or an engine that `fairlab kernel add` has built.
//!
//! The program and its fuzzer are beside the project in `../shared/oracle`, or in the directory that
//! FAIRLAB_ORACLE names. Without them, or without the kernel's sources, the comparison is reported as SKIPPED
//! or fails.

mod engines;
mod operations;

use crate::programs;
use crate::requirement::skip_or_fail;
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use engines::{ComparedPair, OracleCase, TraceSource};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

/// Profiles of the fuzzer, in the order in which an implementation can support them.
const PROFILES: [&str; 19] = [
    "one-cpu",
    "one-cpu-groups",
    "one-cpu-freq",
    "two-cpu-pinned",
    "wake",
    "balance",
    "newidle",
    "misfit",
    "nohz",
    "bandwidth",
    "rt",
    "fork",
    "freq",
    "eas",
    "deadline",
    "irq",
    "changes",
    "features",
    "mixed",
];
/// Profile with features of 6.1 that later kernels do not have.
const FEATURES_PROFILE: &str = "features";
/// Profiles with slices, lags and fair servers, which 6.12 has.
const EEVDF_PROFILES: [&str; 3] = ["eevdf-one-cpu", "eevdf", "fair-server"];
/// Version of the reference program that follows EEVDF.
const EEVDF_VERSION: &str = "6.12";
/// Statement that prints lags, which comparisons of 6.12 add to every scenario.
const TRACE_LAGS: &str = "tracelag 1";
/// Profile whose scenarios set switches for published changes; no kernel contains all of them.
const ARMS_PROFILE: &str = "arms";
/// Seeds of each profile that CI compares.
const CI_SEEDS: &str = "1..8";
/// Value of `--seeds` that derives them from the commit.
const SEEDS_OF_COMMIT: &str = "commit";
/// Number of seeds that are derived from a commit.
const NR_SEEDS_OF_COMMIT: u32 = 200;
/// Names of the reference program in `FAIRLAB_REQUIRE`, of 6.1 and 6.12.
const REFERENCE: &str = "reference";
const EEVDF_REFERENCE: &str = "reference-6.12";
/// Number of parallel comparisons.
const JOBS: usize = 2;

#[derive(ClapArgs)]
pub(crate) struct OracleArgs {
    /// Seeds, such as 1..200 (both ends are included), or `commit`: 200 seeds from a number that follows from the
    /// hash of the last commit.
    #[arg(long, default_value = "1..20")]
    seeds: String,
    /// Only this profile; may be repeated. All by default.
    #[arg(long)]
    profile: Vec<String>,
    /// Statement to add to every scenario, such as "arm pelt_contribution 1".
    #[arg(long)]
    add: Option<String>,
    /// Version of the reference program: 6.1, 6.12, or 6.1-arms with switches for published changes.
    #[arg(long, default_value = "6.1")]
    version: String,
    /// Use an engine built by `fairlab kernel add NAME` as the reference.
    #[arg(long, value_name = "kernel:NAME", conflicts_with = "ci")]
    judge: Option<String>,
    /// Compare such an engine instead of the built-in scheduler.
    #[arg(long, value_name = "kernel:NAME", conflicts_with = "ci")]
    engine: Option<String>,
    /// Also compare operation counts, call by call, in a table of all operations. The reference must be an engine.
    #[arg(long, requires = "judge")]
    operations: bool,
    /// Program to test instead of a release build.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Comparison for CI: a few seeds of every profile of 6.1 and 6.12. Reports SKIPPED and succeeds if the reference
    /// cannot be built.
    #[arg(long)]
    ci: bool,
}

/// One call of the fuzzer.
struct OracleJob {
    profile: String,
    version: String,
    add: Option<String>,
    first: String,
    last: String,
}

pub(crate) fn compare(root: &Path, args: &OracleArgs) -> Result<()> {
    let Some(oracle) = find_or_skip(root, args.ci)? else { return Ok(()) };
    if args.judge.is_some() || args.engine.is_some() {
        return with_engines(root, &oracle, args);
    }
    if build_or_skip(&oracle, &args.version, args.ci)?.is_none() {
        return Ok(());
    }
    let binary = program(root, args)?;
    let has_eevdf = args.ci && build_or_skip(&oracle, EEVDF_VERSION, true)?.is_some();
    let jobs = jobs(args, has_eevdf)?;
    let (failed, started) = (Mutex::new(Vec::new()), Instant::now());
    let queue = Mutex::new(jobs.into_iter());
    std::thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                loop {
                    let Some(job) = queue.lock().expect("no thread panics").next() else { return };
                    if let Err(error) = run_job(&oracle, &binary, &job) {
                        failed.lock().expect("no thread panics").push(format!("{}: {error:#}", job.profile));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no thread panics");
    println!("compared in {:.0} s", started.elapsed().as_secs_f64());
    if !failed.is_empty() {
        bail!("not identical to the reference:\n{}", failed.join("\n"));
    }
    Ok(())
}

fn program(root: &Path, args: &OracleArgs) -> Result<PathBuf> {
    args.program.as_ref().map_or_else(|| programs::build_program(root), |file| Ok(std::path::absolute(file)?))
}

/// Runs the comparisons that involve an engine.
fn with_engines(root: &Path, oracle: &Path, args: &OracleArgs) -> Result<()> {
    let (program, started) = (program(root, args)?, Instant::now());
    let side = |name: &Option<String>| name.as_ref().map(|name| TraceSource::Engine(name.clone()));
    let reference = match side(&args.judge) {
        Some(engine) => engine,
        None => TraceSource::Reference(build(oracle, &args.version, false)?),
    };
    let pair = ComparedPair {
        program: &program,
        tested: side(&args.engine).unwrap_or_else(|| TraceSource::BuiltIn(kernel_arguments(&args.version))),
        reference,
        oracle,
        folder: programs::target(root).join("oracle"),
        wants_operations: args.operations,
    };
    let (first, last) = seeds(&args.seeds)?;
    let has_arms = args.judge.is_some() && args.version != EEVDF_VERSION;
    let arms: &[&str] = if has_arms { &[ARMS_PROFILE] } else { &[] };
    let names = profiles(args, &[&profiles_of(&args.version), arms].concat())?;
    let seeds_of = |profile| (first..=last).map(move |seed| (profile, seed));
    let cases = names.iter().flat_map(|name| seeds_of(name.as_str()));
    let cases: Vec<OracleCase<'_>> =
        cases.map(|(profile, seed)| OracleCase { profile, seed, add: args.add.as_deref() }).collect();
    let compared = pair.compare(&cases, JOBS);
    println!("compared in {:.0} s", started.elapsed().as_secs_f64());
    compared
}

/// Returns the arguments with which the built-in scheduler follows a version of the reference program.
fn kernel_arguments(version: &str) -> &'static [&'static str] {
    if version == EEVDF_VERSION { &["--kernel", EEVDF_VERSION] } else { &["--kernel", "6.1"] }
}

/// Returns the profiles that a version of the reference program supports.
fn profiles_of(version: &str) -> Vec<&'static str> {
    match version {
        EEVDF_VERSION => PROFILES.into_iter().filter(|&name| name != FEATURES_PROFILE).chain(EEVDF_PROFILES).collect(),
        _ => PROFILES.to_vec(),
    }
}

/// Returns the requested profiles, or all.
fn profiles(args: &OracleArgs, all: &[&str]) -> Result<Vec<String>> {
    let known = [&PROFILES[..], &EEVDF_PROFILES, &[ARMS_PROFILE]].concat();
    if let Some(unknown) = args.profile.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("unknown profile {unknown}; known profiles: {}", known.join(", "));
    }
    Ok(match args.profile.as_slice() {
        [] => all.iter().map(|&name| name.to_owned()).collect(),
        some => some.to_vec(),
    })
}

/// Parses the first and the last seed.
fn seeds(text: &str) -> Result<(u32, u32)> {
    if text == SEEDS_OF_COMMIT {
        return seeds_of_commit();
    }
    let (first, last) = text.split_once("..").with_context(|| format!("--seeds {text}: write FIRST..LAST"))?;
    let number = |seed: &str| seed.parse::<u32>().with_context(|| format!("--seeds {text}: `{seed}` is not a number"));
    Ok((number(first)?, number(last)?))
}

/// Derives seeds from the hash of the last commit.
fn seeds_of_commit() -> Result<(u32, u32)> {
    let output = Command::new("git").args(["rev-parse", "HEAD"]).output().context("git rev-parse HEAD")?;
    let hash = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let digits = hash.get(..7).context("git rev-parse HEAD printed no hash")?;
    let first = u32::from_str_radix(digits, 16).with_context(|| format!("{hash} is not a hash"))?;
    let last = first + NR_SEEDS_OF_COMMIT - 1;
    println!("seeds {first} to {last}, from commit {hash}");
    Ok((first, last))
}

/// Returns the calls of the fuzzer; for CI those of 6.12 too, if its reference program is there.
fn jobs(args: &OracleArgs, has_eevdf: bool) -> Result<Vec<OracleJob>> {
    let (first, last) = seeds(if args.ci { CI_SEEDS } else { &args.seeds })?;
    let names = profiles(args, &profiles_of(&args.version))?;
    let job = |profile: String, version: &str, add: Option<String>| OracleJob {
        profile,
        version: version.to_owned(),
        add: add.or_else(|| (version == EEVDF_VERSION).then(|| TRACE_LAGS.to_owned())),
        first: first.to_string(),
        last: last.to_string(),
    };
    let mut jobs: Vec<OracleJob> =
        names.into_iter().map(|profile| job(profile, &args.version, args.add.clone())).collect();
    if args.ci {
        jobs.push(job(ARMS_PROFILE.to_owned(), "6.1-arms", None));
        jobs.push(job("one-cpu-freq".to_owned(), "6.1-arms", Some("arm pelt_contribution 1".to_owned())));
        if has_eevdf {
            jobs.extend(profiles_of(EEVDF_VERSION).into_iter().map(|name| job(name.to_owned(), EEVDF_VERSION, None)));
        }
    }
    Ok(jobs)
}

fn run_job(oracle: &Path, binary: &Path, job: &OracleJob) -> Result<()> {
    let mut command = Command::new(oracle.join("fuzz.sh"));
    command.args(["--profile", &job.profile]);
    if let Some(add) = &job.add {
        command.args(["--add", add]);
    }
    command.args([&job.version, &job.first, &job.last, "--"]).arg(binary).args(["run", "--trace-jsonl", "-"]);
    command.args(kernel_arguments(&job.version));
    let output = command.stderr(Stdio::piped()).output().context("fuzz.sh")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let total: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("total")).collect();
    println!(
        "{}{}",
        total.join("\n"),
        job.add.as_deref().map(|add| format!("\n  (with {})", add.replace('\n', "; "))).unwrap_or_default()
    );
    if !output.status.success() {
        let differing = text.lines().filter(|line| line.starts_with("seed") && line.contains('%'));
        bail!("{}", differing.take(5).collect::<Vec<_>>().join("; "));
    }
    Ok(())
}

/// Returns the directory of the reference. If it is missing, reports SKIPPED in CI and fails elsewhere.
pub(crate) fn find_or_skip(root: &Path, is_ci: bool) -> Result<Option<PathBuf>> {
    let place = std::env::var_os("FAIRLAB_ORACLE").map_or_else(|| root.join("../shared/oracle"), PathBuf::from);
    if place.join("fuzz.sh").is_file() {
        return Ok(Some(place));
    }
    let message = "no reference program was found beside the project (set FAIRLAB_ORACLE to its directory)";
    skip_or_fail(is_ci, REFERENCE, message)?;
    Ok(None)
}

/// Builds the reference program and returns its path. If this fails, reports SKIPPED in CI and fails elsewhere.
pub(crate) fn build_or_skip(oracle: &Path, version: &str, is_ci: bool) -> Result<Option<PathBuf>> {
    match build(oracle, version, is_ci) {
        Ok(program) => Ok(Some(program)),
        Err(error) => {
            let name = if version == EEVDF_VERSION { EEVDF_REFERENCE } else { REFERENCE };
            let message = format!("the reference program {version} cannot be built here: {error:#}");
            skip_or_fail(is_ci, name, &message)?;
            Ok(None)
        }
    }
}

/// Builds the reference program, in CI also the version with switches; returns the path of the requested
/// version.
fn build(oracle: &Path, version: &str, is_ci: bool) -> Result<PathBuf> {
    let mut program = PathBuf::new();
    let versions = if is_ci { vec!["6.1-arms", version] } else { vec![version] };
    for version in versions {
        let mut command = Command::new(oracle.join("build.sh"));
        if is_ci {
            command.arg("--install-deps");
        }
        let output = command.arg(version).output().context("build.sh")?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            bail!("{}", why.lines().last().unwrap_or("build.sh failed").to_owned());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        program = PathBuf::from(text.lines().last().unwrap_or_default());
    }
    Ok(program)
}
