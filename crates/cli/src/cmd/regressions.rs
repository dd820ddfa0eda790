// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab kernel regressions`: bugs that are fixed, seen again.
//!
//! 1. The tree is built once as it is, and once for each batch of bugs that are put back together.
//! 2. Each bug's scenario runs with its own batch, with the tree as it is, and with all other batches that have no bug of which it is known that
//!    it shows the same.
//! 3. It is told apart if its check says that the bug is in its own batch, and nowhere else.

use crate::engine;
use crate::error::CliError;
use crate::output::table::{Align, Cell, Table};
use crate::output::{Output, figures, wrap};
use clap::Args as ClapArgs;
use fairlab_kernel::regressions::check::{Bound, BugCheck, BugReport, Check};
use fairlab_kernel::regressions::{Bug, BugBatch, BugLabel, batches, bugs};
use fairlab_kernel::store::{BuildRequest, Store};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The name of the engine without any of the bugs. All are built in its folder.
const FIXED: &str = "regressions.fixed";
/// The form of its JSON.
pub(crate) const SCHEMA: &str = "regressions/1";
/// Exit status: a bug was not told apart.
const NOT_DETECTED: u8 = 1;

const EXAMPLES: &str = "\
Exit status: 0 all bugs are detected, 1 one is not, 2 the corpus could not be run.

Examples:
  fairlab kernel regressions --list
  fairlab kernel regressions
  fairlab kernel regressions slices-expire pinned-misfit --json";

#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RegressionsArgs {
    /// Bugs; all, if none is named
    names: Vec<String>,
    /// List bugs instead, with what went wrong
    #[arg(long)]
    list: bool,
    /// The tree into which bugs are put back: a folder, a tarball, or debian:VERSION
    #[arg(long, value_name = "DIR|TARBALL|debian:VERSION", default_value = "debian:6.1")]
    source: String,
    /// Put each bug back alone: slower, and nobody else's edits are in its engine
    #[arg(long)]
    alone: bool,
}

/// A bug as `--list --json` tells it.
#[derive(Serialize)]
struct ListedBug<'a> {
    bug: &'a str,
    commit: &'a str,
    title: &'a str,
    fixed_in: &'a str,
    what: String,
}

/// Of a day and longer nobody asks.
fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What became of a bug.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct RegressionRow<'a> {
    bug: &'a str,
    commit: &'a str,
    title: &'a str,
    /// What the check looks at.
    figure: String,
    /// With the bug it is above this,
    #[serde(skip_serializing_if = "Option::is_none")]
    above: Option<u64>,
    /// or below this.
    #[serde(skip_serializing_if = "Option::is_none")]
    below: Option<u64>,
    /// With the bug; nothing if the kernel did not come back.
    buggy: Option<u64>,
    /// Without it.
    fixed: Option<u64>,
    /// With other bugs in its place.
    elsewhere: Vec<Option<u64>>,
    is_told_apart: bool,
    #[serde(skip)]
    is_time: bool,
}

/// All of them.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct RegressionsOutput<'a> {
    /// The form that this has.
    schema: &'static str,
    /// The tree, as it was given.
    source: &'a str,
    /// The version that it names.
    version: String,
    bugs: Vec<RegressionRow<'a>>,
    /// How many engines were built for them.
    engines: usize,
    built_ms: u64,
    took_ms: u64,
}

/// Runs the command.
pub(crate) fn regressions(output: &mut Output, store: &Store, args: &RegressionsArgs) -> Result<(), CliError> {
    let bugs = chosen(&args.names)?;
    if args.list {
        return list(output, &bugs);
    }
    let _held = store.hold()?;
    let begun = Instant::now();
    let batches = batches(&bugs, args.alone);
    let build = |name: &str, batch: Option<&BugBatch<'_>>| {
        let scripts = batch.map(BugBatch::scripts).unwrap_or_default();
        let mut told = Ok(());
        let mut say = |what: &str| told = output.eprint(&format!("{name}: {what}\n"));
        let wish = BuildRequest {
            name,
            workshop: FIXED,
            source: &args.source,
            title: None,
            patches: &[],
            scripts: &scripts,
            config: &[],
            is_covered: false,
        };
        let added = store.make(&wish, &mut say)?;
        told?;
        // Another command that builds meanwhile does not change what runs here.
        Ok::<_, CliError>(store.pin(&added.entry)?)
    };
    let mut engines = Vec::new();
    for (nr, batch) in batches.iter().enumerate() {
        engines.push(build(&format!("regressions.{}", nr + 1), Some(batch))?.name);
    }
    // Last: edits that do not fit have been told by then.
    let fixed = build(FIXED, None)?;
    let built = begun.elapsed();
    let mut rows = Vec::new();
    for (nr, batch) in batches.iter().enumerate() {
        for bug in &batch.bugs {
            let is_other = |(other, batch): &(usize, &BugBatch<'_>)| *other != nr && batch.detects(bug);
            let others = batches.iter().enumerate().filter(is_other).map(|(other, _)| engines[other].as_str());
            rows.push(row(bug, &engines[nr], &fixed.name, others)?);
        }
    }
    rows.sort_by_key(|row| row.bug);
    let tour = RegressionsOutput {
        schema: SCHEMA,
        source: &args.source,
        version: fixed.version,
        bugs: rows,
        engines: engines.len() + 1,
        built_ms: milliseconds(built),
        took_ms: milliseconds(begun.elapsed()),
    };
    if output.is_json() {
        output.json(&tour)?;
    } else {
        let text = tour.text(output);
        output.text(&text)?;
    }
    match tour.bugs.iter().all(|row| row.is_told_apart) {
        true => Ok(()),
        false => Err(CliError::AlreadyReported { status: NOT_DETECTED }),
    }
}

