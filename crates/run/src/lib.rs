// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs as values. A [`spec::RunSpec`] says what is run: a workload, and [`settings`] of machine, kernel and
//! scheduler. [`prepare`] is the only road from a spec to a machine.
//!
//! Everything that a user can set on a run is one entry in [`settings`], from which options, arms, bisections
//! and manifests follow.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests advance machines by hand"))]

pub mod background;
pub mod bench;
pub mod drive;
pub mod error;
pub mod explain;
pub mod facts;
pub mod first_difference;
pub mod input;
pub mod job;
pub mod kernels;
pub mod manifest;
pub mod memory;
pub mod observers;
pub mod policies;
pub mod prepare;
pub mod result;
pub mod run_directory;
pub mod settings;
pub mod spec;
pub mod switches;
pub mod values;
pub mod warmup;
