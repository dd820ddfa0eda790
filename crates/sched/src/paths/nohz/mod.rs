// SPDX-License-Identifier: GPL-2.0-or-later
//! Balancing for idle CPUs whose tick is stopped.
//!
//! Models the NO_HZ_COMMON part of `fair.c` (6.1.192). A CPU without ticks neither balances nor decays its
//! blocked load; other CPUs do that for it:
//! - [`crate::state::nohz`] tracks which CPUs are tickless;
//! - [`kick`] decides at the tick of a busy CPU whether one of them is kicked;
//! - [`idle_balance`] is the work of the kicked CPU for all of them;
//! - [`crate::track::blocked`] decays blocked load.

pub(crate) mod idle_balance;
pub(crate) mod kick;
#[cfg(test)]
mod tests;
