// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks and their behaviour as data, without a scheduler or a machine.
//!
//! A [`workload::Workload`] is a set of task groups, tasks and timed changes. Each task has a
//! [`step::Behaviour`], which returns its next step. Importers read workloads from files: [`scenario`] from
//! fairlab's scenarios, [`rtapp`] from rt-app's JSON, [`recorded`] from imported traces. [`load::load`]
//! detects the kind of a file. [`bench`] models benchmarks.

pub mod background;
pub mod bench;
pub mod files;
pub mod load;
pub mod message;
mod object_names;
pub mod policy;
pub mod recorded;
pub mod responses;
pub mod rtapp;
pub mod scenario;
pub mod serde_time;
pub mod sha256;
pub mod source_text;
pub mod step;
pub mod suggest;
pub mod time;
pub mod tunable_name;
pub mod workload;
