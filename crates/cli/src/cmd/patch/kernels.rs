// SPDX-License-Identifier: GPL-2.0-or-later
//! The two kernels: engines that are there, or built from a tree with and without a patch, or from two commits of it.

use super::args::PatchArgs;
use crate::error::CliError;
use crate::output::Output;
use fairlab_kernel::coverage::CoveredLines;
use fairlab_kernel::store::{BuildRequest, Store, StoreEntry};
use fairlab_kernel::tree::{self, PARTS};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names under which engines are built for a comparison. Their folders are used again by the next one.
const NAMES: [&str; 2] = ["patch.base", "patch.patched"];

/// Both, the first as it was before.
pub(crate) struct Kernels {
    pub(crate) kernels: [StoreEntry; 2],
    /// Whether they were built here, from trees.
    is_of_trees: bool,
}

/// Finds or builds them. What was built has a name by its content: another command that builds meanwhile does not change it.
pub(crate) fn kernels(output: &Output, args: &PatchArgs) -> Result<Kernels, CliError> {
    let store = Store::of_user()?;
    let named = |name: &str| name.strip_prefix("kernel:").map(|name| store.usable(name)).transpose();
    let are_named = args.base.starts_with("kernel:") && args.other.iter().any(|other| other.starts_with("kernel:"));
    if are_named && let Some(line) = args.config.first() {
        let help = "fairlab kernel add NAME --config builds an engine with it; here it is for kernels that are built from a tree";
        let (base, other) = (&args.base, args.other.as_deref().unwrap_or_default());
        return Err(CliError::Input(format!("--config {line}: {base} and {other} are there already\nhelp: {help}")));
    }
    if let (Some(base), Some(other)) = (named(&args.base)?, args.other.as_deref().map(named).transpose()?.flatten()) {
        return Ok(Kernels { kernels: [base, other], is_of_trees: false });
    }
    if args.base.starts_with("kernel:") {
        let help = "name a second engine (kernel:NAME), or give the tree instead of the first";
        return Err(CliError::Input(format!("{}: an engine is compared with another engine\nhelp: {help}", args.base)));
    }
    let build = |which: usize, source: &str, title: Option<&str>, patches: &[PathBuf]| {
        let mut told = Ok(());
        let mut say = |what: &str| told = output.eprint(&format!("{}: {what}\n", NAMES[which]));
        let (name, config) = (NAMES[which], &args.config[..]);
        let wish =
            BuildRequest { name, workshop: name, source, title, patches, scripts: &[], config, is_covered: false };
        let added = store.make(&wish, &mut say)?;
        told?;
        Ok::<_, CliError>(store.pin(&added.entry)?)
    };
    let kernels = match &args.other {
        None => [build(0, &args.base, None, &[])?, build(1, &args.base, None, &args.patch)?],
        Some(range) => {
            let commits = commits(&args.base, range)?;
            let tree = |which: usize| {
                let (name, commit) = &commits[which];
                let source = export(&store, &args.base, commit)?;
                let title = format!("{}, {name} ({})", args.base, subject(&args.base, commit)?);
                build(which, &source, Some(&title), &[])
            };
            [tree(0)?, tree(1)?]
        }
    };
    Ok(Kernels { kernels, is_of_trees: true })
}

/// The name under which the patched kernel is built once more, with lines that are counted.
const COVERED: &str = "patch.covered";

/// The patched kernel with lines that are counted, if both were built here and nobody else counts.
pub(crate) fn covered(
    output: &Output,
    args: &PatchArgs,
    kernels: &Kernels,
) -> Result<Option<(StoreEntry, CoveredLines)>, CliError> {
    if args.no_coverage || !kernels.is_of_trees {
        return Ok(None);
    }
    let store = Store::of_user()?;
    let mut told = Ok(());
    let mut say = |what: &str| told = output.eprint(&format!("{COVERED}: {what}\n"));
    let [base, patched] = &kernels.kernels;
    let covered = store.add_covered(COVERED, patched, base, &mut say)?;
    told?;
    if covered.is_none() {
        output
            .eprint("another `fairlab patch` counts lines now: which of the patch are reached is not asked here\n")?;
    }
    Ok(covered)
}

