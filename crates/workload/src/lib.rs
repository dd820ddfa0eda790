// SPDX-License-Identifier: GPL-2.0-or-later
//! What tasks do, as data.
//!
//! A [`workload::Workload`] is a set of task groups, tasks and timed changes. What a task does is a
//! [`step::Behaviour`], which answers one question: what next?

pub mod step;
pub mod workload;
