// SPDX-License-Identifier: GPL-2.0-or-later
//! Where task families ran: on which kind of CPU and at which operating point, what energy that took, and whether CPUs were too small for
//! them or larger than needed.
//!
//! Only machines with frequency domains or several capacities keep account ([`fairlab_machine::engine::Residency`]). Energy is the power of a
//! busy CPU at its operating point over the time that the family had it; what CPUs draw while they idle belongs to nobody.

use crate::energy::energy_uj;
use fairlab_machine::engine::Engine;
use fairlab_machine::hardware::FrequencyDomain;
use fairlab_machine::sim::{CpuKind, Machine, Residency, StateTime};
use fairlab_sched::units::Capacity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Time of a family at an operating point of a kind of CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ResidencyPoint {
    /// The CPUs of the kind: one capacity, one frequency domain.
    pub cpus: Vec<u32>,
    /// Their capacity at their highest frequency, of 1024.
    pub capacity: Capacity,
    /// The frequency, if the machine says what it is.
    pub khz: Option<u64>,
    /// Time.
    pub ns: u64,
    /// Energy in microjoules, if the power is known.
    pub uj: Option<u64>,
}

/// Where a family ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FamilyResidency {
    /// By kind of CPU in the order of their first CPUs, and by frequency, ascending.
    pub points: Vec<ResidencyPoint>,
    /// Time on CPUs on which the scheduler takes the tasks not to fit, while there are larger ones; none if the engine does not tell.
    pub too_small_ns: Option<u64>,
    /// Time on CPUs although smaller ones that the tasks may use would have done; likewise.
    pub too_large_ns: Option<u64>,
    /// Energy in microjoules; none if a power is unknown.
    pub energy_uj: Option<u64>,
}

impl FamilyResidency {
    /// Time on the CPUs of a kind.
    pub fn on(&self, cpus: &[u32]) -> u64 {
        self.points.iter().filter(|point| point.cpus == cpus).map(|point| point.ns).sum()
    }

    /// Both as one.
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

/// Of a family: its time at each kind of CPU and operating point, and on CPUs too small and too large, in ns.
type Sums = (BTreeMap<(usize, Capacity), u64>, u64, u64);

/// Where each family ran since the machine's tasks had `before`; none if the machine keeps no account.
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
        for &StateTime { kind, part, time } in &task.residency.spent {
            *spent.entry((kind, part)).or_default() += time.0;
        }
        for &StateTime { kind, part, time } in &before.spent {
            *spent.entry((kind, part)).or_default() -= time.0;
        }
        *too_small += (task.residency.too_small - before.too_small).0;
        *too_large += (task.residency.too_large - before.too_large).0;
    }
    let tells_fit = machine.sched().as_sched().is_some();
    let told = |(spent, too_small_ns, too_large_ns): Sums| {
        let [too_small_ns, too_large_ns] = [too_small_ns, too_large_ns].map(|time| tells_fit.then_some(time));
        let points = all_points(kinds, domains, &spent);
        let is_known = |point: &&ResidencyPoint| point.ns > 0;
        let energy_uj = points.iter().filter(is_known).map(|point| point.uj).sum();
        FamilyResidency { points, too_small_ns, too_large_ns, energy_uj }
    };
    families.into_iter().map(|(name, sums)| (name, told(sums))).collect()
}

/// All operating points, also those at which nothing ran, so that families can be added.
fn all_points(
    kinds: &[CpuKind],
    domains: &[FrequencyDomain],
    spent: &BTreeMap<(usize, Capacity), u64>,
) -> Vec<ResidencyPoint> {
    let mut points = Vec::new();
    for (place, kind) in kinds.iter().enumerate() {
        let time_at = |part| spent.get(&(place, part)).copied().unwrap_or(0);
        let point = |khz, ns, power: Option<u64>| ResidencyPoint {
            cpus: kind.cpus.iter().map(|cpu| cpu.0).collect(),
            capacity: kind.capacity,
            khz,
            ns,
            uj: power.map(|power| energy_uj(power, ns)),
        };
        let Some(domain) = kind.domain.map(|domain| &domains[domain]) else {
            let of_kind = spent.iter().filter(|&(&(kind, _), _)| kind == place);
            points.push(point(None, of_kind.map(|(_, ns)| ns).sum(), None));
            continue;
        };
        for (index, &khz) in domain.khz().iter().enumerate() {
            let power = domain.power_uw().get(index).copied();
            points.push(point(Some(khz), time_at(domain.capacity_at(khz)), power));
        }
    }
    points
}
