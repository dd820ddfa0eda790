// SPDX-License-Identifier: GPL-2.0-or-later
//! `[processor]`: facts of a processor, from which the costs of kernel code follow.
//!
//! No cost is set for a single operation. A fact has a value, a source, and where it is uncertain a range. Without the
//! table, kernel code has zero cost.

use super::counted::SHEETS;
use super::cpus::Shape;
use super::distance::{ByDistance, Distance};
use super::error::DescriptionFault;
use super::raw::{OptionalKey, RawFact, RawProcessor};
use super::suggest;
use super::values::{number, source};
use toml::Spanned;

/// Table of latencies in `[processor]`.
pub(super) const LINE_NS: &str = "line_ns";

/// Keys of all facts with a range, in the order of [`Processor::facts`].
pub const FACTS: [&str; 9] = [
    "instructions_per_us",
    "loop_speed_percent",
    "line_share_percent",
    "loop_line_share_percent",
    "line_ns.core",
    "line_ns.cluster",
    "line_ns.llc",
    "line_ns.package",
    "line_ns.system",
];

/// A number with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Key in its table of the machine file.
    pub key: &'static str,
    /// Value that costs follow from.
    pub value: u64,
    /// Least and greatest value that agree with the source.
    pub range: (u64, u64),
    /// Source: a measurement or a publication. Never empty.
    pub source: String,
}

/// End of a fact's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeEnd {
    /// Least value.
    Least,
    /// Greatest value.
    Greatest,
}

impl RangeEnd {
    /// Both ends.
    pub const ALL: [Self; 2] = [Self::Least, Self::Greatest];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Least => "least",
            Self::Greatest => "greatest",
        }
    }
}

impl Fact {
    /// Whether the range has more than one value.
    pub const fn is_uncertain(&self) -> bool {
        self.range.0 < self.range.1
    }

    const fn set_to(&mut self, end: RangeEnd) {
        self.value = match end {
            RangeEnd::Least => self.range.0,
            RangeEnd::Greatest => self.range.1,
        };
    }
}

/// Facts of a processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    sheet: &'static str,
    instructions_per_us: Fact,
    loop_speed_percent: Option<Fact>,
    line_share_percent: Fact,
    loop_line_share_percent: Option<Fact>,
    /// Latency of a cache line at the distances that the file has, nearest first.
    line_ns: Vec<(Distance, Fact)>,
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

    /// Speed of the loops that scan CPUs, in percent of [`Self::instructions_per_us`]: their code is cached, and their
    /// branches are predicted. 100 if the file does not have it.
    pub fn loop_speed_percent(&self) -> u64 {
        self.loop_speed_percent.as_ref().map_or(100, |fact| fact.value)
    }

    /// Latency of a cache line in nanoseconds, by the distance between the two CPUs. A distance without a fact
    /// has the value of the next farther one, and beyond the farthest that of the nearer one.
    pub fn line_ns(&self) -> ByDistance<u64> {
        let fact = |distance| self.line_ns.iter().find(|(known, _)| *known >= distance).or_else(|| self.line_ns.last());
        ByDistance::from_fn(|distance| fact(distance).map_or(0, |(_, fact)| fact.value))
    }

    /// Distances with a latency, nearest first; at least one.
    pub fn distances(&self) -> impl Iterator<Item = Distance> {
        self.line_ns.iter().map(|(distance, _)| *distance)
    }

    /// Facts of the processor itself, in the order of files.
    pub(super) fn own_facts(&self) -> impl Iterator<Item = &Fact> {
        let general = [&self.instructions_per_us].into_iter().chain(&self.loop_speed_percent);
        general.chain([&self.line_share_percent]).chain(&self.loop_line_share_percent)
    }

    /// Latencies of a cache line, nearest first.
    pub(super) fn line_facts(&self) -> impl Iterator<Item = &Fact> {
        self.line_ns.iter().map(|(_, fact)| fact)
    }

    /// All facts with their keys in `[processor]`, in the order of files.
    pub fn facts(&self) -> impl Iterator<Item = (String, &Fact)> {
        let own = self.own_facts().map(|fact| (fact.key.to_owned(), fact));
        own.chain(self.line_facts().map(|fact| (format!("{LINE_NS}.{}", fact.key), fact)))
    }

    /// Returns the facts with one of them at an end of its range; `None` if there is no such fact. `key` is that of
    /// [`Self::facts`].
    #[must_use]
    pub fn with_fact_at(&self, key: &str, end: RangeEnd) -> Option<Self> {
        let mut changed = self.clone();
        let fact = match key.strip_prefix(LINE_NS).and_then(|rest| rest.strip_prefix('.')) {
            Some(distance) => changed.line_ns.iter_mut().map(|(_, fact)| fact).find(|fact| fact.key == distance)?,
            None => [&mut changed.instructions_per_us, &mut changed.line_share_percent]
                .into_iter()
                .chain(&mut changed.loop_speed_percent)
                .chain(&mut changed.loop_line_share_percent)
                .find(|fact| fact.key == key)?,
        };
        fact.set_to(end);
        Some(changed)
    }

    /// Duration of instructions, given in tenths, in picoseconds.
    pub(super) const fn instructions_ps(&self, tenths: i64) -> u64 {
        tenths.unsigned_abs() * 100_000 / self.instructions_per_us.value
    }

    /// Duration of the instructions of a loop that scans CPUs, given in tenths, in picoseconds.
    pub(super) fn loop_ps(&self, tenths: i64) -> u64 {
        self.instructions_ps(tenths * 100) / self.loop_speed_percent()
    }

    /// Duration of the transfer of one cache line, in picoseconds, which nothing overlaps.
    pub(super) fn whole_line_ps(&self) -> ByDistance<u64> {
        self.line_ns().map(|ns| ns * 1000)
    }

    /// Duration of the transfer of cache lines, given in tenths, in picoseconds: the share of their latency
    /// that does not overlap with other work.
    pub(super) fn lines_ps(&self, tenths: i64) -> ByDistance<u64> {
        self.line_ns().map(|ns| tenths.unsigned_abs() * ns * self.line_share_percent.value)
    }

    /// Duration of the transfer of cache lines that a loop over CPUs reads, given in tenths, in picoseconds. Its reads do
    /// not depend on each other, so more of their latency overlaps.
    pub(super) fn loop_lines_ps(&self, tenths: i64) -> ByDistance<u64> {
        let share = self.loop_line_share_percent.as_ref().unwrap_or(&self.line_share_percent).value;
        self.line_ns().map(|ns| tenths.unsigned_abs() * ns * share)
    }
}

