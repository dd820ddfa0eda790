// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab findings`: what is wrong in an earlier run, or in a recorded trace, with the time to look at and the reason.
//!
//! Like `explain` it repeats the run; the worst findings are explained, for which the run is repeated up to their moments.

use super::{explain, import};
use crate::args::FindingsArgs;
use crate::error::CliError;
use crate::output::progress::Progress;
use crate::output::{Output, wrap};
use crate::rerun;
use fairlab_machine::description::Hz;
use fairlab_observe::explain::Question;
use fairlab_observe::findings::{self, Finding, Limits, Severity, find};
use fairlab_observe::manifest::Manifest;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::path::Path;

/// The form of what is written as JSON: a list of these.
pub(crate) const SCHEMA: &str = "findings/1";

/// A finding with what explains it.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct FindingOutput {
    #[serde(flatten)]
    finding: Finding,
    /// The command that explains its worst moment; none if it has none.
    explain: Option<String>,
    /// What that says, for the worst findings.
    because: Vec<String>,
}

/// Runs the command.
pub(crate) fn findings(output: &mut Output, args: &FindingsArgs) -> Result<(), CliError> {
    if args.dir.is_file() {
        return of_trace(output, args);
    }
    let manifest = rerun::read_manifest(&args.dir)?;
    let mut machine = rerun::repeat(&args.dir, &manifest)?.machine;
    let mut limits = Limits::of(&machine);
    change(&mut limits, args);
    let mut progress = Progress::new("simulating", machine.duration());
    let found = find(&mut machine, limits, &mut |elapsed| progress.show(elapsed));
    progress.clear();
    let (found, _) = found.map_err(CliError::run)?;
    if let Some(warning) = rerun::difference(&machine, &manifest, &args.dir, "these are findings of") {
        output.warn(&warning)?;
    }
    let answers = found.into_iter().enumerate().map(|(place, finding)| {
        let because = if place < args.explain { because(&args.dir, &manifest, &finding)? } else { Vec::new() };
        let explain = command(&args.dir, &finding);
        Ok(FindingOutput { finding, explain, because })
    });
    let answers = answers.collect::<Result<Vec<FindingOutput>, CliError>>()?;
    print_findings(output, &answers)
}

/// Limits as the command line has them.
fn change(limits: &mut Limits, args: &FindingsArgs) {
    limits.idle = args.idle.unwrap_or(limits.idle);
    limits.latency = args.latency.unwrap_or(limits.latency);
    limits.starvation = args.starvation.unwrap_or(limits.starvation);
}

/// The same of a recorded trace, as far as its events tell. Nothing can be asked of it.
fn of_trace(output: &mut Output, args: &FindingsArgs) -> Result<(), CliError> {
    let recording = import::read(&args.dir.display().to_string())?;
    let mut limits = Limits::of_tick(Hz::DEFAULT.tick());
    change(&mut limits, args);
    let found = findings::find_in_trace(&recording, limits).into_iter();
    let answers = found.map(|finding| FindingOutput { finding, explain: None, because: Vec::new() });
    let answers: Vec<FindingOutput> = answers.collect();
    print_findings(output, &answers)
}

fn print_findings(output: &mut Output, answers: &[FindingOutput]) -> Result<(), CliError> {
    if output.is_json() {
        return output.json(&answers);
    }
    if answers.is_empty() {
        return output.text("nothing found\n");
    }
    let text: String = answers.iter().map(text_of).collect();
    output.text(&text)
}

fn text_of(answer: &FindingOutput) -> String {
    let finding = &answer.finding;
    let severity = match finding.severity {
        Severity::High => "high",
        Severity::Medium => "medium",
        Severity::Low => "low",
    };
    let mut text = wrap(&format!("{severity}: {}: {}.", finding.rule, finding.sentence), 2);
    answer.because.iter().for_each(|sentence| text.push_str(&wrap(&format!("  {sentence}"), 4)));
    if let Some(command) = &answer.explain {
        text.push_str(&format!("  {command}\n"));
    }
    text
}

/// The command that explains a finding.
fn command(dir: &Path, finding: &Finding) -> Option<String> {
    let question = match &finding.question {
        Question::Task(name) => format!("--task {name}"),
        Question::Cpu(cpu) => format!("--cpu {cpu}"),
        Question::Balance(cpu) => format!("--balance {cpu}"),
    };
    (finding.at_ns > 0).then(|| format!("fairlab explain {} {question} --at {}ns", dir.display(), finding.at_ns))
}

/// What `explain` says of the worst moment.
fn because(dir: &Path, manifest: &Manifest, finding: &Finding) -> Result<Vec<String>, CliError> {
    if finding.at_ns == 0 {
        return Ok(Vec::new());
    }
    let mut machine = rerun::repeat(dir, manifest)?.machine;
    Ok(explain::explain_moment(&mut machine, &finding.question, Nanos(finding.at_ns))?.sentences)
}
