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
