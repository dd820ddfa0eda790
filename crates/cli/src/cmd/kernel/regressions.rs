// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab kernel regressions`: puts fixed bugs back into a kernel tree and checks that scenarios detect
//! them.
//!
//! 1. The tree of each release is built once unchanged, and once for each batch of bugs that are put back
//!    together.
//! 2. Each bug's scenario runs with its own batch, with the unchanged tree, and with all other batches of the
//!    release except those with a bug known to have the same symptom.
//! 3. A bug is detected if its check reports it with its own batch, and with no other engine.

use crate::args::regressions::RegressionsArgs;
use crate::execution::worker::{Engine, WorkerStreams};
use crate::output::table::{Cell, Table};
use crate::output::{Output, Styles, figures, wrap};
use crate::values::error::CliError;
use fairlab_kernel::regressions::check::{Bound, Check, ObservedRun, RunOutput};
use fairlab_kernel::regressions::{Bug, BugBatch, BugLabel, batches, bugs, release_of_tree, releases};
use fairlab_kernel::store::{BuildRequest, Store, StoreEntry};
use fairlab_kernel::tree::{self, TreeSource};
use fairlab_run::input::InputFile;
use fairlab_run::job::{Job, RunOutputs};
use fairlab_run::settings::Settings;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_run::values::EngineName;
use fairlab_workload::message::Message;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Name and version of the JSON output.
pub(crate) const SCHEMA: &str = "regressions/1";
/// Exit status if a bug was not detected.
const NOT_DETECTED: u8 = 1;

/// Bug in the output of `--list --json`.
#[derive(Serialize)]
struct ListedBug<'a> {
    bug: &'a str,
    commit: &'a str,
    title: &'a str,
    fixed_in: &'a str,
    kernel: &'a str,
    what: String,
}

/// Returns the time in milliseconds.
fn saturating_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Result of one bug.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct RegressionRow<'a> {
    bug: &'a str,
    commit: &'a str,
    title: &'a str,
    /// Release into whose tree the bug is put back.
    kernel: &'a str,
    /// Metric of the check.
    figure: String,
    /// Upper bound: a larger value indicates the bug.
    #[serde(skip_serializing_if = "Option::is_none")]
    above: Option<u64>,
    /// Lower bound: a smaller value indicates the bug.
    #[serde(skip_serializing_if = "Option::is_none")]
    below: Option<u64>,
    /// Value with the bug; null if the kernel did not return.
    buggy: Option<u64>,
    /// Value without the bug; null if the kernel did not return.
    fixed: Option<u64>,
    /// Values with other bugs in its place; null if the kernel did not return.
    elsewhere: Vec<Option<u64>>,
    is_told_apart: bool,
    #[serde(skip)]
    is_time: bool,
}

/// Results of the regression corpus.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct RegressionsOutput<'a> {
    /// Name and version of this format.
    schema: &'static str,
    /// Kernel trees, separated by commas, oldest release first.
    source: String,
    /// Kernel versions of these trees, separated by commas.
    version: String,
    bugs: Vec<RegressionRow<'a>>,
    /// Number of engines that were built.
    engines: usize,
    built_ms: u64,
    took_ms: u64,
}

pub(crate) fn regressions(output: &mut Output, store: &Store, args: &RegressionsArgs) -> Result<(), CliError> {
    let mut bugs = select_bugs(&args.names)?;
    if args.list {
        return list(output, &bugs);
    }
    let _held = store.lock_against_prune()?;
    if let Some(source) = &args.source {
        bugs = bugs_of_tree(store, source, bugs, !args.names.is_empty())?;
    }
    let begun = Instant::now();
    let batches = batches(&bugs, args.alone);
    let source_of = |release: &str| args.source.clone().unwrap_or_else(|| format!("debian:{release}"));
    for release in releases(&bugs) {
        // A missing tree is reported before anything is built.
        TreeSource::parse(&source_of(release))?;
    }
    let mut engines = Vec::new();
    for (nr, batch) in batches.iter().enumerate() {
        let name = format!("regressions.{}", nr + 1);
        engines.push(build(output, store, &name, batch.kernel, &source_of(batch.kernel), Some(batch))?.name);
    }
    // Built last, so that edits that do not fit are reported before.
    let mut fixed = BTreeMap::new();
    for release in releases(&bugs) {
        let name = fixed_engine_name(release);
        fixed.insert(release, build(output, store, &name, release, &source_of(release), None)?);
    }
    let built = begun.elapsed();
    let mut rows = Vec::new();
    for (nr, batch) in batches.iter().enumerate() {
        for bug in &batch.bugs {
            let is_other = |(other, batch): &(usize, &BugBatch<'_>)| {
                *other != nr && batch.kernel == bug.label.kernel && batch.hides_nothing_of(bug)
            };
            let others = batches.iter().enumerate().filter(is_other).map(|(other, _)| engines[other].as_str());
            rows.push(test_bug(bug, &engines[nr], &fixed[batch.kernel].name, others)?);
        }
    }
    rows.sort_by_key(|row| row.bug);
    let joined = |texts: Vec<String>| texts.join(", ");
    let tour = RegressionsOutput {
        schema: SCHEMA,
        source: joined(releases(&bugs).into_iter().map(source_of).collect()),
        version: joined(releases(&bugs).into_iter().map(|release| fixed[release].version.clone()).collect()),
        bugs: rows,
        engines: engines.len() + fixed.len(),
        built_ms: saturating_millis(built),
        took_ms: saturating_millis(begun.elapsed()),
    };
    output.json_or_text(&tour, |styles| tour.text(styles))?;
    match tour.bugs.iter().all(|row| row.is_told_apart) {
        true => Ok(()),
        false => Err(CliError::AlreadyReported { status: NOT_DETECTED }),
    }
}

