// SPDX-License-Identifier: GPL-2.0-or-later
//! TODO classes::fair

pub(crate) mod bandwidth;
pub(crate) mod curr;
pub(crate) mod enqueue;
#[cfg(test)]
mod golden_group_tests;
#[cfg(test)]
mod golden_tests;
pub(crate) mod hrtick;
pub(crate) mod pick;
pub(crate) mod place;
pub(crate) mod preempt;
pub mod shares;
pub(crate) mod slice;
pub(crate) mod tick;
