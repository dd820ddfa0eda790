// SPDX-License-Identifier: GPL-2.0-or-later
//! TODO rules::wakeup

pub(crate) mod energy;
#[cfg(test)]
mod golden_tests;
pub(crate) mod idle_capacity;
pub(crate) mod idle_core;
pub(crate) mod idle_cpu;
pub(crate) mod idle_sibling;
pub(crate) mod idlest_group;
pub(crate) mod record;
pub(crate) mod search;
pub(crate) mod select;
pub(crate) mod slow_path;
#[cfg(test)]
mod tests;
pub(crate) mod wake_affine;
pub(crate) mod without;
