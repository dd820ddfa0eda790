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
pub mod interface;
pub mod paths;
#[cfg(test)]
pub(crate) mod recorded_states;
pub mod rules;
pub mod state;
#[cfg(test)]
pub(crate) mod test_machine;
pub mod track;
pub mod types;

// What other crates meet, by the names that the kernel's readers know.
pub use interface::{ctx, probe};
pub use paths::{boot, resumable, sched};
pub use state::{task, topology};
pub use types::{cpumask, features, ids, tunables, units, weight, work};
