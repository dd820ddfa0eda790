// SPDX-License-Identifier: GPL-2.0-or-later
//! `[processor]`: facts of a processor, from which the costs of kernel code follow.
//!
//! No cost is set for a single operation. A fact has a value, a source, and where it is uncertain a range. Without the
//! table, kernel code has zero cost.

use super::counted::{self, CountedCosts, SHEETS};
use super::cpus::Shape;
use super::distance::{ByDistance, Distance};
use super::error::DescriptionFault;
use super::raw::{OptionalKey, RawFact, RawProcessor};
use super::values::{number, source};
use fairlab_sched::units::Nanos;
use fairlab_workload::suggest;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use toml::Spanned;

/// Table of latencies in `[processor]`.
pub(super) const LINE_NS: &str = "line_ns";

/// A fact that `[processor]` can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FactKey {
    /// Instructions of kernel code per microsecond, by a thread alone on its core at capacity 1024.
    InstructionsPerUs,
    /// Speed of the loops that scan CPUs, in percent of the general speed: their code is cached, and their branches are
    /// predicted.
    LoopSpeedPercent,
    /// Share of a cache line's latency that does not overlap with other work.
    LineSharePercent,
    /// Share of a cache line's latency that does not overlap, for lines that a loop over CPUs reads one independent of the
    /// other.
    LoopLineSharePercent,
    /// Latency of a cache line at a distance between two CPUs.
    LineNs(Distance),
}

impl FactKey {
    /// All facts, in the order of files.
    pub const ALL: [Self; 9] = [
        Self::InstructionsPerUs,
        Self::LoopSpeedPercent,
        Self::LineSharePercent,
        Self::LoopLineSharePercent,
        Self::LineNs(Distance::Core),
        Self::LineNs(Distance::Cluster),
        Self::LineNs(Distance::Cache),
        Self::LineNs(Distance::Package),
        Self::LineNs(Distance::System),
    ];

    /// Key in `[processor]`, such as `line_ns.llc`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InstructionsPerUs => "instructions_per_us",
            Self::LoopSpeedPercent => "loop_speed_percent",
            Self::LineSharePercent => "line_share_percent",
            Self::LoopLineSharePercent => "loop_line_share_percent",
            Self::LineNs(Distance::Core) => "line_ns.core",
            Self::LineNs(Distance::Cluster) => "line_ns.cluster",
            Self::LineNs(Distance::Cache) => "line_ns.llc",
            Self::LineNs(Distance::Package) => "line_ns.package",
            Self::LineNs(Distance::System) => "line_ns.system",
        }
    }

    /// Returns the fact with this key in `[processor]`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// Unit of values.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::InstructionsPerUs => "1/us",
            Self::LoopSpeedPercent | Self::LineSharePercent | Self::LoopLineSharePercent => "%",
            Self::LineNs(_) => "ns",
        }
    }

    /// Least and greatest value that a file or a setting may have.
    pub const fn limits(self) -> RangeInclusive<u64> {
        match self {
            Self::InstructionsPerUs => 10..=100_000,
            Self::LoopSpeedPercent => 10..=10_000,
            Self::LineSharePercent | Self::LoopLineSharePercent => 0..=100,
            Self::LineNs(_) => 0..=100_000,
        }
    }
}

/// A number with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Value that costs follow from.
    pub value: u64,
    /// Least and greatest value that agree with the source.
    pub range: (u64, u64),
    /// Source: a measurement or a publication. Never empty.
    pub source: String,
}

impl Fact {
    /// Whether the range has more than one value.
    pub const fn is_uncertain(&self) -> bool {
        self.range.0 < self.range.1
    }
}

/// Facts of a processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    sheet: &'static str,
    /// Always has the speed, a share, and a latency.
    facts: BTreeMap<FactKey, Fact>,
}

