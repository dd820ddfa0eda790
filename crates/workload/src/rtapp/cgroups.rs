// SPDX-License-Identifier: GPL-2.0-or-later
//! The section `cgroups`: the contents of a cgroup's files, by path. An extension: rt-app itself does not
//! configure cgroups.
//!
//! Keys and values are those of the cgroup file system, version 2. A group that only a task names, or that is
//! only the parent of another group, has the kernel's defaults.

use super::fields::{Fields, parse_count};
use super::groups::Groups;
use super::json::{JsonEntry, JsonNode, JsonValue};
use super::tasks::TaskDraft;
use crate::message::Message;
use crate::source_text::SourceText;
use crate::suggest;
use crate::workload::{Change, CpusetSpec, Quota, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// Keys that the object of a group may have.
const KEYS: &[&str] =
    &["cpu.max", "cpu.max.burst", "cpu.weight", "cpu.idle", "cpu.uclamp.min", "cpu.uclamp.max", "cpuset.cpus"];

/// Longest name, in bytes, that is taken for a distinct one if it differs in a letter from another name.
const SHORT_NAME_LEN: usize = 4;

const DEFAULT_PERIOD_US: u64 = 100_000;
/// Least quota and period that the kernel accepts, in microseconds.
const MIN_TIME_US: u64 = 1_000;
const MAX_PERIOD_US: u64 = 1_000_000;

/// Reads the section into the groups of the file.
pub(super) fn read(fields: Fields<'_>, nr_cpus: u32, groups: &mut Groups) -> Result<(), Message> {
    for entry in fields.entries {
        let source = fields.source;
        let what = format!("the cgroup \"{}\"", entry.key);
        let keys = Fields::from_node(source, &entry.node, &what)?;
        let group = groups.intern_path(source, entry.key_at, "cgroup", &entry.key)?.flatten();
        let Some(group) = group else {
            let error = source.error(entry.key_at, "the root group has none of these files");
            return Err(error.with_help("name a group below it, such as \"/fg\""));
        };
        if let Some(unknown) = keys.entries.iter().find(|entry| !KEYS.contains(&entry.key.as_str())) {
            let error = source.error(unknown.key_at, format!("{what} has no file \"{}\" in fairlab", unknown.key));
            return Err(error.with_help(suggest::help(&unknown.key, "files of a cgroup", KEYS)));
        }
        groups.entries.push((group, entry.key_at));
        CgroupReader { source, nr_cpus }.group(keys, group, groups)?;
    }
    Ok(())
}

/// Returns the groups in which tasks are at their start or in a phase.
pub(super) fn used_groups(tasks: &[TaskDraft]) -> BTreeSet<usize> {
    let of_phases = tasks.iter().flat_map(|task| &task.phases).filter_map(|phase| phase.attributes.group.flatten());
    tasks.iter().filter_map(|task| task.group.flatten()).chain(of_phases).collect()
}

/// Returns two kinds of warnings: about entries of the section that have no task in or below them, and so
/// limit nothing; and about tasks in a group without an entry whose name is close to one with an entry.
pub(super) fn unused_entry_warnings(
    source: SourceText<'_>,
    entries: &[(usize, usize)],
    named: &BTreeMap<usize, usize>,
    mut in_groups: BTreeSet<usize>,
    workload: &Workload,
) -> Vec<String> {
    in_groups.extend(workload.changes.iter().filter_map(|(_, change)| match change {
        Change::Task { attributes, .. } => attributes.group.flatten(),
        _ => None,
    }));
    let groups = &workload.groups;
    let above = |&group: &usize| core::iter::successors(Some(group), |&group| groups[group].parent);
    let used: BTreeSet<usize> = in_groups.iter().flat_map(above).collect();
    let listed = |group: &usize| entries.iter().any(|(entry, _)| entry == group);
    let names: Vec<&str> =
        used.iter().filter(|group| !listed(group)).map(|&group| groups[group].name.as_str()).collect();
    let unused = entries.iter().filter(|(group, _)| !used.contains(group));
    let unlisted = in_groups.iter().filter(|&&group| !above(&group).any(|group| listed(&group)));
    let in_use: Vec<&str> = entries
        .iter()
        .filter(|(group, _)| used.contains(group))
        .map(|&(group, _)| groups[group].name.as_str())
        .collect();
    let misspelt = unlisted.filter_map(|group| {
        let name = &groups[*group].name;
        let near = suggest::nearest(name, &in_use).filter(|near| is_likely_typo(name, near))?;
        let place = source.location(*named.get(group)?);
        Some(format!("{place}: \"cgroups\" has no \"{name}\", so nothing limits it; did you mean \"{near}\"?"))
    });
    let empty = unused.map(|&(group, at)| {
        let (place, name) = (source.location(at), &groups[group].name);
        let hint = match suggest::nearest(name, &names) {
            Some(near) => format!("; did you mean \"{near}\"?"),
            None if names.is_empty() => String::new(),
            None => format!("; tasks are in {}", names.join(", ")),
        };
        format!("{place}: no task is in the cgroup \"{name}\" or below it, so its limits have no effect{hint}")
    });
    empty.chain(misspelt).collect()
}

/// Whether a name may be a misspelling of another one: `/gb` beside `/bg` may be, but `/bg` beside `/fg` and
/// `/camera2` beside `/camera1` are distinct names.
fn is_likely_typo(name: &str, near: &str) -> bool {
    let letters = |name: &str| name.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
    let sorted = |name: &str| {
        let mut all: Vec<char> = name.chars().collect();
        all.sort_unstable();
        all
    };
    sorted(name) == sorted(near) || (name.len() > SHORT_NAME_LEN && letters(name) != letters(near))
}

/// Reader of the values of a cgroup's files.
#[derive(Clone, Copy)]
struct CgroupReader<'a> {
    source: SourceText<'a>,
    nr_cpus: u32,
}

