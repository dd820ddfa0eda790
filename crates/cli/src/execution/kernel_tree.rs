// SPDX-License-Identifier: GPL-2.0-or-later
//! Commits of kernel trees, by git. A tree is only read.

use crate::values::error::CliError;
use fairlab_kernel::process;
use fairlab_kernel::store::Store;
use fairlab_kernel::tree::{self, TREE_PARTS};
use fairlab_workload::message::Message;
use std::path::Path;
use std::process::Command;

/// Returns the full hash of a commit.
pub(crate) fn commit(tree: &str, name: &str) -> Result<String, CliError> {
    let run = git(tree).args(["rev-parse", "--verify", "--quiet"]).arg(format!("{name}^{{commit}}")).output();
    let run = run.map_err(|error| CliError::with_help(format!("git: {error}"), "commits of a tree need git"))?;
    let is_repository = || git(tree).args(["rev-parse", "--git-dir"]).output().is_ok_and(|run| run.status.success());
    if !run.status.success() && !is_repository() {
        let help = "give the folder of a repository, or --patch FILE instead of commits";
        return Err(CliError::with_help(format!("{tree}: not a git repository"), help));
    }
    if !run.status.success() {
        let help = "git log shows the commits";
        return Err(CliError::with_help(format!("{tree}: no commit {name}"), help));
    }
    Ok(String::from_utf8_lossy(&run.stdout).trim().to_owned())
}

/// Returns the abbreviated hash and the subject of a commit.
pub(crate) fn subject(tree: &str, commit: &str) -> Result<String, CliError> {
    let run = git(tree).args(["log", "-1", "--format=%h %s", commit]).output().map_err(CliError::failed)?;
    Ok(String::from_utf8_lossy(&run.stdout).trim().to_owned())
}

/// Returns a git command that runs in a tree.
pub(crate) fn git(tree: &str) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(tree);
    git
}

/// Extracts the files of a commit that engines need into a folder of the store. The tree is only read.
pub(crate) fn export_commit(store: &Store, tree: &str, commit: &str) -> Result<String, CliError> {
    let folder = store.commit_folder(commit);
    if !folder.join("Makefile").is_file() {
        let fresh = folder.with_extension("new");
        let failed = |what: &Path, error: std::io::Error| CliError::run(Message::in_file(what, error.to_string()));
        std::fs::create_dir_all(&fresh).map_err(|error| failed(&fresh, error))?;
        let listed =
            git(tree).args(["ls-tree", "-r", "-z", "--name-only", commit]).output().map_err(CliError::failed)?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let is_whole = |part: &&&str| listed.split('\0').any(|name| name.starts_with(&format!("{part}/")));
        let of_parts = |name: &str| TREE_PARTS.iter().any(|part| name.starts_with(&format!("{part}/")));
        let single = listed.split('\0').filter(|name| tree::is_needed(name) && !of_parts(name));
        let file = tempfile::NamedTempFile::new().map_err(CliError::failed)?;
        let mut archive = git(tree);
        archive.args(["archive", "--format=tar", "-o"]).arg(file.path()).args([commit, "--"]);
        archive.args(TREE_PARTS.iter().filter(is_whole)).args(single);
        let mut unpack = Command::new("tar");
        unpack.arg("-xf").arg(file.path()).arg("-C").arg(&fresh);
        for command in [&mut archive, &mut unpack] {
            if !process::output(command)?.status.success() {
                return Err(CliError::run(Message::new(format!(
                    "{tree}: the files of {commit} could not be extracted with git and tar"
                ))));
            }
        }
        std::fs::rename(&fresh, &folder).map_err(|error| failed(&folder, error))?;
    }
    Ok(folder.display().to_string())
}
