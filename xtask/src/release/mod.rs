// SPDX-License-Identifier: GPL-2.0-or-later
//! The optimised program: one file without shared libraries, compiled with a profile of the project's own
//! runs.
//!
//! It is built twice: first with instrumentation, then with the profile of the runs in [`training`]. Each
//! build starts from scratch, and builds in one directory are byte-identical.

mod profdata;
mod training;

use crate::lab;
use crate::programs::{self, RunInput, SummaryJson};
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use fairlab_workload::sha256;
use profdata::CompilerInfo;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(ClapArgs)]
pub(crate) struct ReleaseArgs {
    /// Build everything twice, and fail unless both results are byte-identical.
    #[arg(long)]
    twice: bool,
    /// `llvm-profdata` that matches the compiler's LLVM [default: the toolchain's, or llvm-profdata-N].
    #[arg(long, value_name = "PATH")]
    profdata: Option<PathBuf>,
}
const PROFILE: &str = "optimised";

pub(crate) fn build(root: &Path, args: &ReleaseArgs) -> Result<()> {
    let (binary, bytes) = build_optimised(root, args)?;
    let nr_same = compare_digests(root, &binary)?;
    println!("{}: {:.1} MiB", binary.display(), bytes.len() as f64 / f64::from(1 << 20));
    println!("sha256 {}{}", sha256::hex_digest(&bytes), if args.twice { ", equal in two builds" } else { "" });
    println!("{nr_same} scenarios have the digests of golden/digests.txt");
    Ok(())
}

/// Builds the optimised program once, and returns its path.
pub(crate) fn build_program(root: &Path) -> Result<PathBuf> {
    build_optimised(root, &ReleaseArgs { twice: false, profdata: None }).map(|(binary, _)| binary)
}

/// Builds the optimised program and copies it out of the build directory. Returns the path of the copy and its bytes.
fn build_optimised(root: &Path, args: &ReleaseArgs) -> Result<(PathBuf, Vec<u8>)> {
    let compiler = CompilerInfo::from_rustc(root)?;
    let tool = profdata::find(&compiler, args.profdata.as_deref())?;
    let page = lab::build(root)?;
    let folder = programs::target(root).join(PROFILE);
    let bytes = clean_build(root, &folder, &page, &compiler, &tool)?;
    if args.twice && clean_build(root, &folder, &page, &compiler, &tool)? != bytes {
        bail!("two builds of the same sources differ");
    }
    let binary = folder.join("fairlab");
    fs::copy(program_path(&folder.join("build"), &compiler), &binary).context("the program cannot be copied")?;
    Ok((binary, bytes))
}

/// Builds with instrumentation, trains and builds again; returns the bytes of the program.
fn clean_build(root: &Path, folder: &Path, page: &Path, compiler: &CompilerInfo, tool: &Path) -> Result<Vec<u8>> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let (counting, build, counts) = (folder.join("counting"), folder.join("build"), folder.join("counts"));
    eprintln!("building with instrumentation");
    cargo_build(root, &counting, page, compiler, &format!("-Cprofile-generate={}", counts.display()))?;
    eprintln!("training");
    let counted = training::run(root, &program_path(&counting, compiler), &counts)?;
    let merged = folder.join("merged.profdata");
    profdata::merge(tool, &counted, &merged)?;
    eprintln!("building with {} profiles", counted.len());
    cargo_build(root, &build, page, compiler, &format!("-Cprofile-use={}", merged.display()))?;
    let binary = program_path(&build, compiler);
    fs::read(&binary).with_context(|| binary.display().to_string())
}

/// Returns the path at which cargo writes the program.
fn program_path(target: &Path, compiler: &CompilerInfo) -> PathBuf {
    target.join(&compiler.host).join(PROFILE).join("fairlab")
}

/// Runs cargo. The program contains the page of `fairlab lab`. An explicit target keeps the flags away from build scripts and macros, which run on this
/// machine and are not linked statically.
fn cargo_build(root: &Path, target: &Path, page: &Path, compiler: &CompilerInfo, flag: &str) -> Result<()> {
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned(), flag.to_owned()];
    flags.extend(renamed_paths(root)?);
    let status = programs::cargo()
        .args(["build", "--quiet", "--locked", "--package", "fairlab", "--profile", PROFILE])
        .args(["--target", &compiler.host, "--features", "page"])
        .current_dir(root)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .env("CARGO_TARGET_DIR", target)
        .env("FAIRLAB_PAGE", page)
        .status()
        .context("cargo build")?;
    if !status.success() {
        bail!("the optimised build fails");
    }
    Ok(())
}

/// Returns flags that replace paths of this machine by fixed names. The folder of each registry has a name
/// that depends on the source of packages.
fn renamed_paths(root: &Path) -> Result<Vec<String>> {
    let renamed = |path: &Path, name: &str| format!("--remap-path-prefix={}={name}", path.display());
    let mut flags = vec![renamed(root, "fairlab")];
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
        .context("cargo's directory of packages is unknown: neither CARGO_HOME nor a home directory is set")?;
    let mut registries: Vec<PathBuf> = match fs::read_dir(home.join("registry/src")) {
        Ok(folders) => folders.map(|folder| Ok(folder?.path())).collect::<Result<_>>()?,
        Err(_) => Vec::new(),
    };
    registries.sort();
    flags.push(renamed(&home, "cargo"));
    // If several match, the last one applies.
    flags.extend(registries.iter().map(|registry| renamed(registry, "packages")));
    Ok(flags)
}

/// Checks that the optimised program has the recorded digests; returns the number of compared scenarios.
fn compare_digests(root: &Path, binary: &Path) -> Result<usize> {
    let record = "golden/digests.txt";
    let text = fs::read_to_string(root.join(record)).context(record)?;
    let mut nr_same = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let (Some(digest), Some(file)) = (words.next(), words.nth(1)) else { bail!("{record}: `{line}`") };
        let summary = SummaryJson::from_run(binary, root, &[], &RunInput::File(file.to_owned()))?;
        let has = summary.text("/digest")?;
        if has != digest {
            bail!("{file}: the optimised program has digest {has}, {record} has {digest}");
        }
        nr_same += 1;
    }
    Ok(nr_same)
}
