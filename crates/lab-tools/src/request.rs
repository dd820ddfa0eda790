// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests of a page.

use serde::{Deserialize, Serialize};

/// Request of a page.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ToolRequest {
    /// Add a run of an arm. The bytes are the answer of `fairlab-lab` to its request `measure`. Repetitions have consecutive
    /// seeds, and are counted from 0.
    AddRun { arm: usize, repetition: usize },
    /// Compare all runs that were added, and drop them. `arms` has the names of the arms.
    Compare { arms: Vec<String>, first_seed: u64, command: Vec<String> },
    /// Read a file of the reader: a workload, a recorded trace, or a description of a machine. `name` is its name, and the
    /// bytes are its content.
    Open { name: String },
}