/// Those that were named, or all.
fn chosen(names: &[String]) -> Result<Vec<Bug>, CliError> {
    let wanted: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let all = bugs();
    if let Some(name) = wanted.iter().find(|name| !all.iter().any(|bug| bug.name == **name)) {
        return Err(CliError::Input(format!(
            "{name}: not in the regression corpus\nhelp: fairlab kernel regressions --list shows them"
        )));
    }
    Ok(all.into_iter().filter(|bug| wanted.is_empty() || wanted.contains(bug.name)).collect())
}

fn list(output: &mut Output, bugs: &[Bug]) -> Result<(), CliError> {
    if output.is_json() {
        let listed = |bug: &'_ Bug| {
            let label = &bug.label;
            serde_json::to_value(ListedBug {
                bug: bug.name,
                commit: &label.commit,
                title: &label.title,
                fixed_in: &label.fixed,
                what: bug.what(),
            })
            .expect("a label is JSON")
        };
        return output.json(&bugs.iter().map(listed).collect::<Vec<_>>());
    }
    let mut page = String::new();
    for bug in bugs {
        let BugLabel { title, commit, fixed, .. } = &bug.label;
        let head = format!("{}: {title} ({}, {})", bug.name, known(commit), known(fixed));
        page.push_str(&wrap(&format!("{head}. {}", bug.what()), 2));
    }
    output.text(&page)
}

/// Where something is not known there is a dash.
fn known(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}

/// Runs a bug's scenario with its own engine, the one without bugs, and those with other bugs.
fn row<'a, 'e>(
    bug: &'a Bug,
    own: &str,
    fixed: &str,
    others: impl Iterator<Item = &'e str>,
) -> Result<RegressionRow<'a>, CliError> {
    let folder = tempfile::tempdir().map_err(|error| CliError::run(format!("a temporary folder: {error}")))?;
    let file = folder.path().join(format!("{}.scn", bug.name));
    fs::write(&file, bug.scenario).map_err(|error| CliError::run(format!("{}: {error}", file.display())))?;
    let label = &bug.label;
    let with = |engine: &str| Ok::<_, CliError>(label.check.figure(&is_distinguished(engine, &file, &label.check)?));
    let is_buggy = |figure: Option<u64>| figure.map(|figure| label.check.is_buggy_output(figure));
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

/// Runs a scenario with an engine, in a process of its own, and looks at it as a check wants to.
fn is_distinguished(engine: &str, file: &Path, check: &Check) -> Result<BugReport, CliError> {
    let mut words =
        vec!["run".to_owned(), file.display().to_string(), "--engine".to_owned(), format!("kernel:{engine}")];
    words.extend(match check.check_bug() {
        BugCheck::Trace => vec!["--trace-jsonl".to_owned(), "-".to_owned()],
        BugCheck::Summary => vec!["--json".to_owned()],
        BugCheck::State(at) => vec!["--engine-state".to_owned(), at.to_string()],
    });
    let (ended, report) = engine::work(engine, &words)?;
    if !ended.status.success() && report.end.is_none() {
        let said = String::from_utf8_lossy(&ended.stderr);
        return Err(CliError::run(format!("{} with kernel:{engine}: {}", file.display(), said.trim_end())));
    }
    let unread = |error| CliError::run(format!("what kernel:{engine} told cannot be read: {error}"));
    let told = match report.end {
        Some(_) => Vec::new(),
        None => serde_json::Deserializer::from_slice(&ended.stdout)
            .into_iter::<Value>()
            .collect::<Result<_, _>>()
            .map_err(unread)?,
    };
    Ok(BugReport { told, report })
}

impl RegressionsOutput<'_> {
    fn text(&self, output: &Output) -> String {
        let columns = [
            ("bug", Align::Left),
            ("commit", Align::Left),
            ("figure", Align::Left),
            ("buggy", Align::Right),
            ("fixed", Align::Right),
            ("told apart", Align::Left),
        ];
        let mut table = Table::new(&columns);
        for row in &self.bugs {
            let figure = |figure: Option<u64>| match figure {
                None => "did not end".to_owned(),
                Some(ns) if row.is_time => figures::time(ns),
                Some(number) => number.to_string(),
            };
            let verdict = if row.is_told_apart { Cell::from("yes").good() } else { Cell::from("no").bad() };
            table.row(vec![
                row.bug.into(),
                known(row.commit).into(),
                row.figure.as_str().into(),
                figure(row.buggy).into(),
                figure(row.fixed).into(),
                verdict,
            ]);
        }
        let told_apart = self.bugs.iter().filter(|row| row.is_told_apart).count();
        let seconds = |ms: u64| ms as f64 / 1000.0;
        format!(
            "{}\n{told_apart} of {} bugs are told apart from Linux {} ({}), {} engines in {:.1} s, all in {:.1} s\n",
            table.render(output.styles()),
            self.bugs.len(),
            self.version,
            self.source,
            self.engines,
            seconds(self.built_ms),
            seconds(self.took_ms),
        )
    }
}
