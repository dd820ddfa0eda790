// SPDX-License-Identifier: GPL-2.0-or-later
//! `[processor]`: facts of a processor, from which the costs of kernel code follow.
//!
//! The table replaces `[prices]` and `[channel_lines]`: no cost is set for a single operation. A fact has a
//! value, a source, and where it is uncertain a range.

use super::costs::source;
use super::counted::SHEETS;
use super::error::DescriptionFault;
use super::raw::{OptionalKey, RawFact, RawProcessor};
use super::suggest;
use super::values::number;
use toml::Spanned;

/// A number with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Key in the machine file.
    pub key: &'static str,
    /// Value that costs follow from.
    pub value: u64,
    /// Least and greatest value that agree with the source.
    pub range: (u64, u64),
    /// Source: a measurement or a publication. Never empty.
    pub source: String,
}

/// Facts of a processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    sheet: &'static str,
    instructions_per_us: Fact,
    line_ns: Fact,
    remote_line_ns: Fact,
    line_share_percent: Fact,
}

impl Processor {
    /// Name of the count sheet: kernel and architecture.
    pub const fn sheet(&self) -> &'static str {
        self.sheet
    }

    /// Instructions of kernel code per microsecond, by a thread alone on its core at capacity 1024.
    pub const fn instructions_per_us(&self) -> u64 {
        self.instructions_per_us.value
    }

    /// Latency of a cache line from another core of the same last-level cache.
    pub const fn line_ns(&self) -> u64 {
        self.line_ns.value
    }

    /// Latency of a cache line from another last-level cache.
    pub const fn remote_line_ns(&self) -> u64 {
        self.remote_line_ns.value
    }

    /// All facts, in the order of files.
    pub fn facts(&self) -> [&Fact; 4] {
        [&self.instructions_per_us, &self.line_ns, &self.remote_line_ns, &self.line_share_percent]
    }

    /// Duration of instructions, given in tenths, in picoseconds.
    pub(super) const fn instructions_ps(&self, tenths: i64) -> u64 {
        tenths.unsigned_abs() * 100_000 / self.instructions_per_us.value
    }

    /// Duration of the transfer of cache lines, given in tenths, in picoseconds: the share of their latency
    /// that does not overlap with other work.
    pub(super) const fn lines_ps(&self, tenths: i64, latency_ns: u64) -> u64 {
        tenths.unsigned_abs() * latency_ns * self.line_share_percent.value
    }
}

/// Reads the table. Returns `None` without one.
pub(super) fn from_raw(raw: &OptionalKey<RawProcessor>) -> Result<Option<Processor>, DescriptionFault> {
    let Some(raw) = raw else { return Ok(None) };
    let raw = raw.get_ref();
    let sheet = SHEETS.iter().find(|known| **known == raw.sheet.get_ref()).ok_or_else(|| {
        let message = format!("there is no count sheet `{}`", raw.sheet.get_ref());
        DescriptionFault::from_value(&raw.sheet, message, suggest::did_you_mean(raw.sheet.get_ref(), SHEETS))
    })?;
    Ok(Some(Processor {
        sheet,
        instructions_per_us: fact("instructions_per_us", &raw.instructions_per_us, 10..=100_000)?,
        line_ns: fact("line_ns", &raw.line_ns, 0..=100_000)?,
        remote_line_ns: fact("remote_line_ns", &raw.remote_line_ns, 0..=100_000)?,
        line_share_percent: fact("line_share_percent", &raw.line_share_percent, 0..=100)?,
    }))
}

fn fact(
    key: &'static str,
    raw: &Spanned<RawFact>,
    limits: std::ops::RangeInclusive<u64>,
) -> Result<Fact, DescriptionFault> {
    let table = raw.get_ref();
    let value = number(&table.value, limits.clone(), "")?;
    let least = table.min.as_ref().map_or(Ok(value), |min| number(min, *limits.start()..=value, ""))?;
    let greatest = table.max.as_ref().map_or(Ok(value), |max| number(max, value..=*limits.end(), ""))?;
    Ok(Fact { key, value, range: (least, greatest), source: source(&table.source, "a fact")? })
}
