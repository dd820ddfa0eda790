// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab explain`: why, at a moment of an earlier run.
//!
//! Nothing but the manifest and the copies of inputs is read from the run's directory: the run is repeated with a listener
//! up to the moment, and then to its end, so that its digest can be compared with the one of the manifest.

use crate::args::ExplainArgs;
use crate::error::CliError;
use crate::output::{Output, plain, wrap};
use crate::rerun;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, START};
use fairlab_observe::explain::{Explanation, History, Question, explain as answer};
use fairlab_sched::units::Nanos;
use serde::Serialize;

/// The form of what is written as JSON.
pub(crate) const SCHEMA: &str = "explain/1";

/// What is written as JSON.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct ExplainOutput {
    /// The form of this.
    schema: &'static str,
    #[serde(flatten)]
    explanation: Explanation,
    /// Whether the repeated run was the one of the manifest.
    digest_matches: bool,
}

/// Runs the command.
pub(crate) fn explain(output: &mut Output, args: &ExplainArgs) -> Result<(), CliError> {
    let question = match (&args.task, args.cpu, args.balance) {
        (Some(task), ..) => Question::Task(task.clone()),
        (None, Some(cpu), _) => Question::Cpu(cpu),
        (None, None, balance) => Question::Balance(balance.expect("the command line demands one of the three")),
    };
    let manifest = rerun::read_manifest(&args.dir)?;
    let mut machine = rerun::repeat(&args.dir, &manifest)?.machine;
    if args.at > machine.duration() {
        return Err(CliError::Input(format!(
            "--at {}: the run ends at {}\nhelp: give a time up to that, from the start of the run",
            args.at,
            machine.duration()
        )));
    }
    let explanation = explain_at(&mut machine, &question, args.at)?;
    let difference = rerun::difference(&machine, &manifest, &args.dir, "this explains");
    if let Some(warning) = &difference {
        output.warn(warning)?;
    }
    if output.is_json() {
        return output.json(&ExplainOutput { schema: SCHEMA, explanation, digest_matches: difference.is_none() });
    }
    let text: String = explanation.sentences.iter().map(|sentence| wrap(&plain(sentence), 2)).collect();
    output.text(&text)
}

/// Lets the machine run up to the moment, looks at it, and lets it run to the end.
fn explain_at(machine: &mut Machine, question: &Question, at: Nanos) -> Result<Explanation, CliError> {
    let explanation = explain_moment(machine, question, at)?;
    while machine.advance(&mut NoObserver, Nanos(u64::MAX)).map_err(CliError::run)? {}
    Ok(explanation)
}

/// Lets the machine run up to a moment from the start of the run, and looks at it.
pub(crate) fn explain_moment(machine: &mut Machine, question: &Question, at: Nanos) -> Result<Explanation, CliError> {
    let now = Nanos(START.0 + at.0);
    let mut history = History::new(machine);
    machine.start(&mut history).map_err(CliError::run)?;
    machine.advance(&mut history, now).map_err(CliError::run)?;
    answer(machine, &history, question, now).map_err(CliError::input)
}
