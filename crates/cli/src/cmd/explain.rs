// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab explain`: reasons for the state of a task or CPU at a given time of an earlier run.
//!
//! Only the manifest and the copies of inputs are read from the run's directory. The run is repeated with an
//! observer up to that time, and then to its end, so that its digest can be compared with that of the
//! manifest.

use crate::args::ExplainArgs;
use crate::execution::rerun;
use crate::output::{Output, sanitize, wrap};
use crate::values::error::CliError;
use fairlab_explain::{Explanation, Question};
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::Machine;
use fairlab_run::drive::drive_on;
use fairlab_run::explain::explain_moment;
use fairlab_run::manifest::Manifest;
use fairlab_sched::units::Nanos;
use serde::Serialize;

/// Name and version of the JSON output.
pub(crate) const SCHEMA: &str = "explain/2";

/// Explanation of a task, a CPU or its load balancing at one time of a run.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct ExplainOutput {
    /// Name and version of this format.
    schema: &'static str,
    #[serde(flatten)]
    explanation: Explanation,
    /// Whether the digest of the repeated run equals that of the manifest.
    digest_matches: bool,
}

pub(crate) fn explain(output: &mut Output, args: &ExplainArgs) -> Result<(), CliError> {
    let question = match (&args.task, args.cpu, args.balance) {
        (Some(task), ..) => Question::Task(task.clone()),
        (None, Some(cpu), _) => Question::Cpu(cpu),
        (None, None, balance) => Question::Balance(balance.expect("the command line demands one of the three")),
    };
    let manifest = Manifest::read(&args.dir)?;
    let mut machine = rerun::repeat(&manifest)?.machine;
    if args.at > machine.duration() {
        return Err(CliError::with_help(
            format!("--at {}: the run ends at {}", args.at, machine.duration()),
            "give a time up to that end, counted from the start of the run",
        ));
    }
    let explanation = explain_and_finish(&mut machine, &question, args.at)?;
    let difference = rerun::digest_warning(&machine.digest().to_string(), &manifest, &args.dir, "this explains");
    if let Some(warning) = &difference {
        output.warn(warning)?;
    }
    if output.is_json() {
        return output.json(&ExplainOutput { schema: SCHEMA, explanation, digest_matches: difference.is_none() });
    }
    let text: String = explanation.sentences().map(|sentence| wrap(&sanitize(sentence), 2)).collect();
    output.text(&text)
}

/// Runs the machine up to `at`, explains that state, and runs the machine to its end.
fn explain_and_finish(machine: &mut Machine, question: &Question, at: Nanos) -> Result<Explanation, CliError> {
    let explanation = explain_moment(machine, question, at)?;
    drive_on(machine, &mut NoObserver, Nanos(u64::MAX)).map_err(CliError::run)?;
    Ok(explanation)
}
