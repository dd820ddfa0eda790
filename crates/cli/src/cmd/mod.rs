// SPDX-License-Identifier: GPL-2.0-or-later
//! The commands, one module each.

pub(crate) mod bench;
pub(crate) mod bisect;
pub(crate) mod capture;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod features;
pub(crate) mod findings;
pub(crate) mod fuzz;
pub(crate) mod import;
pub(crate) mod kernel;
mod kernel_bisect;
pub(crate) mod kernels;
pub(crate) mod machine;
pub(crate) mod man;
pub(crate) mod patch;
mod regressions;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod study;
pub(crate) mod sweep;
pub(crate) mod tunables;
pub(crate) mod watch;
