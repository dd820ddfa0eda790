// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of observers, exports and policy hooks.

#![allow(clippy::disallowed_methods, reason = "tests advance machines by hand")]

mod benchmarks;
mod exports;
mod forget;
mod odd_names;
mod oracle_traces;
mod own_policy;
mod residency;
mod wake_to_run;
