// SPDX-License-Identifier: GPL-2.0-or-later
//! The overlay: a folder with the files of a snapshot and those of an engine, in which the kernel is compiled.
//!
//! Files of the tree are links, so an overlay takes little space; files that patches and edits change are
//! copies. An overlay is updated only with a snapshot of the same file names: see [`crate::compile`].

use crate::error::{KernelError, io_error_at};
use crate::process;
use crate::snapshot::{Snapshot, create_parent, file_hash};
use fairlab_workload::message::Message;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Header with the facts in which trees differ.
const FACTS: &str = "arch/fairlab/include/asm/fairlab_facts.h";

/// Header of the tree that the engine's own header wraps, and the name under which it stands behind it.
pub(crate) const WRAPPED: (&str, &str) = ("kernel/sched/stats.h", "kernel/sched/tree_stats.h");

/// Makes or updates the overlay of a snapshot.
///
/// # Errors
/// If it cannot be written.
pub fn make(snapshot: &Snapshot, overlay: &Path) -> Result<(), KernelError> {
    for name in snapshot.files().keys() {
        process::check_stop()?;
        let (from, to) = (snapshot.path(name), overlay_path(overlay, name));
        if snapshot.changed().contains(name) { copy(&from, &to)? } else { link(&from, &to)? }
    }
    for (name, text) in crate::EMBEDDED_FILES {
        let path = match name.split_once('/') {
            Some(("arch", rest)) => overlay.join("arch/fairlab").join(rest),
            Some(("wrap", rest)) => overlay.join("kernel/sched").join(rest),
            _ => continue,
        };
        write(&path, text)?;
    }
    write(&facts_path(overlay), &facts(overlay))
}

/// Checks that an overlay still has the contents of a snapshot: links lead to files that a user may edit.
///
/// # Errors
/// If a file differs.
pub fn check(snapshot: &Snapshot, overlay: &Path) -> Result<(), KernelError> {
    for (name, hash) in snapshot.files() {
        process::check_stop()?;
        if file_hash(&overlay_path(overlay, name))?.as_ref() != Some(hash) {
            let path = snapshot.tree().join(name);
            return Err(KernelError::Input(
                Message::in_file(&path, "the file has changed while the engine was built")
                    .with_help("run the command again"),
            ));
        }
    }
    Ok(())
}

/// Returns the path of a file of the tree in an overlay.
pub fn overlay_path(overlay: &Path, name: &str) -> PathBuf {
    overlay.join(if name == WRAPPED.0 { WRAPPED.1 } else { name })
}

/// Returns the path of the header with the facts in which trees differ.
pub(crate) fn facts_path(overlay: &Path) -> PathBuf {
    overlay.join(FACTS)
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

fn link(target: &Path, path: &Path) -> Result<(), KernelError> {
    if fs::read_link(path).is_ok_and(|old| old == target) {
        return Ok(());
    }
    create_parent(path)?;
    remove(path)?;
    symlink(target, path).map_err(io_error_at(path))
}

fn copy(from: &Path, to: &Path) -> Result<(), KernelError> {
    create_parent(to)?;
    remove(to)?;
    fs::copy(from, to).map(|_| ()).map_err(io_error_at(from))
}

fn remove(path: &Path) -> Result<(), KernelError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).map_err(io_error_at(path)),
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result<(), KernelError> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    create_parent(path)?;
    remove(path)?;
    fs::write(path, text).map_err(io_error_at(path))
}
