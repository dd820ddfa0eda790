// SPDX-License-Identifier: GPL-2.0-or-later
//! Answers to a page.

use crate::files::OpenedFile;
use fairlab_experiment::report::compared::ComparedArms;
use fairlab_workload::message::Message;
use serde::Serialize;

/// Answer to a request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolAnswer {
    /// The run was added.
    Added {},
    /// Comparison of all runs that were added.
    Compared(Box<ComparedArms>),
    /// The file, as a workload or as a machine.
    Opened(OpenedFile),
    /// The request could not be answered.
    Error(Message),
}
