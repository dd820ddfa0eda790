// SPDX-License-Identifier: GPL-2.0-or-later
//! TODO classes::fair::bandwidth

pub(crate) mod hierarchy;
pub(crate) mod runtime;
#[cfg(test)]
mod tests;
pub(crate) mod throttle;
pub(crate) mod timers;
