// SPDX-License-Identifier: GPL-2.0-or-later
//! Reader of rt-app's JSON files.
//!
//! The whole grammar of rt-app (2026) is read, with its quirks: the module `json` defines those of the text,
//! `events` the meaning of keys, `attributes` the order in which attributes take effect. A setting that
//! cannot be honoured is an error or a warning in [`Workload::warnings`]; it is never dropped silently.
//!
//! Mapping:
//! - A task with N instances is N threads, named `<task>-<index over all tasks>`. A task that is forked, or
//!   that has no instances, is also a template at the end of the list of tasks.
//! - Threads meet at a barrier before they begin. Each then waits for its delay, which counts from the start
//!   of the run. `DIFFERS:` a task's `delay` counts from the start of the run; in rt-app it counts from the
//!   moment at which the first thread begins, some microseconds later.
//! - `run` N is the work that the CPU of the calibration does in N microseconds: CPU 0, or the one that the
//!   file names.
//! - `runtime` is wall time. The thread reads the clock after every 32 us of work, and so runs up to that much
//!   longer, as in rt-app. `DIFFERS:` between two reads of the clock a `runtime` does 32 us of work at full
//!   capacity; in rt-app it does the work that the CPU of the calibration does in 32 us.
//! - `mem`, `memrun` and `iorun` are work of a fixed cost, and `iorun` to a device is also a wait: see the
//!   module `cost`.
//! - `DIFFERS:` since June 2025 rt-app ignores the value of `suspend` and blocks under the task's own key; in
//!   fairlab the value counts, as in older versions of rt-app.
//! - `DIFFERS:` during `suspend` rt-app holds a mutex of the same name, so that a `lock` of that name can
//!   block it; in fairlab `suspend` takes no mutex.
//! - `DIFFERS:` in rt-app a thread that returns to a barrier before the others have woken up passes it again
//!   if it was the last to arrive; in fairlab each round of a barrier waits for all participants.
//! - Without a `duration` the caller defines the length of the run.

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
mod responses;
mod statements;
mod tasks;

#[cfg(test)]
mod tests;

pub use build::{FORK_LIMIT, fork_name};
pub use events::{EVENTS, EventInfo};
pub use json::DuplicateKeys;

use crate::message::Message;
use crate::scenario::SwitchNames;
use crate::source_text::{LineIndex, SourceText};
use crate::workload::Workload;
use calibration::Calibration;
use fairlab_sched::series::KernelSeries;
use fields::Fields;
use global::GlobalSection;
use groups::Groups;
use json::{DuplicateKey, JsonDocument};
use objects::SharedObjects;
use responses::Responses;
use std::collections::BTreeMap;
use tasks::TaskReader;

/// Settings that an rt-app file cannot contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtAppOptions<'m> {
    /// Number of CPUs of the machine, at least 1. A file that names another CPU is rejected.
    pub nr_cpus: u32,
    /// Capacity of each CPU, 0 to 1024, for run lengths that are calibrated on one of them. If empty, all
    /// have 1024.
    pub capacities: &'m [u64],
    /// Treatment of equal keys in an object.
    pub duplicate_keys: DuplicateKeys,
    /// Whether the length of the run is given elsewhere, so that a file without `duration` needs no warning.
    pub is_duration_given: bool,
    /// Kernel whose names of features and tunables the section `changes` may use.
    pub switch_names: SwitchNames,
}

impl<'m> RtAppOptions<'m> {
    /// Returns rt-app's own behaviour in a run with the rules of a series, on a machine with `nr_cpus` CPUs of equal
    /// capacity.
    pub fn for_cpus(series: KernelSeries, nr_cpus: u32) -> Self {
        Self {
            nr_cpus,
            capacities: &[],
            duplicate_keys: DuplicateKeys::LastValue,
            is_duration_given: false,
            switch_names: SwitchNames::BuiltIn(series),
        }
    }

    /// Returns rt-app's own behaviour in a run with the rules of a series, on a machine whose CPUs have these
    /// capacities.
    pub fn for_capacities(series: KernelSeries, capacities: &'m [u64]) -> Self {
        let nr_cpus = u32::try_from(capacities.len()).unwrap_or(u32::MAX);
        Self { capacities, ..Self::for_cpus(series, nr_cpus) }
    }
}

