// SPDX-License-Identifier: GPL-2.0-or-later
//! Contents of the files from which an engine is built: those of a tree, as patches and edits change them.
//!
//! A snapshot has a hash of each file that an engine needs. Equal snapshots give equal engines, wherever the
//! tree is, whichever patch or commit the contents come from, and whatever the dates of the files are. The tree
//! is only read: files that patches and edits change are copied to a temporary folder first.

use crate::error::{KernelError, io_error_at};
use crate::regressions::edit::EditScript;
use crate::store::hash;
use crate::{process, tree};
use fairlab_workload::message::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::{fs, io};
use tempfile::TempDir;

/// Contents of the files from which an engine is built.
#[derive(Debug)]
pub struct Snapshot {
    tree: PathBuf,
    /// Folder with the changed files, at their paths in the tree.
    changed_folder: TempDir,
    /// Files that a patch or an edit names. One that it removes is not in `files`.
    changed: BTreeSet<String>,
    /// Hash of each file, by its path in the tree.
    files: BTreeMap<String, String>,
}

impl Snapshot {
    /// Reads the files of a tree, and applies patches and edits in this order.
    ///
    /// # Errors
    /// If a file cannot be read, or a patch or script does not apply.
    pub fn take(tree: &Path, patches: &[PathBuf], scripts: &[EditScript]) -> Result<Self, KernelError> {
        let changed_folder = tempfile::tempdir().map_err(io_error_at(&std::env::temp_dir()))?;
        let changed = changed_files(patches, scripts)?;
        for name in &changed {
            copy_if_there(&tree.join(name), &changed_folder.path().join(name))?;
        }
        for patch in patches {
            apply(changed_folder.path(), patch)?;
        }
        for script in scripts {
            script.apply(changed_folder.path())?;
        }
        let mut snapshot = Self { tree: tree.to_owned(), changed_folder, changed, files: BTreeMap::new() };
        let names: BTreeSet<String> = tree::files(tree)?.into_iter().chain(snapshot.changed.iter().cloned()).collect();
        for name in names {
            process::check_stop()?;
            if let Some(hash) = file_hash(&snapshot.path(&name))? {
                snapshot.files.insert(name, hash);
            }
        }
        Ok(snapshot)
    }

    /// Returns the folder of the tree.
    pub fn tree(&self) -> &Path {
        &self.tree
    }

    /// Returns the hash of each file, by its path in the tree.
    pub fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    /// Returns the files that patches and edits change, add or remove.
    pub fn changed(&self) -> &BTreeSet<String> {
        &self.changed
    }

    /// Returns the path of a file: in the tree, or of its changed copy.
    pub fn path(&self, name: &str) -> PathBuf {
        if self.changed.contains(name) { self.changed_folder.path() } else { &self.tree }.join(name)
    }
}

/// Returns the hash of a file's content and of whether it is executable; `None` if there is no file, such as
/// for a link that leads nowhere or to a folder.
pub(crate) fn file_hash(path: &Path) -> Result<Option<String>, KernelError> {
    let read = |path: &Path| -> io::Result<String> {
        let is_executable = fs::metadata(path)?.permissions().mode() & 0o111 != 0;
        Ok(hash([&[u8::from(is_executable)][..], &fs::read(path)?]))
    };
    match read(path) {
        Err(error)
            if [ErrorKind::NotFound, ErrorKind::IsADirectory, ErrorKind::NotADirectory].contains(&error.kind()) =>
        {
            Ok(None)
        }
        other => other.map(Some).map_err(io_error_at(path)),
    }
}

/// Returns the files that patches and scripts change, add or remove.
fn changed_files(patches: &[PathBuf], scripts: &[EditScript]) -> Result<BTreeSet<String>, KernelError> {
    let of_patches = patches.iter().map(|patch| patched_files(patch)).collect::<Result<Vec<_>, _>>()?.concat();
    Ok(of_patches.into_iter().chain(scripts.iter().flat_map(EditScript::files)).collect())
}

/// Returns the files that a patch changes, with the paths of `patch -p1`.
fn patched_files(patch: &Path) -> Result<Vec<String>, KernelError> {
    let text = fs::read_to_string(patch).map_err(io_error_at(patch))?;
    let named = |line: &str, mark: &str| {
        let path = line.strip_prefix(mark)?.split_whitespace().next()?;
        Some(path.split_once('/')?.1.to_owned()).filter(|_| path != "/dev/null")
    };
    let names: BTreeSet<String> =
        text.lines().filter_map(|line| named(line, "--- ").or_else(|| named(line, "+++ "))).collect();
    if names.is_empty() {
        return Err(KernelError::Input(
            Message::in_file(patch, "not a patch: it names no file").with_help("git diff writes one"),
        ));
    }
    match names.iter().find(|name| !tree::is_needed(name)) {
        Some(other) => Err(KernelError::Input(
            Message::in_file(patch, format!("{other} is not a part of an engine"))
                .with_help(format!("leave changes out of the patch that are not in {}", tree::TREE_PARTS.join(", "))),
        )),
        None => Ok(names.into_iter().collect()),
    }
}

fn apply(folder: &Path, patch: &Path) -> Result<(), KernelError> {
    let text = fs::read(patch).map_err(io_error_at(patch))?;
    let mut command = process::tool("patch");
    command.args(["-p1", "--batch", "--forward", "--no-backup-if-mismatch", "-d"]).arg(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = process::spawn(&mut command)?;
    // A patch that does not apply may end the program before it has read everything.
    let _status_follows = child.stdin.take().expect("it was asked for").write_all(&text);
    let run = process::wait_for_output(child)?;
    if run.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&run.stdout).trim_end().to_owned();
    Err(KernelError::Build { step: format!("applying {}", patch.display()), message })
}

/// Copies a file with its permissions, unless there is none: a patch may add a file.
fn copy_if_there(from: &Path, to: &Path) -> Result<(), KernelError> {
    create_parent(to)?;
    match fs::copy(from, to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.map(|_| ()).map_err(io_error_at(from)),
    }
}

/// Creates the folder of a file.
pub(crate) fn create_parent(path: &Path) -> Result<(), KernelError> {
    let folder = path.parent().expect("files are in folders");
    fs::create_dir_all(folder).map_err(io_error_at(folder))
}
