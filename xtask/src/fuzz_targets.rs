// SPDX-License-Identifier: GPL-2.0-or-later
//! The fuzz targets of the readers, each for some time, with the files of the tests as a beginning. Needs a nightly compiler and cargo-fuzz.

use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use std::fs;
use std::path::Path;
use std::process::Command;

#[derive(ClapArgs)]
pub(crate) struct FuzzTargetsArgs {
    /// How long each of them, in seconds.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Only those whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
}

/// A target: its crate, its name, and where files for a beginning lie.
struct Target {
    krate: &'static str,
    name: &'static str,
    seeds: &'static [&'static str],
}

const SCENARIOS: &str = "crates/workload/tests/data/scn";
const RTAPP: &str = "crates/workload/tests/data/rtapp";
const BAD: &str = "crates/workload/tests/data/bad";

const TARGETS: &[Target] = &[
    Target { krate: "workload", name: "scenario", seeds: &[SCENARIOS, "scenarios", BAD] },
    Target { krate: "workload", name: "rtapp", seeds: &[RTAPP, BAD] },
    Target { krate: "workload", name: "load", seeds: &[SCENARIOS, RTAPP, BAD] },
    Target { krate: "machine", name: "machine_file", seeds: &["machines"] },
];

pub(crate) fn run(root: &Path, args: &FuzzTargetsArgs) -> Result<()> {
    let mut failed = Vec::new();
    for target in TARGETS.iter().filter(|target| target.name.contains(&args.only)) {
        println!("== {} of {}: {} s", target.name, target.krate, args.seconds);
        // What is found on the way goes into the first directory of the call.
        let found = root.join("target/fuzz").join(target.name);
        fs::create_dir_all(&found).with_context(|| found.display().to_string())?;
        let status = Command::new("cargo")
            .current_dir(root)
            .args(["+nightly", "fuzz", "run", "--fuzz-dir"])
            .arg(format!("crates/{}/fuzz", target.krate))
            .arg(target.name)
            .arg(&found)
            .args(target.seeds)
            .args(["--", &format!("-max_total_time={}", args.seconds), "-print_final_stats=1"])
            .status()
            .context("cargo cannot be started")?;
        if !status.success() {
            failed.push(target.name);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    let help =
        "`rustup toolchain install nightly` and `cargo install --locked cargo-fuzz`, if it is these that are missing";
    bail!("failed: {}\nhelp: {help}", failed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_and_every_directory_of_seeds_is_there() {
        let root = crate::root();
        for target in TARGETS {
            let file = format!("crates/{}/fuzz/fuzz_targets/{}.rs", target.krate, target.name);
            assert!(root.join(&file).is_file(), "{file}");
            for seeds in target.seeds {
                assert!(root.join(seeds).is_dir(), "{seeds}");
            }
        }
        let files = ["workload", "machine"].map(|krate| root.join(format!("crates/{krate}/fuzz/fuzz_targets")));
        let nr_files: usize = files.iter().map(|place| fs::read_dir(place).expect("targets").count()).sum();
        assert_eq!(nr_files, TARGETS.len(), "all targets are listed");
    }
}
