// SPDX-License-Identifier: GPL-2.0-or-later
//! Linux's fair scheduler as a pure state machine.
//!
//! The crate owns no clock, no randomness, no I/O and no threads: everything that happens arrives through the handlers
//! of the scheduler together with a context that carries the time, and everything it wants done leaves as a list of effects.
//! Behaviour follows Linux 6.1 (Debian's 6.1.192, with its stable backports); the states before the published
//! changes that fairlab studies are tunables.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic, clippy::disallowed_types, clippy::disallowed_methods)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod cpumask;
pub mod ids;
pub mod topology;
pub mod units;
