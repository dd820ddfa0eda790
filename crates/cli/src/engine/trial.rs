// SPDX-License-Identifier: GPL-2.0-or-later
//! One of several runs with an engine. Its worker is an equivalent command that writes its result as JSON.

use super::{Engine, this_program};
use crate::args::VariantArgs;
use crate::error::CliError;
use crate::exports::ExportArgs;
use crate::input::WorkloadText;
use crate::plan::Choices;
use crate::trial::TrialResult;
use fairlab_kernel::worker;
use fairlab_sched::units::Nanos;
use std::path::Path;
use std::process::{Child, Stdio};
use tempfile::NamedTempFile;

/// Workload of the run.
pub(crate) enum TrialInput<'a> {
    File(&'a WorkloadText),
    /// Line of a benchmark.
    Bench(&'a str),
}

/// Run that is requested from a worker.
pub(crate) struct Wanted<'a> {
    pub(crate) what: TrialInput<'a>,
    pub(crate) variant: &'a VariantArgs,
    pub(crate) choices: Choices,
    pub(crate) warmup: Nanos,
    /// Traces that the worker writes.
    pub(crate) exports: Option<&'a ExportArgs>,
}

impl Wanted<'_> {
    /// Returns the worker's arguments.
    fn words_of_worker(&self, engine: &str) -> Vec<String> {
        let mut words = vec!["--json".to_owned()];
        words.extend(self.words(engine));
        if matches!(self.what, TrialInput::Bench(_)) {
            words.push("--engine-trial".to_owned());
        }
        words
    }

    /// Returns the command with which a user repeats the run.
    fn command(&self, engine: &str) -> String {
        let quoted = |word: &String| {
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-+=/:,@%".contains(letter);
            if word.chars().all(is_plain) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) }
        };
        format!("fairlab {}", self.words(engine).iter().map(quoted).collect::<Vec<_>>().join(" "))
    }

    /// Returns the run as command-line arguments.
    fn words(&self, engine: &str) -> Vec<String> {
        let Self { what, variant, choices, warmup, exports } = self;
        let mut words = Vec::new();
        let (warmup_option, flags) = match what {
            TrialInput::File(text) => {
                words.extend(["run".to_owned(), text.given.clone()]);
                (
                    "--engine-warmup",
                    vec![("--vary", choices.vary), ("--keep-duplicate-keys", choices.keep_duplicate_keys)],
                )
            }
            TrialInput::Bench(line) => {
                words.push("bench".to_owned());
                words.extend(line.split_whitespace().map(str::to_owned));
                ("--warmup", vec![("--vary", choices.vary)])
            }
        };
        words.extend(["--engine".to_owned(), format!("kernel:{engine}")]);
        words.extend(variant.switch_words());
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        if let Some(prices) = variant.prices {
            option("--prices", prices.name().to_owned());
        }
        if *warmup > Nanos::ZERO {
            option(warmup_option, time(*warmup));
        }
        if let Some(machine) = &variant.machine {
            option("--machine", machine.clone());
        }
        if let Some(kernel) = variant.kernel {
            option("--kernel", kernel.name.to_owned());
        }
        if let Some(duration) = choices.duration {
            option("--for", time(duration));
        }
        for (name, number) in [("--seed", choices.seed), ("--perturb", choices.perturb)] {
            if let Some(number) = number {
                option(name, number.to_string());
            }
        }
        if let Some(exports) = exports {
            words.extend(exports.command_words());
        }
        words.extend(flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| (*flag).to_owned()));
        words
    }
}

/// Formats a time as options take it, in the largest unit in which it is a whole number.
fn time(time: Nanos) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"), (1, "ns")];
    let whole = units.iter().find(|(ns, _)| time.0.is_multiple_of(*ns));
    whole.map_or_else(String::new, |(ns, unit)| format!("{}{unit}", time.0 / ns))
}

/// Starts a worker; also returns its report file.
pub(crate) fn spawn_worker(
    name: &str,
    wanted: &Wanted<'_>,
    how: &[String],
) -> Result<(Child, NamedTempFile), CliError> {
    Engine::named(name)?;
    let report = NamedTempFile::new().map_err(|error| CliError::run(format!("a temporary file: {error}")))?;
    let mut command = this_program()?;
    command.args(wanted.words_of_worker(name)).args(how).env(worker::REPORT_VAR, report.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.spawn().map_err(|error| CliError::run(format!("a worker: {error}")))?;
    Ok((child, report))
}

/// Runs a trial in a worker and returns its result.
pub(crate) fn trial(name: &str, wanted: &Wanted<'_>) -> Result<TrialResult, CliError> {
    let engine = Engine::named(name)?;
    let variant = wanted.variant;
    if let TrialInput::File(text) = wanted.what
        && !Path::new(&text.given).is_file()
    {
        let help = "write it to a file first";
        let what = format!(
            "{}: the worker of a compiled-kernel engine reads the workload again, so it must be a file",
            text.name
        );
        return Err(CliError::Input(format!("{what}\nhelp: {help}")));
    }
    if variant.prices_of.is_some() || !variant.price.is_empty() {
        let help = "set costs only in arms with the built-in engine";
        return Err(CliError::Input(format!(
            "compiled-kernel engines support only the costs of their machine\nhelp: {help}"
        )));
    }
    if variant.policy.is_some() {
        let help = "use the policy with the built-in engine";
        return Err(CliError::Input(format!("compiled-kernel engines do not support policies\nhelp: {help}")));
    }
    let (ended, report) = engine.work(this_program()?.args(wanted.words_of_worker(name)).stdin(Stdio::null()))?;
    let unread = |error| CliError::Run(format!("the output of kernel:{name} cannot be read: {error}"));
    let command = wanted.command(name);
    match (engine.failure(ended.status, report.end.as_ref(), Some(&command)), &wanted.what) {
        (None, TrialInput::File(_)) => {
            let summary = serde_json::from_slice(&ended.stdout).map_err(unread)?;
            Ok(TrialResult { summary, bench: None })
        }
        (None, TrialInput::Bench(_)) => serde_json::from_slice(&ended.stdout).map_err(unread),
        (Some(CliError::AlreadyReported { status }), _) => {
            let said = String::from_utf8_lossy(&ended.stderr);
            let said = said.trim().trim_start_matches("error: ").to_owned();
            Err(if status == 2 { CliError::Input(said) } else { CliError::Run(said) })
        }
        (Some(error), _) => Err(error),
    }
}
