// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs that measure the kernel of the machine at hand, for `fairlab machine calibrate` and `validate`.
//!
//! [`MicroTest`](fairlab_workload::bench::micro::MicroTest) lists the tests that a simulated machine runs as well;
//! [`micro`] has their programs. [`lines`], [`interrupts`] and [`timers`] measure what only a real machine has. [`session`]
//! runs them all in turn until its time is over, then the installed [`programs`]; [`kernel`] describes the kernel.
//!
//! Rules:
//! 1. No test needs root, writes outside its process and a temporary directory, or leaves anything behind.
//! 2. A result is the duration of one operation in a batch of many. Batches of different tests alternate, so that
//!    a disturbance of the machine hits all of them.
//! 3. Threads that measure are created for their batch and fixed to CPUs, so that the caller's affinity never changes.

#[cfg(target_os = "linux")]
mod cpus;
#[cfg(target_os = "linux")]
mod exchange;
#[cfg(target_os = "linux")]
mod interrupts;
pub mod kernel;
#[cfg(target_os = "linux")]
mod lines;
#[cfg(target_os = "linux")]
mod messaging;
#[cfg(target_os = "linux")]
mod micro;
pub mod programs;
pub mod record;
#[cfg(target_os = "linux")]
pub mod session;
#[cfg(target_os = "linux")]
pub mod signal_stacks;
pub mod spread;
#[cfg(target_os = "linux")]
mod timers;
#[cfg(target_os = "linux")]
mod transport;
