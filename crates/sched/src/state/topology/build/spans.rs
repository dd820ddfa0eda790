// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that the domain of each CPU spans at each level.
//!
//! Models the first loop of `build_sched_domains()` with `build_sched_domain()` and `topology_span_sane()`
//! (6.1). Rules, in order:
//! 1. At a level, the domain of a CPU spans the CPU's unit.
//! 2. The span is widened to include all CPUs of the domain below.
//! 3. A CPU whose domain spans all CPUs in use has no domain at higher levels.

use crate::state::topology::BuildError;
use crate::state::topology::level::Level;
use crate::types::arena::Arena;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Id of a span in [`Spans`]. Two domains of one level span the same CPUs if and only if their ids are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SpanId(u32);

/// Spans of all domains, each stored once per level.
#[derive(Clone, Debug)]
pub(crate) struct Spans {
    table: Vec<Span>,
    /// By level and CPU; `None` where the CPU has no domain at the level.
    levels: Vec<Arena<CpuId, Option<SpanId>>>,
}

#[derive(Clone, Debug)]
struct Span {
    cpus: CpuMask,
    first: CpuId,
    last: CpuId,
    weight: u32,
}

impl Spans {
    pub(crate) fn new(levels: &[Level], online: &CpuMask) -> Result<Self, BuildError> {
        let mut spans = Self { table: Vec::new(), levels: Vec::new() };
        let mut rising: Vec<CpuId> = online.iter().collect();
        for level in levels {
            if rising.is_empty() {
                break;
            }
            if !level.overlap {
                check_units(level, &rising)?;
            }
            spans.add_level(level, &rising, online.nr_cpus());
            if !level.overlap {
                spans.check_disjoint(level, &rising)?;
            }
            let top = spans.levels.len() - 1;
            rising.retain(|&cpu| spans.at(top, cpu).is_some_and(|span| spans.cpus(span) != online));
        }
        Ok(spans)
    }

    fn add_level(&mut self, level: &Level, rising: &[CpuId], nr_cpus: usize) {
        let below = self.levels.last().cloned();
        let mut by_origin = BTreeMap::new();
        let mut by_cpus: BTreeMap<CpuMask, SpanId> = BTreeMap::new();
        let mut row = Arena::filled(None, nr_cpus);
        for &cpu in rising {
            let child = below.as_ref().and_then(|row| row[cpu]);
            let span = *by_origin.entry((level.units.place_of(cpu), child)).or_insert_with(|| {
                let mut cpus = level.units.mask_of(cpu).clone();
                if let Some(child) = child {
                    cpus.or_with(self.cpus(child));
                }
                *by_cpus.entry(cpus.clone()).or_insert_with(|| self.add_span(cpus))
            });
            row[cpu] = Some(span);
        }
        self.levels.push(row);
    }

    fn add_span(&mut self, cpus: CpuMask) -> SpanId {
        let first = cpus.first().expect("a domain spans its own cpu");
        let last = cpus.iter().last().unwrap_or(first);
        let weight = cpus.weight() as u32;
        self.table.push(Span { cpus, first, last, weight });
        SpanId(self.table.len() as u32 - 1)
    }

    /// Checks that domains of the newest level which share a CPU are equal, as groups that do not overlap
    /// require.
    fn check_disjoint(&self, level: &Level, rising: &[CpuId]) -> Result<(), BuildError> {
        let row = self.levels.last().expect("the level was just added");
        for &cpu in rising {
            let Some(span) = row[cpu].filter(|&span| self.first(span) == cpu) else { continue };
            if let Some(other) = self.cpus(span).iter().find(|other| row[*other] != Some(span)) {
                return Err(BuildError::UnitsCross { level: level.name, cpu: other });
            }
        }
        // The loop above misses a span whose first CPU belongs to another span.
        match rising.iter().find(|&&cpu| row[cpu].is_some_and(|span| row[self.first(span)] != Some(span))) {
            Some(&cpu) => Err(BuildError::UnitsCross { level: level.name, cpu }),
            None => Ok(()),
        }
    }

    /// Number of levels at which any CPU has a domain.
    pub(crate) const fn nr_levels(&self) -> usize {
        self.levels.len()
    }

    /// Span of the CPU's domain at the level, if it has one.
    pub(crate) fn at(&self, level: usize, cpu: CpuId) -> Option<SpanId> {
        *self.levels.get(level)?.get(cpu)?
    }

    /// Span of the CPU's domain just below the level, if it has one.
    pub(crate) fn below(&self, level: usize, cpu: CpuId) -> Option<SpanId> {
        self.at(level.checked_sub(1)?, cpu)
    }

    pub(crate) fn cpus(&self, span: SpanId) -> &CpuMask {
        &self.table[span.0 as usize].cpus
    }

    pub(crate) fn first(&self, span: SpanId) -> CpuId {
        self.table[span.0 as usize].first
    }

    pub(crate) fn last(&self, span: SpanId) -> CpuId {
        self.table[span.0 as usize].last
    }

    pub(crate) fn weight(&self, span: SpanId) -> u32 {
        self.table[span.0 as usize].weight
    }
}

/// Checks that the units at a level are equal or disjoint. Models `topology_span_sane()`.
fn check_units(level: &Level, rising: &[CpuId]) -> Result<(), BuildError> {
    for &cpu in rising {
        let cpus = level.units.mask_of(cpu);
        let differs = |other: &CpuId| {
            level.units.place_of(*other) != level.units.place_of(cpu) && level.units.mask_of(*other) != cpus
        };
        let first = cpus.first().expect("a unit has a cpu");
        let suspects = if first == cpu { cpus.iter().find(differs) } else { Some(first).filter(differs) };
        if let Some(cpu) = suspects {
            return Err(BuildError::UnitsCross { level: level.name, cpu });
        }
    }
    Ok(())
}
