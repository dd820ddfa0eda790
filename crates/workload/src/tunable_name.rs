// SPDX-License-Identifier: GPL-2.0-or-later
//! Names of tunables, which are looked up once.

use fairlab_sched::tunables::TunableInfo;
use std::fmt;

/// Tunable by the name that a user gives.
#[derive(Clone, Debug)]
pub enum TunableName {
    /// Tunable of the built-in scheduler, of one or of all series.
    BuiltIn(&'static TunableInfo),
    /// Name that only a kernel tree may have.
    OfTree(String),
}

impl TunableName {
    /// Returns the name as in debugfs or `/proc/sys/kernel`, without `sched_`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::BuiltIn(info) => info.name,
            Self::OfTree(name) => name,
        }
    }
}

impl<T: AsRef<str> + Into<String>> From<T> for TunableName {
    fn from(name: T) -> Self {
        TunableInfo::from_name(name.as_ref()).map_or_else(|| Self::OfTree(name.into()), Self::BuiltIn)
    }
}

impl PartialEq for TunableName {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for TunableName {}

impl fmt::Display for TunableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
