// SPDX-License-Identifier: GPL-2.0-or-later
//! Linux's fair scheduler as a pure state machine.
//!
//! The crate owns no clock, no randomness, no I/O and no threads: everything that happens arrives through the handlers of
//! [`sched::Sched`] together with a [`ctx::Ctx`] that carries the time, and everything it wants done leaves as a list of
//! effects. Behaviour follows Linux 6.1 (Debian's 6.1.192, with its stable backports); the states before the published
//! changes that fairlab studies are tunables.

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic, clippy::disallowed_types, clippy::disallowed_methods)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod check;
pub mod classes;
#[cfg(test)]
mod golden;
#[cfg(test)]
pub(crate) mod lab;
pub mod paths;
#[cfg(test)]
pub(crate) mod recorded_states;
pub mod rules;
pub mod state;
pub mod told;
pub mod track;
pub mod words;

// What other crates meet, by the names that the kernel's readers know.
pub use paths::{boot, sched, walks};
pub use state::{task, topology};
pub use told::{ctx, probe};
pub use words::{cpumask, features, ids, tunables, units, weight, work};
