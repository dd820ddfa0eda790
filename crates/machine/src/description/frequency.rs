// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[frequency_domain]]`: CPUs that change frequency together, their operating points and what drives them.
//!
//! A CPU without a domain always runs at full speed.

use super::cpu_list::CpuList;
use super::cpu_types::{CpuClaims, CpuType, cpu_list};
use super::error::DescriptionFault;
use super::raw::{List, RawFrequencyDomain, RawGovernor};
use super::read::{MAX_SPAN_NS, number, optional};
use fairlab_sched::units::{CAPACITY_SHIFT, Capacity, Nanos};
use toml::Spanned;

/// 100 GHz.
pub(super) const MAX_KHZ: u64 = 100_000_000;
/// A kilowatt.
pub(super) const MAX_POWER_UW: u64 = 1_000_000_000;

/// What chooses the frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Governor {
    /// The highest, always.
    Performance,
    /// The lowest, always.
    Powersave,
    /// The scheduler's own governor: from utilisation.
    Schedutil,
    /// One of the operating points, always.
    Fixed {
        /// Its frequency.
        khz: u64,
    },
}

/// CPUs that share a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrequencyDomain {
    pub(super) cpus: CpuList,
    pub(super) khz: Vec<u64>,
    pub(super) power_uw: Option<Vec<u64>>,
    pub(super) governor: Governor,
    pub(super) rate_limit_us: Option<u64>,
    pub(super) transition_latency: Nanos,
    pub(super) fast_switch: bool,
}

impl FrequencyDomain {
    /// Its CPUs, which have one capacity and no other domain.
    pub const fn cpus(&self) -> &CpuList {
        &self.cpus
    }

    /// The frequencies of its operating points in kHz, strictly ascending; at least one.
    pub fn khz(&self) -> &[u64] {
        &self.khz
    }

    /// The highest frequency, at which a CPU has its full capacity.
    pub fn max_khz(&self) -> u64 {
        self.khz[self.khz.len() - 1]
    }

    /// What one fully busy CPU draws at each operating point, in microwatts; all above 0.
    pub fn power_uw(&self) -> Option<&[u64]> {
        self.power_uw.as_deref()
    }

    /// What chooses the frequency.
    pub const fn governor(&self) -> Governor {
        self.governor
    }

    /// The least time between two of schedutil's changes, in microseconds. Where the file has none, a thousand times
    /// the transition latency in whole microseconds but at most 10 ms, and 1 ms if that latency is below a microsecond:
    /// 6.1's `cpufreq_policy_transition_delay_us()` for a driver that sets no delay.
    pub fn rate_limit_us(&self) -> u64 {
        let latency_us = self.transition_latency.0 / 1_000;
        let default = if latency_us == 0 { 1_000 } else { (latency_us * 1_000).min(10_000) };
        self.rate_limit_us.unwrap_or(default)
    }

    /// From the request of a frequency until the CPUs run at it.
    pub const fn transition_latency(&self) -> Nanos {
        self.transition_latency
    }

    /// Can the scheduler switch the frequency itself, or does a kernel thread do it?
    pub const fn fast_switch(&self) -> bool {
        self.fast_switch
    }

    /// A frequency as a part of the highest, 1024 being the whole: the kernel's `arch_scale_freq_capacity()`.
    pub fn freq_scale(&self, khz: u64) -> Capacity {
        (khz.min(self.max_khz()) << CAPACITY_SHIFT) / self.max_khz()
    }
}

pub(super) fn understand(
    raw: &[Spanned<RawFrequencyDomain>],
    count: u32,
    types: &[CpuType],
) -> Result<Vec<FrequencyDomain>, DescriptionFault> {
    let mut claims = CpuClaims::new(count);
    let mut domains = Vec::with_capacity(raw.len());
    for (index, raw) in raw.iter().map(Spanned::get_ref).enumerate() {
        let cpus = cpu_list(&raw.cpus, count)?;
        claims.take(&cpus, index, "frequency_domain", &raw.cpus)?;
        one_capacity(&cpus, types, &raw.cpus)?;
        let khz = frequencies(&raw.khz)?;
        domains.push(FrequencyDomain {
            power_uw: raw.power_uw.as_ref().map(|powers| powers_of(powers, khz.len())).transpose()?,
            governor: governor(raw, &khz)?,
            rate_limit_us: raw.rate_limit_us.as_ref().map(|limit| number(limit, 0..=10_000_000, "us")).transpose()?,
            transition_latency: Nanos(optional(&raw.transition_latency_ns, 0..=MAX_SPAN_NS, "ns", 0)?),
            fast_switch: raw.fast_switch.unwrap_or(true),
            cpus,
            khz,
        });
    }
    Ok(domains)
}

