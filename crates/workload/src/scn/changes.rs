// SPDX-License-Identifier: GPL-2.0-or-later
//! Statements about what changes while tasks run: a keyword, a time, of what, and what it becomes.

use super::parse::find_group;
use super::policy::policy_of;
use super::tasks::{MAX_NAME, nice_of};
use super::words::{Word, Words};
use crate::error::ParseError;
use crate::suggest;
use crate::workload::{Affinity, Attributes, Change, CpusetSpec, GroupSpec};
use fairlab_sched::units::Nanos;

/// Keywords of changes.
pub(super) const CHANGES: &[&str] = &[
    "affinity",
    "nice",
    "policy",
    "clamp",
    "move",
    "shares",
    "quota",
    "offline",
    "online",
    "attach",
    "setcpus",
    "thermal",
    "maxfreq",
    "groupclamp",
];

/// A change whose task is still a name.
#[derive(Debug)]
pub(super) struct ChangeDraft<'a> {
    pub(super) at: Nanos,
    pub(super) task: Option<Word<'a>>,
    /// With a placeholder for the index, if it is a task's.
    pub(super) change: Change,
}

/// What statements may refer to.
pub(super) struct Names<'n> {
    pub(super) groups: &'n [GroupSpec],
    pub(super) cpusets: &'n [CpusetSpec],
    pub(super) nr_cpus: u32,
}

impl Names<'_> {
    /// Reads the rest of a line that changes something.
    pub(super) fn change<'a>(&self, kind: &str, words: &mut Words<'a>) -> Result<ChangeDraft<'a>, ParseError> {
        let at = words.duration("when")?;
        let change = match kind {
            "shares" => {
                let group = self.next_group(words)?;
                Change::Shares { group, shares: u64::from(words.next_small("the shares", 2..=262_144)?) }
            }
            "groupclamp" => Change::GroupClamps {
                group: self.next_group(words)?,
                min: words.next_small("the lowest clamp", 0..=1024)?,
                max: words.next_small("the highest clamp", 0..=1024)?,
            },
            "quota" => quota_change(self.next_group(words)?, words)?,
            "offline" | "online" => {
                Change::Hotplug { cpus: words.cpus(self.nr_cpus)?.collect(), online: kind == "online" }
            }
            "thermal" | "maxfreq" => Change::FrequencyLimit {
                cpus: words.cpus(self.nr_cpus)?.collect(),
                is_thermal: kind == "thermal",
                part: words.next_small("the part of 1024 of the highest frequency", 1..=1024)?,
            },
            "setcpus" => {
                let name = words.word("the cpuset's name")?;
                let cpuset = self.find_cpuset(words, name)?;
                Change::CpusetCpus { cpuset, cpus: words.cpus(self.nr_cpus)?.collect() }
            }
            _ => return self.task_change(at, kind, words),
        };
        Ok(ChangeDraft { at, task: None, change })
    }

    /// The task's place is filled in once all tasks are known.
    fn task_change<'a>(&self, at: Nanos, kind: &str, words: &mut Words<'a>) -> Result<ChangeDraft<'a>, ParseError> {
        let task = Some(words.name("the task's name", MAX_NAME)?);
        let change = if kind == "attach" {
            let name = words.word("the cpuset's name, or /")?;
            let cpuset = if name.text == "/" { None } else { Some(self.find_cpuset(words, name)?) };
            Change::Attach { task: 0, cpuset }
        } else {
            Change::Task { task: 0, attributes: self.new_attributes(kind, words)? }
        };
        Ok(ChangeDraft { at, task, change })
    }

    /// What a task becomes.
    fn new_attributes(&self, kind: &str, words: &mut Words<'_>) -> Result<Attributes, ParseError> {
        let mut attributes = Attributes::default();
        match kind {
            "affinity" => {
                let cpus = words.cpus(self.nr_cpus)?;
                attributes.affinity = Some(Affinity::Cpus(cpus.collect()));
            }
            "nice" => {
                let word = words.word("the nice value")?;
                attributes.nice = Some(nice_of(words, word)?);
            }
            "policy" => {
                let word = words.word("the policy")?;
                attributes.policy = policy_of(words, word)?;
                if attributes.policy.is_none() {
                    let help = "policies: fair, batch, idlepol, fifo=P, rr=P, dl=RUNTIME/DEADLINE/PERIOD";
                    return Err(words.error(word, format!("unknown policy `{}`", word.text)).with_help(help));
                }
            }
            "clamp" => {
                let min = words.next_small("the lowest clamp", 0..=1024)?;
                attributes.uclamp_min = Some(min);
                attributes.uclamp_max = Some(words.next_small("the highest clamp", min..=1024)?);
            }
            _ => {
                let word = words.word("the group's name, or /")?;
                let group = if word.text == "/" { None } else { Some(find_group(self.groups, words, word)?) };
                attributes.group = Some(group);
            }
        }
        Ok(attributes)
    }

    fn next_group(&self, words: &mut Words<'_>) -> Result<usize, ParseError> {
        let name = words.word("the group's name")?;
        find_group(self.groups, words, name)
    }

    pub(super) fn find_cpuset(&self, words: &Words<'_>, name: Word<'_>) -> Result<usize, ParseError> {
        self.cpusets.iter().position(|cpuset| cpuset.name == name.text).ok_or_else(|| {
            let error = words.error(name, format!("no cpuset `{}` above this line", name.text));
            let names: Vec<&str> = self.cpusets.iter().map(|cpuset| cpuset.name.as_str()).collect();
            match suggest::nearest(name.text, &names) {
                Some(name) => error.with_help(format!("did you mean `{name}`?")),
                None => error.with_help("`cpuset NAME cpus=LO-HI` makes one; it must stand above its first use"),
            }
        })
    }
}

/// What follows the group of a `quota` statement. What the kernel refuses of it has no effect when the time comes.
fn quota_change(group: usize, words: &mut Words<'_>) -> Result<Change, ParseError> {
    let quota = words.word("the quota, or none")?;
    let quota_us = if quota.text == "none" { None } else { Some(words.duration_of(quota)?.0 / 1000) };
    let period_us = words.duration("the period")?.0 / 1000;
    Ok(Change::Quota { group, quota_us, period_us })
}
