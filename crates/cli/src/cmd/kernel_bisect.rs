// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab kernel bisect`: finds the commit of a kernel tree that changed the result of a run.
//!
//! git chooses the commits in a temporary clone without files; the tree is only read. Each commit is built as
//! an engine and runs the workload, and the expectation holds or fails. A commit that cannot be built, or
//! whose kernel does not return, is skipped.

use super::patch::kernels::{commit, export_commit, git};
use crate::cmd::compare::formats::metric_text;
use crate::error::CliError;
use crate::output::Output;
use crate::output::figures::counted;
use crate::trial::{Trial, Workloads};
use clap::{Args, ValueHint};
use fairlab_kernel::store::Store;
use fairlab_kernel::tree::{TREE_FILES, TREE_PARTS};
use fairlab_run::input::InputFile;
use fairlab_run::settings::Settings;
use fairlab_run::spec::RunSpec;
use fairlab_run::values::{EngineName, Plain, Starts, parse_time};
use fairlab_sched::units::Nanos;
use fairlab_study::experiment::metrics::{Metric, RequestedMetric, of_run};
use serde::Serialize;
use std::path::Path;

/// Name under which engines are built. The next commit reuses the build folder.
const ENGINE_NAME: &str = "bisect";

/// Name and version of the JSON output.
pub(crate) const SCHEMA: &str = "kernel-bisect/1";

const EXAMPLES: &str = "\
Both commits are tested first: the expectation must hold for the good one and fail for the bad one. The value of \
several runs is their median.

Examples:
  fairlab kernel bisect ~/linux v6.5 v6.6 --file load.scn \\
      --expect 'totals.migrations < 500'
  fairlab kernel bisect ~/linux v6.1 v6.6 --bench 'hackbench -g 4 -l 100' \\
      --machine laptop-8 --expect 'time < 80ms' --runs 5
  fairlab kernel bisect ~/linux good bad --file ui.json --machine phone-8 \\
      --expect 'ui: wake to run p99 < 2ms'";

#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct KernelBisectArgs {
    /// Kernel tree with its history
    #[arg(value_name = "TREE", value_hint = ValueHint::DirPath)]
    tree: String,
    /// Commit for which the expectation holds
    good: String,
    /// Later commit for which the expectation fails
    bad: String,
    /// Workload file
    #[arg(long, visible_alias = "scenario", value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "bench")]
    file: Option<String>,
    /// Benchmark line, as `fairlab bench` takes it
    #[arg(long, value_name = "LINE", conflicts_with = "file", requires = "machine")]
    bench: Option<String>,
    /// Machine [default: that of the workload file]
    #[arg(long, value_name = "NAME|FILE")]
    machine: Option<String>,
    /// Simplify the machine, as `fairlab run --plain` does
    #[arg(
        long, value_parser = Plain::parse, value_name = "shape|priced", num_args = 0..=1, require_equals = true, default_missing_value = "shape",
    )]
    plain: Option<Plain>,
    /// Expectation: a metric as in `fairlab compare`, or a path; `<` or `>`; and a number or a time
    #[arg(long, value_name = "METRIC < VALUE", value_parser = Expectation::parse)]
    expect: Expectation,
    /// Number of runs of each commit, each with its own seed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    runs: u64,
    /// Simulated time of each run: 5s, 300ms, ... [default: the file's duration, or 5s]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    duration: Option<Nanos>,
    /// Line for the configuration of all kernels, such as CONFIG_HZ_1000=y; may be repeated
    #[arg(long, value_name = "CONFIG_X=VALUE")]
    config: Vec<String>,
}

/// Condition that holds before the change.
#[derive(Clone, Debug, PartialEq)]
struct Expectation {
    text: String,
    asked: RequestedMetric,
    is_below: bool,
    /// Bound; a time is converted to the unit of the metric.
    value: ExpectedValue,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ExpectedValue {
    Number(f64),
    Time(Nanos),
}

impl Expectation {
    fn parse(text: &str) -> Result<Self, String> {
        let help = "write METRIC < VALUE, for example 'ui: wake to run p99 < 2ms'";
        let place = text.rfind(['<', '>']).ok_or_else(|| format!("the comparison is missing: {help}"))?;
        let (metric, value) = (text[..place].trim(), text[place + 1..].trim());
        if metric.is_empty() || value.is_empty() {
            return Err(format!("one side is missing: {help}"));
        }
        let value = match value.parse::<f64>() {
            Ok(number) => ExpectedValue::Number(number),
            Err(_) => ExpectedValue::Time(parse_time(value)?),
        };
        Ok(Self {
            text: text.to_owned(),
            asked: RequestedMetric::parse(metric)?,
            is_below: text[place..].starts_with('<'),
            value,
        })
    }

