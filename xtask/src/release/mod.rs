// SPDX-License-Identifier: GPL-2.0-or-later
//! The optimised program: one file without shared libraries, compiled with a profile of the project's own runs.
//!
//! It is built twice: first so that it counts what it executes, then with these counts. In between it runs what
//! [`training`] lists. Everything is made from nothing each time, and gives the same bytes each time at the same place.

mod profdata;
mod training;

use crate::programs::{self, Input, Summary};
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use fairlab_observe::sha256;
use profdata::Compiler;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(ClapArgs)]
pub(crate) struct ReleaseArgs {
    /// Do all of it twice, and fail unless both give the same bytes.
    #[arg(long)]
    twice: bool,
    /// The `llvm-profdata` to use, of the compiler's LLVM [default: the toolchain's, or llvm-profdata-N].
    #[arg(long, value_name = "PATH")]
    profdata: Option<PathBuf>,
}

/// The profile in Cargo.toml.
const PROFILE: &str = "optimised";

pub(crate) fn build(root: &Path, args: &ReleaseArgs) -> Result<()> {
    let compiler = Compiler::read_version(root)?;
    let tool = profdata::find(&compiler, args.profdata.as_deref())?;
    let folder = programs::target(root).join(PROFILE);
    let bytes = from_nothing(root, &folder, &compiler, &tool)?;
    if args.twice && from_nothing(root, &folder, &compiler, &tool)? != bytes {
        bail!("two builds of the same sources differ");
    }
    let binary = folder.join("fairlab");
    fs::copy(built(&folder.join("build"), &compiler), &binary).context("the program is put into its place")?;
    let nr_same = compare_digests(root, &binary)?;
    println!("{}: {:.1} MiB", binary.display(), bytes.len() as f64 / f64::from(1 << 20));
    println!("sha256 {}{}", sha256::hex_digest(&bytes), if args.twice { ", twice from nothing" } else { "" });
    println!("{nr_same} scenarios have the digests of golden/digests.txt");
    Ok(())
}

/// Builds, trains and builds again; the bytes of the program.
fn from_nothing(root: &Path, folder: &Path, compiler: &Compiler, tool: &Path) -> Result<Vec<u8>> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let (counting, build, counts) = (folder.join("counting"), folder.join("build"), folder.join("counts"));
    eprintln!("building the program that counts");
    cargo_build(root, &counting, compiler, &format!("-Cprofile-generate={}", counts.display()))?;
    eprintln!("training");
    let counted = training::run(root, &built(&counting, compiler), &counts)?;
    let merged = folder.join("merged.profdata");
    profdata::merge(tool, &counted, &merged)?;
    eprintln!("building with {} profiles", counted.len());
    cargo_build(root, &build, compiler, &format!("-Cprofile-use={}", merged.display()))?;
    let binary = built(&build, compiler);
    fs::read(&binary).with_context(|| binary.display().to_string())
}

/// Where cargo puts the program.
fn built(target: &Path, compiler: &Compiler) -> PathBuf {
    target.join(&compiler.host).join(PROFILE).join("fairlab")
}

/// Naming the host as target keeps the flags away from build scripts and macros, which run on this machine and are not linked
/// statically.
fn cargo_build(root: &Path, target: &Path, compiler: &Compiler, flag: &str) -> Result<()> {
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned(), flag.to_owned()];
    flags.extend(renamed_paths(root)?);
    let status = programs::cargo()
        .args(["build", "--quiet", "--locked", "--package", "fairlab", "--profile", PROFILE])
        .args(["--target", &compiler.host])
        .current_dir(root)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .env("CARGO_TARGET_DIR", target)
        .status()
        .context("cargo build")?;
    if !status.success() {
        bail!("the optimised build fails");
    }
    Ok(())
}

/// Places of this machine get names of their own in the program. The folder of each registry has a name that tells from where
/// packages came.
fn renamed_paths(root: &Path) -> Result<Vec<String>> {
    let renamed = |path: &Path, name: &str| format!("--remap-path-prefix={}={name}", path.display());
    let mut flags = vec![renamed(root, "fairlab")];
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
        .context("where cargo keeps packages: CARGO_HOME is not set, and there is no home")?;
    let mut registries: Vec<PathBuf> = match fs::read_dir(home.join("registry/src")) {
        Ok(folders) => folders.map(|folder| Ok(folder?.path())).collect::<Result<_>>()?,
        Err(_) => Vec::new(),
    };
    registries.sort();
    flags.push(renamed(&home, "cargo"));
    // Of several that fit, the last one counts.
    flags.extend(registries.iter().map(|registry| renamed(registry, "packages")));
    Ok(flags)
}

/// What is compiled otherwise must not simulate otherwise. The number of scenarios that were compared.
fn compare_digests(root: &Path, binary: &Path) -> Result<usize> {
    let record = "golden/digests.txt";
    let text = fs::read_to_string(root.join(record)).context(record)?;
    let mut nr_same = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let (Some(digest), Some(file)) = (words.next(), words.nth(1)) else { bail!("{record}: `{line}`") };
        let summary = Summary::of(binary, root, &Input::File(file.to_owned()))?;
        let has = summary.text("/digest")?;
        if has != digest {
            bail!("{file}: the optimised program has digest {has}, {record} has {digest}");
        }
        nr_same += 1;
    }
    Ok(nr_same)
}
