// SPDX-License-Identifier: GPL-2.0-or-later
//! Quantities that are tracked: clocks, averages, capacities, clamps and frequencies, and whether a task fits
//! a CPU.
//!
//! The state behind them is in [`crate::state`]; decisions based on them are in the layers above.

pub(crate) mod blocked;
pub(crate) mod capacity;
pub(crate) mod clock;
pub mod cpufreq;
pub(crate) mod fits;
pub(crate) mod group_uclamp;
pub(crate) mod h_load;
pub(crate) mod lb_cache;
pub(crate) mod lock;
pub(crate) mod misfit;
pub(crate) mod pelt;
pub(crate) mod uclamp;
pub(crate) mod warn;
