// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab kernel bisect`: finds the commit of a kernel tree that changed the result of a run.
//!
//! git chooses the commits in a temporary clone without files; the tree is only read. Each commit is built as
//! an engine and runs the workload, and the expectation holds or fails. A commit that cannot be built, or
//! whose kernel does not return, is skipped. The costs of all commits are those of calls that they have in common with
//! the good and the bad one.

use crate::args::kernel_bisect::KernelBisectArgs;
use crate::execution::kernel_tree::{commit, export_commit, git};
use crate::execution::trial::{Trial, Workloads};
use crate::output::Output;
use crate::output::figures::counted;
use crate::values::error::CliError;
use fairlab_experiment::metrics::{Metric, of_run};
use fairlab_experiment::report::values::metric_text;
use fairlab_kernel::store::Store;
use fairlab_kernel::tree::{TREE_FILES, TREE_PARTS};
use fairlab_run::input::InputFile;
use fairlab_run::settings::Settings;
use fairlab_run::spec::RunSpec;
use fairlab_run::values::{EngineName, Starts};
use fairlab_workload::message::Message;
use serde::Serialize;
use std::path::Path;

/// Name under which engines are built. The next commit reuses the build folder.
const ENGINE_NAME: &str = "bisect";

/// Name and version of the JSON output.
pub(crate) const SCHEMA: &str = "kernel-bisect/1";

/// Result of a bisection.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct KernelBisectOutput<'a> {
    /// Name and version of this format.
    schema: &'static str,
    /// Expectation, as given.
    expect: &'a str,
    /// First commit for which the expectation fails; null if too many commits were skipped.
    first_bad: Option<&'a str>,
    /// Commits that were built and run, in that order.
    looked: &'a [TestedCommit],
}

/// Verdict on a commit, in the words of `git bisect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CommitVerdict {
    /// The expectation holds.
    Good,
    /// The expectation fails.
    Bad,
    /// The commit cannot be built or run.
    Skip,
}

impl CommitVerdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Skip => "skip",
        }
    }
}

/// Result of one commit.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct TestedCommit {
    commit: String,
    subject: String,
    verdict: CommitVerdict,
    value: Option<f64>,
    /// Reason why the commit was skipped.
    why: Option<String>,
}

pub(crate) fn kernel_bisect(output: &mut Output, args: &KernelBisectArgs) -> Result<(), CliError> {
    let store = Store::for_user()?;
    let _held = store.lock_against_prune()?;
    let (good, bad) = (commit(&args.tree, &args.good)?, commit(&args.tree, &args.bad)?);
    let clone =
        tempfile::tempdir().map_err(|error| CliError::run(Message::new(format!("a temporary folder: {error}"))))?;
    let clone = clone.path().join("clone");
    let history = clone.display().to_string();
    run_git(git(&args.tree).args(["clone", "--quiet", "--shared", "--no-checkout", "."]).arg(&clone))?;
    let ends = [build_commit(args, &store, &good)?, build_commit(args, &store, &bad)?];
    let compared: Vec<String> = ends.iter().filter_map(|end| end.as_ref().ok()).cloned().collect();
    let mut looked = Vec::new();
    for ((commit, is_expected), built) in [(&good, true), (&bad, false)].into_iter().zip(ends) {
        let one = test_commit(output, args, commit, built, &compared)?;
        let is_right = (one.verdict == CommitVerdict::Good) == is_expected && one.verdict != CommitVerdict::Skip;
        if !is_right {
            let what =
                one.why.unwrap_or_else(|| format!("{} is {}", args.expect.asked.text(), one.value.unwrap_or(0.0)));
            let which = if is_expected { CommitVerdict::Good } else { CommitVerdict::Bad };
            let help = "choose different commits, or change the expected value";
            return Err(CliError::with_help(format!("the commit {commit} is not {}: {what}", which.word()), help));
        }
        looked.push(one);
    }
    // Commits to other files do not affect an engine, so git considers only these.
    let begin = ["bisect", "start", "--no-checkout", &bad, &good, "--"];
    let mut output_of_git = run_git(git(&history).args(begin).args(TREE_PARTS).args(TREE_FILES))?;
    while !is_over(&output_of_git) {
        let next = commit(&history, "BISECT_HEAD")?;
        let built = build_commit(args, &store, &next)?;
        let one = test_commit(output, args, &next, built, &compared)?;
        output_of_git = run_git(git(&history).args(["bisect", one.verdict.word(), &next]))?;
        looked.push(one);
    }
    print_result(output, args, &output_of_git, &looked)
}

/// Whether git has reported the first bad commit, or that only skipped commits are left.
fn is_over(output_of_git: &str) -> bool {
    output_of_git.contains("is the first bad commit") || output_of_git.contains("only 'skip'ped commits left")
}

/// Runs git and returns its output. git ends with a status other than 0 if only skipped commits are left.
fn run_git(command: &mut std::process::Command) -> Result<String, CliError> {
    let run = command
        .output()
        .map_err(|error| CliError::with_help(format!("git: {error}"), "install git, which reads the history"))?;
    let output_of_git = format!("{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    if run.status.success() || is_over(&output_of_git) {
        Ok(output_of_git)
    } else {
        Err(CliError::run(Message::new(format!("git: {}", output_of_git.trim()))))
    }
}

