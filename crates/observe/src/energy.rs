// SPDX-License-Identifier: GPL-2.0-or-later
//! Energy of a run: what CPUs draw while they are busy, by operating point, and while they idle, by idle state.
//!
//! Both follow from times and from the powers of the machine's file. A busy CPU draws the power of its operating point, which
//! is the energy model that the scheduler itself goes by. An idle CPU draws what its idle state says; where states have no power,
//! or there are none, idle energy is unknown, not zero. What is shared (buses, memory, leakage of a cluster) is not modelled.

use crate::cpus::CpuSummary;
use fairlab_machine::hardware::{FrequencyDomain, Hardware};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Energy of a run. All energies are in microjoules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EnergySummary {
    /// Of busy CPUs in domains with powers.
    pub busy_uj: u64,
    /// Of idle CPUs; none if the power of an idle state in which time was spent is unknown.
    pub idle_uj: Option<u64>,
    /// CPUs whose power is unknown: their energy is in no sum.
    pub unknown_cpus: Vec<u32>,
    /// Domains with powers.
    pub domains: Vec<EnergyDomain>,
}

/// Energy of a performance domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EnergyDomain {
    /// Its CPUs.
    pub cpus: Vec<u32>,
    /// Of its busy CPUs.
    pub busy_uj: u64,
    /// Of its idle CPUs, if known.
    pub idle_uj: Option<u64>,
    /// Its operating points, ascending.
    pub opps: Vec<EnergyOpp>,
    /// Its idle states, shallowest first.
    pub idle_states: Vec<EnergyIdle>,
}

/// Energy at an operating point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EnergyOpp {
    /// Its frequency.
    pub khz: u64,
    /// What a busy CPU draws, in microwatts.
    pub power_uw: u64,
    /// Busy time of the domain's CPUs, added up.
    pub busy_ns: u64,
    /// Idle time of the domain's CPUs while the domain stood at it.
    pub idle_ns: u64,
    /// Of busy CPUs.
    pub busy_uj: u64,
}

/// Energy in an idle state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EnergyIdle {
    /// Its name.
    pub state: String,
    /// What a CPU draws in it, in microwatts, if the machine's file says so.
    pub power_uw: Option<u64>,
    /// Time of the domain's CPUs, added up.
    pub ns: u64,
    /// Energy, if the power is known.
    pub uj: Option<u64>,
}

/// Microjoules of a power over a time, rounded down.
pub(crate) fn energy_uj(power_uw: u64, ns: u64) -> u64 {
    let uj = u128::from(power_uw) * u128::from(ns) / 1_000_000_000;
    u64::try_from(uj).unwrap_or(u64::MAX)
}

impl EnergySummary {
    /// Energy from times. `None` if the machine says of no CPU what it draws.
    pub fn new(hardware: &Hardware, cpus: &[CpuSummary]) -> Option<Self> {
        let powered = || hardware.frequency_domains.iter().filter(|domain| !domain.power_uw().is_empty());
        let domains: Vec<EnergyDomain> = powered().map(|domain| EnergyDomain::new(hardware, domain, cpus)).collect();
        if domains.is_empty() {
            return None;
        }
        let is_unknown = |cpu: &&CpuSummary| !domains.iter().any(|domain| domain.cpus.contains(&cpu.cpu));
        Some(Self {
            busy_uj: domains.iter().map(|domain| domain.busy_uj).sum(),
            idle_uj: domains.iter().map(|domain| domain.idle_uj).sum(),
            unknown_cpus: cpus.iter().filter(is_unknown).map(|cpu| cpu.cpu).collect(),
            domains,
        })
    }
}

impl EnergyDomain {
    fn new(hardware: &Hardware, domain: &FrequencyDomain, cpus: &[CpuSummary]) -> Self {
        let own: Vec<&CpuSummary> = cpus.iter().filter(|cpu| domain.cpus().any(|own| own.0 == cpu.cpu)).collect();
        let opp = |(&khz, &power_uw): (&u64, &u64)| {
            let at = || own.iter().flat_map(|cpu| &cpu.frequencies).filter(|time| time.khz == Some(khz));
            let idle_ns = at().map(|time| time.idle_ns).sum();
            let busy_ns = at().map(|time| time.ns).sum::<u64>() - idle_ns;
            EnergyOpp { khz, power_uw, busy_ns, idle_ns, busy_uj: energy_uj(power_uw, busy_ns) }
        };
        let opps: Vec<EnergyOpp> = domain.khz().iter().zip(domain.power_uw()).map(opp).collect();
        let idle_states = idle_states(hardware, &own);
        let in_states: u64 = idle_states.iter().map(|state| state.ns).sum();
        // What the idle task spends in interrupts is energy of neither kind: that time is short, and has no frequency of its own.
        let idle: u64 = own.iter().map(|cpu| cpu.idle_ns - cpu.kernel_in_idle_ns).sum();
        let is_known = in_states == idle;
        Self {
            cpus: own.iter().map(|cpu| cpu.cpu).collect(),
            busy_uj: opps.iter().map(|opp| opp.busy_uj).sum(),
            idle_uj: idle_states.iter().map(|state| state.uj).sum::<Option<u64>>().filter(|_| is_known),
            opps,
            idle_states,
        }
    }
}

