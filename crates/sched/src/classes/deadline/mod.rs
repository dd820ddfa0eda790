// SPDX-License-Identifier: GPL-2.0-or-later
//! TODO classes::deadline

pub mod admission;
pub(crate) mod bandwidth;
pub(crate) mod pushable;
pub(crate) mod reclaim;
pub(crate) mod replenish;
pub(crate) mod run;
#[cfg(test)]
mod tests;
