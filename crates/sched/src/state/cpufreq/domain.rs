// SPDX-License-Identifier: GPL-2.0-or-later
//! Frequency domains: CPUs that change frequency together, and the frequencies available to them.
//!
//! Covers the parts of `struct cpufreq_policy` that a machine description sets: CPUs, frequencies, power
//! values, the governor, and whether the driver may sleep (6.1).

use crate::state::cpufreq::energy_model::perf_table;
use crate::types::ids::CpuId;
use crate::types::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE};
use alloc::vec::Vec;
use core::fmt;

/// Parameters of the governor schedutil.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedutilConfig {
    /// Shortest time between two frequency changes: the kernel's `rate_limit_us`.
    pub rate_limit: Nanos,
    /// Whether schedutil keeps the frequency of a CPU that is alone in its domain and has not idled since the
    /// last check, instead of lowering it (`sugov_cpu_is_busy()`).
    ///
    /// This needs the tick's count of idle calls (NO_HZ). Without it (false) a CPU always counts as having
    /// idled.
    pub holds_when_busy: bool,
}

/// Source of a domain's frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Governor {
    /// No governor: the frequency is constant.
    Fixed {
        /// Constant frequency, in kHz.
        khz: u64,
    },
    /// The scheduler, according to utilisation.
    Schedutil(SchedutilConfig),
}

/// CPUs that share a frequency, with their frequencies and the governor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrequencyDomain {
    /// CPUs in ascending order, without duplicates.
    cpus: Vec<CpuId>,
    /// Available frequencies in kHz, ascending.
    khz: Vec<u64>,
    /// Power of a busy CPU in microwatts, one value for each frequency; or empty.
    power_uw: Vec<u64>,
    governor: Governor,
    /// Whether the driver may sleep, so that the governor's thread calls it. Otherwise the CPU that runs the
    /// scheduler calls it.
    switches_by_thread: bool,
    /// By frequency: whether it is never used because a higher one costs no more. Empty if all frequencies
    /// are used.
    skipped: Vec<bool>,
}

/// Reason why a frequency domain is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub enum FrequencyDomainError {
    /// The domain has no CPU.
    NoCpu,
    /// The machine does not have this CPU.
    NoSuchCpu(CpuId),
    /// The CPU is in two domains, or twice in one.
    CpuInTwo(CpuId),
    /// The domain has no frequency.
    NoFrequency,
    /// A frequency is 0, or not above the one before it.
    NotAscending { khz: u64 },
    /// The lowest frequency is less than 1/1024 of the highest, so that its capacity would be rounded down to
    /// 0.
    TooLow { khz: u64 },
    /// Power values are missing or 0 for some frequency. None at all would be valid.
    Powers,
    /// The fixed frequency is not one of the domain's frequencies.
    NotAvailable { khz: u64 },
    /// 6.12: the capacity at a frequency is less than 1. The energy model of that kernel divides by it.
    NoPerformance { khz: u64, capacity: u64 },
}

impl fmt::Display for FrequencyDomainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCpu => f.write_str("a frequency domain has no CPU"),
            Self::NoSuchCpu(cpu) => write!(f, "a frequency domain has CPU {}, which does not exist", cpu.0),
            Self::CpuInTwo(cpu) => write!(f, "CPU {} is in two frequency domains; a CPU is in one at most", cpu.0),
            Self::NoFrequency => f.write_str("a frequency domain has no frequency"),
            Self::NotAscending { khz } => write!(f, "frequency {khz} kHz is not above the one before it"),
            Self::TooLow { khz } => write!(f, "frequency {khz} kHz is less than 1/1024 of the highest one"),
            Self::Powers => f.write_str("a frequency domain needs a power above 0 for each frequency, or none at all"),
            Self::NoPerformance { khz, capacity } => write!(
                f,
                "a CPU with capacity {capacity} has less than capacity 1 at {khz} kHz, and the energy model of 6.12 \
                 divides by it: raise the capacity, or leave out the power values"
            ),
            Self::NotAvailable { khz } => {
                write!(f, "the frequency is fixed at {khz} kHz, which the domain does not have")
            }
        }
    }
}

impl core::error::Error for FrequencyDomainError {}

