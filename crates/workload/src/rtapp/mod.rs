// SPDX-License-Identifier: GPL-2.0-or-later
//! rt-app's JSON files.
//!
//! The whole grammar of rt-app (2026) is read, with its quirks: the module `json` says which of the text, `events` what a
//! key means, `attributes` what is set when. What cannot be honoured is an error or a warning in
//! [`Workload::warnings`], never silence.
//!
//! How it maps:
//! - A task with N instances is N threads, named `<task>-<index over all tasks>`. A task that is forked, or that has no
//!   instances, also is a template at the end of the list of tasks.
//! - Threads meet at a barrier before they begin, and then wait each for its delay, which counts from the start of the run.
//!   `DIFFERS:` in rt-app it counts from the moment at which the first thread begins, some microseconds later.
//! - `run` N is the work that the CPU of the calibration does in N microseconds: CPU 0, or the one that the file names.
//! - `runtime` is wall time. `DIFFERS:` for `runtime` rt-app looks at the clock every 32 us of work and so
//!   runs up to that much longer.
//! - `mem`, `memrun` and `iorun` are work of a fixed price, and `iorun` to a device is a wait besides: see `price`.
//! - `DIFFERS:` since June 2025 rt-app ignores the value of `suspend` and blocks under the task's own key; here the value
//!   counts, as before.
//! - `DIFFERS:` during `suspend` rt-app takes a mutex of its name, so that a `lock` of the same name can get into its way.
//! - `DIFFERS:` an rt-app barrier whose last arrival returns to it before the others have woken up lets it pass.
//! - Without a duration the run lasts as long as whoever runs it says.

mod attributes;
mod behaviour;
mod build;
mod calibration;
mod cgroups;
mod cost;
mod events;
mod fields;
mod global;
mod groups;
mod json;
mod objects;
mod old;
mod resources;
mod statements;
mod tasks;

#[cfg(test)]
mod tests;

pub use build::{FORK_LIMIT, fork_name};
pub use events::{EVENTS, EventInfo};
pub use json::DuplicateKeys;

use crate::error::{ErrorLocations, ParseError, Source};
use crate::workload::Workload;
use calibration::Calibration;
use fields::Fields;
use global::Global;
use groups::Groups;
use json::{Document, Duplicate};
use objects::Shared;
use std::collections::BTreeMap;
use tasks::TaskReader;

/// What a file cannot say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options<'m> {
    /// CPUs of the machine, at least 1. A file may not name others.
    pub nr_cpus: u32,
    /// What each of them can do, of 1024, for lengths that are calibrated on one of them; empty: all can do that.
    pub capacities: &'m [u64],
    /// What becomes of equal keys in an object.
    pub duplicate_keys: DuplicateKeys,
    /// Whether it is said elsewhere how long the run lasts, so that nothing is missing in a file that does not say it.
    pub is_duration_given: bool,
}

impl<'m> Options<'m> {
    /// As rt-app reads a file, on a machine with this many CPUs, which are alike.
    pub const fn for_cpus(nr_cpus: u32) -> Self {
        Self { nr_cpus, capacities: &[], duplicate_keys: DuplicateKeys::LastValue, is_duration_given: false }
    }

    /// The same where CPUs have these capacities.
    pub fn for_capacities(capacities: &'m [u64]) -> Self {
        let nr_cpus = u32::try_from(capacities.len()).unwrap_or(u32::MAX);
        Self { nr_cpus, capacities, duplicate_keys: DuplicateKeys::LastValue, is_duration_given: false }
    }
}

