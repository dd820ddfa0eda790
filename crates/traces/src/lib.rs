// SPDX-License-Identifier: GPL-2.0-or-later
//! Traces of runs, written and read.
//!
//! [`export`] writes traces for other tools, and [`import`] reads recorded ones as workloads. [`trace_jsonl`] is the
//! format of the reference, [`work_jsonl`] counts operations, and [`conformance`] records cases for other schedulers.
//! [`domains`] describes sched domains as the kernel's debugfs does.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests advance machines by hand"))]

mod buffered;
pub mod conformance;
pub mod domains;
pub mod export;
pub mod import;
pub mod trace_jsonl;
pub mod work_jsonl;
