// SPDX-License-Identifier: GPL-2.0-or-later
//! CFS bandwidth control: CPUs draw runtime from a group's pool ([`runtime`]), and a cfs_rq without runtime
//! is throttled ([`throttle`]).

pub(crate) mod hierarchy;
pub(crate) mod runtime;
#[cfg(test)]
mod tests;
pub(crate) mod throttle;
pub(crate) mod timers;
