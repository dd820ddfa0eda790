// SPDX-License-Identifier: GPL-2.0-or-later
//! Run directories, which contain one complete run or do not exist.
//!
//! A run writes to a hidden directory next to its own, `.NAME.part-PID`, which is renamed when everything is
//! written. An earlier run of the same name is exchanged for the new one and then removed completely. A
//! process that is killed leaves its hidden directory behind. The next run with the same destination removes
//! it, unless a lock shows that the process is alive.

use crate::error::RequestError;
use crate::input::InputCopy;
use crate::manifest::{MANIFEST, SUMMARY};
use fairlab_workload::message::Message;
use fairlab_workload::sha256;
use serde::Serialize;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Subdirectory with the copies of inputs.
pub const INPUTS: &str = "inputs";
/// File in a hidden directory whose lock shows that its process is alive.
const LOCK: &str = ".lock";
/// Size of the largest manifest that is read, in bytes.
const MAX_MANIFEST: u64 = 16 << 20;

/// Returns a function for `map_err`: the directory cannot be a run directory.
fn unsuitable<E: ToString>(path: &Path) -> impl FnOnce(E) -> RequestError {
    let help = "-o takes a new or empty directory, or the directory of an earlier run";
    move |cause| RequestError::Input(message(path, cause, help))
}

/// Returns a function for `map_err`: writing to the directory failed.
fn failed(path: &Path) -> impl FnOnce(io::Error) -> RequestError {
    let help = "check for free space on the device; nothing has been written";
    move |cause| RequestError::Run(message(path, cause, help))
}

fn message(path: &Path, cause: impl ToString, help: &str) -> Message {
    Message::in_file(path, cause.to_string()).with_help(help)
}

/// Run directory that is being written. It is removed when dropped, unless it is finished.
#[derive(Debug)]
pub struct RunDirectory {
    target: PathBuf,
    hidden: PathBuf,
    _lock: File,
}

impl RunDirectory {
    /// Creates the hidden directory of a run. A directory that contains only an earlier run will be replaced.
    ///
    /// # Errors
    /// If the directory cannot be created, or contains anything else than a run.
    pub fn create(path: &Path) -> Result<Self, RequestError> {
        let wrong = |cause: &str| Err(unsuitable(path)(cause));
        let target = match fs::canonicalize(path) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(unsuitable(path)(error)),
        };
        if std::env::current_dir().is_ok_and(|current| current.starts_with(&target)) {
            return wrong("the directory is the current one, or around it, and would be replaced");
        }
        let Some(name) = target.file_name().map(OsStr::to_owned) else { return wrong("the directory has no name") };
        check_replaceable(path, &target)?;
        let parent = match target.parent() {
            Some(parent) if parent != Path::new("") => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        fs::create_dir_all(&parent).map_err(unsuitable(path))?;
        remove_abandoned(&parent, &name);
        let hidden = parent.join(hidden_name(&name, Some(std::process::id())));
        let lock = loop {
            fs::create_dir(&hidden).map_err(unsuitable(path))?;
            match File::create(hidden.join(LOCK)).and_then(|lock| lock.lock().map(|()| lock)) {
                Ok(lock) => break lock,
                // Another process has removed the directory as abandoned, because it was empty.
                Err(error) if error.kind() == io::ErrorKind::NotFound && !hidden.exists() => {}
                Err(error) => return Err(failed(path)(error)),
            }
        };
        let directory = Self { target, hidden, _lock: lock };
        fs::create_dir(directory.hidden.join(INPUTS)).map_err(failed(path))?;
        Ok(directory)
    }

    /// Path of the hidden directory, to which files are written.
    pub fn path(&self) -> &Path {
        &self.hidden
    }