/// Reads a file of rt-app.
///
/// # Errors
/// If the text is not what rt-app's library reads as JSON, if rt-app would refuse it, or if it asks for what the machine does
/// not have.
pub fn parse(file: &str, text: &str, options: Options<'_>) -> Result<Workload, ParseError> {
    let places = ErrorLocations::of(text);
    let source = Source::with_places(file, text, &places);
    let Document { root, duplicates } = json::read(source, options.duplicate_keys)?;
    let root = Fields::of(source, &root, "the file")?;
    let mut warnings = duplicate_warnings(source, &duplicates);
    warnings.extend(root.unknown("the file", &["tasks", "global", "resources", "cgroups", "changes"], &[]));
    let global = match root.get("global") {
        Some(node) => Global::read(Fields::of(source, node, "\"global\"")?, &mut warnings)?,
        None => Global::default(),
    };
    let calibration = Calibration::new(source, global.calibration, options.capacities, &mut warnings);
    if let Some(node) = root.get("resources") {
        warnings.extend(resources::check(source, node)?);
    }
    let Some(tasks) = root.get("tasks") else {
        let help = "an rt-app file is { \"tasks\" : { ... }, \"global\" : { ... } }";
        return Err(source.error(root.at, "the file has no \"tasks\"").with_help(help));
    };
    let mut reader = TaskReader {
        source,
        nr_cpus: options.nr_cpus.max(1),
        is_duration_given: options.is_duration_given,
        global,
        calibration,
        shared: Shared::default(),
        groups: Groups::default(),
        warnings,
    };
    if let Some(node) = root.get("cgroups") {
        cgroups::read(Fields::of(source, node, "\"cgroups\"")?, reader.nr_cpus, &mut reader.groups)?;
    }
    let tasks = reader.tasks(Fields::of(source, tasks, "\"tasks\"")?)?;
    let nr_cpus = reader.nr_cpus;
    let (entries, named) = (std::mem::take(&mut reader.groups.entries), std::mem::take(&mut reader.groups.named));
    let in_groups = cgroups::with_tasks(&tasks);
    let mut workload = build::workload(reader, tasks)?;
    statements::read(root, nr_cpus, &mut workload)?;
    let mismatched = cgroups::mismatched(source, &entries, &named, in_groups, &workload);
    workload.warnings.extend(mismatched);
    workload.warnings = folded(file, workload.warnings);
    Ok(workload)
}

/// As many other places are named by a warning that stands for several.
const MOST_PLACES: usize = 4;

/// Warnings that only differ in their places become one, at the first of them, which names the others.
fn folded(file: &str, warnings: Vec<String>) -> Vec<String> {
    let mut first_of: BTreeMap<String, usize> = BTreeMap::new();
    let mut kept: Vec<(String, Vec<String>)> = Vec::new();
    for warning in warnings {
        if let Some((place, text)) = place_and_text(file, &warning) {
            if let Some(&first) = first_of.get(text) {
                kept[first].1.push(place.to_owned());
                continue;
            }
            first_of.insert(text.to_owned(), kept.len());
        }
        kept.push((warning, Vec::new()));
    }
    let said = kept.into_iter().map(|(warning, others)| {
        let named = others[..others.len().min(MOST_PLACES)].join(", ");
        match others.len().saturating_sub(MOST_PLACES) {
            _ if others.is_empty() => warning,
            0 => format!("{warning} (also at {named})"),
            more => format!("{warning} (also at {named} and {more} other places)"),
        }
    });
    said.collect()
}

/// The line and column of a warning, if it has them, and what it says.
fn place_and_text<'w>(file: &str, warning: &'w str) -> Option<(&'w str, &'w str)> {
    let (place, text) = warning.strip_prefix(file)?.strip_prefix(':')?.split_once(": ")?;
    let (line, column) = place.split_once(':')?;
    (line.parse::<u32>().is_ok() && column.parse::<u32>().is_ok()).then_some((place, text))
}

/// One warning for each object in which keys are equal.
fn duplicate_warnings(source: Source<'_>, duplicates: &[Duplicate]) -> Vec<String> {
    let mut sorted: Vec<&Duplicate> = duplicates.iter().collect();
    sorted.sort_by_key(|duplicate| duplicate.object_at);
    let by_object = sorted.chunk_by(|a, b| a.object_at == b.object_at);
    by_object
        .map(|group| {
            let mut keys: Vec<&str> = group.iter().map(|duplicate| duplicate.key.as_str()).collect();
            keys.sort_unstable();
            keys.dedup();
            let (place, keys) = (source.place(group[0].at), keys.join("\", \""));
            let dropped = match group.len() {
                1 => "one was dropped".to_owned(),
                many => format!("{many} were dropped"),
            };
            format!(
                "{place}: equal keys in one object (\"{keys}\"): rt-app keeps the last value at the place of the first, so \
                 {dropped}, events with them; number the keys (run1, run2), as rt-app's helper workgen does"
            )
        })
        .collect()
}
