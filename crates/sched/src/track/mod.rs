// SPDX-License-Identifier: GPL-2.0-or-later
//! What is measured: clocks, averages, capacities, clamps and frequencies; whether a task fits a CPU.

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
