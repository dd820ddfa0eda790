// SPDX-License-Identifier: GPL-2.0-or-later
//! Evidence of findings, and the sentences that are printed from it.
//!
//! A sentence is printed from its finding alone: from evidence, counts and durations, all of which `--json` contains.
//! Times are in ns from the start of the run.
//!
//! Each kind of evidence is a record in the module of its rule, with its [`Sentence`]. The list of rules in `lib.rs`
//! names the records.

use crate::Finding;
use fairlab_measure::plural::counted;
use fairlab_sched::units::Nanos;
use std::fmt;

/// Evidence from which the sentence of a finding is printed.
pub(super) trait Sentence {
    /// Writes the sentence of the finding that has this evidence, without full stop.
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// Declares the enum of all kinds of evidence, from variants and records. Records are re-exported from their modules.
macro_rules! kinds_of_evidence {
    ($($kind:ident($module:ident::$record:ident),)*) => {
        $(pub use $module::$record;)*

        /// Facts of a finding beside its counts and durations.
        #[expect(missing_docs, reason = "the records are documented")]
        #[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case", tag = "kind")]
        pub enum Evidence {
            $($kind($record),)*
        }

        impl Sentence for Evidence {
            fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$kind(record) => record.write(finding, f),)*
                }
            }
        }

        $(impl From<$record> for Evidence {
            fn from(record: $record) -> Self {
                Self::$kind(record)
            }
        })*
    };
}

pub(super) use kinds_of_evidence;

/// Sentence of the finding, without full stop.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.evidence.write(self, f)?;
        match self.only_in_first_ns {
            Some(first) => write!(f, "; only in the first {}", Nanos(first)),
            None => Ok(()),
        }
    }
}

/// Texts that sentences share.
impl Finding {
    /// Returns the number of occurrences, as in `2 times`.
    pub(super) fn times(&self) -> String {
        counted(self.count, "time", "times")
    }

    /// Returns the number of occurrences and their duration, as in `2 times (3ms in total)`.
    pub(super) fn times_and_total(&self) -> String {
        format!("{} ({} in total)", self.times(), self.total())
    }

    pub(super) const fn total(&self) -> Nanos {
        Nanos(self.total_ns)
    }

    pub(super) const fn worst(&self) -> Nanos {
        Nanos(self.worst_ns)
    }
}
