// SPDX-License-Identifier: GPL-2.0-or-later
//! Record of something that a workload uses and its kernel does not have.

use fairlab_workload::message::Message;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Addition that a workload uses and its kernel does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MissingAddition {
    /// Name of the file, or of the attribute.
    pub name: String,
    /// Groups, tasks or CPUs that use it.
    pub users: Vec<String>,
    /// First release with it.
    pub since: String,
    /// Kernel of the run.
    pub kernel: String,
}

impl fmt::Display for MissingAddition {
    /// Writes a clause, such as "cpu.max.burst of /pod: kernels have it since 5.14, this is 5.10".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Users that are named.
        const NAMED: usize = 3;
        let Self { name, users, since, kernel } = self;
        write!(f, "{name} of {}", users.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", "))?;
        if users.len() > NAMED {
            write!(f, " and {} more", users.len() - NAMED)?;
        }
        write!(f, ": kernels have it since {since}, this is {kernel}")
    }
}

impl MissingAddition {
    /// Returns the warning of a run that goes on without the addition.
    pub fn warning(&self) -> String {
        format!("runs without {self}")
    }

    /// Returns the error of a run that uses the addition.
    pub fn error(&self) -> Message {
        let since = &self.since;
        Message::new(format!("{self}"))
            .with_help(format!("choose a kernel that has it, such as --kernel {since}, or leave it out of the file"))
    }
}
