// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[frequency_domain]]`: CPUs that change their frequency together, their operating points and their
//! governor.
//!
//! A CPU without a domain always runs at full speed.

use super::cpu_list::CpuList;
use super::cpu_types::{CpuClaims, CpuType, parse_cpu_list};
use super::error::DescriptionFault;
use super::raw::{List, RawFrequencyDomain, RawGovernor};
use super::values::{MAX_SPAN_NS, number, optional_number};
use fairlab_sched::units::{Capacity, Nanos, SCHED_CAPACITY_SHIFT};
use toml::Spanned;

/// Maximum frequency: 100 GHz.
pub(super) const MAX_KHZ: u64 = 100_000_000;
/// Maximum power: 1 kW.
pub(super) const MAX_POWER_UW: u64 = 1_000_000_000;

/// Policy that chooses the frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrequencyGovernor {
    /// Always the highest frequency.
    Performance,
    /// Always the lowest frequency.
    Powersave,
    /// The scheduler's governor, which follows utilisation.
    Schedutil,
    /// Always one operating point.
    Fixed {
        /// Frequency of the operating point, in kHz.
        khz: u64,
    },
}

/// CPUs that share a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrequencyDomainDescription {
    /// CPUs of the domain. They have one capacity and no other domain.
    pub cpus: CpuList,
    /// Frequencies of the operating points in kHz, strictly ascending; at least one.
    pub khz: Vec<u64>,
    /// Power of one fully busy CPU at each operating point, in microwatts; all above 0.
    pub power_uw: Option<Vec<u64>>,
    /// Governor that chooses the frequency.
    pub governor: FrequencyGovernor,
    pub(super) rate_limit_us: Option<u64>,
    /// Time from a request until the CPUs run at the new frequency.
    pub transition_latency: Nanos,
    /// Whether the scheduler switches the frequency itself; otherwise a kernel thread does.
    pub fast_switch: bool,
}

impl FrequencyDomainDescription {
    /// Highest frequency, at which a CPU has its full capacity.
    pub fn max_khz(&self) -> u64 {
        self.khz[self.khz.len() - 1]
    }

    /// Minimum time between two frequency changes by schedutil, in microseconds. The default is a thousand
    /// times the transition latency in whole microseconds, but at most 10 ms, and 1 ms if the latency is
    /// below 1 us: `cpufreq_policy_transition_delay_us()` (6.1) for a driver that sets no delay.
    pub fn rate_limit_us(&self) -> u64 {
        let latency_us = self.transition_latency.0 / 1_000;
        let default = if latency_us == 0 { 1_000 } else { (latency_us * 1_000).min(10_000) };
        self.rate_limit_us.unwrap_or(default)
    }

    /// Returns a frequency as a fraction of the highest one (1024): `arch_scale_freq_capacity()`.
    pub fn freq_scale(&self, khz: u64) -> Capacity {
        (khz.min(self.max_khz()) << SCHED_CAPACITY_SHIFT) / self.max_khz()
    }
}

pub(super) fn from_raw(
    raw: &[Spanned<RawFrequencyDomain>],
    count: u32,
    types: &[CpuType],
) -> Result<Vec<FrequencyDomainDescription>, DescriptionFault> {
    let mut claims = CpuClaims::new(count);
    let mut domains = Vec::with_capacity(raw.len());
    for (index, raw) in raw.iter().map(Spanned::get_ref).enumerate() {
        let cpus = parse_cpu_list(&raw.cpus, count)?;
        claims.claim(&cpus, index, "frequency_domain", &raw.cpus)?;
        check_one_capacity(&cpus, types, &raw.cpus)?;
        let khz = frequencies(&raw.khz)?;
        domains.push(FrequencyDomainDescription {
            power_uw: raw.power_uw.as_ref().map(|powers| power_values(powers, khz.len())).transpose()?,
            governor: governor(raw, &khz)?,
            rate_limit_us: raw.rate_limit_us.as_ref().map(|limit| number(limit, 0..=10_000_000, "us")).transpose()?,
            transition_latency: Nanos(optional_number(&raw.transition_latency_ns, 0..=MAX_SPAN_NS, "ns", 0)?),
            fast_switch: raw.fast_switch.unwrap_or(true),
            cpus,
            khz,
        });
    }
    Ok(domains)
}

