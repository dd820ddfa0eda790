// SPDX-License-Identifier: GPL-2.0-or-later
//! What tasks do, as data.
//!
//! A [`workload::Workload`] is a set of task groups, tasks and timed changes. What a task does is a
//! [`step::Behaviour`], which answers one question: what next? Importers read workloads from files: [`scn`] the scenarios of
//! the oracle, [`rtapp`] the JSON of rt-app, [`recorded`] what traces became; [`load::load`] looks which of them a file is.

pub mod bench;
pub mod error;
pub mod load;
mod policy;
pub mod recorded;
pub mod rtapp;
pub mod scenario;
pub mod step;
pub mod suggest;
pub mod workload;
