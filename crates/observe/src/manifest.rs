// SPDX-License-Identifier: GPL-2.0-or-later
//! What is needed to repeat a run: its manifest, and the directory that holds it with copies of the inputs.

use crate::sha256;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the manifest in a run directory.
pub const MANIFEST: &str = "manifest.json";
/// Name of the summary in a run directory.
pub const SUMMARY: &str = "summary.json";
/// Where the copies of inputs are.
pub const INPUTS: &str = "inputs";

/// An input of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Where it came from: the path as it was given, `-` for standard input, or the name of a machine that comes with fairlab.
    pub given: String,
    /// Its copy in the run directory.
    pub copy: String,
    /// SHA-256 of its content.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
}

/// Everything that a run depended on, and by what its result is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of fairlab.
    pub fairlab: String,
    /// The command as it was given.
    pub command: Vec<String>,
    /// The command that repeats the run, in the run directory.
    pub repeat: Vec<String>,
    /// The workload.
    pub workload: Input,
    /// The kind of its file.
    pub kind: String,
    /// The machine; none if a scenario describes it.
    pub machine: Option<Input>,
    /// The kernel.
    pub kernel: String,
    /// All scheduler features.
    pub features: BTreeMap<String, bool>,
    /// All tunables.
    pub tunables: BTreeMap<String, i64>,
    /// The seed, if one was given.
    pub seed: Option<u64>,
    /// The perturbation, if one was given.
    pub perturb: Option<u64>,
    /// Whether kernel code cost what the machine says (`machine`) or nothing (`zero`).
    pub prices: String,
    /// Length of the run.
    pub duration_ns: u64,
    /// The hash over all that the scheduler did: equal inputs give an equal one.
    pub digest: String,
    /// Events of the machine.
    pub events: u64,
}

/// A directory that could not be written, and why.
#[derive(Debug)]
pub struct DirectoryError {
    /// What could not be written.
    pub path: PathBuf,
    /// Why.
    pub cause: io::Error,
}

/// A directory for a run.
#[derive(Clone, Debug)]
pub struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// Makes the directory. One that holds an earlier run is used again.
    ///
    /// # Errors
    /// If it cannot be made, or holds something that is not a run.
    pub fn create(path: &Path) -> Result<Self, DirectoryError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            |cause| DirectoryError { path, cause }
        };
        let is_occupied = match std::fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_some() && !path.join(MANIFEST).is_file(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(failed(path)(error)),
        };
        if is_occupied {
            let cause = io::Error::other("the directory is not empty and holds no run; choose another one");
            return Err(failed(path)(cause));
        }
        let inputs = path.join(INPUTS);
        std::fs::create_dir_all(&inputs).map_err(failed(&inputs))?;
        Ok(Self { path: path.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file.
    ///
    /// # Errors
    /// If that fails.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), DirectoryError> {
        let path = self.path.join(name);
        std::fs::write(&path, content).map_err(|cause| DirectoryError { path, cause })
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
    pub fn keep(&self, given: &str, name: &str, content: &[u8]) -> Result<Input, DirectoryError> {
        let copy = format!("{INPUTS}/{name}");
        self.write(&copy, content)?;
        Ok(Input { given: given.to_owned(), copy, sha256: sha256::hex_digest(content), bytes: content.len() as u64 })
    }
}