    /// Whether the expectation holds for a value of a metric.
    fn holds(&self, metric: &Metric, value: f64) -> Result<bool, CliError> {
        let bound = match self.value {
            ExpectedValue::Number(number) => number,
            ExpectedValue::Time(time) => {
                let ns_of = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
                let Some((_, ns)) = ns_of.iter().find(|(unit, _)| *unit == metric.unit) else {
                    let what = if metric.unit.is_empty() { "a number" } else { &metric.unit };
                    return Err(CliError::Input(format!(
                        "--expect {}: {} is not a time\nhelp: give {what} without a unit of time",
                        self.text, metric.name
                    )));
                };
                time.0 as f64 / ns
            }
        };
        Ok(if self.is_below { value < bound } else { value > bound })
    }
}

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

/// Result of one commit.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct TestedCommit {
    commit: String,
    subject: String,
    /// `good`, `bad` or `skip`.
    verdict: &'static str,
    value: Option<f64>,
    /// Reason why the commit was skipped.
    why: Option<String>,
}

pub(crate) fn kernel_bisect(output: &mut Output, args: &KernelBisectArgs) -> Result<(), CliError> {
    let store = Store::for_user()?;
    let _held = store.lock_against_prune()?;
    let (good, bad) = (commit(&args.tree, &args.good)?, commit(&args.tree, &args.bad)?);
    let clone = tempfile::tempdir().map_err(|error| CliError::run(format!("a temporary folder: {error}")))?;
    let clone = clone.path().join("clone");
    let history = clone.display().to_string();
    run_git(git(&args.tree).args(["clone", "--quiet", "--shared", "--no-checkout", "."]).arg(&clone))?;
    let mut looked = Vec::new();
    for (commit, is_expected) in [(&good, true), (&bad, false)] {
        let one = test_commit(output, args, &store, commit)?;
        let is_right = (one.verdict == "good") == is_expected && one.verdict != "skip";
        if !is_right {
            let what =
                one.why.unwrap_or_else(|| format!("{} is {}", args.expect.asked.text(), one.value.unwrap_or(0.0)));
            let which = if is_expected { "good" } else { "bad" };
            let help = "choose different commits, or change the expected value";
            return Err(CliError::Input(format!("the commit {commit} is not {which}: {what}\nhelp: {help}")));
        }
        looked.push(one);
    }
    // Commits to other files do not affect an engine, so git considers only these.
    let begin = ["bisect", "start", "--no-checkout", &bad, &good, "--"];
    let mut said = run_git(git(&history).args(begin).args(TREE_PARTS).args(TREE_FILES))?;
    while !is_over(&said) {
        let next = commit(&history, "BISECT_HEAD")?;
        let one = test_commit(output, args, &store, &next)?;
        said = run_git(git(&history).args(["bisect", one.verdict, &next]))?;
        looked.push(one);
    }
    print_result(output, args, &said, &looked)
}

/// Whether git has reported the first bad commit, or that only skipped commits are left.
fn is_over(said: &str) -> bool {
    said.contains("is the first bad commit") || said.contains("only 'skip'ped commits left")
}

