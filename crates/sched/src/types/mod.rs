// SPDX-License-Identifier: GPL-2.0-or-later
//! What is said: quantities with their units, names, sets of CPUs, switches, and the arithmetic of averages.
//!
//! Nothing here knows of tasks or runqueues. It is the ground floor of the crate: every storey above uses it, it uses none.

pub mod cpumask;
pub mod features;
pub mod idle_type;
pub mod ids;
pub mod pelt;
pub mod tunables;
pub mod units;
pub mod weight;
pub mod work;
