// SPDX-License-Identifier: GPL-2.0-or-later
//! The overlay: a tree of links to a kernel tree, with the files of an engine in it and patches applied. The
//! tree itself is only read.
//!
//! 1. Each file that is needed is a link. Links that are no longer needed are removed.
//! 2. A file that a patch or a script of edits changes is copied first, so that no link leads the change into
//!    the tree.
//! 3. A file that is no longer changed stays a copy for one more build: a link would have the tree's old
//!    time, and make would keep the objects of the changed file.
//! 4. The engine's own files are written only if their text differs, so that make compiles only what has
//!    changed.

use crate::error::{KernelError, io_error_at};
use crate::regressions::edit::EditScript;
use crate::tree;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

/// Header with the facts in which trees differ.
pub(crate) const FACTS: &str = "arch/fairlab/include/asm/fairlab_facts.h";

/// Header of the tree that the engine's own header wraps, and the name under which it stands behind it.
pub(crate) const WRAPPED: (&str, &str) = ("kernel/sched/stats.h", "kernel/sched/tree_stats.h");

/// Makes or updates the overlay of a tree.
///
/// # Errors
/// If it cannot be written, or a patch or script does not apply.
pub fn make(tree: &Path, overlay: &Path, patches: &[PathBuf], scripts: &[EditScript]) -> Result<(), KernelError> {
    let mut wanted: BTreeSet<String> = tree::files(tree)?.into_iter().collect();
    let changed = changed_files(patches, scripts)?;
    remove_stale_links(overlay, &wanted)?;
    for name in &changed {
        wanted.remove(name);
        copy(&tree.join(name), &overlay.join(name))?;
    }
    // The engine's own header takes its place below, if no patch changes it.
    wanted.remove(WRAPPED.0);
    for name in &wanted {
        link(&tree.join(name), &overlay.join(name))?;
    }
    for patch in patches {
        apply(overlay, patch)?;
    }
    for script in scripts {
        script.apply(overlay)?;
    }
    // The patched header, if a patch changes it.
    let tail = overlay.join(WRAPPED.1);
    match changed.contains(WRAPPED.0) {
        true => fs::rename(overlay.join(WRAPPED.0), &tail).map_err(io_error_at(&tail))?,
        false => link(&tree.join(WRAPPED.0), &tail)?,
    }
    for (name, text) in crate::EMBEDDED_FILES {
        let place = match name.split_once('/') {
            Some(("arch", rest)) => overlay.join("arch/fairlab").join(rest),
            Some(("wrap", rest)) => overlay.join("kernel/sched").join(rest),
            _ => continue,
        };
        write(&place, text)?;
    }
    write(&overlay.join(FACTS), &facts(overlay))
}

/// Returns the files that differ from the tree: those of patches and scripts, in order.
///
/// # Errors
/// If a patch cannot be read, or changes a file that is not part of an engine.
pub fn changed_files(patches: &[PathBuf], scripts: &[EditScript]) -> Result<BTreeSet<String>, KernelError> {
    let of_patches = patches.iter().map(|patch| patched_files(patch)).collect::<Result<Vec<_>, _>>()?.concat();
    Ok(of_patches.into_iter().chain(scripts.iter().flat_map(EditScript::files)).collect())
}

/// Returns the path of a file of the tree in an overlay.
pub fn overlay_path(overlay: &Path, name: &str) -> PathBuf {
    overlay.join(if name == WRAPPED.0 { WRAPPED.1 } else { name })
}

