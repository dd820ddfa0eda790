// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of observers and policy hooks.

#![allow(clippy::disallowed_methods, reason = "tests advance machines by hand")]

mod benchmarks;
mod forget;
mod own_policy;
mod residency;
mod responses;
mod wake_to_run;