/// Checks that the CPUs of a domain have one capacity, because the kernel uses that of the first CPU for all.
fn check_one_capacity(cpus: &CpuList, types: &[CpuType], at: &Spanned<String>) -> Result<(), DescriptionFault> {
    let capacity = |cpu| types.iter().find(|one| one.cpus.contains(cpu)).map(|one| one.capacity);
    let first = cpus.first();
    let Some(other) = cpus.iter().find(|&cpu| capacity(cpu) != capacity(first)) else {
        return Ok(());
    };
    let message = format!("CPUs {} and {} have different capacities", first.0, other.0);
    Err(DescriptionFault::from_value(at, message, "give each capacity a frequency domain of its own"))
}

fn frequencies(list: &List<u64>) -> Result<Vec<u64>, DescriptionFault> {
    let mut khz: Vec<u64> = Vec::with_capacity(list.get_ref().len());
    for entry in list.get_ref() {
        let next = number(entry, 1..=MAX_KHZ, "kHz")?;
        if khz.last().is_some_and(|&last| last >= next) {
            let message = format!("{next} kHz does not lie above the one before");
            return Err(DescriptionFault::from_value(
                entry,
                message,
                "list frequencies from the lowest to the highest, each once",
            ));
        }
        khz.push(next);
    }
    let (Some(&lowest), Some(&highest)) = (khz.first(), khz.last()) else {
        return Err(DescriptionFault::from_value(
            list,
            "a frequency domain without a frequency",
            "list its operating points in kHz",
        ));
    };
    if lowest << SCHED_CAPACITY_SHIFT < highest {
        let message = format!("{lowest} kHz is less than 1/1024 of {highest} kHz, so a CPU would make no progress");
        let help = format!("leave out frequencies below {} kHz", highest.div_ceil(1 << SCHED_CAPACITY_SHIFT));
        return Err(DescriptionFault::from_value(&list.get_ref()[0], message, help));
    }
    Ok(khz)
}

fn power_values(list: &List<u64>, nr_points: usize) -> Result<Vec<u64>, DescriptionFault> {
    if list.get_ref().len() != nr_points {
        let message = format!("{} powers for {nr_points} frequencies", list.get_ref().len());
        return Err(DescriptionFault::from_value(list, message, "write one power in uW for each entry of `khz`"));
    }
    list.get_ref().iter().map(|entry| number(entry, 1..=MAX_POWER_UW, "uW")).collect()
}

fn governor(raw: &RawFrequencyDomain, khz: &[u64]) -> Result<FrequencyGovernor, DescriptionFault> {
    let kind = raw.governor.as_ref().map_or(RawGovernor::Schedutil, |governor| *governor.get_ref());
    let governor = match (kind, &raw.fixed_khz) {
        (RawGovernor::Fixed, Some(fixed)) => {
            let wanted = *fixed.get_ref();
            if !khz.contains(&wanted) {
                let known = khz.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
                let message = format!("{wanted} kHz is not one of the domain's frequencies");
                return Err(DescriptionFault::from_value(fixed, message, format!("write one of {known}")));
            }
            return Ok(FrequencyGovernor::Fixed { khz: wanted });
        }
        (RawGovernor::Fixed, None) => {
            let at = raw.governor.as_ref().map_or(0..0, Spanned::span);
            return Err(DescriptionFault::new(at, "the governor `fixed` needs a frequency", "add `fixed_khz = ...`"));
        }
        (RawGovernor::Performance, _) => FrequencyGovernor::Performance,
        (RawGovernor::Powersave, _) => FrequencyGovernor::Powersave,
        (RawGovernor::Schedutil, _) => FrequencyGovernor::Schedutil,
    };
    match &raw.fixed_khz {
        Some(fixed) => {
            let message = "only the governor `fixed` has a fixed frequency";
            Err(DescriptionFault::from_value(fixed, message, "write `governor = \"fixed\"`, or remove this key"))
        }
        None => Ok(governor),
    }
}
