// SPDX-License-Identifier: GPL-2.0-or-later
//! Statements about what changes while tasks run: a keyword, a time, of what, and what it becomes.

use super::parse::find_group;
use super::policy::{policies, policy_of};
use super::tasks::nice_of;
use super::tokens::{Token, Tokens};
use crate::error::ParseError;
use crate::suggest;
use crate::workload::{Affinity, Attributes, Change, CpusetSpec, GroupSpec};
use fairlab_sched::units::Nanos;

/// A change whose task is still a name.
#[derive(Debug)]
pub(super) struct ChangeDraft<'a> {
    pub(super) at: Nanos,
    pub(super) task: Option<Token<'a>>,
    /// With a placeholder for the index, if it is a task's.
    pub(super) change: Change,
}

/// What statements may refer to.
pub(super) struct ChangeNames<'n> {
    pub(super) groups: &'n [GroupSpec],
    pub(super) cpusets: &'n [CpusetSpec],
    pub(super) nr_cpus: u32,
}

/// Reads what a change makes of its group, cpuset or CPUs, or of its task, for which there is a placeholder.
pub(super) type ReadChange = fn(&ChangeNames<'_>, &mut Tokens<'_>) -> Result<Change, ParseError>;

impl ChangeNames<'_> {
    pub(super) fn shares(&self, words: &mut Tokens<'_>) -> Result<Change, ParseError> {
        let group = self.next_group(words)?;
        Ok(Change::Shares { group, shares: u64::from(words.next_small("the shares", 2..=262_144)?) })
    }

    pub(super) fn group_clamps(&self, words: &mut Tokens<'_>) -> Result<Change, ParseError> {
        Ok(Change::GroupClamps {
            group: self.next_group(words)?,
            min: words.next_small("the lowest clamp", 0..=1024)?,
            max: words.next_small("the highest clamp", 0..=1024)?,
        })
    }

    /// The kernel takes microseconds.
    pub(super) fn cpu_dma_latency(&self, words: &mut Tokens<'_>) -> Result<Change, ParseError> {
        let word = words.word("the longest exit latency, or none")?;
        if word.text == "none" {
            return Ok(Change::CpuDmaLatency(None));
        }
        let limit = words.duration_of(word)?;
        if !limit.0.is_multiple_of(1000) {
            let error = words.error(word, "`/dev/cpu_dma_latency` takes whole microseconds");
            return Err(error.with_help("write a time such as 0us, 20us or 1ms, or `none`"));
        }
        Ok(Change::CpuDmaLatency(Some(limit)))
    }

    /// What the kernel refuses of it has no effect when the time comes.
    pub(super) fn quota(&self, words: &mut Tokens<'_>) -> Result<Change, ParseError> {
        let group = self.next_group(words)?;
        let quota = words.word("the quota, or none")?;
        let quota_us = if quota.text == "none" { None } else { Some(words.duration_of(quota)?.0 / 1000) };
        let period_us = words.duration("the period")?.0 / 1000;
        Ok(Change::Quota { group, quota_us, period_us })
    }

    pub(super) fn hotplug(&self, words: &mut Tokens<'_>, online: bool) -> Result<Change, ParseError> {
        Ok(Change::Hotplug { cpus: self.cpus(words)?, online })
    }

    pub(super) fn frequency_limit(&self, words: &mut Tokens<'_>, is_thermal: bool) -> Result<Change, ParseError> {
        Ok(Change::FrequencyLimit {
            cpus: self.cpus(words)?,
            is_thermal,
            part: words.next_small("the part of 1024 of the highest frequency", 1..=1024)?,
        })
    }

    pub(super) fn set_cpus(&self, words: &mut Tokens<'_>) -> Result<Change, ParseError> {
        let name = words.word("the cpuset's name")?;
        let cpuset = self.find_cpuset(words, name)?;
        Ok(Change::CpusetCpus { cpuset, cpus: self.cpus(words)? })
    }

    pub(super) fn attach(&self, words: &mut Tokens<'_>) -> Result<Change, ParseError> {
        let name = words.word("the cpuset's name, or /")?;
        let cpuset = if name.text == "/" { None } else { Some(self.find_cpuset(words, name)?) };
        Ok(Change::Attach { task: 0, cpuset })
    }

    pub(super) fn affinity(&self, words: &mut Tokens<'_>) -> Result<Change, ParseError> {
        let affinity = Some(Affinity::Cpus(self.cpus(words)?));
        Ok(of_task(Attributes { affinity, ..Attributes::default() }))
    }

    pub(super) fn nice(&self, words: &mut Tokens<'_>) -> Result<Change, ParseError> {
        let word = words.word("the nice value")?;
        Ok(of_task(Attributes { nice: Some(nice_of(words, word)?), ..Attributes::default() }))
    }

    pub(super) fn policy(&self, words: &mut Tokens<'_>) -> Result<Change, ParseError> {
        let word = words.word("the policy")?;
        let policy = policy_of(words, word)?;
        if policy.is_none() {
            let help = format!("policies: {}", policies());
            return Err(words.error(word, format!("unknown policy `{}`", word.text)).with_help(help));
        }
        Ok(of_task(Attributes { policy, ..Attributes::default() }))
    }

    pub(super) fn clamp(&self, words: &mut Tokens<'_>) -> Result<Change, ParseError> {
        let min = words.next_small("the lowest clamp", 0..=1024)?;
        let max = words.next_small("the highest clamp", min..=1024)?;
        Ok(of_task(Attributes { uclamp_min: Some(min), uclamp_max: Some(max), ..Attributes::default() }))
    }

    pub(super) fn move_to(&self, words: &mut Tokens<'_>) -> Result<Change, ParseError> {
        let word = words.word("the group's name, or /")?;
        let group = if word.text == "/" { None } else { Some(find_group(self.groups, words, word)?) };
        Ok(of_task(Attributes { group: Some(group), ..Attributes::default() }))
    }

    fn cpus(&self, words: &mut Tokens<'_>) -> Result<Vec<u32>, ParseError> {
        Ok(words.cpus(self.nr_cpus)?.collect())
    }

    fn next_group(&self, words: &mut Tokens<'_>) -> Result<usize, ParseError> {
        let name = words.word("the group's name")?;
        find_group(self.groups, words, name)
    }

    pub(super) fn find_cpuset(&self, words: &Tokens<'_>, name: Token<'_>) -> Result<usize, ParseError> {
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

/// What a task becomes; which task is filled in once all are known.
const fn of_task(attributes: Attributes) -> Change {
    Change::Task { task: 0, attributes }
}
