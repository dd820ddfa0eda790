// SPDX-License-Identifier: GPL-2.0-or-later
//! Comparison with a reference: the reference program, which is the scheduler code of Linux 6.1 or 6.12 built from
//! Debian's package `linux-source-6.1` or `-6.12`, or an engine that `fairlab kernel add` has built.
//!
//! The program and its scenario generator are beside the project in `../shared/oracle`, or in the directory that
//! FAIRLAB_ORACLE names. Without them, or without the kernel's sources, the comparison is reported as SKIPPED
//! or fails.

mod operations;
mod pair;

use crate::programs;
use crate::requirement::skip_or_fail;
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
pub(crate) use pair::rejection_reason;
pub(crate) use pair::{CaseOutcome, TracePair, TraceSource};
use pair::{ComparedPair, OracleSummary};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Profiles of the scenario generator, in the order in which an implementation can support them.
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
/// Version of the reference program that has switches for published changes.
const ARMS_VERSION: &str = "6.1-arms";
/// Statement that prints lags, which comparisons of 6.12 add to every scenario.
const TRACE_LAGS: &str = "tracelag 1";
/// Profile whose scenarios set switches for published changes; no kernel contains all of them.
const ARMS_PROFILE: &str = "arms";
/// Comparisons of CI with the version that has switches.
const CI_ARMS: [(&str, Option<&str>); 2] = [(ARMS_PROFILE, None), ("one-cpu-freq", Some("arm pelt_contribution 1"))];
/// Versions that CI compares.
const CI_VERSIONS: [&str; 3] = ["6.1", ARMS_VERSION, EEVDF_VERSION];
/// Seeds of each profile that CI compares.
const CI_SEEDS: &str = "1..8";
/// Value of `--seeds` that derives them from the commit.
pub(crate) const SEEDS_OF_COMMIT: &str = "commit";
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

pub(crate) fn compare(root: &Path, args: &OracleArgs) -> Result<()> {
    let Some(oracle) = find_or_skip(root, args.ci)? else { return Ok(()) };
    let (first, last) = seeds(if args.ci { CI_SEEDS } else { &args.seeds })?;
    let versions: &[&str] = if args.ci { &CI_VERSIONS } else { &[&args.version] };
    let mut references = Vec::new();
    for &version in versions {
        let reference = match &args.judge {
            Some(name) => Some(TraceSource::Engine(name.clone())),
            None => build_or_skip(&oracle, version, args.ci)?.map(TraceSource::Reference),
        };
        references.extend(reference.map(|reference| (version, reference)));
    }
    if references.is_empty() {
        return Ok(());
    }
    let (program, folder) = (program(root, args)?, programs::target(root).join("oracle"));
    let (started, mut summary) = (Instant::now(), OracleSummary::default());
    for (version, reference) in references {
        let built_in = || TraceSource::BuiltIn(kernel_arguments(version));
        let pair = ComparedPair {
            sides: TracePair {
                program: &program,
                tested: args.engine.clone().map_or_else(built_in, TraceSource::Engine),
                reference,
            },
            oracle: &oracle,
            folder: folder.join(version),
            wants_operations: args.operations,
        };
        for (profile, add) in comparisons(args, version)? {
            let name = if args.ci { format!("{version} {profile}") } else { profile.clone() };
            let results = pair.compare(&profile, first..=last, &add, JOBS)?;
            summary.report_profile(&name, results);
        }
    }
    println!("compared in {:.0} s", started.elapsed().as_secs_f64());
    summary.finish(&folder, args.operations)
}

fn program(root: &Path, args: &OracleArgs) -> Result<PathBuf> {
    args.program.as_ref().map_or_else(|| programs::build_program(root), |file| Ok(std::path::absolute(file)?))
}

/// Returns the arguments with which the built-in scheduler follows a version of the reference program.
pub(crate) fn kernel_arguments(version: &str) -> &'static [&'static str] {
    if version == EEVDF_VERSION { &["--kernel", EEVDF_VERSION] } else { &["--kernel", "6.1"] }
}

/// Returns the profiles that a version of the reference program supports.
fn profiles_of(version: &str) -> Vec<&'static str> {
    match version {
        EEVDF_VERSION => PROFILES.into_iter().filter(|&name| name != FEATURES_PROFILE).chain(EEVDF_PROFILES).collect(),
        ARMS_VERSION => PROFILES.into_iter().chain([ARMS_PROFILE]).collect(),
        _ => PROFILES.to_vec(),
    }
}

/// Returns the profiles to compare with a version, each with the statements to add to its scenarios.
fn comparisons(args: &OracleArgs, version: &str) -> Result<Vec<(String, String)>> {
    let known = [&PROFILES[..], &EEVDF_PROFILES, &[ARMS_PROFILE]].concat();
    if let Some(unknown) = args.profile.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("unknown profile {unknown}; known profiles: {}", known.join(", "));
    }
    let mut names = profiles_of(version);
    // The built-in scheduler has the switches, so that engines of trees with published changes can be compared.
    if args.judge.is_some() && version == "6.1" {
        names.push(ARMS_PROFILE);
    }
    let comparisons: Vec<(&str, Option<&str>)> = match args.profile.as_slice() {
        [] if args.ci && version == ARMS_VERSION => CI_ARMS.to_vec(),
        [] => names.into_iter().map(|name| (name, None)).collect(),
        some => some.iter().map(|name| (name.as_str(), None)).collect(),
    };
    let lags = (version == EEVDF_VERSION).then_some(TRACE_LAGS);
    let statements = |own| [own, lags, args.add.as_deref()].into_iter().flatten().collect::<Vec<_>>().join("\n");
    Ok(comparisons.into_iter().map(|(name, own)| (name.to_owned(), statements(own))).collect())
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
    let (first, hash) = first_seed_of_commit()?;
    let last = first + NR_SEEDS_OF_COMMIT - 1;
    println!("seeds {first} to {last}, from commit {hash}");
    Ok((first, last))
}

/// Returns a seed that follows from the hash of the last commit, and the hash.
pub(crate) fn first_seed_of_commit() -> Result<(u32, String)> {
    let output = Command::new("git").args(["rev-parse", "HEAD"]).output().context("git rev-parse HEAD")?;
    let hash = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let digits = hash.get(..7).context("git rev-parse HEAD printed no hash")?;
    Ok((u32::from_str_radix(digits, 16).with_context(|| format!("{hash} is not a hash"))?, hash))
}

/// Returns a scenario of the reference in fairlab's grammar. The reference's statement `quota` removes the burst of its
/// group; in fairlab a new quota keeps it, as in the kernel, unless the statement sets it.
pub(crate) fn to_fairlab_grammar(text: &str) -> String {
    let to_statement = |line: &str| {
        let is_quota = line.split_whitespace().next() == Some("quota");
        format!("{line}{}\n", if is_quota { " burst=0" } else { "" })
    };
    text.lines().map(to_statement).collect()
}

/// Returns the directory of the reference. If it is missing, reports SKIPPED in CI and fails elsewhere.
pub(crate) fn find_or_skip(root: &Path, is_ci: bool) -> Result<Option<PathBuf>> {
    let place = std::env::var_os("FAIRLAB_ORACLE").map_or_else(|| root.join("../shared/oracle"), PathBuf::from);
    if place.join("gen_scen.py").is_file() {
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

/// Builds a version of the reference program and returns its path.
fn build(oracle: &Path, version: &str, is_ci: bool) -> Result<PathBuf> {
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
    Ok(PathBuf::from(text.lines().last().unwrap_or_default()))
}