/// The two commits of `BASE..HEAD`: as they were given, and by their whole names.
fn commits(tree: &str, range: &str) -> Result<[(String, String); 2], CliError> {
    let Some((from, to)) = range.split_once("..") else {
        let help = "write BASE..HEAD, two commits of the tree; or --patch FILE";
        return Err(CliError::Input(format!("{range}: not two commits\nhelp: {help}")));
    };
    let to = if to.is_empty() { "HEAD" } else { to.trim_start_matches('.') };
    Ok([(from.to_owned(), commit(tree, from)?), (to.to_owned(), commit(tree, to)?)])
}

/// A commit by its whole name.
pub(crate) fn commit(tree: &str, name: &str) -> Result<String, CliError> {
    let run = git(tree).args(["rev-parse", "--verify", "--quiet"]).arg(format!("{name}^{{commit}}")).output();
    let run = run.map_err(|error| CliError::Input(format!("git: {error}\nhelp: commits of a tree need git")))?;
    let is_repository = || git(tree).args(["rev-parse", "--git-dir"]).output().is_ok_and(|run| run.status.success());
    if !run.status.success() && !is_repository() {
        let help = "give the folder of a repository, or --patch FILE in the place of commits";
        return Err(CliError::Input(format!("{tree}: it is no git repository, so it has no commits\nhelp: {help}")));
    }
    if !run.status.success() {
        let help = "git log shows what there is";
        return Err(CliError::Input(format!("{tree}: it has no commit {name}\nhelp: {help}")));
    }
    Ok(String::from_utf8_lossy(&run.stdout).trim().to_owned())
}

/// The beginning of a commit's name, and its subject.
fn subject(tree: &str, commit: &str) -> Result<String, CliError> {
    let run = git(tree).args(["log", "-1", "--format=%h %s", commit]).output().map_err(CliError::run)?;
    Ok(String::from_utf8_lossy(&run.stdout).trim().to_owned())
}

/// git, in a tree.
pub(crate) fn git(tree: &str) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(tree);
    git
}

/// The part of a commit that engines need, as a folder of the store; the tree is only read.
pub(crate) fn export(store: &Store, tree: &str, commit: &str) -> Result<String, CliError> {
    let folder = store.folder_of_commit(commit);
    if !folder.join("Makefile").is_file() {
        let fresh = folder.with_extension("new");
        let failed = |what: &Path, error: std::io::Error| CliError::run(format!("{}: {error}", what.display()));
        std::fs::create_dir_all(&fresh).map_err(|error| failed(&fresh, error))?;
        let listed = git(tree).args(["ls-tree", "-r", "-z", "--name-only", commit]).output().map_err(CliError::run)?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let is_whole = |part: &&&str| listed.split('\0').any(|name| name.starts_with(&format!("{part}/")));
        let of_parts = |name: &str| PARTS.iter().any(|part| name.starts_with(&format!("{part}/")));
        let single = listed.split('\0').filter(|name| tree::is_needed(name) && !of_parts(name));
        let mut archive = git(tree);
        archive.args(["archive", commit, "--"]).args(PARTS.iter().filter(is_whole)).args(single);
        let mut archive = archive.stdout(Stdio::piped()).spawn().map_err(CliError::run)?;
        let from = archive.stdout.take().expect("it is a pipe");
        let unpacked =
            Command::new("tar").args(["-x", "-C"]).arg(&fresh).stdin(from).status().map_err(CliError::run)?;
        let archived = archive.wait().map_err(CliError::run)?;
        if !archived.success() || !unpacked.success() {
            return Err(CliError::run(format!(
                "{tree}: the files of {commit} could not be taken out with git and tar"
            )));
        }
        std::fs::rename(&fresh, &folder).map_err(|error| failed(&folder, error))?;
    }
    Ok(folder.display().to_string())
}
