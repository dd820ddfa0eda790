// SPDX-License-Identifier: GPL-2.0-or-later
//! Load balancing: moving runnable tasks to where CPUs have more room for them.
//!
//! Models the balancing half of `fair.c` (6.1.192, without NUMA balancing), one mechanism in a module. Who balances when:
//! [`domains`] (the tick and its softirq), [`newidle`] (a CPU that runs out of work), [`crate::paths::tickless`] (for tickless CPUs).
//! One [`pass`] over a domain: [`stats`] of its groups, which [`classify`] puts into states; [`imbalance`] says whether
//! and how much, [`busiest`] from where; [`detach`] moves tasks, or [`active`] has the running one pushed.

pub(crate) mod busiest;
pub(crate) mod classify;
pub(crate) mod detach;
pub(crate) mod env;
#[cfg(test)]
mod golden_tests;
pub(crate) mod imbalance;
pub(crate) mod interval;
pub(crate) mod nohz_stats;
pub(crate) mod stats;
#[cfg(test)]
mod tests;
