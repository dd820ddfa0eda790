// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the command.

#![allow(clippy::disallowed_methods, reason = "tests advance machines by hand")]

mod bench;
mod check;
mod common;
mod comparisons;
mod conformance;
mod digests;
mod experiments;
mod explain;
mod exports;
mod findings;
mod fuzz;
mod group_clamps;
mod import;
mod kernels;
mod lab;
mod malformed;
mod measured;
mod outputs;
mod report;
mod robust;
mod rtapp_files;
mod schemas;
mod snapshots;
mod study;
mod sums;
mod sweeps;
mod switches;
mod tutorials;
mod waits;
mod warmup;
mod watch;
