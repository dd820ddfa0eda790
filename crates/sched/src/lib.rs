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

pub(crate) mod balance;
pub mod boot;
pub mod change;
pub mod check;
pub mod classes;
pub mod cpufreq;
pub mod cpumask;
pub mod cpuset;
pub mod ctx;
pub mod entity;
pub mod exec;
pub mod features;
pub(crate) mod fits;
pub mod fork;
#[cfg(test)]
mod golden;
pub mod group;
pub(crate) mod h_load;
pub mod hotplug;
pub mod idle;
pub mod ids;
pub mod inherit;
pub mod ipi;
pub(crate) mod misfit;
pub mod nohz;
pub mod pause;
pub mod pelt;
pub mod probe;
#[cfg(test)]
pub(crate) mod recorded_states;
pub mod rq;
pub mod sched;
pub mod schedule;
pub(crate) mod softirq;
pub mod stopper;
pub mod task;
pub mod timer;
pub mod topology;
pub mod tunables;
pub mod uclamp;
pub mod units;
pub mod wakeup;
pub mod warn;
pub mod weight;
pub mod work;
