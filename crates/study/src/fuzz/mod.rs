// SPDX-License-Identifier: GPL-2.0-or-later
//! A search for machines and workloads on which the scheduler breaks a property, such as that no CPU idles while a task waits for it.
//!
//! [`generate`] draws a [`Case`] from a seed. What breaks is told by whoever implements [`Check`]. A case that breaks a property is made as
//! small as it can be ([`minimise`]) and told by what it is made of ([`ingredients`]): another case is another finding only if it still
//! breaks the property without something that the first one needs. [`scn`] and [`rtapp`] write cases for fairlab and for real machines.

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

use fairlab_observe::explain::Question;

/// How a property was broken.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Which property.
    pub property: String,
    /// By how much: nanoseconds or percent; more is worse.
    pub worst: f64,
    /// What happened, in a sentence.
    pub sentence: String,
    /// The worst moment, from the start of the run, if there is one.
    pub at_ns: u64,
    /// What to ask about it.
    pub question: Option<Question>,
}

/// Who can tell what a case breaks.
pub trait PropertyCheck: Sync {
    /// Why a case could not be run.
    type Error: Send;

    /// Runs a case: the properties that it breaks, each once.
    ///
    /// # Errors
    /// If it cannot be run.
    fn violations(&self, case: &FuzzCase) -> Result<Vec<Violation>, Self::Error>;
}