impl Processor {
    /// Name of the count sheet: kernel and architecture.
    pub const fn sheet(&self) -> &'static str {
        self.sheet
    }

    /// All facts, in the order of files.
    pub fn facts(&self) -> impl Iterator<Item = (FactKey, &Fact)> {
        self.facts.iter().map(|(key, fact)| (*key, fact))
    }

    /// Returns a fact; `None` if the file does not have it.
    pub fn fact(&self, key: FactKey) -> Option<&Fact> {
        self.facts.get(&key)
    }

    /// Sets the value of a fact; its range and source stay.
    ///
    /// # Panics
    /// If the file does not have the fact, or if the value is outside the fact's limits.
    pub fn set_value(&mut self, key: FactKey, value: u64) {
        assert!(key.limits().contains(&value), "{} cannot be {value}", key.name());
        self.facts.get_mut(&key).unwrap_or_else(|| panic!("there is no fact {}", key.name())).value = value;
    }

    /// Returns the costs of kernel code.
    pub fn costs(&self) -> CountedCosts {
        counted::costs(self)
    }

    fn value(&self, key: FactKey) -> Option<u64> {
        self.facts.get(&key).map(|fact| fact.value)
    }

    /// Instructions of kernel code per microsecond, by a thread alone on its core at capacity 1024.
    pub fn instructions_per_us(&self) -> u64 {
        self.value(FactKey::InstructionsPerUs).expect("every file has it")
    }

    /// Speed of the loops that scan CPUs, in percent of [`Self::instructions_per_us`]; 100 if the file does not have it.
    pub fn loop_speed_percent(&self) -> u64 {
        self.value(FactKey::LoopSpeedPercent).unwrap_or(100)
    }

    fn line_share_percent(&self) -> u64 {
        self.value(FactKey::LineSharePercent).expect("every file has it")
    }

    /// Latency of a cache line in nanoseconds, by the distance between the two CPUs. A distance without a fact
    /// has the value of the next farther one, and beyond the farthest that of the nearer one.
    pub fn line_ns(&self) -> ByDistance<u64> {
        let farthest = self.distances().last().expect("every file has one");
        ByDistance::from_fn(|distance| {
            let known = self.distances().find(|known| *known >= distance).unwrap_or(farthest);
            self.value(FactKey::LineNs(known)).expect("the distance has a latency")
        })
    }

    /// Distances with a latency, nearest first; at least one.
    pub fn distances(&self) -> impl Iterator<Item = Distance> {
        Distance::ALL.into_iter().filter(|distance| self.facts.contains_key(&FactKey::LineNs(*distance)))
    }

    /// Duration of instructions on a CPU of capacity 1024 at its highest frequency, rounded down.
    pub fn time_of_instructions(&self, instructions: u64) -> Nanos {
        Nanos(instructions * 1000 / self.instructions_per_us())
    }

    /// Duration of instructions, given in tenths, in picoseconds.
    pub(super) fn instructions_ps(&self, tenths: i64) -> u64 {
        tenths.unsigned_abs() * 100_000 / self.instructions_per_us()
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
        self.line_ns().map(|ns| tenths.unsigned_abs() * ns * self.line_share_percent())
    }

    /// Duration of the transfer of cache lines that a loop over CPUs reads, given in tenths, in picoseconds. Its reads do
    /// not depend on each other, so more of their latency overlaps.
    pub(super) fn loop_lines_ps(&self, tenths: i64) -> ByDistance<u64> {
        let share = self.value(FactKey::LoopLineSharePercent).unwrap_or_else(|| self.line_share_percent());
        self.line_ns().map(|ns| tenths.unsigned_abs() * ns * share)
    }
}

/// Reads the table for CPUs of this shape. Returns `None` without one.
pub(super) fn from_raw(raw: &OptionalKey<RawProcessor>, shape: &Shape) -> Result<Option<Processor>, DescriptionFault> {
    let Some(table) = raw else { return Ok(None) };
    let raw = table.get_ref();
    let sheet = SHEETS.iter().find(|known| **known == raw.sheet.get_ref()).ok_or_else(|| {
        let message = format!("there is no count sheet `{}`", raw.sheet.get_ref());
        DescriptionFault::from_value(&raw.sheet, message, suggest::help(raw.sheet.get_ref(), "sheets", &SHEETS))
    })?;
    let lines = raw.line_ns.get_ref();
    let given = [
        (FactKey::InstructionsPerUs, Some(&raw.instructions_per_us)),
        (FactKey::LoopSpeedPercent, raw.loop_speed_percent.as_ref()),
        (FactKey::LineSharePercent, Some(&raw.line_share_percent)),
        (FactKey::LoopLineSharePercent, raw.loop_line_share_percent.as_ref()),
        (FactKey::LineNs(Distance::Core), lines.core.as_ref()),
        (FactKey::LineNs(Distance::Cluster), lines.cluster.as_ref()),
        (FactKey::LineNs(Distance::Cache), lines.llc.as_ref()),
        (FactKey::LineNs(Distance::Package), lines.package.as_ref()),
        (FactKey::LineNs(Distance::System), lines.system.as_ref()),
    ];
    let given = given.into_iter().filter_map(|(key, raw)| Some((key, raw?)));
    let facts = given.map(|(key, raw)| Ok((key, fact(key, raw)?))).collect::<Result<_, _>>()?;
    let processor = Processor { sheet, facts };
    if processor.distances().next().is_none() {
        let help = format!("add `{} = {{ value = NS, source = \"...\" }}`", Distance::Cache.name());
        return Err(DescriptionFault::new(raw.line_ns.span(), format!("processor: {LINE_NS} has no latency"), help));
    }
    if let Some(missing) =
        Distance::of_pairs(&shape.places).find(|needed| processor.distances().all(|known| known != *needed))
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
    Ok(Some(processor))
}

fn fact(key: FactKey, raw: &Spanned<RawFact>) -> Result<Fact, DescriptionFault> {
    let (table, limits) = (raw.get_ref(), key.limits());
    let value = number(&table.value, limits.clone(), "")?;
    let least = table.min.as_ref().map_or(Ok(value), |min| number(min, *limits.start()..=value, ""))?;
    let greatest = table.max.as_ref().map_or(Ok(value), |max| number(max, value..=*limits.end(), ""))?;
    Ok(Fact { value, range: (least, greatest), source: source(&table.source, "a fact")? })
}
