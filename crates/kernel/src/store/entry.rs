// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests for engines, and descriptions of built engines.

use crate::regressions::edit::EditScript;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Description of a built engine.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, schemars::JsonSchema)]
pub struct StoreEntry {
    /// Name of the engine.
    pub name: String,
    /// Source of the tree, as it was given.
    pub source: String,
    /// Version in the Makefile of the tree.
    pub version: String,
    /// Patches, in the order in which they were applied.
    pub patches: Vec<String>,
    /// Description of the tree if its folder is not one: where it was taken from, the commit and its subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Bugs of the regression corpus that were reintroduced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bugs: Vec<String>,
    /// Lines of the configuration beyond the default.
    pub config: Vec<String>,
    /// Version line of the compiler.
    pub compiler: String,
    /// Hash of the contents of all inputs of the engine.
    pub key: String,
    /// Hash of fairlab's own files in it. An engine with another hash may have another interface, and must be
    /// built again.
    #[serde(default)]
    pub own: String,
    /// Number of the way in which it was built. Objects of 0 may be those of an earlier build.
    #[serde(default)]
    pub format: u32,
}

impl StoreEntry {
    /// Returns the description of its tree for users.
    pub fn origin(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.source)
    }
}

/// Request for an engine.
#[derive(Clone, Copy, Debug)]
pub struct BuildRequest<'a> {
    /// Name under which the engine is stored.
    pub name: &'a str,
    /// Name of the folder in which it is built. Engines that are built in one folder, one after the other,
    /// compile only what differs in content.
    pub build_dir: &'a str,
    /// Source of the tree, as a user writes it.
    pub source: &'a str,
    /// Description of the tree for users, if `source` does not describe it.
    pub title: Option<&'a str>,
    /// Patches, in the order in which they are applied.
    pub patches: &'a [PathBuf],
    /// Edits, which are applied after the patches.
    pub scripts: &'a [EditScript],
    /// Lines that are added to the configuration.
    pub config: &'a [String],
    /// Whether the objects count how often each line runs: see [`crate::coverage`].
    pub is_covered: bool,
}

/// Result of a request for an engine.
#[derive(Clone, Debug, Serialize)]
pub struct AddedKernel {
    /// Description of the engine.
    #[serde(flatten)]
    pub entry: StoreEntry,
    /// Path of the object.
    pub object: PathBuf,
    /// Whether it was built for this request, instead of found in the store.
    pub is_new: bool,
    /// Time of the request, in milliseconds.
    pub took_ms: u64,
}