    /// Writes a file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), RequestError> {
        fs::write(self.hidden.join(name), content).map_err(failed(&self.target.join(name)))
    }

    /// Writes data as JSON, with a newline at the end.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_json(&self, name: &str, data: &impl Serialize) -> Result<(), RequestError> {
        let mut text = serde_json::to_vec_pretty(data).expect("the data have no maps with keys that are not text");
        text.push(b'\n');
        self.write(name, &text)
    }

    /// Stores a copy of an input, and returns its entry in the manifest.
    ///
    /// # Errors
    /// If the copy cannot be written.
    pub fn keep(&self, name: &str, content: &[u8]) -> Result<InputCopy, RequestError> {
        let path = format!("{INPUTS}/{name}");
        self.write(&path, content)?;
        Ok(InputCopy { path, sha256: sha256::hex_digest(content), bytes: content.len() as u64 })
    }

    /// Renames the complete directory, replacing an earlier run.
    ///
    /// # Errors
    /// If the directory cannot be renamed; an earlier run then remains.
    pub fn finish(self) -> Result<(), RequestError> {
        let done = fs::remove_file(self.hidden.join(LOCK)).and_then(|()| put_in_place(&self.hidden, &self.target));
        done.map_err(failed(&self.target))
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        // If this fails, the next run with the same destination removes the directory.
        let _ = fs::remove_dir_all(&self.hidden);
    }
}

/// Returns the name of the hidden directory of a process, or the common prefix of such names without `pid`.
fn hidden_name(name: &OsStr, pid: Option<u32>) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".part-");
    if let Some(pid) = pid {
        hidden.push(pid.to_string());
    }
    hidden
}

fn remove_abandoned(parent: &Path, name: &OsStr) {
    let begin = hidden_name(name, None);
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let of_run = entry.file_name().as_encoded_bytes().starts_with(begin.as_encoded_bytes());
        if !of_run {
            continue;
        }
        // A directory that cannot be removed only wastes space. An empty one is not locked yet: its process,
        // if it is alive, creates it again.
        let _ = match File::open(entry.path().join(LOCK)) {
            Ok(lock) if lock.try_lock().is_ok() => fs::remove_dir_all(entry.path()),
            Ok(_) => Ok(()),
            Err(_) => fs::remove_dir(entry.path()),
        };
    }
}

/// Checks that a directory can be replaced: it does not exist, is empty, or contains only a run.
fn check_replaceable(path: &Path, target: &Path) -> Result<(), RequestError> {
    let entries = match fs::read_dir(target) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unsuitable(path)(error)),
    };
    let names: Result<Vec<OsString>, io::Error> = entries.map(|entry| Ok(entry?.file_name())).collect();
    let names = names.map_err(unsuitable(path))?;
    if names.is_empty() {
        return Ok(());
    }
    let wrong = |cause: String| Err(unsuitable(path)(cause));
    let manifest = fairlab_workload::files::read_file(&target.join(MANIFEST), MAX_MANIFEST);
    let files = manifest.ok().and_then(|text| files_of_run(&text));
    let Some(files) = files else {
        return wrong("the directory is not empty and holds no run; choose another one".to_owned());
    };
    let is_of_run = |name: &OsString| {
        let known = [MANIFEST, SUMMARY, INPUTS];
        let begins = |file: &String| Path::new(file).iter().find(|part| *part != ".").is_some_and(|part| part == name);
        known.iter().any(|known| name == known) || files.iter().any(begins)
    };
    match names.iter().find(|name| !is_of_run(name)) {
        None => Ok(()),
        Some(other) => wrong(format!(
            "the directory holds a run, which would be replaced, but also `{}`, which is not of that run",
            other.display()
        )),
    }
}

/// Returns the files that a manifest of any version lists; `None` if the text is no manifest.
fn files_of_run(text: &[u8]) -> Option<Vec<String>> {
    let manifest: Value = serde_json::from_slice(text).ok()?;
    if !manifest["schema"].as_str()?.starts_with("manifest/") {
        return None;
    }
    let files = manifest["result"]["files"].as_array().or_else(|| manifest["files"].as_array());
    Some(files.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect())
}

fn put_in_place(hidden: &Path, target: &Path) -> io::Result<()> {
    let is_occupied = fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_some());
    if !is_occupied {
        return fs::rename(hidden, target);
    }
    if exchange(hidden, target).is_err() {
        // This file system cannot exchange two names, so for a moment neither directory has the name.
        let mut old = hidden.as_os_str().to_owned();
        old.push("-old");
        fs::rename(target, &old)?;
        fs::rename(hidden, target)?;
        return fs::remove_dir_all(&old);
    }
    fs::remove_dir_all(hidden)
}

#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_one: &Path, _other: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests;