/// Runs git and returns its output. git ends with a status other than 0 if only skipped commits are left.
fn run_git(command: &mut std::process::Command) -> Result<String, CliError> {
    let run = command
        .output()
        .map_err(|error| CliError::Input(format!("git: {error}\nhelp: install git, which reads the history")))?;
    let said = format!("{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    if run.status.success() || is_over(&said) { Ok(said) } else { Err(CliError::run(format!("git: {}", said.trim()))) }
}

/// Builds a commit and runs it.
fn test_commit(output: &Output, args: &KernelBisectArgs, store: &Store, name: &str) -> Result<TestedCommit, CliError> {
    let subject = run_git(git(&args.tree).args(["log", "-1", "--format=%s", name]))?.trim().to_owned();
    let mut one = TestedCommit { commit: name.to_owned(), subject, verdict: "skip", value: None, why: None };
    let folder = export_commit(store, &args.tree, name)?;
    let mut say = |_: &str| ();
    let measured = match store.add(ENGINE_NAME, &folder, &[], &args.config, &mut say) {
        Ok(added) => median_of_runs(args, &store.pin(&added.entry)?.name),
        Err(error) => Err(error.into()),
    };
    // The folder of a commit is extracted again when needed.
    let _gone = std::fs::remove_dir_all(Path::new(&folder));
    match measured {
        Ok((metric, value)) => {
            one.verdict = if args.expect.holds(&metric, value)? { "good" } else { "bad" };
            one.value = Some(value);
            let figure = metric_text(&metric.unit, value);
            output.eprint(&format!("{} {}: {} {figure}: {}\n", &name[..12], one.subject, metric.name, one.verdict))?;
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

/// Returns the metric and the median of its runs.
fn median_of_runs(args: &KernelBisectArgs, engine: &str) -> Result<(Metric, f64), CliError> {
    let workload =
        Workloads::of_command("fairlab kernel bisect").of_args(args.file.as_deref(), args.bench.as_deref())?;
    let settings = Settings {
        machine: args.machine.as_ref().map(InputFile::new),
        engine: Some(EngineName::Kernel(engine.to_owned())),
        plain: args.plain,
        duration: args.duration,
        starts: if args.runs > 1 { Starts::Jittered } else { Starts::AtOnce },
        ..Settings::default()
    };
    let workload = workload.expect("there is a file or a benchmark");
    let trial = Trial { spec: RunSpec { workload, settings } };
    let mut found = Vec::new();
    for seed in 1..=args.runs {
        let result = trial.run(Some(seed), &mut |_, _| {})?;
        let metrics = of_run(&result.json(), std::slice::from_ref(&args.expect.asked)).map_err(CliError::Input)?;
        found.extend(metrics);
    }
    found.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let middle = found.len() / 2;
    found.into_iter().nth(middle).ok_or_else(|| CliError::Input(format!("no run reports {}", args.expect.asked.text())))
}

fn print_result(
    output: &mut Output,
    args: &KernelBisectArgs,
    said: &str,
    looked: &[TestedCommit],
) -> Result<(), CliError> {
    let first = said.split_whitespace().next().filter(|_| said.contains("is the first bad commit"));
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
        None => format!("the first bad commit is unknown, since commits were skipped\n{}\n", said.trim()),
    };
    output.text(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_study::experiment::metrics::MetricDirection;

    #[test]
    fn the_output_matches_its_schema() {
        let one = |verdict, value, why: Option<&str>| TestedCommit {
            commit: "0123".to_owned(),
            subject: "a change".to_owned(),
            verdict,
            value,
            why: why.map(str::to_owned),
        };
        let looked = [one("good", Some(1.5), None), one("skip", None, Some("it does not compile"))];
        let schema = schemars::schema_for!(KernelBisectOutput<'static>).to_value();
        let validator = jsonschema::validator_for(&schema).expect("it is a schema");
        for first_bad in [Some("0123"), None] {
            let answer = KernelBisectOutput { schema: SCHEMA, expect: "a < 1", first_bad, looked: &looked };
            let json = serde_json::to_value(&answer).expect("it is JSON");
            assert!(validator.is_valid(&json), "{json}");
        }
    }

    fn metric(unit: &str) -> Metric {
        Metric { name: "time".to_owned(), unit: unit.to_owned(), better: MetricDirection::Less }
    }

    #[test]
    fn an_expectation_is_read_in_the_metrics_own_unit() {
        let expectation = Expectation::parse("ui: wake to run p99 < 2ms").expect("it is one");
        assert_eq!(expectation.asked.text(), "ui: wake to run p99");
        let holds = |unit: &str, value: f64| expectation.holds(&metric(unit), value).expect("it is a time");
        assert!(holds("ns", 1_999_999.0) && !holds("ns", 2_000_000.0) && holds("s", 0.001) && !holds("s", 0.1));
        assert!(expectation.holds(&metric(""), 1.0).is_err(), "a number is no time");
        let more = Expectation::parse("totals.migrations > 12").expect("it is one");
        assert!(more.holds(&metric(""), 13.0).expect("it is a number") && !more.is_below);
        for wrong in ["p99", "p99 <", "< 3", "p99 < soon"] {
            assert!(Expectation::parse(wrong).is_err(), "{wrong}");
        }
    }
}
