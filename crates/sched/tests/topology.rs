// SPDX-License-Identifier: GPL-2.0-or-later
//! Sched domains against what Linux builds: the scheduler's own code run as a program ([`oracle`]), and kernels that booted on machines
//! of many shapes ([`recorded`]); rules that hold for every machine ([`rules`]); and
//! tunables and features as kernels have them after their boot ([`defaults`]).

#[path = "topology/defaults.rs"]
mod defaults;
#[path = "topology/machine.rs"]
mod machine;
#[path = "topology/oracle.rs"]
mod oracle;
#[path = "topology/recorded.rs"]
mod recorded;
#[path = "topology/rules.rs"]
mod rules;
