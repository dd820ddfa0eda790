// SPDX-License-Identifier: GPL-2.0-or-later
//! Residency of task families: kinds of CPU and operating points on which they ran, the energy of that time,
//! and time on CPUs that were too small or larger than needed.
//!
//! Only machines with frequency domains or several capacities record it
//! ([`fairlab_machine::sim::Residency`]). Energy is the power of a busy CPU at its operating point,
//! multiplied by the family's time. The energy of idle CPUs is assigned to no family.

use crate::energy::energy_uj;
use fairlab_machine::engine::Engine;
use fairlab_machine::hardware::FrequencyDomain;
use fairlab_machine::sim::{CpuFrequency, CpuKind, Machine, OperatingPointTime, Residency};
use fairlab_sched::units::{Capacity, SCHED_CAPACITY_SCALE};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Time of a family at one operating point of a kind of CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ResidencyPoint {
    /// CPUs of the kind, which have the same capacity and frequency domain.
    pub cpus: Vec<u32>,
    /// Capacity of these CPUs at the highest frequency, where 1024 is the largest capacity.
    pub capacity: Capacity,
    /// Frequency in kHz, if the machine defines one.
    pub khz: Option<u64>,
    /// Frequency relative to the highest one, where 1024 is the highest.
    pub part: Capacity,
    /// Time of the family, in nanoseconds.
    pub ns: u64,
    /// Energy in microjoules, if the power is known.
    pub uj: Option<u64>,
}

/// Residency of a task family.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FamilyResidency {
    /// Times by kind of CPU in the order of their first CPUs, and by frequency in ascending order.
    pub points: Vec<ResidencyPoint>,
    /// Time in nanoseconds on CPUs whose capacity the tasks do not fit, while there are larger ones; null if
    /// the engine does not report it.
    pub too_small_ns: Option<u64>,
    /// Time in nanoseconds on CPUs although the tasks may use smaller ones that they would fit; null if the
    /// engine does not report it.
    pub too_large_ns: Option<u64>,
    /// Energy in microjoules; null if a power value is unknown.
    pub energy_uj: Option<u64>,
}

impl FamilyResidency {
    /// Returns the time on the CPUs of a kind, in nanoseconds.
    pub fn on(&self, cpus: &[u32]) -> u64 {
        self.points.iter().filter(|point| point.cpus == cpus).map(|point| point.ns).sum()
    }

    /// Returns the CPU time that the family's work takes on the fastest CPU at its highest frequency, in nanoseconds.
    pub fn full_speed_ns(&self) -> u64 {
        let part_of = |ns: u64, part: Capacity| {
            let part = part.min(SCHED_CAPACITY_SCALE);
            (u128::from(ns) * u128::from(part) / u128::from(SCHED_CAPACITY_SCALE)) as u64
        };
        self.points.iter().map(|point| part_of(part_of(point.ns, point.capacity), point.part)).sum()
    }

    /// Adds the residency of another family.
    pub fn add(&mut self, other: &Self) {
        if self.points.is_empty() {
            *self = other.clone();
            return;
        }
        for (own, more) in self.points.iter_mut().zip(&other.points) {
            own.ns += more.ns;
            own.uj = own.uj.zip(more.uj).map(|(own, more)| own + more);
        }
        self.too_small_ns = self.too_small_ns.zip(other.too_small_ns).map(|(own, more)| own + more);
        self.too_large_ns = self.too_large_ns.zip(other.too_large_ns).map(|(own, more)| own + more);
        self.energy_uj = self.energy_uj.zip(other.energy_uj).map(|(own, more)| own + more);
    }
}

/// Nanoseconds of a family: at each kind of CPU and operating point, on CPUs too small, on CPUs too large.
type Sums = (BTreeMap<(usize, CpuFrequency), u64>, u64, u64);

/// Returns each family's residency since the tasks had `before`; empty if the machine does not record it.
pub(crate) fn of_families(machine: &Machine<impl Engine>, before: &[Residency]) -> BTreeMap<String, FamilyResidency> {
    let domains = &machine.hardware().frequency_domains;
    let kinds = machine.cpu_kinds();
    if domains.is_empty() && kinds.iter().all(|kind| kind.capacity == kinds[0].capacity) {
        return BTreeMap::new();
    }
    let nothing = Residency::default();
    let mut families: BTreeMap<String, Sums> = BTreeMap::new();
    for (place, task) in machine.tasks().iter().enumerate().filter(|(_, task)| task.id.is_some()) {
        let before = before.get(place).unwrap_or(&nothing);
        let (spent, too_small, too_large) =
            families.entry(machine.workload().tasks[task.spec].family.clone()).or_default();
        let residency = machine.residency(place, machine.now());
        for &OperatingPointTime { kind, freq, time } in &residency.times {
            *spent.entry((kind, freq)).or_default() += time.0;
        }
        for &OperatingPointTime { kind, freq, time } in &before.times {
            *spent.entry((kind, freq)).or_default() -= time.0;
        }
        *too_small += (residency.too_small - before.too_small).0;
        *too_large += (residency.too_large - before.too_large).0;
    }
    let used: BTreeSet<(usize, CpuFrequency)> = families.values().flat_map(|sums| sums.0.keys().copied()).collect();
    let tells_fit = machine.sched().as_sched().is_some();
    let row = |(spent, too_small_ns, too_large_ns): Sums| {
        let [too_small_ns, too_large_ns] = [too_small_ns, too_large_ns].map(|time| tells_fit.then_some(time));
        let points = all_points(kinds, domains, &used, &spent);
        let is_known = |point: &&ResidencyPoint| point.ns > 0;
        let energy_uj = points.iter().filter(is_known).map(|point| point.uj).sum();
        FamilyResidency { points, too_small_ns, too_large_ns, energy_uj }
    };
    families.into_iter().map(|(name, sums)| (name, row(sums))).collect()
}

/// Returns all operating points, also those without time, so that families can be added. CPUs without a
/// frequency domain have the points that some family `used`.
fn all_points(
    kinds: &[CpuKind],
    domains: &[FrequencyDomain],
    used: &BTreeSet<(usize, CpuFrequency)>,
    spent: &BTreeMap<(usize, CpuFrequency), u64>,
) -> Vec<ResidencyPoint> {
    let mut points = Vec::new();
    for (place, kind) in kinds.iter().enumerate() {
        let point = |freq: CpuFrequency, power: Option<u64>| {
            let ns = spent.get(&(place, freq)).copied().unwrap_or(0);
            ResidencyPoint {
                cpus: kind.cpus.iter().map(|cpu| cpu.0).collect(),
                capacity: kind.capacity,
                khz: freq.khz(),
                part: freq.part(),
                ns,
                uj: power.map(|power| energy_uj(power, ns)),
            }
        };
        if let Some(domain) = kind.domain.map(|domain| &domains[domain]) {
            let powers = domain.power_uw().iter().copied().map(Some).chain(std::iter::repeat(None));
            let frequency = |&khz| CpuFrequency::new(domain.capacity_at(khz), Some(khz));
            points.extend(domain.khz().iter().map(frequency).zip(powers).map(|(freq, power)| point(freq, power)));
        } else {
            points.extend(used.iter().filter(|(kind, _)| *kind == place).map(|&(_, freq)| point(freq, None)));
        }
    }
    points
}
