// SPDX-License-Identifier: GPL-2.0-or-later
//! Statements that create task groups and cpusets.

use super::Parser;
use crate::message::Message;
use crate::scenario::machine::check_limit;
use crate::scenario::tokens::{Token, Tokens};
use crate::suggest;
use crate::workload::{CpusetSpec, GroupSpec, Quota};

/// Limits of the grammar.
const MAX_GROUPS: usize = 256;
const MAX_GROUP_NAME: usize = 31;

/// Least quota and period that the kernel accepts, in microseconds.
const MIN_QUOTA_US: u64 = 1_000;
const MAX_PERIOD_US: u64 = 1_000_000;
const DEFAULT_PERIOD_US: u64 = 100_000;

/// Clamps of a group without restriction.
const ANY_CLAMPS: (u32, u32) = (0, 1024);

impl<'a> Parser<'a> {
    pub(in crate::scenario) fn group(&mut self, words: &mut Tokens<'a>) -> Result<(), Message> {
        let name = words.name("the group's name", MAX_GROUP_NAME)?;
        check_limit(words, name.offset, self.groups.len(), MAX_GROUPS)?;
        if name.text == "/" {
            return Err(words.error(name, "`/` is the root group"));
        }
        if self.groups.iter().any(|group| group.name == name.text) {
            return Err(words.error(name, format!("a second group `{}`", name.text)));
        }
        let mut group = GroupSpec::new(name.text.to_owned(), None);
        let mut bandwidth = BandwidthOptions::default();
        while let Some(word) = words.next_optional() {
            if let Some(value) = word.value_of("parent") {
                group.parent = Some(find_group(&self.groups, words, value)?);
            } else if let Some(value) = word.value_of("shares") {
                group.shares = u64::from(words.parse_small(value, 2..=262_144)?);
            } else if let Some(value) = word.value_of("umin") {
                group.uclamp.get_or_insert(ANY_CLAMPS).0 = words.parse_small(value, 0..=1024)?;
            } else if let Some(value) = word.value_of("umax") {
                group.uclamp.get_or_insert(ANY_CLAMPS).1 = words.parse_small(value, 0..=1024)?;
            } else if word.text == "idle" {
                group.idle = true;
            } else if !bandwidth.option(words, word)? {
                let known = ["parent=", "shares=", "quota=", "period=", "burst=", "idle", "umin=", "umax="];
                let help = suggest::help(word.text, "options of a group", &known);
                return Err(words.error(word, format!("unknown option `{}`", word.text)).with_help(help));
            }
        }
        group.quota = bandwidth.finish(words, name)?;
        self.groups.push(group);
        Ok(())
    }

    pub(in crate::scenario) fn cpuset(&mut self, words: &mut Tokens<'a>) -> Result<(), Message> {
        let name = words.name("the cpuset's name", MAX_GROUP_NAME)?;
        check_limit(words, name.offset, self.cpusets.len(), MAX_GROUPS)?;
        if name.text == "/" {
            return Err(words.error(name, "`/` is the top cpuset"));
        }
        if self.cpusets.iter().any(|cpuset| cpuset.name == name.text) {
            return Err(words.error(name, format!("a second cpuset `{}`", name.text)));
        }
        let word = words.word("its CPUs, cpus=LO-HI")?;
        let cpus = word.value_of("cpus").ok_or_else(|| {
            words
                .error(word, format!("`{}` are not the CPUs of a cpuset", word.text))
                .with_help("cpuset NAME cpus=LO-HI")
        })?;
        let cpus = words.parse_cpus(cpus, self.nr_cpus)?.collect();
        self.cpusets.push(CpusetSpec { name: name.text.to_owned(), cpus });
        Ok(())
    }
}

/// Bandwidth options of a group.
#[derive(Default)]
struct BandwidthOptions {
    quota_us: u64,
    period_us: Option<u64>,
    burst_us: Option<u64>,
}

impl BandwidthOptions {
    fn option(&mut self, words: &Tokens<'_>, word: Token<'_>) -> Result<bool, Message> {
        let micros = |value| words.parse_duration(value).map(|duration| duration.0 / 1000);
        if let Some(value) = word.value_of("quota") {
            self.quota_us = micros(value)?;
        } else if let Some(value) = word.value_of("period") {
            self.period_us = Some(micros(value)?);
        } else if let Some(value) = word.value_of("burst") {
            self.burst_us = Some(micros(value)?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Returns the quota, if the kernel's `tg_set_cfs_bandwidth()` accepts it.
    fn finish(self, words: &Tokens<'_>, group: Token<'_>) -> Result<Option<Quota>, Message> {
        let (quota_us, burst_us) = (self.quota_us, self.burst_us.unwrap_or(0));
        let period_us = self.period_us.unwrap_or(DEFAULT_PERIOD_US);
        let refuse = |message: &str| Err(words.error(group, message));
        if quota_us == 0 {
            if self.period_us.is_some() || self.burst_us.is_some() {
                return refuse("a period or burst needs a quota");
            }
            return Ok(None);
        }
        if quota_us < MIN_QUOTA_US || period_us < MIN_QUOTA_US {
            return refuse("quota and period must be at least 1 ms");
        }
        if period_us > MAX_PERIOD_US {
            return refuse("the period must be at most 1 s");
        }
        if burst_us > quota_us {
            return refuse("the burst must not be longer than the quota");
        }
        Ok(Some(Quota { quota_us, period_us, burst_us }))
    }
}

/// Returns the index of the group with a given name.
pub(in crate::scenario) fn find_group(
    groups: &[GroupSpec],
    words: &Tokens<'_>,
    name: Token<'_>,
) -> Result<usize, Message> {
    groups.iter().position(|group| group.name == name.text).ok_or_else(|| {
        let error = words.error(name, format!("no group `{}` above this line", name.text));
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        match suggest::nearest(name.text, &names) {
            Some(name) => error.with_help(format!("did you mean `{name}`?")),
            None => error.with_help("`group NAME` makes one; it must stand above its first use"),
        }
    })
}
