// SPDX-License-Identifier: GPL-2.0-or-later
//! Load tracking (PELT) in entities and runqueues. [`crate::types::pelt`] has the arithmetic of the averages.
//!
//! Models the callers of `kernel/sched/pelt.c` of 6.1:
//! - [`clock`]: time to which averages are advanced
//! - [`attach`]: entry and exit of an entity's averages into those of its runqueue
//! - [`propagate`], [`through_groups`]: propagation of averages up the tree of groups
//! - [`util_est`]: estimated utilisation of tasks
//! - [`first_util`]: first utilisation of a new task
//! - [`other`]: averages of the other classes, of interrupts and of thermal pressure

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
