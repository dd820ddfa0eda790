// SPDX-License-Identifier: GPL-2.0-or-later
//! Energy of a run: power of busy CPUs by operating point, and of idle CPUs by idle state, multiplied by
//! time.
//!
//! The power values come from the machine's file. A busy CPU draws the power of its operating point, which is
//! the energy model that the scheduler itself uses. An idle CPU draws the power of its idle state. If states
//! have no power value, or there are none, idle energy is unknown, not zero. Power of shared parts (buses,
//! memory, cluster leakage) is not modelled.

use crate::cpus::CpuSummary;
use fairlab_machine::hardware::{FrequencyDomain, Hardware};
use serde::{Deserialize, Serialize};

/// Energy of a run, in microjoules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EnergySummary {
    /// Energy of busy CPUs in frequency domains with power values.
    pub busy_uj: u64,
    /// Energy of idle CPUs; null if time was spent in an idle state of unknown power.
    pub idle_uj: Option<u64>,
    /// CPUs of unknown power, whose energy is in no sum.
    pub unknown_cpus: Vec<u32>,
    /// Frequency domains with power values.
    pub domains: Vec<EnergyDomain>,
}

/// Energy of one performance domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EnergyDomain {
    /// CPUs of the domain.
    pub cpus: Vec<u32>,
    /// Energy of the domain's busy CPUs, in microjoules.
    pub busy_uj: u64,
    /// Energy of the domain's idle CPUs in microjoules, if known.
    pub idle_uj: Option<u64>,
    /// Operating points, in ascending order.
    pub opps: Vec<EnergyOpp>,
    /// Idle states, shallowest first.
    pub idle_states: Vec<EnergyIdle>,
}

/// Energy at one operating point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EnergyOpp {
    /// Frequency of the point, in kHz.
    pub khz: u64,
    /// Power of a busy CPU, in microwatts.
    pub power_uw: u64,
    /// Sum of the busy time of the domain's CPUs at this point, in nanoseconds.
    pub busy_ns: u64,
    /// Sum of the idle time of the domain's CPUs while the domain was at this point, in nanoseconds.
    pub idle_ns: u64,
    /// Energy of busy CPUs at this point, in microjoules.
    pub busy_uj: u64,
}

/// Energy in one idle state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EnergyIdle {
    /// Name of the idle state.
    pub state: String,
    /// Power of a CPU in this state in microwatts, if the machine's file has it.
    pub power_uw: Option<u64>,
    /// Sum of the time of the domain's CPUs in this state, in nanoseconds.
    pub ns: u64,
    /// Energy in this state in microjoules, if the power is known.
    pub uj: Option<u64>,
}

/// Returns the energy in microjoules of a power in microwatts over a time in nanoseconds, rounded down.
pub(crate) fn energy_uj(power_uw: u64, ns: u64) -> u64 {
    let uj = u128::from(power_uw) * u128::from(ns) / 1_000_000_000;
    u64::try_from(uj).unwrap_or(u64::MAX)
}

impl EnergySummary {
    /// Computes the energy from the CPUs' times. Returns `None` if the machine has no power values.
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
        // Interrupts that the idle task handles are in neither sum: their time is short, and has no frequency
        // of its own.
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

fn idle_states(hardware: &Hardware, cpus: &[&CpuSummary]) -> Vec<EnergyIdle> {
    let mut sums: Vec<EnergyIdle> = Vec::new();
    for cpu in cpus {
        // CPUs of a domain may have different states, so that the same position is another state.
        for (state, time) in hardware.idle_states[cpu.cpu as usize].iter().zip(&cpu.idle_states) {
            let is_same = |sum: &&mut EnergyIdle| sum.state == state.name && sum.power_uw == state.power_uw;
            match sums.iter_mut().find(is_same) {
                Some(sum) => sum.ns += time.ns,
                None => {
                    sums.push(EnergyIdle {
                        state: state.name.clone(),
                        power_uw: state.power_uw,
                        ns: time.ns,
                        uj: None,
                    });
                }
            }
        }
    }
    let with_energy = |state: EnergyIdle| EnergyIdle {
        // A state without time has no energy, whatever its power.
        uj: if state.ns == 0 { Some(0) } else { state.power_uw.map(|power| energy_uj(power, state.ns)) },
        ..state
    };
    sums.into_iter().map(with_energy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpus::{FrequencyTime, IdleTime};

    /// Machine of two CPUs in one frequency domain with power values; `idle_power` may add the power of its
    /// idle state.
    fn machine(idle_power: &str) -> Hardware {
        let text = format!(
            "name = \"tiny\"\n[cpus]\ncount = 2\n[[frequency_domain]]\ncpus = \"0-1\"\nkhz = [500_000, 1_000_000]\n\
             power_uw = [100_000, 400_000]\n[[idle_state]]\nname = \"WFI\"\nexit_latency_ns = 1\n\
             target_residency_ns = 1\n{idle_power}\n"
        );
        let description = fairlab_board::parse("tiny.toml", &text).expect("the description is valid");
        Hardware::from_description(&description)
    }

    /// Times of a second. CPU 0 is busy for 300 of 400 ms at the lower frequency, and for 200 of 600 ms at
    /// the higher; CPU 1 is idle.
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
