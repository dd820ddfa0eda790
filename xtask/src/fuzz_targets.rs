// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs the fuzz targets of the parsers for a given time, with the tests' files as seeds. Needs a nightly
//! compiler and cargo-fuzz.

use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use std::fs;
use std::path::Path;
use std::process::Command;

#[derive(ClapArgs)]
pub(crate) struct FuzzTargetsArgs {
    /// Duration of each target, in seconds.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Only the targets whose name contains this text.
    #[arg(long, default_value = "")]
    only: String,
}

/// Fuzz target: its crate, its name, and the directories of its seeds.
struct FuzzTarget {
    krate: &'static str,
    name: &'static str,
    seeds: &'static [&'static str],
}

const SCENARIOS: &str = "crates/workload/tests/data/scn";
const RTAPP: &str = "crates/workload/tests/data/rtapp";
const BAD: &str = "crates/workload/tests/data/bad";

const TARGETS: &[FuzzTarget] = &[
    FuzzTarget { krate: "workload", name: "scenario", seeds: &[SCENARIOS, "scenarios", BAD] },
    FuzzTarget { krate: "workload", name: "rtapp", seeds: &[RTAPP, BAD] },
    FuzzTarget { krate: "workload", name: "load", seeds: &[SCENARIOS, RTAPP, BAD] },
    FuzzTarget { krate: "board", name: "machine_file", seeds: &["machines"] },
];

pub(crate) fn run(root: &Path, args: &FuzzTargetsArgs) -> Result<()> {
    let mut failed = Vec::new();
    for target in TARGETS.iter().filter(|target| target.name.contains(&args.only)) {
        println!("== {} of {}: {} s", target.name, target.krate, args.seconds);
        // The fuzzer writes new inputs into the first directory of the call.
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
    let help = "if they are missing, `rustup toolchain install nightly` and `cargo install --locked cargo-fuzz`";
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
        let files = ["workload", "board"].map(|krate| root.join(format!("crates/{krate}/fuzz/fuzz_targets")));
        let nr_files: usize = files.iter().map(|place| fs::read_dir(place).expect("targets").count()).sum();
        assert_eq!(nr_files, TARGETS.len(), "all targets are listed");
    }
}
