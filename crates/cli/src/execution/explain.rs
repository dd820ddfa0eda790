// SPDX-License-Identifier: GPL-2.0-or-later
//! Explanation of the state of a run at a given time.

use crate::values::error::CliError;
use fairlab_explain::{Explanation, History, Question, explain as answer};
use fairlab_machine::sim::{Machine, START};
use fairlab_run::drive::drive_to;
use fairlab_sched::units::Nanos;

/// Runs the machine up to `at`, counted from the start of the run, and explains that state.
pub(crate) fn explain_moment(machine: &mut Machine, question: &Question, at: Nanos) -> Result<Explanation, CliError> {
    let now = Nanos(START.0 + at.0);
    let mut history = History::new(machine);
    drive_to(machine, &mut history, now).map_err(CliError::run)?;
    answer(machine, &history, question, now).map_err(CliError::input)
}