impl FrequencyDomain {
    /// Creates a frequency domain.
    ///
    /// `khz` ascends; `power_uw` is the power of a busy CPU at each frequency in microwatts, or empty if
    /// unknown.
    ///
    /// # Errors
    /// If the domain has no CPU or has a CPU twice, if the frequencies do not ascend or lie too far
    ///   apart, if power values are missing, or if the governor's frequency is not among the frequencies.
    pub fn new(
        mut cpus: Vec<CpuId>,
        khz: Vec<u64>,
        power_uw: Vec<u64>,
        governor: Governor,
    ) -> Result<Self, FrequencyDomainError> {
        cpus.sort_unstable();
        if cpus.is_empty() {
            return Err(FrequencyDomainError::NoCpu);
        }
        if let Some(pair) = cpus.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(FrequencyDomainError::CpuInTwo(pair[0]));
        }
        let mut below = 0;
        for &khz in &khz {
            if khz <= below {
                return Err(FrequencyDomainError::NotAscending { khz });
            }
            below = khz;
        }
        let Some(&lowest) = khz.first() else { return Err(FrequencyDomainError::NoFrequency) };
        if lowest.saturating_mul(SCHED_CAPACITY_SCALE) < below {
            return Err(FrequencyDomainError::TooLow { khz: lowest });
        }
        if !power_uw.is_empty() && (power_uw.len() != khz.len() || power_uw.contains(&0)) {
            return Err(FrequencyDomainError::Powers);
        }
        if let Governor::Fixed { khz: fixed } = governor
            && !khz.contains(&fixed)
        {
            return Err(FrequencyDomainError::NotAvailable { khz: fixed });
        }
        Ok(Self { cpus, khz, power_uw, governor, switches_by_thread: false, skipped: Vec::new() })
    }

    /// Excludes frequencies that cost no less than a higher one, as cpufreq does with drivers that have a
    /// frequency table (`CPUFREQ_RELATION_E`). Without power values the costs are unknown, and no frequency
    /// is excluded.
    #[must_use]
    pub fn with_inefficient_skipped(mut self) -> Self {
        self.skipped = perf_table(&self.khz, &self.power_uw).iter().map(|state| state.is_inefficient).collect();
        self
    }

    /// Declares that the driver may sleep, so that schedutil uses a thread (no `fast_switch_enabled`).
    #[must_use]
    pub fn with_governor_thread(mut self) -> Self {
        self.switches_by_thread = true;
        self
    }

    /// Whether schedutil drives the domain through a thread, because the driver may sleep.
    pub fn has_governor_thread(&self) -> bool {
        self.switches_by_thread && matches!(self.governor, Governor::Schedutil(_))
    }

    /// Whether inefficient frequencies are never used.
    pub fn skips_inefficient(&self) -> bool {
        !self.skipped.is_empty()
    }

    /// Sets the governor of the domain.
    pub fn set_governor(&mut self, governor: Governor) {
        self.governor = governor;
    }

    /// Fixes the domain at its highest frequency, as the governor `performance` does.
    pub fn fix_at_highest(&mut self) {
        self.governor = Governor::Fixed { khz: self.highest_khz() };
    }

    /// Fixes the domain at one of its frequencies, by index: 0 is the lowest, an index beyond the last one is
    /// the highest.
    pub fn fix_at_index(&mut self, place: usize) {
        let khz = self.khz.get(place).copied().unwrap_or_else(|| self.highest_khz());
        self.governor = Governor::Fixed { khz };
    }

    /// CPUs of the domain, ascending.
    pub fn cpus(&self) -> impl Iterator<Item = CpuId> + Clone {
        self.cpus.iter().copied()
    }

    /// CPU of the domain with this index.
    pub(crate) fn cpu_at(&self, place: usize) -> CpuId {
        self.cpus[place]
    }

    /// Number of CPUs in the domain.
    pub fn nr_cpus(&self) -> usize {
        self.cpus.len()
    }

    /// Whether a CPU is in the domain.
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.cpus.binary_search(&cpu).is_ok()
    }

    /// Frequencies of the domain in kHz, ascending.
    pub fn khz(&self) -> &[u64] {
        &self.khz
    }

    /// Power of a busy CPU at each frequency, in microwatts; empty if unknown.
    pub fn power_uw(&self) -> &[u64] {
        &self.power_uw
    }

    /// Governor that sets the domain's frequency.
    pub fn governor(&self) -> Governor {
        self.governor
    }

    /// Highest frequency of the domain, in kHz.
    pub fn highest_khz(&self) -> u64 {
        *self.khz.last().expect("a frequency domain has frequencies")
    }

    /// Returns the lowest frequency in use that is not below `khz`, or the highest one:
    /// `cpufreq_driver_resolve_freq()`.
    pub fn resolve(&self, khz: u64) -> u64 {
        self.resolve_among(khz, false)
    }

    /// Returns the lowest frequency that is not below `khz`, or the highest one. With `all`, frequencies that
    /// are never used count as well.
    pub(crate) fn resolve_among(&self, khz: u64, all: bool) -> u64 {
        let enough = self.khz.partition_point(|&own| own < khz);
        let is_used = |place: &usize| all || !self.skipped.get(*place).is_some_and(|&skipped| skipped);
        (enough..self.khz.len()).find(is_used).map_or_else(|| self.highest_khz(), |place| self.khz[place])
    }

    /// Frequency as a share of 1024 of the highest, rounded down: `arch_scale_freq_capacity()`.
    pub fn capacity_at(&self, khz: u64) -> Capacity {
        khz * SCHED_CAPACITY_SCALE / self.highest_khz()
    }
}
