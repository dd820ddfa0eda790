// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds an engine of each available kernel tree, boots it and runs all scenarios with it.
//!
//! A missing tree is reported as SKIPPED. Scenarios that an engine rejects are counted. A failed run, or one
//! in which the kernel warns, fails the check. Where the built-in scheduler has the rules of the release, every
//! feature and tunable must change the digest of its canonical scenario with the engine too.

use crate::oracle::rejection_reason;
use crate::requirement::skip_or_fail;
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use fairlab_kernel::tree::TESTED_RELEASES;
use fairlab_run::switches;
use fairlab_sched::features::Demo;
use fairlab_sched::series::KernelSeries;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[derive(ClapArgs)]
pub(crate) struct EnginesArgs {
    /// Directory of tarballs named linux-source-VERSION.tar.xz, as in Debian's packages.
    #[arg(long, default_value = "/usr/src")]
    sources: PathBuf,
    /// Test these releases only; without any, all that are listed.
    releases: Vec<String>,
}

pub(crate) fn run(root: &Path, args: &EnginesArgs) -> Result<()> {
    let status = Command::new("cargo").args(["build", "--quiet", "-p", "fairlab"]).current_dir(root).status()?;
    if !status.success() {
        bail!("the program does not build");
    }
    let scenarios = scenarios(root)?;
    let mut failed = Vec::new();
    for release in
        TESTED_RELEASES.iter().filter(|one| args.releases.is_empty() || args.releases.iter().any(|o| o == *one))
    {
        let tarball = args.sources.join(format!("linux-source-{release}.tar.xz"));
        if !tarball.is_file() {
            let message = format!("{} does not exist", tarball.display());
            skip_or_fail(true, &format!("linux-source-{release}"), &message)?;
            continue;
        }
        failed.extend(check(root, release, &tarball, &scenarios)?);
    }
    if failed.is_empty() { Ok(()) } else { bail!("failed:\n{}", failed.join("\n")) }
}

fn scenarios(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join("scenarios")).context("scenarios")? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "scn") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Checks one release and returns its failures.
fn check(root: &Path, release: &str, tarball: &Path, scenarios: &[PathBuf]) -> Result<Vec<String>> {
    let name = format!("check-{release}");
    let added = fairlab(root, &["kernel", "add", &name, "--source", &tarball.display().to_string()])?;
    if !added.status.success() {
        return Ok(vec![format!("{release}: no engine\n{}", text(&added))]);
    }
    let (mut ran, mut refused, mut failed) = (0, 0, Vec::new());
    for scenario in scenarios {
        let run = fairlab(root, &["run", &scenario.display().to_string(), "--engine", &format!("kernel:{name}")])?;
        let message_text = text(&run);
        match run.status.code() {
            Some(0) if !message_text.contains("WARNING: at") => ran += 1,
            Some(2) => refused += 1,
            _ => failed.push(format!("{release}: {}\n{message_text}", scenario.display())),
        }
    }
    println!("{release}: scenarios: {ran} ran, {refused} rejected, {} failed", failed.len());
    if let Some(series) = KernelSeries::ALL.into_iter().find(|series| series.to_string() == release) {
        failed.extend(check_switches(root, &name, series)?);
    }
    Ok(failed)
}

/// Runs the canonical scenario of every switch in both positions. Returns the switches without an effect.
fn check_switches(root: &Path, name: &str, series: KernelSeries) -> Result<Vec<String>> {
    let (mut nr_effective, mut rejected, mut failed) = (0, Vec::new(), Vec::new());
    for switch in switches::all(8) {
        let scenario = match switch.demo_in(series) {
            Some(Demo::Digest(scenario, _)) => format!("scenarios/{scenario}"),
            Some(Demo::Complaints(..) | Demo::NoRun(_) | Demo::BySeries(..)) | None => continue,
        };
        let mut digests = Vec::new();
        for (option, value) in &switch.test_values {
            let engine = format!("kernel:{name}");
            let run = fairlab(root, &["run", &scenario, "--engine", &engine, option, value, "--json"])?;
            match run.status.code() {
                Some(0) => digests.push(serde_json::from_slice::<Value>(&run.stdout)?["digest"].clone()),
                Some(2) => {
                    rejected.push(format!("{option} {value}: {}", rejection_reason(&text(&run))));
                }
                _ => failed.push(format!("{series}: {option} {value}\n{}", text(&run))),
            }
        }
        match digests.as_slice() {
            [first, second] if first != second => nr_effective += 1,
            [_, _] => failed.push(format!("{series}: {} changes nothing in {scenario}", switch.name)),
            _ => {}
        }
    }
    println!("{series}: switches: {nr_effective} change the digest, {} runs rejected", rejected.len());
    for why in rejected {
        println!("  {why}");
    }
    Ok(failed)
}

fn fairlab(root: &Path, words: &[&str]) -> Result<Output> {
    let program = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(Command::new(program.join("debug/fairlab")).args(words).current_dir(root).output()?)
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout))
}
