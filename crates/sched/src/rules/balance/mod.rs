// SPDX-License-Identifier: GPL-2.0-or-later
//! Load-balance decisions: which runnable tasks move to CPUs with more room for them.
//!
//! Models the balancing half of `fair.c` (6.1.192, without NUMA balancing), one mechanism per module:
//! - [`stats`] collects the statistics of a domain's groups, and [`classify`] gives each group a type;
//! - [`imbalance`] decides whether and how much to move;
//! - [`busiest`] selects the source, and [`detach`] the tasks;
//! - [`interval`] computes when the domain is due again.
//!
//! The modules `domains`, `newidle`, `nohz`, `load_balance` and `active` of [`crate::paths`] decide which CPU
//! balances when, and run the passes.

pub(crate) mod busiest;
pub(crate) mod classify;
pub(crate) mod detach;
pub(crate) mod env;
pub(crate) mod gather;
#[cfg(test)]
mod golden_tests;
pub(crate) mod imbalance;
pub(crate) mod interval;
pub(crate) mod nohz_stats;
pub(crate) mod policy;
#[cfg(test)]
mod policy_tests;
pub(crate) mod stats;
#[cfg(test)]
mod tests;
