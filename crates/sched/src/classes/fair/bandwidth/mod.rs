// SPDX-License-Identifier: GPL-2.0-or-later
//! Quotas of groups at work: CPUs draw from the pool ([`runtime`]), and what runs dry leaves its runqueue ([`throttle`]).

pub(crate) mod hierarchy;
pub(crate) mod runtime;
#[cfg(test)]
mod tests;
pub(crate) mod throttle;
pub(crate) mod timers;
