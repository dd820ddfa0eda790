// SPDX-License-Identifier: GPL-2.0-or-later
//! Linux's fair scheduler as a pure state machine.
//!
//! The crate has no clock, random numbers, I/O or threads of its own. Every event arrives through a handler
//! of [`sched::Sched`], together with a [`ctx::Ctx`] that carries the time. Every action that the scheduler
//! requests leaves as an effect in a list. Behaviour follows Linux 6.1 and 6.12 (Debian's 6.1.192 and
//! 6.12.117, with their stable backports); [`series`] selects one per run. Tunables restore the behaviour before each
//! published change that fairlab studies.
//!
//! Layers, each of which uses only those before it:
//! 1. `types`: units, ids, masks, weights, the arithmetic of PELT, features and tunables
//! 2. `interface`: the context of a call, events for observers, and the interface of policies
//! 3. `state`: runqueues, tasks, groups, sched domains
//! 4. `track`: clocks, averages, capacities, frequencies
//! 5. `classes`, `rules`: scheduling classes, and the decisions of wake-ups and load balancing
//! 6. `paths`: handlers and resumable kernel paths
//! 7. `check`: invariants of the state, for tests

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

// Modules that other crates use, under short names.
pub use interface::{ctx, probe};
pub use paths::{boot, resumable, sched};
pub use state::{task, topology};
pub use types::{commits, cpumask, features, ids, kernel_rules, series, tunables, units, weight, work};
