// SPDX-License-Identifier: GPL-2.0-or-later
//! TODO track::pelt

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