/// Reads a file of rt-app.
///
/// # Errors
/// If the text is not JSON as rt-app's library reads it, if rt-app would reject it, or if it needs something
/// that the machine does not have.
pub fn parse(file: &str, text: &str, options: RtAppOptions<'_>) -> Result<Workload, Message> {
    let places = LineIndex::from_text(text);
    let source = SourceText::with_line_index(file, text, &places);
    let JsonDocument { root, duplicates } = json::read(source, options.duplicate_keys)?;
    let root = Fields::from_node(source, &root, "the file")?;
    let mut warnings = duplicate_warnings(source, &duplicates);
    warnings.extend(root.unknown(
        "the file",
        &["tasks", "global", "resources", "cgroups", "changes", "responses"],
        &[],
    ));
    let global = match root.get("global") {
        Some(node) => GlobalSection::read(Fields::from_node(source, node, "\"global\"")?, &mut warnings)?,
        None => GlobalSection::default(),
    };
    let calibration = Calibration::new(source, global.calibration, options.capacities, &mut warnings);
    if let Some(node) = root.get("resources") {
        warnings.extend(resources::check(source, node)?);
    }
    let Some(tasks) = root.get("tasks") else {
        let help = "an rt-app file is { \"tasks\" : { ... }, \"global\" : { ... } }";
        return Err(source.error(root.at, "the file has no \"tasks\"").with_help(help));
    };
    let switch_names = options.switch_names;
    let mut shared = SharedObjects::default();
    let responses = match root.get("responses") {
        Some(node) => Responses::read(Fields::from_node(source, node, "\"responses\"")?, &mut shared)?,
        None => Responses::default(),
    };
    let mut reader = TaskReader {
        source,
        nr_cpus: options.nr_cpus.max(1),
        is_duration_given: options.is_duration_given,
        global,
        calibration,
        shared,
        responses,
        groups: Groups::default(),
        warnings,
    };
    if let Some(node) = root.get("cgroups") {
        cgroups::read(Fields::from_node(source, node, "\"cgroups\"")?, reader.nr_cpus, &mut reader.groups)?;
    }
    let tasks = reader.tasks(Fields::from_node(source, tasks, "\"tasks\"")?)?;
    let nr_cpus = reader.nr_cpus;
    let (entries, named) = (std::mem::take(&mut reader.groups.entries), std::mem::take(&mut reader.groups.named));
    let in_groups = cgroups::used_groups(&tasks);
    let mut workload = build::workload(reader, tasks)?;
    statements::read(root, nr_cpus, switch_names, &mut workload)?;
    let mismatched = cgroups::unused_entry_warnings(source, &entries, &named, in_groups, &workload);
    workload.warnings.extend(mismatched);
    workload.warnings = merge_warnings(file, workload.warnings);
    Ok(workload)
}

/// Number of other locations that a merged warning lists.
const MAX_PLACES: usize = 4;

/// Merges warnings that differ only in their locations. The merged warning stands at the first location and
/// lists the others.
fn merge_warnings(file: &str, warnings: Vec<String>) -> Vec<String> {
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
    let message_text = kept.into_iter().map(|(warning, others)| {
        let named = others[..others.len().min(MAX_PLACES)].join(", ");
        match others.len().saturating_sub(MAX_PLACES) {
            _ if others.is_empty() => warning,
            0 => format!("{warning} (also at {named})"),
            1 => format!("{warning} (also at {named} and 1 other place)"),
            more => format!("{warning} (also at {named} and {more} other places)"),
        }
    });
    message_text.collect()
}

/// Splits a warning into its line and column and its text, if it has a line and column.
fn place_and_text<'w>(file: &str, warning: &'w str) -> Option<(&'w str, &'w str)> {
    let (place, text) = warning.strip_prefix(file)?.strip_prefix(':')?.split_once(": ")?;
    let (line, column) = place.split_once(':')?;
    (line.parse::<u32>().is_ok() && column.parse::<u32>().is_ok()).then_some((place, text))
}

/// Returns one warning for each object that has equal keys.
fn duplicate_warnings(source: SourceText<'_>, duplicates: &[DuplicateKey]) -> Vec<String> {
    let mut sorted: Vec<&DuplicateKey> = duplicates.iter().collect();
    sorted.sort_by_key(|duplicate| duplicate.object_at);
    let by_object = sorted.chunk_by(|a, b| a.object_at == b.object_at);
    by_object
        .map(|group| {
            let mut keys: Vec<&str> = group.iter().map(|duplicate| duplicate.key.as_str()).collect();
            keys.sort_unstable();
            keys.dedup();
            let (place, keys) = (source.location(group[0].at), keys.join("\", \""));
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
