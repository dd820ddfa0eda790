// SPDX-License-Identifier: GPL-2.0-or-later
//! Load balancing: moving runnable tasks to where CPUs have more room for them.
//!
//! Models the balancing half of `fair.c` (6.1.192, without NUMA balancing), one mechanism in a module. Here is what is
//! decided: [`stats`] of a domain's groups, which [`classify`] puts into states; [`imbalance`] says whether and how much to move,
//! [`busiest`] from where, [`detach`] which tasks; [`interval`] when the domain is due again. Who balances when, and one pass from
//! beginning to end, is in [`crate::paths`]: `domains`, `newidle`, `tickless`, `pass` and `active`.

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