/// Returns the header with the facts in which this tree differs: see `engine/facts.txt`.
fn facts(overlay: &Path) -> String {
    let mut text = String::from("/* SPDX-License-Identifier: GPL-2.0-or-later */\n");
    for entry in crate::table_lines(crate::embedded_text("facts.txt")) {
        let mut words = entry.splitn(3, char::is_whitespace);
        let name = words.next().unwrap_or_default();
        let rest = entry[name.len()..].trim_start();
        let Some((file, wanted)) = rest.split_once(char::is_whitespace) else { continue };
        let has = fs::read_to_string(overlay.join(file)).is_ok_and(|text| text.contains(wanted.trim_start()));
        if has {
            text.push_str(&format!("#define {name} 1\n"));
        }
    }
    text
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
        return Err(KernelError::Input(format!(
            "{}: not a patch: it names no file\nhelp: git diff writes one",
            patch.display()
        )));
    }
    let needed: Vec<String> = names.iter().filter(|name| tree::is_needed(name)).cloned().collect();
    match names.iter().find(|name| !tree::is_needed(name)) {
        Some(other) => Err(KernelError::Input(format!(
            "{}: {other} is not a part of an engine\nhelp: leave changes out of the patch that are not in {}",
            patch.display(),
            tree::TREE_PARTS.join(", ")
        ))),
        None => Ok(needed),
    }
}

fn apply(overlay: &Path, patch: &Path) -> Result<(), KernelError> {
    let text = fs::read(patch).map_err(io_error_at(patch))?;
    let mut child = Command::new("patch")
        .args(["-p1", "--batch", "--forward", "--no-backup-if-mismatch", "-d"])
        .arg(overlay)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(io_error_at(Path::new("patch")))?;
    child.stdin.take().expect("it was asked for").write_all(&text).map_err(io_error_at(patch))?;
    let run = child.wait_with_output().map_err(io_error_at(patch))?;
    if run.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&run.stdout).trim_end().to_owned();
    Err(KernelError::Build { step: format!("applying {}", patch.display()), message })
}

fn remove_stale_links(overlay: &Path, wanted: &BTreeSet<String>) -> Result<(), KernelError> {
    if !overlay.exists() {
        return Ok(());
    }
    for name in links(overlay)? {
        if !wanted.contains(&name) {
            let path = overlay.join(&name);
            fs::remove_file(&path).map_err(io_error_at(&path))?;
        }
    }
    Ok(())
}

/// Returns all links of an overlay.
fn links(overlay: &Path) -> Result<Vec<String>, KernelError> {
    let (mut found, mut folders) = (Vec::new(), vec![overlay.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(io_error_at(&folder))? {
            let entry = entry.map_err(io_error_at(&folder))?;
            let kind = entry.file_type().map_err(io_error_at(&entry.path()))?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_symlink() {
                let name = entry.path().strip_prefix(overlay).expect("found under it").display().to_string();
                found.push(name);
            }
        }
    }
    Ok(found)
}

fn create_parent(path: &Path) -> Result<(), KernelError> {
    let folder = path.parent().expect("files of an overlay are in folders");
    fs::create_dir_all(folder).map_err(io_error_at(folder))
}

fn link(target: &Path, path: &Path) -> Result<(), KernelError> {
    if fs::read_link(path).is_ok_and(|old| old == target) {
        return Ok(());
    }
    if is_changed(target, path) {
        return copy(target, path);
    }
    create_parent(path)?;
    remove(path)?;
    symlink(target, path).map_err(io_error_at(path))
}

/// Whether the path is a copy whose contents differ from the tree's file.
fn is_changed(target: &Path, path: &Path) -> bool {
    let is_file = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    is_file && fs::read(path).ok() != fs::read(target).ok()
}

fn copy(from: &Path, to: &Path) -> Result<(), KernelError> {
    create_parent(to)?;
    remove(to)?;
    match fs::copy(from, to) {
        // A patch may add a file.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map(|_| ()).map_err(io_error_at(from)),
    }
}

fn remove(path: &Path) -> Result<(), KernelError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).map_err(io_error_at(path)),
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result<(), KernelError> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_symlink());
    if !is_link && fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    create_parent(path)?;
    remove(path)?;
    fs::write(path, text).map_err(io_error_at(path))
}
