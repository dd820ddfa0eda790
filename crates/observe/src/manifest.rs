// SPDX-License-Identifier: GPL-2.0-or-later
//! Manifest of a run, which contains everything that is needed to repeat it. [`crate::run_directory`] writes
//! the directory that holds it with copies of the inputs.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// File name of the manifest in a run directory.
pub const MANIFEST: &str = "manifest.json";
/// File name of the summary in a run directory.
pub const SUMMARY: &str = "summary.json";

/// Version of the JSON form of a [`Manifest`].
pub const SCHEMA: &str = "manifest/1";

/// Input file of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ManifestInput {
    /// Origin: the path as it was given, `-` for standard input, or the name of a built-in machine.
    pub given: String,
    /// Path of the copy in the run directory.
    pub copy: String,
    /// SHA-256 digest of the contents, in hexadecimal digits.
    pub sha256: String,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// Compiled-kernel engine of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ManifestEngine {
    /// Name under which the engine was built.
    pub name: String,
    /// Version of the kernel tree.
    pub version: String,
    /// Source of the kernel tree.
    pub source: String,
    /// File names of the patches on top of the tree.
    pub patches: Vec<String>,
    /// Digest of everything that the engine was built from.
    pub key: String,
}

/// Inputs and settings of a run, and the digest that identifies its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Manifest {
    /// Version of this JSON form: `manifest/1`.
    #[serde(default)]
    pub schema: String,
    /// Version of fairlab that executed the run.
    pub fairlab: String,
    /// Command as it was given.
    pub command: Vec<String>,
    /// Command that repeats the run from within the run directory.
    pub repeat: Vec<String>,
    /// Workload file of the run.
    pub workload: ManifestInput,
    /// Kind of the workload file: `scenario` or `rt-app`.
    pub kind: String,
    /// Machine file; null if a scenario describes the machine.
    pub machine: Option<ManifestInput>,
    /// Name of the kernel.
    pub kernel: String,
    /// Compiled-kernel engine, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<ManifestEngine>,
    /// Values of all scheduler features; empty for a compiled-kernel engine, which has those of its tree.
    pub features: BTreeMap<String, bool>,
    /// Values of all tunables; empty for a compiled-kernel engine.
    pub tunables: BTreeMap<String, i64>,
    /// Seed, if one was given.
    pub seed: Option<u64>,
    /// Whether start times and random run lengths depend on the seed.
    #[serde(default)]
    pub vary: bool,
    /// Seed of the permutation of simultaneous events, if one was given.
    pub perturb: Option<u64>,
    /// Costs of kernel code: those of the machine (`machine`) or zero (`zero`).
    pub prices: String,
    /// Length of the run, in nanoseconds.
    pub duration_ns: u64,
    /// Requested length in nanoseconds of a run that was stopped earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short_of_ns: Option<u64>,
    /// Digest over all events of the scheduler: equal inputs give equal digests.
    pub digest: String,
    /// Number of simulation events of the machine.
    pub events: u64,
    /// Other files that the run wrote to its directory.
    #[serde(default)]
    pub files: Vec<String>,
}
