// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab findings`: problems of an earlier run or of a recorded trace, with time and reason.
//!
//! The run is repeated to find them, and again up to the worst moment of each finding that is explained.

use crate::args::FindingsArgs;
use crate::execution::{recording, rerun};
use crate::output::progress::Progress;
use crate::output::{Output, wrap};
use crate::values::error::CliError;
use fairlab_board::Hz;
use fairlab_explain::Question;
use fairlab_findings::{Finding, Limits, Severity};
use fairlab_run::drive::find;
use fairlab_run::explain::explain_moment;
use fairlab_run::manifest::{MANIFEST, Manifest};
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::path::Path;

/// Name and version of the JSON output, which is a list of findings.
pub(crate) const SCHEMA: &str = "findings/1";

/// One finding with its explanation.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct FindingOutput {
    #[serde(flatten)]
    finding: Finding,
    /// Command that explains the worst moment of the finding; absent for a finding without one.
    explain: Option<String>,
    /// Sentences of that explanation, for the worst findings.
    because: Vec<String>,
}

pub(crate) fn findings(output: &mut Output, args: &FindingsArgs) -> Result<(), CliError> {
    // A directory without a manifest may be a trace of LTTng; its error names the remedy.
    if !args.dir.join(MANIFEST).exists() {
        return trace_findings(output, args);
    }
    let manifest = Manifest::read(&args.dir)?;
    let mut run = rerun::repeat(&manifest)?;
    let mut limits = Limits::of(&run.machine);
    apply_limits(&mut limits, args);
    let mut progress = Progress::new("simulating", run.machine.duration());
    let found = find(&mut run, limits, &mut |elapsed| progress.show(elapsed));
    progress.clear();
    let found = found.map_err(CliError::run)?;
    let digest = run.machine.digest().to_string();
    if let Some(warning) = rerun::digest_warning(&digest, &manifest, &args.dir, "these are findings of") {
        output.warn(&warning)?;
    }
    let answers = found.into_iter().enumerate().map(|(place, finding)| {
        let because = if place < args.explain { explain_sentences(&manifest, &finding)? } else { Vec::new() };
        let explain = explain_command(&args.dir, &finding);
        Ok(FindingOutput { finding, explain, because })
    });
    let answers = answers.collect::<Result<Vec<FindingOutput>, CliError>>()?;
    print_findings(output, &answers)
}

/// Applies the limits of the command line.
fn apply_limits(limits: &mut Limits, args: &FindingsArgs) {
    limits.idle = args.idle.unwrap_or(limits.idle);
    limits.latency = args.latency.unwrap_or(limits.latency);
    limits.starvation = args.starvation.unwrap_or(limits.starvation);
}

/// Prints the findings of a recorded trace, as far as its events show them. They have no explanations, since
/// a trace cannot be repeated.
fn trace_findings(output: &mut Output, args: &FindingsArgs) -> Result<(), CliError> {
    let recording = recording::read(&args.dir.display().to_string(), args.leaps)?;
    let mut limits = Limits::of_tick(Hz::DEFAULT.tick());
    apply_limits(&mut limits, args);
    let found = fairlab_findings::find_in_trace(&recording, limits).into_iter();
    let answers = found.map(|finding| FindingOutput { finding, explain: None, because: Vec::new() });
    let answers: Vec<FindingOutput> = answers.collect();
    print_findings(output, &answers)
}

fn print_findings(output: &mut Output, answers: &[FindingOutput]) -> Result<(), CliError> {
    output.json_or_text(&answers, |_| match answers {
        [] => "no findings\n".to_owned(),
        _ => answers.iter().map(finding_text).collect(),
    })
}

fn finding_text(answer: &FindingOutput) -> String {
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

/// Returns the command that explains a finding.
fn explain_command(dir: &Path, finding: &Finding) -> Option<String> {
    let question = match &finding.question {
        Question::Task(name) => format!("--task {name}"),
        Question::Cpu(cpu) => format!("--cpu {cpu}"),
        Question::Balance(cpu) => format!("--balance {cpu}"),
    };
    (finding.at_ns > 0).then(|| format!("fairlab explain {} {question} --at {}ns", dir.display(), finding.at_ns))
}

/// Returns the explanation of a finding's worst moment.
fn explain_sentences(manifest: &Manifest, finding: &Finding) -> Result<Vec<String>, CliError> {
    if finding.at_ns == 0 {
        return Ok(Vec::new());
    }
    let mut machine = rerun::repeat(manifest)?.machine;
    let explanation = explain_moment(&mut machine, &finding.question, Nanos(finding.at_ns))?;
    Ok(explanation.sentences().map(str::to_owned).collect())
}
