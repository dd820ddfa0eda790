// SPDX-License-Identifier: GPL-2.0-or-later
//! Balancing on behalf of idle CPUs whose tick is stopped.
//!
//! Models the NO_HZ_COMMON part of `fair.c` (6.1.192). A CPU without ticks neither balances nor decays its blocked load;
//! others do that for it. [`state`] knows which CPUs are tickless, [`kick`] decides at a busy CPU's tick whether one of
//! them is asked, [`idle_balance`] is what that one does for all, [`blocked`] is the decay of blocked load.

pub mod blocked;
pub(crate) mod idle_balance;
pub(crate) mod kick;
pub mod state;

pub use state::Nohz;

/// Balance for tickless CPUs: the kernel's NOHZ_BALANCE_KICK.
pub const NOHZ_BALANCE_KICK: u32 = 1 << 0;
/// Update their blocked load: NOHZ_STATS_KICK.
pub const NOHZ_STATS_KICK: u32 = 1 << 1;
/// A CPU that went idle itself updates blocked load before it sleeps: NOHZ_NEWILB_KICK.
pub const NOHZ_NEWILB_KICK: u32 = 1 << 2;
/// Bring `next_balance` up to date: NOHZ_NEXT_KICK.
pub const NOHZ_NEXT_KICK: u32 = 1 << 3;
/// What one CPU asks of another: NOHZ_KICK_MASK.
pub const NOHZ_KICK_MASK: u32 = NOHZ_BALANCE_KICK | NOHZ_STATS_KICK | NOHZ_NEXT_KICK;

/// The half-life of averages, and so the time between updates of blocked load, in ms (`LOAD_AVG_PERIOD`).
pub(crate) const LOAD_AVG_PERIOD_MS: u64 = 32;

#[cfg(test)]
mod tests;
