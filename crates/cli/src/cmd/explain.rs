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
use fairlab_explain::responses::ResponsePaths;
use fairlab_explain::{Explanation, Question};
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::Machine;
use fairlab_run::drive::{drive, drive_on, drive_through};
use fairlab_run::explain::explain_moment;
use fairlab_run::manifest::Manifest;
use fairlab_run::observers::RunObservers;
use fairlab_run::prepare::ReadyRun;
use fairlab_sched::sched::Sched;
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
    let manifest = Manifest::read(&args.dir)?;
    let mut machine = rerun::repeat(&manifest)?.machine;
    let explanation = match &args.response {
        Some(name) => explain_response(&mut machine, name, args.number, &manifest)?,
        None => explain_at(&mut machine, args)?,
    };
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

/// Explains a moment.
fn explain_at(machine: &mut Machine, args: &ExplainArgs) -> Result<Explanation, CliError> {
    let at = args.at.expect("the command line demands a time");
    let question = match (&args.task, args.cpu, args.balance) {
        (Some(task), ..) => Question::Task(task.clone()),
        (None, Some(cpu), _) => Question::Cpu(cpu),
        (None, None, balance) => Question::Balance(balance.expect("the command line demands one of the three")),
    };
    if at > machine.duration() {
        return Err(CliError::with_help(
            format!("--at {at}: the run ends at {}", machine.duration()),
            "give a time up to that end, counted from the start of the run",
        ));
    }
    explain_and_finish(machine, &question, at)
}

/// Runs the machine to its end and explains a response: the one with a number, or the one that took longest.
fn explain_response(
    machine: &mut Machine,
    name: &str,
    number: Option<u64>,
    manifest: &Manifest,
) -> Result<Explanation, CliError> {
    let number = match number {
        Some(number) => number,
        None => longest_response(rerun::repeat(manifest)?, name)?,
    };
    let mut paths = response_paths(machine)?;
    paths.trace(name, number).map_err(CliError::Input)?;
    drive_through(machine, paths.as_mut()).map_err(CliError::run)?;
    paths.explanation(machine).map_err(CliError::Input)
}

fn response_paths(machine: &Machine) -> Result<Box<ResponsePaths>, CliError> {
    let help = "define what people wait for in \"responses\" of an rt-app file, or with `response` in a scenario";
    ResponsePaths::new(machine).ok_or_else(|| CliError::with_help("the workload defines no responses", help))
}

/// Repeats a run and returns the number of its response that took longest, as the summary of the run has it.
fn longest_response(run: ReadyRun<Sched>, name: &str) -> Result<u64, CliError> {
    let ReadyRun { mut machine, about, .. } = run;
    response_paths(&machine)?.trace(name, 1).map_err(CliError::Input)?;
    let mut observers = RunObservers::for_summary(&machine);
    drive(&mut machine, &mut observers, about.warmup, &mut |_| true).map_err(CliError::run)?;
    let summary = observers.summary_of(about.subject, &machine).expect("the run has a summary");
    let of_name = summary.responses.into_iter().find(|response| response.name == name);
    let longest = of_name.and_then(|response| response.longest);
    let help = "give the number of a response with --number";
    longest
        .map(|longest| longest.number)
        .ok_or_else(|| CliError::with_help(format!("no response `{name}` has ended"), help))
}

/// Runs the machine up to `at`, explains that state, and runs the machine to its end.
fn explain_and_finish(machine: &mut Machine, question: &Question, at: Nanos) -> Result<Explanation, CliError> {
    let explanation = explain_moment(machine, question, at)?;
    drive_on(machine, &mut NoObserver, Nanos(u64::MAX)).map_err(CliError::run)?;
    Ok(explanation)
}
