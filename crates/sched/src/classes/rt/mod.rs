// SPDX-License-Identifier: GPL-2.0-or-later
//! TODO classes::rt

pub(crate) mod bandwidth;
pub(crate) mod change;
pub(crate) mod enqueue;
pub(crate) mod hotplug;
pub(crate) mod run;
#[cfg(test)]
mod tests;