/// Returns the name of a release's engine without any of the bugs. Engines of the release are built in its
/// folder.
fn fixed_engine_name(release: &str) -> String {
    format!("regressions.fixed.{release}")
}

/// Builds the engine of a batch of bugs, or without bugs.
fn build(
    output: &Output,
    store: &Store,
    name: &str,
    release: &str,
    source: &str,
    batch: Option<&BugBatch<'_>>,
) -> Result<StoreEntry, CliError> {
    let scripts = batch.map(BugBatch::scripts).unwrap_or_default();
    let mut printed = Ok(());
    let mut print_progress = |what: &str| printed = output.eprint(&format!("{name}: {what}\n"));
    let wish = BuildRequest {
        name,
        build_dir: &fixed_engine_name(release),
        source,
        title: None,
        patches: &[],
        scripts: &scripts,
        config: &[],
        is_covered: false,
    };
    let added = store.build(&wish, &mut print_progress)?;
    printed?;
    // The engine is pinned, so that a command that builds meanwhile cannot change it.
    Ok(store.pin(&added.entry)?)
}

/// Returns the bugs that are put back into a tree: those of its release.
fn bugs_of_tree(store: &Store, source: &str, bugs: Vec<Bug>, are_named: bool) -> Result<Vec<Bug>, CliError> {
    let version = tree::version(&TreeSource::parse(source)?.folder(store.root())?);
    let all = fairlab_kernel::regressions::bugs();
    let release = release_of_tree(&all, &version).expect("the corpus has bugs");
    let (fitting, others): (Vec<Bug>, Vec<Bug>) = bugs.into_iter().partition(|bug| bug.label.kernel == release);
    match others.first().filter(|_| are_named) {
        None => Ok(fitting),
        Some(bug) => Err(CliError::with_help(
            format!("{}: its edits are for Linux {}, and {source} is {version}", bug.name, bug.label.kernel),
            "leave out --source",
        )),
    }
}

/// Returns the named bugs, or all.
fn select_bugs(names: &[String]) -> Result<Vec<Bug>, CliError> {
    let wanted: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let all = bugs();
    if let Some(name) = wanted.iter().find(|name| !all.iter().any(|bug| bug.name == **name)) {
        return Err(CliError::with_help(
            format!("{name}: not in the regression corpus"),
            "fairlab kernel regressions --list shows all bugs",
        ));
    }
    Ok(all.into_iter().filter(|bug| wanted.is_empty() || wanted.contains(bug.name)).collect())
}

fn list(output: &mut Output, bugs: &[Bug]) -> Result<(), CliError> {
    if output.is_json() {
        fn listed(bug: &Bug) -> ListedBug<'_> {
            let BugLabel { commit, title, fixed: fixed_in, kernel, .. } = &bug.label;
            ListedBug { bug: bug.name, commit, title, fixed_in, kernel, what: bug.what() }
        }
        return output.json(&bugs.iter().map(listed).collect::<Vec<_>>());
    }
    let mut page = String::new();
    for bug in bugs {
        let BugLabel { title, commit, fixed, kernel, .. } = &bug.label;
        let (commit, fixed) = (or_dash(commit), or_dash(fixed));
        let head = format!("{}: {title} ({commit}, {fixed}; put back into {kernel})", bug.name);
        page.push_str(&wrap(&format!("{head}. {}", bug.what()), 2));
    }
    output.text(&page)
}

/// Returns a dash for an unknown value.
fn or_dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}

