// SPDX-License-Identifier: GPL-2.0-or-later
//! Balancing on behalf of idle CPUs whose tick is stopped.
//!
//! Models the NO_HZ_COMMON part of `fair.c` (6.1.192). A CPU without ticks neither balances nor decays its blocked load;
//! others do that for it. [`crate::state::nohz`] knows which CPUs are tickless, [`kick`] decides at a busy CPU's tick whether one of
//! them is asked, [`idle_balance`] is what that one does for all, [`crate::track::blocked`] is the decay of blocked load.

pub(crate) mod idle_balance;
pub(crate) mod kick;
#[cfg(test)]
mod tests;