/// Time and energy in the idle states of CPUs.
fn idle_states(hardware: &Hardware, cpus: &[&CpuSummary]) -> Vec<EnergyIdle> {
    let mut by_name: BTreeMap<usize, EnergyIdle> = BTreeMap::new();
    for cpu in cpus {
        let states = hardware.idle_states[cpu.cpu as usize].iter().zip(&cpu.idle_states);
        for (place, (state, time)) in states.enumerate() {
            let sum = by_name.entry(place).or_insert_with(|| EnergyIdle {
                state: state.name.clone(),
                power_uw: state.power_uw,
                ns: 0,
                uj: None,
            });
            sum.ns += time.ns;
        }
    }
    let with_energy = |state: EnergyIdle| EnergyIdle {
        // No time in a state is no energy, whatever its power.
        uj: if state.ns == 0 { Some(0) } else { state.power_uw.map(|power| energy_uj(power, state.ns)) },
        ..state
    };
    by_name.into_values().map(with_energy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpus::{FrequencyTime, IdleTime};
    use fairlab_machine::description;

    /// A machine of two CPUs at one frequency domain with powers, and perhaps with the power of its idle state.
    fn machine(idle_power: &str) -> Hardware {
        let text = format!(
            "name = \"tiny\"\n[cpus]\ncount = 2\n[[frequency_domain]]\ncpus = \"0-1\"\nkhz = [500_000, 1_000_000]\n\
             power_uw = [100_000, 400_000]\n[[idle_state]]\nname = \"WFI\"\nexit_latency_ns = 1\n\
             target_residency_ns = 1\n{idle_power}\n"
        );
        let description = description::parse("tiny.toml", &text).expect("the description is valid");
        Hardware::from_description(&description)
    }

    /// A second: at the lower frequency CPU 0 is busy for 300 of 400 ms, at the higher for 200 of 600 ms; CPU 1 idles.
    fn cpus() -> Vec<CpuSummary> {
        let cpu = |cpu, times: [(u64, u64, u64); 2], idle_ns| CpuSummary {
            cpu,
            busy_ns: 1_000_000_000 - idle_ns,
            idle_ns,
            frequencies: times.map(|(khz, ns, idle_ns)| FrequencyTime { khz: Some(khz), part: 0, ns, idle_ns }).into(),
            idle_states: vec![IdleTime { state: "WFI".to_owned(), entries: 1, ns: idle_ns }],
            ..CpuSummary::default()
        };
        vec![
            cpu(0, [(500_000, 400_000_000, 100_000_000), (1_000_000, 600_000_000, 400_000_000)], 500_000_000),
            cpu(1, [(500_000, 400_000_000, 400_000_000), (1_000_000, 600_000_000, 600_000_000)], 1_000_000_000),
        ]
    }

    #[test]
    fn energy_is_power_times_time_by_operating_point_and_idle_state() {
        let energy = EnergySummary::new(&machine("power_uw = 10_000"), &cpus()).expect("powers are known");
        let [domain] = energy.domains.as_slice() else { panic!("there is one domain") };
        let opps: Vec<_> = domain.opps.iter().map(|opp| (opp.busy_ns, opp.idle_ns, opp.busy_uj)).collect();
        // 100 mW for 300 ms, 400 mW for 200 ms.
        assert_eq!(opps, [(300_000_000, 500_000_000, 30_000), (200_000_000, 1_000_000_000, 80_000)]);
        // 10 mW for 1.5 s.
        assert_eq!((energy.busy_uj, energy.idle_uj), (110_000, Some(15_000)));
        assert_eq!(energy.unknown_cpus, [0_u32; 0]);
    }

    #[test]
    fn idle_energy_is_unknown_without_the_power_of_idle_states() {
        let energy = EnergySummary::new(&machine(""), &cpus()).expect("powers are known");
        assert_eq!((energy.busy_uj, energy.idle_uj), (110_000, None));
    }
}
