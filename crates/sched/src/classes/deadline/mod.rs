// SPDX-License-Identifier: GPL-2.0-or-later
//! The deadline class: SCHED_DEADLINE, earliest deadline first with a constant-bandwidth server.
//!
//! Models `deadline.c` (6.1 and 6.12): admission control ([`admission`]), execution and budgets ([`run`],
//! [`replenish`]), fair servers ([`server`]), bandwidth in use ([`bandwidth`]) and its reclamation ([`reclaim`]). CPU selection is in
//! [`crate::rules::deadline`], pushing and pulling in [`crate::paths::push_deadline`], and the handlers of
//! the timers in [`crate::paths::deadline_timers`].

pub mod admission;
pub(crate) mod bandwidth;
pub(crate) mod reclaim;
pub(crate) mod replenish;
pub(crate) mod run;
pub(crate) mod server;
#[cfg(test)]
mod tests;
