// SPDX-License-Identifier: GPL-2.0-or-later
//! Sched domains compared with those that Linux builds.
//!
//! - [`oracle`]: the kernel's own scheduler code, run as a program
//! - [`recorded`]: kernels that booted on machines of many shapes
//! - [`rules`]: rules that hold for every machine
//! - [`defaults`]: tunables and features of a booted kernel

mod defaults;
mod machine;
mod oracle;
mod recorded;
mod rules;

use fairlab_sched::kernel_rules::KernelRules;
use fairlab_sched::series::KernelSeries;

/// Rules of the kernel whose domains are compared.
const RULES: KernelRules = KernelRules::of_series(KernelSeries::V6_1);
