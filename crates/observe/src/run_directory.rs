// SPDX-License-Identifier: GPL-2.0-or-later
//! The directory of a run: it holds one run, whole, or is not there.
//!
//! A run writes into a hidden directory beside its own, `.NAME.part-PID`, which gets the right name when all is written. An earlier run
//! of that name is exchanged for the new one and then removed, so nothing of it is left. A program that is killed leaves its
//! hidden directory behind, which the next run into the same place removes: a lock tells whether its program lives.

use crate::manifest::{MANIFEST, Manifest, ManifestInput, SUMMARY};
use crate::sha256;
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Where the copies of inputs are.
pub const INPUTS: &str = "inputs";
/// In a hidden directory, the file whose lock says that its program lives.
const LOCK: &str = ".lock";
/// The largest manifest that is looked at.
const MAX_MANIFEST: u64 = 16 << 20;

/// A directory that could not be written, and why.
#[derive(Debug)]
pub struct DirectoryError {
    /// What could not be written.
    pub path: PathBuf,
    /// Why.
    pub cause: io::Error,
    /// Whether the directory cannot be one of a run; otherwise it is the writing that failed.
    pub is_unsuitable: bool,
}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.cause)
    }
}

impl std::error::Error for DirectoryError {}

fn unsuitable(path: &Path) -> impl FnOnce(io::Error) -> DirectoryError {
    let path = path.to_owned();
    |cause| DirectoryError { path, cause, is_unsuitable: true }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> DirectoryError {
    let path = path.to_owned();
    |cause| DirectoryError { path, cause, is_unsuitable: false }
}

/// A directory for a run, which is being written. It vanishes unless it is finished.
#[derive(Debug)]
pub struct RunDirectory {
    /// What it is going to be.
    target: PathBuf,
    /// Where it is written.
    hidden: PathBuf,
    /// Its lock, as long as this program lives.
    _lock: File,
}

impl RunDirectory {
    /// Begins the directory of a run. One that holds an earlier run and nothing else will be replaced.
    ///
    /// # Errors
    /// If it cannot be made, or holds something that is not a run.
    pub fn create(path: &Path) -> Result<Self, DirectoryError> {
        let wrong = |cause: &str| Err(unsuitable(path)(io::Error::other(cause)));
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
                // Another program took it for abandoned, since it was empty.
                Err(error) if error.kind() == io::ErrorKind::NotFound && !hidden.exists() => {}
                Err(error) => return Err(failed(path)(error)),
            }
        };
        let directory = Self { target, hidden, _lock: lock };
        fs::create_dir(directory.hidden.join(INPUTS)).map_err(failed(path))?;
        Ok(directory)
    }

    /// Where files are written until the directory is finished.
    pub fn path(&self) -> &Path {
        &self.hidden
    }

    /// Writes a file.
    ///
    /// # Errors
    /// If that fails.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), DirectoryError> {
        fs::write(self.hidden.join(name), content).map_err(failed(&self.target.join(name)))
    }

    /// Writes data as JSON, with a newline at the end.
    ///
    /// # Errors
    /// If that fails.
    pub fn write_json(&self, name: &str, data: &impl Serialize) -> Result<(), DirectoryError> {
        let mut text = serde_json::to_vec_pretty(data).expect("the data have no maps with keys that are not text");
        text.push(b'\n');
        self.write(name, &text)
    }

    /// Keeps a copy of an input under its own name.
    ///
    /// # Errors
    /// If that fails.
    pub fn keep(&self, given: &str, name: &str, content: &[u8]) -> Result<ManifestInput, DirectoryError> {
        let copy = format!("{INPUTS}/{name}");
        self.write(&copy, content)?;
        Ok(ManifestInput {
            given: given.to_owned(),
            copy,
            sha256: sha256::hex_digest(content),
            bytes: content.len() as u64,
        })
    }

    /// All is written: the directory gets its name, in place of an earlier run.
    ///
    /// # Errors
    /// If that fails. Then an earlier run is still there.
    pub fn finish(self) -> Result<(), DirectoryError> {
        let done = fs::remove_file(self.hidden.join(LOCK)).and_then(|()| put_in_place(&self.hidden, &self.target));
        done.map_err(failed(&self.target))
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        // What is left if this fails is removed by the next run into the same place.
        let _ = fs::remove_dir_all(&self.hidden);
    }
}

/// The name of the directory that a program writes for this one, or what such names begin with.
fn hidden_name(name: &OsStr, pid: Option<u32>) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".part-");
    if let Some(pid) = pid {
        hidden.push(pid.to_string());
    }
    hidden
}

/// Removes what programs have left that were killed while they wrote this directory.
fn remove_abandoned(parent: &Path, name: &OsStr) {
    let begin = hidden_name(name, None);
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let of_run = entry.file_name().as_encoded_bytes().starts_with(begin.as_encoded_bytes());
        if !of_run {
            continue;
        }
        // What cannot be removed only takes room. A directory that is empty has no lock yet: its program, if it lives, makes it again.
        let _ = match File::open(entry.path().join(LOCK)) {
            Ok(lock) if lock.try_lock().is_ok() => fs::remove_dir_all(entry.path()),
            Ok(_) => Ok(()),
            Err(_) => fs::remove_dir(entry.path()),
        };
    }
}

/// Whether a directory may get the name: if one is there, it is empty or holds a run and nothing besides.
fn check_replaceable(path: &Path, target: &Path) -> Result<(), DirectoryError> {
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
    let wrong = |cause: String| Err(unsuitable(path)(io::Error::other(cause)));
    let manifest = fairlab_machine::files::read_file(&target.join(MANIFEST), MAX_MANIFEST);
    let manifest = manifest.ok().and_then(|text| serde_json::from_slice::<Manifest>(&text).ok());
    let Some(manifest) = manifest else {
        return wrong("the directory is not empty and holds no run; choose another one".to_owned());
    };
    let is_of_run = |name: &OsString| {
        let known = [MANIFEST, SUMMARY, INPUTS];
        let begins = |file: &String| Path::new(file).iter().find(|part| *part != ".").is_some_and(|part| part == name);
        known.iter().any(|known| name == known) || manifest.files.iter().any(begins)
    };
    match names.iter().find(|name| !is_of_run(name)) {
        None => Ok(()),
        Some(other) => wrong(format!(
            "the directory holds a run, which would be replaced, but also `{}`, which is not of that run",
            other.display()
        )),
    }
}

/// Gives a directory its name; what has that name is removed.
fn put_in_place(hidden: &Path, target: &Path) -> io::Result<()> {
    let is_occupied = fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_some());
    if !is_occupied {
        return fs::rename(hidden, target);
    }
    if exchange(hidden, target).is_err() {
        // A file system that cannot exchange two names: for a moment there is none of that name.
        let mut old = hidden.as_os_str().to_owned();
        old.push("-old");
        fs::rename(target, &old)?;
        fs::rename(hidden, target)?;
        return fs::remove_dir_all(&old);
    }
    fs::remove_dir_all(hidden)
}

/// Exchanges two names at once.
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
