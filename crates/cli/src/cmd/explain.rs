// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab explain`: why, at a moment of an earlier run.
//!
//! Nothing but the manifest and the copies of inputs is read from the run's directory: the run is repeated with a listener
//! up to the moment, and then to its end, so that its digest can be compared with the one of the manifest.

use crate::args::{Args, Command, ExplainArgs, RunArgs};
use crate::error::CliError;
use crate::input;
use crate::output::{Output, plain, wrap};
use crate::plan::{Choices, Plan};
use clap::Parser;
use fairlab_machine::engine::{Machine, START};
use fairlab_machine::files;
use fairlab_machine::observer::NoObserver;
use fairlab_observe::explain::{Explanation, History, Question, explain as answer};
use fairlab_observe::manifest::{Input, MANIFEST, Manifest};
use fairlab_observe::sha256;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// What is written as JSON.
#[derive(Serialize)]
struct Answer {
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
    let manifest = read_manifest(&args.dir)?;
    let mut machine = repeat(&args.dir, &manifest)?.machine;
    if args.at > machine.duration() {
        return Err(CliError::Input(format!(
            "--at {}: the run ends at {}\nhelp: give a time up to that, from the start of the run",
            args.at,
            machine.duration()
        )));
    }
    let explanation = look(&mut machine, &question, args.at)?;
    let digest_matches = machine.digest().to_string() == manifest.digest;
    if !digest_matches {
        output.warn(&format!(
            "the repeated run has digest {}, the manifest {} (written by fairlab {}): this explains another run than the \
             one in {}",
            machine.digest(),
            manifest.digest,
            manifest.fairlab,
            args.dir.display()
        ))?;
    }
    if output.is_json() {
        return output.json(&Answer { explanation, digest_matches });
    }
    let text: String = explanation.sentences.iter().map(|sentence| wrap(&plain(sentence), 2)).collect();
    output.text(&text)
}

/// Lets the machine run up to the moment, looks at it, and lets it run to the end.
fn look(machine: &mut Machine, question: &Question, at: Nanos) -> Result<Explanation, CliError> {
    let now = Nanos(START.0 + at.0);
    let mut history = History::new(machine);
    machine.start(&mut history).map_err(CliError::run)?;
    machine.advance(&mut history, now).map_err(CliError::run)?;
    let explanation = answer(machine, &history, question, now).map_err(CliError::input)?;
    while machine.advance(&mut NoObserver, Nanos(u64::MAX)).map_err(CliError::run)? {}
    Ok(explanation)
}

fn read_manifest(dir: &Path) -> Result<Manifest, CliError> {
    let path = dir.join(MANIFEST);
    let help = "give a directory that `fairlab run FILE -o DIR` has written";
    let wrong = |what: &str, cause: &dyn std::fmt::Display| {
        CliError::Input(format!("{}: {what}: {cause}\nhelp: {help}", path.display()))
    };
    let text = files::read_file(&path, input::MAX_BYTES).map_err(|error| wrong("cannot be read", &error))?;
    serde_json::from_slice(&text).map_err(|error| wrong("is no manifest of a run", &error))
}

/// The run again, from the command that the manifest keeps for that and the copies of its inputs.
fn repeat(dir: &Path, manifest: &Manifest) -> Result<Plan, CliError> {
    let wrong = |cause: &str| {
        let help = "repeat the run with this fairlab: fairlab run FILE -o DIR";
        CliError::Input(format!("{}: {cause}\nhelp: {help}", dir.join(MANIFEST).display()))
    };
    let command = Args::try_parse_from(&manifest.repeat)
        .map_err(|error| wrong(error.to_string().lines().next().unwrap_or("its command cannot be repeated")))?
        .command;
    let Command::Run(run) = command else { return Err(wrong("its command is not `fairlab run`")) };
    let name = |copy: &Input| dir.join(&copy.copy).display().to_string();
    let workload = input::workload_of(&run.file, name(&manifest.workload), unchanged(dir, &manifest.workload)?)?;
    let machine = match &manifest.machine {
        Some(copy) => {
            let text =
                String::from_utf8(unchanged(dir, copy)?).map_err(|_| wrong("the machine's file is not UTF-8"))?;
            Some(input::machine_of(&name(copy), text)?)
        }
        None => None,
    };
    let RunArgs { variant, seed, vary, perturb, duration, keep_duplicate_keys, .. } = *run;
    let choices = Choices { duration, seed, vary, perturb, keep_duplicate_keys, ..Choices::default() };
    Plan::of(Arc::new(workload), machine, &variant, choices)
}

/// The copy of an input, if it is still what it was.
fn unchanged(dir: &Path, input: &Input) -> Result<Vec<u8>, CliError> {
    let path = dir.join(&input.copy);
    let help = "put the copy back as it was, or run again with -o";
    let wrong = |what: String| CliError::Input(format!("{}: {what}\nhelp: {help}", path.display()));
    let content =
        files::read_file(&path, input::MAX_BYTES).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if sha256::hex_digest(&content) == input.sha256 {
        return Ok(content);
    }
    Err(wrong("is not what was run: its SHA-256 differs from the manifest's".to_owned()))
}
