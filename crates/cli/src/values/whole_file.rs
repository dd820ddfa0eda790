// SPDX-License-Identifier: GPL-2.0-or-later
//! Files that are written completely or not at all: written under a temporary name beside their final path,
//! and renamed at the end. An earlier file stays until then.

use crate::values::error::CliError;
use fairlab_workload::message::Message;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// File that is being written.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    name: String,
    /// Temporary path and final path; `None` if the file is written in place.
    beside: Option<(TempPath, PathBuf)>,
}

impl AtomicFile {
    /// Creates a file. A device or pipe is written directly, and so is a file in a folder where no file can
    /// be created.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn create(path: &Path) -> io::Result<(Self, File)> {
        let name = path.display().to_string();
        let there = fs::metadata(path).ok();
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            return Ok((Self { name, beside: None }, File::create(path)?));
        }
        // A symbolic link stays one: its target is replaced.
        let place = if there.is_some() { path.canonicalize()? } else { path.to_owned() };
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
        match create_beside(folder, place.file_name().unwrap_or_default()) {
            Ok((beside, file)) => {
                if let Some(there) = there {
                    file.set_permissions(there.permissions())?;
                }
                Ok((Self { name, beside: Some((beside, place)) }, file))
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && there.is_some() => {
                Ok((Self { name, beside: None }, File::create(path)?))
            }
            Err(error) => Err(error),
        }
    }

    /// Writes a complete file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), CliError> {
        let failed = |error: io::Error| CliError::write(&path.display().to_string(), &error);
        let (whole, mut file) = Self::create(path).map_err(failed)?;
        file.write_all(content).map_err(failed)?;
        whole.finish()
    }

    /// Renames the complete file to its final path.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        let Some((beside, place)) = self.beside else { return Ok(()) };
        beside.persist(place).map_err(|error| CliError::write(&self.name, &error.error))
    }
}

/// Creates a file `.NAME.part-PID`, with a number appended if that exists.
fn create_beside(folder: &Path, name: &OsStr) -> io::Result<(TempPath, File)> {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".part-{}", std::process::id()));
    let mut number = 0;
    loop {
        let mut numbered = hidden.clone();
        if number > 0 {
            numbered.push(format!("-{number}"));
        }
        let path = folder.join(numbered);
        match File::create_new(&path) {
            Ok(file) => return Ok((TempPath::try_from_path(path)?, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Whether both paths name one existing file.
fn is_same_file(path: &Path, given: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok().filter(|path| path.is_file());
    canonical(path).is_some_and(|path| canonical(given) == Some(path))
}

/// Rejects an output file that is also an input.
///
/// # Errors
/// If the file is one of the inputs.
pub(crate) fn refuse_to_replace<'a>(
    file: &Path,
    option: &str,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), CliError> {
    match inputs.into_iter().find(|input| is_same_file(file, input)) {
        None => Ok(()),
        Some(input) => {
            let help = format!("{option} would overwrite it; give a different file");
            Err(CliError::Input(Message::in_file(input, "is an input of this command").with_help(help)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_finished_leaves_what_was_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace.txt");
        fs::write(&path, "before").expect("it is written");
        let (whole, mut file) = AtomicFile::create(&path).expect("it can be begun");
        file.write_all(b"cut").expect("it is written");
        drop(whole);
        assert_eq!(fs::read(&path).expect("it is there"), b"before");
        AtomicFile::write(&path, b"after").expect("it is written");
        assert_eq!(fs::read(&path).expect("it is there"), b"after");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing else is left");
    }

    #[test]
    fn an_error_does_not_speak_of_the_hidden_name() {
        let error = AtomicFile::create(Path::new("/no/such/folder/page.html")).expect_err("there is no such folder");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains("part-"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_other_names_of_a_file_keep_its_text() {
        let folder = tempfile::tempdir().expect("a folder");
        let [first, link, hard] = ["first", "link", "hard"].map(|name| folder.path().join(name));
        fs::write(&first, "first").expect("it is written");
        std::os::unix::fs::symlink(&first, &link).expect("a link");
        fs::hard_link(&first, &hard).expect("another name");
        AtomicFile::write(&link, b"second").expect("it is written");
        assert!(link.is_symlink());
        assert_eq!(fs::read(&first).expect("it is there"), b"second");
        assert_eq!(fs::read(&hard).expect("it is there"), b"first");
    }

    #[test]
    fn what_is_read_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("in.json");
        fs::write(&path, "{}").expect("it is written");
        let round_about = folder.path().join(".").join("in.json");
        let error = refuse_to_replace(&round_about, "--export", [path.as_path()]).expect_err("it is the same");
        assert!(error.to_string().contains("--export would overwrite it"), "{error}");
        assert!(refuse_to_replace(&folder.path().join("out"), "--export", [path.as_path()]).is_ok());
    }
}
