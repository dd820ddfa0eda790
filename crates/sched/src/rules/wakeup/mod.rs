// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU selection for fair tasks at wake-up, fork and exec.
//!
//! Models `select_task_rq_fair()` and its callees (6.1), one mechanism per module:
//! - [`select`] has the order of the rules;
//! - [`record`] and [`wake_affine`] choose the target near which to search;
//! - [`idle_sibling`] checks likely CPUs there first, and a [`search`] then scans by CPU ([`idle_cpu`]), core
//!   ([`idle_core`]) or capacity ([`idle_capacity`]);
//! - [`slow_path`] and [`idlest_group`] serve fork and exec; [`idlest_group_by_load`] has the rules before
//!   5.5;
//! - [`energy`] applies if there is an energy model;
//! - a user's [`policy`] replaces these rules at wake-ups.

pub(crate) mod cluster;
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