/// Runs a bug's scenario with its own engine, the one without bugs, and those with other bugs.
fn test_bug<'a, 'e>(
    bug: &'a Bug,
    own: &str,
    fixed: &str,
    others: impl Iterator<Item = &'e str>,
) -> Result<RegressionRow<'a>, CliError> {
    let folder =
        tempfile::tempdir().map_err(|error| CliError::run(Message::new(format!("a temporary folder: {error}"))))?;
    let file = folder.path().join(format!("{}.scn", bug.name));
    fs::write(&file, bug.scenario).map_err(|error| CliError::run(Message::in_file(&file, error.to_string())))?;
    let label = &bug.label;
    let with = |engine: &str| Ok::<_, CliError>(label.check.figure(&run_scenario(engine, &file, &label.check)?));
    let is_buggy = |figure: Option<u64>| figure.map(|figure| label.check.indicates_bug(figure));
    let (buggy, fixed) = (with(own)?, with(fixed)?);
    let elsewhere = others.map(with).collect::<Result<Vec<_>, _>>()?;
    let is_elsewhere = elsewhere.iter().any(|figure| is_buggy(*figure) != Some(false));
    let (above, below) = match label.check.bound {
        Bound::Above(above) => (Some(above), None),
        Bound::Below(below) => (None, Some(below)),
    };
    Ok(RegressionRow {
        bug: bug.name,
        commit: &label.commit,
        title: &label.title,
        kernel: &label.kernel,
        figure: label.check.figure.to_string(),
        above,
        below,
        buggy,
        fixed,
        elsewhere,
        is_told_apart: is_buggy(buggy) == Some(true) && is_buggy(fixed) == Some(false) && !is_elsewhere,
        is_time: label.check.is_time(),
    })
}

/// Runs a scenario with an engine in its own process and returns the output that the check needs.
fn run_scenario(engine: &str, file: &Path, check: &Check) -> Result<ObservedRun, CliError> {
    let settings = Settings { engine: Some(EngineName::Kernel(engine.to_owned())), ..Settings::default() };
    let spec = RunSpec { workload: WorkloadSpec::File(InputFile::new(file.display().to_string())), settings };
    let job = match check.required_output() {
        RunOutput::Trace => {
            Job::Run { spec, outputs: RunOutputs { trace: Some("-".to_owned()), ..RunOutputs::default() } }
        }
        RunOutput::Summary => Job::Run { spec, outputs: RunOutputs::of_summary() },
        RunOutput::State(at) => Job::State { spec, until_ns: at },
    };
    let worker = Engine::named(engine)?;
    let ended = worker.work(&job, WorkerStreams::Captured)?;
    if ended.report.end.is_some() {
        return Ok(ObservedRun { report: ended.report, ..ObservedRun::default() });
    }
    let unread = |error| CliError::run(Message::new(format!("the output of kernel:{engine} cannot be read: {error}")));
    let answer: Value = worker.answer(&ended, None).map_err(|error| {
        CliError::Run(Message::from(error).about(format!("{} with kernel:{engine}", file.display())))
    })?;
    let (trace, output) = match check.required_output() {
        RunOutput::Trace => {
            let lines = serde_json::Deserializer::from_slice(&ended.stdout).into_iter();
            (lines.collect::<Result<_, _>>().map_err(unread)?, Value::Null)
        }
        RunOutput::Summary => (Vec::new(), answer["summary"].clone()),
        RunOutput::State(_) => (Vec::new(), answer),
    };
    Ok(ObservedRun { trace, output, report: ended.report })
}

impl RegressionsOutput<'_> {
    fn text(&self, styles: Styles) -> String {
        // Commits are in the list of bugs; a column of "yes" would say nothing.
        let told_apart = self.bugs.iter().filter(|row| row.is_told_apart).count();
        let are_detected = told_apart == self.bugs.len();
        let table = Table::default().left(["bug", "metric"]).right(["buggy", "fixed"]);
        let mut table = if are_detected { table } else { table.left(["detected"]) };
        for row in &self.bugs {
            let figure = |figure: Option<u64>| match figure {
                None => "no return".to_owned(),
                Some(ns) if row.is_time => figures::time(ns),
                Some(number) => number.to_string(),
            };
            let mut cells: Vec<Cell> =
                vec![row.bug.into(), row.figure.as_str().into(), figure(row.buggy).into(), figure(row.fixed).into()];
            if !are_detected {
                cells.push(if row.is_told_apart { "yes".into() } else { Cell::from("no").bad() });
            }
            table.row(cells);
        }
        let seconds = |ms: u64| ms as f64 / 1000.0;
        format!(
            "{told_apart} of {} bugs are detected in Linux {} ({})\n\n{}\n{} engines built in {:.1} s, {:.1} s in all\n",
            self.bugs.len(),
            self.version,
            self.source,
            table.render(styles),
            self.engines,
            seconds(self.built_ms),
            seconds(self.took_ms),
        )
    }
}