impl CgroupReader<'_> {
    fn group(self, keys: Fields<'_>, group: usize, groups: &mut Groups) -> Result<(), Message> {
        for entry in keys.entries.iter().filter(|entry| entry.node.value != JsonValue::Null) {
            let node = &entry.node;
            match entry.key.as_str() {
                "cpu.max" => groups.specs[group].quota = self.quota(node)?,
                "cpu.weight" => groups.specs[group].shares = self.shares(entry)?,
                "cpu.idle" => groups.specs[group].idle = self.number(entry, 0, 1)? == 1,
                "cpu.uclamp.min" => groups.specs[group].uclamp.get_or_insert((0, 1024)).0 = self.clamp(node)?,
                "cpu.uclamp.max" => groups.specs[group].uclamp.get_or_insert((0, 1024)).1 = self.clamp(node)?,
                "cpuset.cpus" => {
                    let cpus = self.cpus(node)?;
                    let name = groups.specs[group].name.clone();
                    groups.cpusets.push(CpusetSpec { name, cpus });
                    groups.cpuset_of.insert(group, groups.cpusets.len() - 1);
                }
                _ => {}
            }
        }
        // The burst needs the quota, which may stand behind it.
        if let Some(entry) = keys.entries.iter().find(|entry| entry.key == "cpu.max.burst") {
            let burst_us = parse_count(self.source, &entry.key, &entry.node)?;
            match &mut groups.specs[group].quota {
                Some(quota) if burst_us <= quota.quota_us => quota.burst_us = burst_us,
                Some(_) => return Err(self.source.error(entry.node.at, "the burst is longer than the quota")),
                None => return Err(self.source.error(entry.node.at, "a burst needs a quota in \"cpu.max\"")),
            }
        }
        Ok(())
    }

    /// Reads `MAX PERIOD` in microseconds; `max` is no limit.
    fn quota(self, node: &JsonNode) -> Result<Option<Quota>, Message> {
        let wrong = |message: &str| {
            Err(self
                .source
                .error(node.at, message)
                .with_help("write \"cpu.max\" : \"20000 100000\", in microseconds, or \"max\""))
        };
        let text = match &node.value {
            JsonValue::Text(text) => text.clone(),
            JsonValue::Int(quota) => quota.to_string(),
            _ => return wrong("\"cpu.max\" must be a string"),
        };
        let mut words = text.split_whitespace();
        let quota = words.next().unwrap_or_default();
        let period_us = match words.next().map(str::parse::<u64>) {
            None => DEFAULT_PERIOD_US,
            Some(Ok(period)) => period,
            Some(Err(_)) => return wrong("the period is not a number"),
        };
        if quota == "max" {
            return Ok(None);
        }
        let Ok(quota_us) = quota.parse::<u64>() else { return wrong("the quota is neither a number nor max") };
        if words.next().is_some() {
            return wrong("\"cpu.max\" has more than a quota and a period");
        }
        if quota_us < MIN_TIME_US || !(MIN_TIME_US..=MAX_PERIOD_US).contains(&period_us) {
            return wrong("the kernel accepts quotas from 1000 and periods from 1000 to 1000000 microseconds");
        }
        Ok(Some(Quota { quota_us, period_us, burst_us: 0 }))
    }

    /// Converts a weight to shares, rounded to the nearest: 100 becomes 1024.
    fn shares(self, entry: &JsonEntry) -> Result<u64, Message> {
        Ok((self.number(entry, 1, 10_000)? * 1024 + 50) / 100)
    }

    fn number(self, entry: &JsonEntry, least: u64, most: u64) -> Result<u64, Message> {
        let number = match &entry.node.value {
            JsonValue::Text(text) => text.trim().parse().ok(),
            JsonValue::Bool(flag) => Some(u64::from(*flag)),
            _ => Some(parse_count(self.source, &entry.key, &entry.node)?),
        };
        number.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
            self.source.error(entry.node.at, format!("\"{}\" must be a number from {least} to {most}", entry.key))
        })
    }

    /// Converts a percentage with up to two decimal places to a value of 0 to 1024, rounded to the nearest.
    fn clamp(self, node: &JsonNode) -> Result<u32, Message> {
        let wrong = || {
            let help = "write a percentage as a string, \"20.50\", or \"max\"";
            self.source
                .error(node.at, "a utilisation clamp of a cgroup is a percentage from 0 to 100, or max")
                .with_help(help)
        };
        let hundredths = match &node.value {
            JsonValue::Int(percent) => u64::try_from(*percent).ok().and_then(|percent| percent.checked_mul(100)),
            JsonValue::Text(text) if text.trim() == "max" => Some(10_000),
            JsonValue::Text(text) => hundredths(text.trim()),
            _ => None,
        };
        let part = hundredths.filter(|&part| part <= 10_000).ok_or_else(wrong)?;
        Ok(((part * 1024 + 5_000) / 10_000) as u32)
    }

    /// Reads a list of CPUs such as `0-3,6`.
    fn cpus(self, node: &JsonNode) -> Result<Vec<u32>, Message> {
        let nr_cpus = self.nr_cpus;
        let wrong = || {
            let help = format!("write \"cpuset.cpus\" : \"0-3,6\"; the machine has the CPUs 0 to {}", nr_cpus - 1);
            self.source.error(node.at, "this is not a list of CPUs of the machine").with_help(help)
        };
        let JsonValue::Text(text) = &node.value else { return Err(wrong()) };
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let (Ok(low), Ok(high)) = (low.trim().parse::<u32>(), high.trim().parse::<u32>()) else {
                return Err(wrong());
            };
            if low > high || high >= nr_cpus {
                return Err(wrong());
            }
            cpus.extend(low..=high);
        }
        cpus.sort_unstable();
        cpus.dedup();
        Ok(cpus)
    }
}

fn hundredths(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 2 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<2}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(fraction)
}
