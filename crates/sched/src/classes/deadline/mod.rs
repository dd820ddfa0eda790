// SPDX-License-Identifier: GPL-2.0-or-later
//! The deadline class: SCHED_DEADLINE, earliest deadline first with a constant-bandwidth server.
//!
//! Models `deadline.c` (6.1): what is admitted ([`admission`]), who runs and for how long ([`run`], [`replenish`]), how much of a CPU is in
//! use ([`bandwidth`]) and reclaimed ([`reclaim`]). Where a task goes is in [`crate::rules::deadline`], pushing and pulling in
//! [`crate::paths::push_deadline`], its timers in [`crate::paths::deadline_timers`].

pub mod admission;
pub(crate) mod bandwidth;
pub(crate) mod pushable;
pub(crate) mod reclaim;
pub(crate) mod replenish;
pub(crate) mod run;
#[cfg(test)]
mod tests;
