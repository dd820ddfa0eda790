// SPDX-License-Identifier: GPL-2.0-or-later
//! Load tracking at work: the averages of [`crate::words::pelt`] in the entities and runqueues.
//!
//! Models the callers of `kernel/sched/pelt.c` of 6.1: [`clock`] has the time that averages are advanced by, [`attach`] how those of
//! entities enter and leave those of runqueues, [`propagate`] and [`through_groups`] how they travel up the tree of groups, [`util_est`]
//! when a task's utilisation is remembered, [`first_util`] what a new one begins with, [`other`] the averages of the other classes.

pub(crate) mod attach;
pub(crate) mod clock;
pub(crate) mod first_util;
#[cfg(test)]
mod golden_clock_tests;
#[cfg(test)]
mod golden_tests;
pub(crate) mod other;
pub(crate) mod propagate;
pub(crate) mod through_groups;
pub(crate) mod util_est;
