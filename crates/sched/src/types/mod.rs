// SPDX-License-Identifier: GPL-2.0-or-later
//! Basic types: quantities with units, identifiers, CPU sets, switches, and the arithmetic of weights and
//! averages.
//!
//! This is the lowest layer of the crate. It knows neither tasks nor runqueues and uses no other layer.

pub mod arena;
pub mod commits;
pub mod cpumask;
pub mod features;
pub(crate) mod getters;
pub mod idle_type;
pub mod ids;
pub mod kernel_rules;
pub mod pelt;
pub mod runtime_limit;
pub mod series;
pub mod tunables;
pub mod units;
pub mod weight;
pub mod work;
