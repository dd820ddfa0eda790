// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of exports and of traces of the reference.

#![allow(clippy::disallowed_methods, reason = "tests advance machines by hand")]

mod exports;
mod odd_names;
mod oracle_traces;