/// Reads the table for CPUs of this shape. Returns `None` without one.
pub(super) fn from_raw(raw: &OptionalKey<RawProcessor>, shape: &Shape) -> Result<Option<Processor>, DescriptionFault> {
    let Some(table) = raw else { return Ok(None) };
    let raw = table.get_ref();
    let sheet = SHEETS.iter().find(|known| **known == raw.sheet.get_ref()).ok_or_else(|| {
        let message = format!("there is no count sheet `{}`", raw.sheet.get_ref());
        DescriptionFault::from_value(&raw.sheet, message, suggest::did_you_mean(raw.sheet.get_ref(), SHEETS))
    })?;
    let lines = raw.line_ns.get_ref();
    let mut line_ns = Vec::new();
    for (distance, raw) in
        Distance::ALL.into_iter().zip([&lines.core, &lines.cluster, &lines.llc, &lines.package, &lines.system])
    {
        if let Some(raw) = raw {
            line_ns.push((distance, fact(distance.name(), raw, 0..=100_000)?));
        }
    }
    if line_ns.is_empty() {
        let help = format!("add `{} = {{ value = NS, source = \"...\" }}`", Distance::Cache.name());
        return Err(DescriptionFault::new(raw.line_ns.span(), format!("processor: {LINE_NS} has no latency"), help));
    }
    if let Some(missing) =
        Distance::of_pairs(&shape.places).find(|needed| line_ns.iter().all(|(distance, _)| distance != needed))
    {
        let cpus = match missing {
            Distance::Core => "in one core",
            Distance::Cluster => "in one cluster",
            Distance::Cache => "with one last-level cache",
            Distance::Package => "in one package with different last-level caches",
            Distance::System => "in different packages",
        };
        let message = format!("processor: {LINE_NS} has no latency between CPUs {cpus}");
        let help = format!("add `{} = {{ value = NS, source = \"...\" }}`", missing.name());
        return Err(DescriptionFault::new(raw.line_ns.span(), message, help));
    }
    Ok(Some(Processor {
        sheet,
        instructions_per_us: fact("instructions_per_us", &raw.instructions_per_us, 10..=100_000)?,
        loop_speed_percent: optional_fact("loop_speed_percent", &raw.loop_speed_percent, 10..=10_000)?,
        line_share_percent: fact("line_share_percent", &raw.line_share_percent, 0..=100)?,
        loop_line_share_percent: optional_fact("loop_line_share_percent", &raw.loop_line_share_percent, 0..=100)?,
        line_ns,
    }))
}

fn optional_fact(
    key: &'static str,
    raw: &OptionalKey<RawFact>,
    limits: std::ops::RangeInclusive<u64>,
) -> Result<Option<Fact>, DescriptionFault> {
    raw.as_ref().map(|raw| fact(key, raw, limits)).transpose()
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
