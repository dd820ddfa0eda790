// SPDX-License-Identifier: GPL-2.0-or-later
//! Explanation of a moment of a run.

use crate::drive::drive_to;
use crate::error::RequestError;
use fairlab_explain::{Explanation, History, Question, explain};
use fairlab_machine::sim::{Machine, START};
use fairlab_sched::units::Nanos;

/// Runs a machine that has not started up to `at`, counted from the start of the run, and explains that state.
///
/// # Errors
/// If a program makes no progress, or the question names a task or CPU that does not exist.
pub fn explain_moment(machine: &mut Machine, question: &Question, at: Nanos) -> Result<Explanation, RequestError> {
    let now = START + at;
    let mut history = History::new(machine);
    drive_to(machine, &mut history, now).map_err(|error| RequestError::Run(error.into()))?;
    explain(machine, &history, question, now).map_err(RequestError::input)
}