/// The kernel takes the capacity of a domain's first CPU for that of all.
fn one_capacity(cpus: &CpuList, types: &[CpuType], at: &Spanned<String>) -> Result<(), DescriptionFault> {
    let capacity = |cpu| types.iter().find(|one| one.cpus().contains(cpu)).map(CpuType::capacity);
    let first = cpus.first();
    let Some(other) = cpus.iter().find(|&cpu| capacity(cpu) != capacity(first)) else {
        return Ok(());
    };
    let message = format!("CPUs {} and {} have different capacities", first.0, other.0);
    Err(DescriptionFault::of(at, message, "give each capacity a frequency domain of its own"))
}

fn frequencies(list: &List<u64>) -> Result<Vec<u64>, DescriptionFault> {
    let mut khz: Vec<u64> = Vec::with_capacity(list.get_ref().len());
    for entry in list.get_ref() {
        let next = number(entry, 1..=MAX_KHZ, "kHz")?;
        if khz.last().is_some_and(|&last| last >= next) {
            let message = format!("{next} kHz does not lie above the one before");
            return Err(DescriptionFault::of(
                entry,
                message,
                "list frequencies from the lowest to the highest, each once",
            ));
        }
        khz.push(next);
    }
    let (Some(&lowest), Some(&highest)) = (khz.first(), khz.last()) else {
        return Err(DescriptionFault::of(
            list,
            "a frequency domain without a frequency",
            "list its operating points in kHz",
        ));
    };
    if lowest << CAPACITY_SHIFT < highest {
        let message = format!("{lowest} kHz is less than 1/1024 of {highest} kHz, so that a CPU would stand still");
        let help = format!("leave out what lies below {} kHz", highest.div_ceil(1 << CAPACITY_SHIFT));
        return Err(DescriptionFault::of(&list.get_ref()[0], message, help));
    }
    Ok(khz)
}

fn powers_of(list: &List<u64>, nr_points: usize) -> Result<Vec<u64>, DescriptionFault> {
    if list.get_ref().len() != nr_points {
        let message = format!("{} powers for {nr_points} frequencies", list.get_ref().len());
        return Err(DescriptionFault::of(list, message, "write one power in uW for each entry of `khz`"));
    }
    list.get_ref().iter().map(|entry| number(entry, 1..=MAX_POWER_UW, "uW")).collect()
}

fn governor(raw: &RawFrequencyDomain, khz: &[u64]) -> Result<Governor, DescriptionFault> {
    let kind = raw.governor.as_ref().map_or(RawGovernor::Schedutil, |governor| *governor.get_ref());
    let governor = match (kind, &raw.fixed_khz) {
        (RawGovernor::Fixed, Some(fixed)) => {
            let wanted = *fixed.get_ref();
            if !khz.contains(&wanted) {
                let known = khz.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
                let message = format!("{wanted} kHz is not one of the domain's frequencies");
                return Err(DescriptionFault::of(fixed, message, format!("write one of {known}")));
            }
            return Ok(Governor::Fixed { khz: wanted });
        }
        (RawGovernor::Fixed, None) => {
            let at = raw.governor.as_ref().map_or(0..0, Spanned::span);
            return Err(DescriptionFault::new(at, "the governor `fixed` needs a frequency", "add `fixed_khz = ...`"));
        }
        (RawGovernor::Performance, _) => Governor::Performance,
        (RawGovernor::Powersave, _) => Governor::Powersave,
        (RawGovernor::Schedutil, _) => Governor::Schedutil,
    };
    match &raw.fixed_khz {
        Some(fixed) => {
            let message = "only the governor `fixed` has a fixed frequency";
            Err(DescriptionFault::of(fixed, message, "write `governor = \"fixed\"`, or remove this key"))
        }
        None => Ok(governor),
    }
}