/// Builds the engine of a commit and returns its name, or the reason why it cannot be built.
fn build_commit(args: &KernelBisectArgs, store: &Store, commit: &str) -> Result<Result<String, CliError>, CliError> {
    let folder = export_commit(store, &args.tree, commit)?;
    let built =
        store.add(ENGINE_NAME, &folder, &[], &args.config, &mut |_| ()).and_then(|added| store.pin(&added.entry));
    // The folder of a commit is extracted again when needed.
    let _gone = std::fs::remove_dir_all(Path::new(&folder));
    match built.map_err(CliError::from) {
        Err(error @ CliError::Stopped { .. }) => Err(error),
        built => Ok(built.map(|entry| entry.name)),
    }
}

/// Runs the engine of a commit, with the costs of calls that it has in common with the engines `compared`.
fn test_commit(
    output: &Output,
    args: &KernelBisectArgs,
    name: &str,
    built: Result<String, CliError>,
    compared: &[String],
) -> Result<TestedCommit, CliError> {
    let subject = run_git(git(&args.tree).args(["log", "-1", "--format=%s", name]))?.trim().to_owned();
    let mut one =
        TestedCommit { commit: name.to_owned(), subject, verdict: CommitVerdict::Skip, value: None, why: None };
    let measured = built.and_then(|engine| median_of_runs(output, args, &engine, compared));
    match measured {
        Ok((metric, value)) => {
            one.verdict = if args.expect.holds(&metric, value)? { CommitVerdict::Good } else { CommitVerdict::Bad };
            one.value = Some(value);
            let figure = metric_text(&metric.unit, value);
            output.eprint(&format!(
                "{} {}: {} {figure}: {}\n",
                &name[..12],
                one.subject,
                metric.name,
                one.verdict.word()
            ))?;
        }
        Err(error @ CliError::Stopped { .. }) => return Err(error),
        Err(error) => {
            let why = error.to_string();
            output.eprint(&format!(
                "{} {}: skipped: {}\n",
                &name[..12],
                one.subject,
                why.lines().next().unwrap_or_default()
            ))?;
            one.why = Some(why);
        }
    }
    Ok(one)
}

/// Returns the metric and the median of its runs. Prints the functions whose costs are not those of all commits.
fn median_of_runs(
    output: &Output,
    args: &KernelBisectArgs,
    engine: &str,
    compared: &[String],
) -> Result<(Metric, f64), CliError> {
    let workload =
        Workloads::of_command("fairlab kernel bisect").of_args(args.file.as_deref(), args.bench.as_deref())?;
    let mut engines = compared.to_vec();
    engines.extend((!compared.iter().any(|name| name == engine)).then(|| engine.to_owned()));
    let mut settings = Settings {
        machine: args.machine.as_ref().map(InputFile::new),
        engine: Some(EngineName::Kernel(engine.to_owned())),
        plain: args.plain,
        duration: args.duration,
        starts: if args.runs > 1 { Starts::Jittered } else { Starts::AtOnce },
        ..Settings::default()
    };
    settings.share_costs_with(&engines);
    let workload = workload.expect("there is a file or a benchmark");
    let trial = Trial { spec: RunSpec { workload, settings } };
    let mut found = Vec::new();
    for seed in 1..=args.runs {
        let result = trial.run(Some(seed), &mut |_, _| {})?;
        if seed == 1 {
            output.warn_all(&result.summary.uncommon_costs())?;
        }
        let metrics = of_run(&result.json(), std::slice::from_ref(&args.expect.asked)).map_err(CliError::Input)?;
        found.extend(metrics);
    }
    found.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let middle = found.len() / 2;
    found
        .into_iter()
        .nth(middle)
        .ok_or_else(|| CliError::Input(Message::new(format!("no run reports {}", args.expect.asked.text()))))
}

fn print_result(
    output: &mut Output,
    args: &KernelBisectArgs,
    output_of_git: &str,
    looked: &[TestedCommit],
) -> Result<(), CliError> {
    let first = output_of_git.split_whitespace().next().filter(|_| output_of_git.contains("is the first bad commit"));
    if output.is_json() {
        return output.json(&KernelBisectOutput {
            schema: SCHEMA,
            expect: &args.expect.text,
            first_bad: first,
            looked,
        });
    }
    let text = match first {
        Some(first) => {
            let one = looked.iter().find(|one| one.commit == first);
            let subject = one.map_or("", |one| one.subject.as_str());
            format!("{first} is the first bad commit\n    {subject}\n{} tested\n", counted(looked.len(), "commit"))
        }
        None => format!("the first bad commit is unknown, since commits were skipped\n{}\n", output_of_git.trim()),
    };
    output.text(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_matches_its_schema() {
        let one = |verdict, value, why: Option<&str>| TestedCommit {
            commit: "0123".to_owned(),
            subject: "a change".to_owned(),
            verdict,
            value,
            why: why.map(str::to_owned),
        };
        let looked =
            [one(CommitVerdict::Good, Some(1.5), None), one(CommitVerdict::Skip, None, Some("it does not compile"))];
        let schema = schemars::schema_for!(KernelBisectOutput<'static>).to_value();
        let validator = jsonschema::validator_for(&schema).expect("it is a schema");
        for first_bad in [Some("0123"), None] {
            let answer = KernelBisectOutput { schema: SCHEMA, expect: "a < 1", first_bad, looked: &looked };
            let json = serde_json::to_value(&answer).expect("it is JSON");
            assert!(validator.is_valid(&json), "{json}");
        }
    }
}
