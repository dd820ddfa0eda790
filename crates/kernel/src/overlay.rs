// SPDX-License-Identifier: GPL-2.0-or-later
//! The overlay: a tree of links to a kernel tree, with the files of an engine in it and patches applied. The tree itself is only read.
//!
//! 1. Each file that is needed is a link; a link that nobody wants any more goes.
//! 2. A file of a patch, or of a script of edits, becomes a copy before it is changed, so that no link leads the change back into the tree. What was
//!    changed once and is not any more stays a copy for a while: a link has the tree's old time, and make would keep what it has made of the change.
//! 3. The engine's own files are written only if their text is another, so that make compiles what has changed and nothing else.

use crate::error::{KernelError, at};
use crate::regressions::edit::Script;
use crate::tree;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

/// Where it is said what is otherwise in the tree.
pub(crate) const FACTS: &str = "arch/fairlab/include/asm/fairlab_facts.h";

/// Under which name the tree's own header stands behind ours.
pub(crate) const WRAPPED: (&str, &str) = ("kernel/sched/stats.h", "kernel/sched/tree_stats.h");

/// Makes or renews the overlay of a tree.
///
/// # Errors
/// If it cannot be written, or a patch or script does not apply.
pub fn make(tree: &Path, overlay: &Path, patches: &[PathBuf], scripts: &[Script]) -> Result<(), KernelError> {
    let mut wanted: BTreeSet<String> = tree::files(tree)?.into_iter().collect();
    let changed = changed(patches, scripts)?;
    remove_strangers(overlay, &wanted)?;
    for name in &changed {
        wanted.remove(name);
        copy(&tree.join(name), &overlay.join(name))?;
    }
    // Ours takes its place below, if no patch concerns it.
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
    // The patched header, if a patch concerns it.
    let tail = overlay.join(WRAPPED.1);
    match changed.contains(WRAPPED.0) {
        true => fs::rename(overlay.join(WRAPPED.0), &tail).map_err(at(&tail))?,
        false => link(&tree.join(WRAPPED.0), &tail)?,
    }
    for (name, text) in crate::EMBEDDED {
        let place = match name.split_once('/') {
            Some(("arch", rest)) => overlay.join("arch/fairlab").join(rest),
            Some(("wrap", rest)) => overlay.join("kernel/sched").join(rest),
            _ => continue,
        };
        write(&place, text)?;
    }
    write(&overlay.join(FACTS), &facts(overlay))
}

/// Files that are not as in the tree: those of patches and scripts, in order.
///
/// # Errors
/// If a patch cannot be read, or concerns what is no part of an engine.
pub fn changed(patches: &[PathBuf], scripts: &[Script]) -> Result<BTreeSet<String>, KernelError> {
    let of_patches = patches.iter().map(|patch| changed_files(patch)).collect::<Result<Vec<_>, _>>()?.concat();
    Ok(of_patches.into_iter().chain(scripts.iter().flat_map(Script::files)).collect())
}

/// Where a file of the tree is in an overlay.
pub fn place(overlay: &Path, name: &str) -> PathBuf {
    overlay.join(if name == WRAPPED.0 { WRAPPED.1 } else { name })
}

/// What is otherwise in this tree: see `engine/facts.txt`.
fn facts(overlay: &Path) -> String {
    let mut text = String::from("/* SPDX-License-Identifier: GPL-2.0-or-later */\n");
    for entry in crate::entries(crate::embedded("facts.txt")) {
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

/// The files of a patch, as `-p1` sees them.
fn changed_files(patch: &Path) -> Result<Vec<String>, KernelError> {
    let text = fs::read_to_string(patch).map_err(at(patch))?;
    let named = |line: &str, mark: &str| {
        let path = line.strip_prefix(mark)?.split_whitespace().next()?;
        Some(path.split_once('/')?.1.to_owned()).filter(|_| path != "/dev/null")
    };
    let names: BTreeSet<String> =
        text.lines().filter_map(|line| named(line, "--- ").or_else(|| named(line, "+++ "))).collect();
    if names.is_empty() {
        return Err(KernelError::Input(format!(
            "{}: no patch: it names no file\nhelp: git diff makes one",
            patch.display()
        )));
    }
    let needed: Vec<String> = names.iter().filter(|name| tree::is_needed(name)).cloned().collect();
    match names.iter().find(|name| !tree::is_needed(name)) {
        Some(other) => Err(KernelError::Input(format!(
            "{}: {other} is no part of an engine\nhelp: leave out of the patch what is not of {}",
            patch.display(),
            tree::PARTS.join(", ")
        ))),
        None => Ok(needed),
    }
}

fn apply(overlay: &Path, patch: &Path) -> Result<(), KernelError> {
    let text = fs::read(patch).map_err(at(patch))?;
    let mut child = Command::new("patch")
        .args(["-p1", "--batch", "--forward", "--no-backup-if-mismatch", "-d"])
        .arg(overlay)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(at(Path::new("patch")))?;
    child.stdin.take().expect("it was asked for").write_all(&text).map_err(at(patch))?;
    let run = child.wait_with_output().map_err(at(patch))?;
    if run.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&run.stdout).trim_end().to_owned();
    Err(KernelError::Build { step: format!("applying {}", patch.display()), message })
}

fn remove_strangers(overlay: &Path, wanted: &BTreeSet<String>) -> Result<(), KernelError> {
    if !overlay.exists() {
        return Ok(());
    }
    for name in links(overlay)? {
        if !wanted.contains(&name) {
            let path = overlay.join(&name);
            fs::remove_file(&path).map_err(at(&path))?;
        }
    }
    Ok(())
}

/// All links of an overlay.
fn links(overlay: &Path) -> Result<Vec<String>, KernelError> {
    let (mut found, mut folders) = (Vec::new(), vec![overlay.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(at(&folder))? {
            let entry = entry.map_err(at(&folder))?;
            let kind = entry.file_type().map_err(at(&entry.path()))?;
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

fn parent(path: &Path) -> Result<(), KernelError> {
    let folder = path.parent().expect("files of an overlay are in folders");
    fs::create_dir_all(folder).map_err(at(folder))
}

fn link(target: &Path, path: &Path) -> Result<(), KernelError> {
    if fs::read_link(path).is_ok_and(|old| old == target) {
        return Ok(());
    }
    if is_changed(target, path) {
        return copy(target, path);
    }
    parent(path)?;
    remove(path)?;
    symlink(target, path).map_err(at(path))
}

/// Whether a copy is there, and not what the tree has.
fn is_changed(target: &Path, path: &Path) -> bool {
    let is_file = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    is_file && fs::read(path).ok() != fs::read(target).ok()
}

fn copy(from: &Path, to: &Path) -> Result<(), KernelError> {
    parent(to)?;
    remove(to)?;
    match fs::copy(from, to) {
        // A patch may add a file.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map(|_| ()).map_err(at(from)),
    }
}

fn remove(path: &Path) -> Result<(), KernelError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).map_err(at(path)),
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result<(), KernelError> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_symlink());
    if !is_link && fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    parent(path)?;
    remove(path)?;
    fs::write(path, text).map_err(at(path))
}
