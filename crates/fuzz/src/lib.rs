// SPDX-License-Identifier: GPL-2.0-or-later
//! Search for machines and workloads on which the scheduler violates a property, such as that no CPU is idle
//! while a task waits for it.
//!
//! [`generate`] draws a [`FuzzCase`] from a seed. An implementation of [`PropertyCheck`] reports the
//! properties that a case violates. A case with a violation is reduced ([`minimise`]) and characterised by
//! its ingredients ([`ingredients`]): another case is a new finding only if it still violates the property
//! without an ingredient that the first one needs. [`scenario`] and [`rtapp`] write cases for fairlab and for
//! real machines.

pub mod case;
pub mod generate;
pub mod ingredients;
pub mod minimise;
pub mod rtapp;
pub mod scenario;
mod search;
#[cfg(test)]
mod tests;

pub use case::FuzzCase;
pub use search::{FuzzCounts, FuzzFinding, FuzzSearch, search};

use fairlab_explain::Question;

/// Violation of a property by a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Name of the violated property.
    pub property: String,
    /// Size of the violation, in nanoseconds or percent; more is worse.
    pub worst: f64,
    /// Description in one sentence.
    pub sentence: String,
    /// Time of the worst moment since the start of the run, in nanoseconds; 0 if there is no single moment.
    pub at_ns: u64,
    /// Question for `fairlab explain` about the violation.
    pub question: Option<Question>,
}

/// Checks the properties that a case must not violate.
pub trait PropertyCheck: Sync {
    /// Error of a case that cannot be run.
    type Error: Send;

    /// Runs a case, and returns its violations, at most one for each property.
    ///
    /// # Errors
    /// If the case cannot be run.
    fn violations(&self, case: &FuzzCase) -> Result<Vec<Violation>, Self::Error>;
}
