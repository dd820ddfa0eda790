// SPDX-License-Identifier: GPL-2.0-or-later
//! Statements about changes while tasks run: a keyword, a time, the object that changes, and its new value.

use super::parse::find_group;
use super::policy::{parse_policy, policies};
use super::tasks::parse_nice;
use super::tokens::{Token, Tokens};
use crate::message::Message;
use crate::suggest;
use crate::workload::{Affinity, Attributes, Change, CpusetSpec, GroupSpec};
use fairlab_sched::units::Nanos;

/// Change whose task is still a name.
#[derive(Debug)]
pub(super) struct ChangeDraft<'a> {
    pub(super) at: Nanos,
    pub(super) task: Option<Token<'a>>,
    /// Change with a placeholder for the index of its task, if it changes a task.
    pub(super) change: Change,
}

/// Groups, cpusets and CPUs that statements may refer to.
pub(super) struct ChangeNames<'n> {
    pub(super) groups: &'n [GroupSpec],
    pub(super) cpusets: &'n [CpusetSpec],
    pub(super) nr_cpus: u32,
}

/// Reader of the object and the value of a change. For a change of a task it returns a placeholder.
pub(super) type ChangeReader = fn(&ChangeNames<'_>, &mut Tokens<'_>) -> Result<Change, Message>;

impl ChangeNames<'_> {
    pub(super) fn shares(&self, words: &mut Tokens<'_>) -> Result<Change, Message> {
        let group = self.next_group(words)?;
        Ok(Change::Shares { group, shares: u64::from(words.next_small("the shares", 2..=262_144)?) })
    }

    pub(super) fn group_clamps(&self, words: &mut Tokens<'_>) -> Result<Change, Message> {
        Ok(Change::GroupClamps {
            group: self.next_group(words)?,
            min: words.next_small("the minimum clamp", 0..=1024)?,
            max: words.next_small("the maximum clamp", 0..=1024)?,
        })
    }

    /// Reads the new PM QoS latency limit. The kernel accepts whole microseconds.
    pub(super) fn cpu_dma_latency(&self, words: &mut Tokens<'_>) -> Result<Change, Message> {
        let word = words.word("the longest exit latency, or none")?;
        if word.text == "none" {
            return Ok(Change::CpuDmaLatency(None));
        }
        let limit = words.parse_duration(word)?;
        if !limit.0.is_multiple_of(1000) {
            let error = words.error(word, "`/dev/cpu_dma_latency` takes whole microseconds");
            return Err(error.with_help("write a time such as 0us, 20us or 1ms, or `none`"));
        }
        Ok(Change::CpuDmaLatency(Some(limit)))
    }

    /// Reads the new quota, and the new burst if there is one. A value that the kernel rejects has no effect when the
    /// change takes place.
    pub(super) fn quota(&self, words: &mut Tokens<'_>) -> Result<Change, Message> {
        let group = self.next_group(words)?;
        let quota = words.word("the quota, or none")?;
        let quota_us = if quota.text == "none" { None } else { Some(words.parse_duration(quota)?.0 / 1000) };
        let period_us = words.duration("the period")?.0 / 1000;
        let burst = words.peek().and_then(|word| word.value_of("burst"));
        let burst_us = burst.map(|burst| words.parse_duration(burst).map(|burst| burst.0 / 1000)).transpose()?;
        if burst_us.is_some() {
            words.next_optional();
        }
        Ok(Change::Quota { group, quota_us, period_us, burst_us })
    }

    pub(super) fn hotplug(&self, words: &mut Tokens<'_>, online: bool) -> Result<Change, Message> {
        Ok(Change::Hotplug { cpus: self.cpus(words)?, online })
    }

    pub(super) fn frequency_limit(&self, words: &mut Tokens<'_>, is_thermal: bool) -> Result<Change, Message> {
        Ok(Change::FrequencyLimit {
            cpus: self.cpus(words)?,
            is_thermal,
            part: words.next_small("the share of the highest frequency, of 1024", 1..=1024)?,
        })
    }

    /// Reads the slice of a task; 0 is that of the kernel.
    pub(super) fn slice(&self, words: &mut Tokens<'_>) -> Result<Change, Message> {
        let slice = Some(words.duration("the slice")?);
        Ok(task_change(Attributes { slice, ..Attributes::default() }))
    }

    pub(super) fn fair_server(&self, words: &mut Tokens<'_>) -> Result<Change, Message> {
        Ok(Change::FairServer {
            cpus: self.cpus(words)?,
            runtime: words.duration("the runtime")?,
            period: words.duration("the period")?,
        })
    }

    pub(super) fn set_cpus(&self, words: &mut Tokens<'_>) -> Result<Change, Message> {
        let name = words.word("the cpuset's name")?;
        let cpuset = self.find_cpuset(words, name)?;
        Ok(Change::CpusetCpus { cpuset, cpus: self.cpus(words)? })
    }

    pub(super) fn attach(&self, words: &mut Tokens<'_>) -> Result<Change, Message> {
        let name = words.word("the cpuset's name, or /")?;
        let cpuset = if name.text == "/" { None } else { Some(self.find_cpuset(words, name)?) };
        Ok(Change::Attach { task: 0, cpuset })
    }

    pub(super) fn affinity(&self, words: &mut Tokens<'_>) -> Result<Change, Message> {
        let affinity = Some(Affinity::Cpus(self.cpus(words)?));
        Ok(task_change(Attributes { affinity, ..Attributes::default() }))
    }

    pub(super) fn nice(&self, words: &mut Tokens<'_>) -> Result<Change, Message> {
        let word = words.word("the nice value")?;
        Ok(task_change(Attributes { nice: Some(parse_nice(words, word)?), ..Attributes::default() }))
    }

    pub(super) fn policy(&self, words: &mut Tokens<'_>) -> Result<Change, Message> {
        let word = words.word("the policy")?;
        let policy = parse_policy(words, word)?;
        if policy.is_none() {
            let help = format!("policies: {}", policies());
            return Err(words.error(word, format!("unknown policy `{}`", word.text)).with_help(help));
        }
        Ok(task_change(Attributes { policy, ..Attributes::default() }))
    }

    pub(super) fn clamp(&self, words: &mut Tokens<'_>) -> Result<Change, Message> {
        let min = words.next_small("the minimum clamp", 0..=1024)?;
        let max = words.next_small("the maximum clamp", min..=1024)?;
        Ok(task_change(Attributes { uclamp_min: Some(min), uclamp_max: Some(max), ..Attributes::default() }))
    }

    pub(super) fn move_to(&self, words: &mut Tokens<'_>) -> Result<Change, Message> {
        let word = words.word("the group's name, or /")?;
        let group = if word.text == "/" { None } else { Some(find_group(self.groups, words, word)?) };
        Ok(task_change(Attributes { group: Some(group), ..Attributes::default() }))
    }

    pub(super) fn cpus(&self, words: &mut Tokens<'_>) -> Result<Vec<u32>, Message> {
        Ok(words.cpus(self.nr_cpus)?.collect())
    }

    pub(super) fn next_group(&self, words: &mut Tokens<'_>) -> Result<usize, Message> {
        let name = words.word("the group's name")?;
        find_group(self.groups, words, name)
    }

    pub(super) fn find_cpuset(&self, words: &Tokens<'_>, name: Token<'_>) -> Result<usize, Message> {
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

/// Returns a change of a task with a placeholder for the task, which is filled in once all tasks are known.
const fn task_change(attributes: Attributes) -> Change {
    Change::Task { task: 0, attributes }
}
