// SPDX-License-Identifier: GPL-2.0-or-later
//! What is needed to repeat a run: its manifest. The directory that holds it with copies of the inputs is in
//! [`crate::run_directory`].

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the manifest in a run directory.
pub const MANIFEST: &str = "manifest.json";
/// Name of the summary in a run directory.
pub const SUMMARY: &str = "summary.json";

/// The form in which a [`Manifest`] is written.
pub const SCHEMA: &str = "manifest/1";

/// An input of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ManifestInput {
    /// Where it came from: the path as it was given, `-` for standard input, or the name of a machine that comes with fairlab.
    pub given: String,
    /// Its copy in the run directory.
    pub copy: String,
    /// SHA-256 of its content.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
}

/// The engine of a run: the scheduler of a kernel tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ManifestEngine {
    /// The name under which it was built.
    pub name: String,
    /// The tree's version.
    pub version: String,
    /// What it was built from.
    pub source: String,
    /// The patches on top of that, by the names of their files.
    pub patches: Vec<String>,
    /// The hash of all that it was made of.
    pub key: String,
}

/// Everything that a run depended on, and by what its result is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Manifest {
    /// The form of this.
    #[serde(default)]
    pub schema: String,
    /// Version of fairlab.
    pub fairlab: String,
    /// The command as it was given.
    pub command: Vec<String>,
    /// The command that repeats the run, in the run directory.
    pub repeat: Vec<String>,
    /// The workload.
    pub workload: ManifestInput,
    /// The kind of its file.
    pub kind: String,
    /// The machine; none if a scenario describes it.
    pub machine: Option<ManifestInput>,
    /// The kernel.
    pub kernel: String,
    /// The engine, if it was not the built-in scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<ManifestEngine>,
    /// All scheduler features. An engine has those of its tree: here it has none.
    pub features: BTreeMap<String, bool>,
    /// All tunables; of an engine none.
    pub tunables: BTreeMap<String, i64>,
    /// The seed, if one was given.
    pub seed: Option<u64>,
    /// Whether starts and random lengths were drawn from the seed.
    #[serde(default)]
    pub vary: bool,
    /// The perturbation, if one was given.
    pub perturb: Option<u64>,
    /// Whether kernel code cost what the machine says (`machine`) or nothing (`zero`).
    pub prices: String,
    /// Length of the run.
    pub duration_ns: u64,
    /// If somebody stopped the run: how long it was to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short_of_ns: Option<u64>,
    /// The hash over all that the scheduler did: equal inputs give an equal one.
    pub digest: String,
    /// Events of the machine.
    pub events: u64,
    /// What else the run has written into its directory.
    #[serde(default)]
    pub files: Vec<String>,
}
