// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a fair task is to run when it wakes up, is new, or calls exec.
//!
//! Models `select_task_rq_fair()` with all that it calls (6.1), one mechanism in a module: [`select`] has the order of the questions;
//! [`record`] and [`wake_affine`] decide near which CPU to look, [`idle_sibling`] guesses there, and a [`search`] goes on by CPUs
//! ([`idle_cpu`]), by cores ([`idle_core`]) or by capacities ([`idle_capacity`]); [`slow_path`] and [`idlest_group`] serve fork and exec,
//! [`energy`] where there is an energy model. Somebody's own [`policy`] takes the place of all that at wake-ups. Kernels before 5.5 had [`idlest_group_by_load`] in place of [`idlest_group`].

pub(crate) mod energy;
#[cfg(test)]
mod golden_tests;
pub(crate) mod idle_capacity;
pub(crate) mod idle_core;
pub(crate) mod idle_cpu;
pub(crate) mod idle_sibling;
pub(crate) mod idlest_group;
pub(crate) mod idlest_group_by_load;
pub(crate) mod policy;
pub(crate) mod record;
pub(crate) mod search;
pub(crate) mod select;
pub(crate) mod slow_path;
#[cfg(test)]
mod tests;
pub(crate) mod wake_affine;
pub(crate) mod without;
