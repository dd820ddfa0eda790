// SPDX-License-Identifier: GPL-2.0-or-later
//! Frequency domains: CPUs whose frequency changes together, and the frequencies that they may have.

use crate::state::cpufreq::energy_model::perf_table;
use crate::types::ids::CpuId;
use crate::types::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE};
use alloc::vec::Vec;
use core::fmt;

/// What the governor schedutil is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedutilConfig {
    /// Least time between two changes of frequency: the kernel's `rate_limit_us`.
    pub rate_limit: Nanos,
    /// Whether a CPU that is alone in its domain and has not idled since the last look keeps its frequency when it asks for
    /// less. Only with the tick's count of idle calls (NO_HZ); without it (false) a CPU always counts as having idled.
    pub holds_when_busy: bool,
}

/// Who sets the frequency of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Governor {
    /// Nobody: it stays at this one.
    Fixed {
        /// Frequency in kHz.
        khz: u64,
    },
    /// The scheduler, by utilisation.
    Schedutil(SchedutilConfig),
}

/// A frequency domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrequencyDomain {
    /// Ascending.
    cpus: Vec<CpuId>,
    /// In kHz, ascending.
    khz: Vec<u64>,
    /// In microwatts, one for each frequency; or empty.
    power_uw: Vec<u64>,
    governor: Governor,
    /// The governor's thread asks the driver, which may sleep; otherwise whoever runs the scheduler asks it.
    switches_by_thread: bool,
    /// Which frequencies are never used, although lower than the highest: those that cost no less than a higher one. Empty
    /// if all are used.
    skipped: Vec<bool>,
}

/// Why there can be no such frequency domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrequencyDomainError {
    /// It has no CPU.
    NoCpu,
    /// This CPU does not exist.
    NoSuchCpu(CpuId),
    /// This CPU is in two domains, or twice in one.
    CpuInTwo(CpuId),
    /// It has no frequency.
    NoFrequency,
    /// A frequency is 0, or not above the one before it.
    NotAscending {
        /// Which, in kHz.
        khz: u64,
    },
    /// The lowest frequency is less than 1/1024 of the highest: in the kernel's arithmetic the CPU would stand still.
    TooLow {
        /// Which, in kHz.
        khz: u64,
    },
    /// There are powers, but not one above 0 for each frequency.
    Powers,
    /// It is to stay at a frequency that it does not have.
    NotAvailable {
        /// Which, in kHz.
        khz: u64,
    },
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
            Self::NotAvailable { khz } => {
                write!(f, "the frequency is fixed at {khz} kHz, which the domain does not have")
            }
        }
    }
}

impl core::error::Error for FrequencyDomainError {}

impl FrequencyDomain {
    /// A frequency domain. `khz` ascends; `power_uw` is the power of a busy CPU at each frequency in microwatts, or empty
    /// if unknown.
    ///
    /// # Errors
    /// If it has no CPUs or a CPU twice, if the frequencies do not ascend or lie too far apart, if powers are missing, or if the governor's
    /// frequency is not among the frequencies.
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

    /// The same domain, but frequencies that cost no less than a higher one are never used: what cpufreq does with drivers
    /// that have a table of frequencies (`CPUFREQ_RELATION_E`). Without powers nothing is known of costs.
    #[must_use]
    pub fn skipping_inefficient(mut self) -> Self {
        self.skipped = perf_table(&self.khz, &self.power_uw).iter().map(|state| state.is_inefficient).collect();
        self
    }

    /// The same domain with a driver that may sleep, so that schedutil has a thread for it: no `fast_switch_enabled`.
    #[must_use]
    pub fn switching_by_thread(mut self) -> Self {
        self.switches_by_thread = true;
        self
    }

    /// Whether schedutil's thread asks the driver: it drives the domain, and the driver may sleep.
    pub fn has_governor_thread(&self) -> bool {
        self.switches_by_thread && matches!(self.governor, Governor::Schedutil(_))
    }

    /// Whether inefficient frequencies are never used.
    pub fn skips_inefficient(&self) -> bool {
        !self.skipped.is_empty()
    }

    /// Has schedutil drive it, or somebody else.
    pub fn drive(&mut self, governor: Governor) {
        self.governor = governor;
    }

    /// Lets it stay at its highest frequency, as the governor `performance` does.
    pub fn stay_at_highest(&mut self) {
        self.governor = Governor::Fixed { khz: self.highest_khz() };
    }

    /// Lets it stay at one of its frequencies, the lowest of which has the place 0; beyond the last one, at the highest.
    pub fn stay_at(&mut self, place: usize) {
        let khz = self.khz.get(place).copied().unwrap_or_else(|| self.highest_khz());
        self.governor = Governor::Fixed { khz };
    }

    /// Its CPUs, ascending.
    pub fn cpus(&self) -> impl Iterator<Item = CpuId> + Clone {
        self.cpus.iter().copied()
    }

    /// One of its CPUs, by its place among them.
    pub(crate) fn cpu_at(&self, place: usize) -> CpuId {
        self.cpus[place]
    }

    /// Number of its CPUs.
    pub fn nr_cpus(&self) -> usize {
        self.cpus.len()
    }

    /// Whether a CPU is in it.
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.cpus.binary_search(&cpu).is_ok()
    }

    /// Its frequencies in kHz, ascending.
    pub fn khz(&self) -> &[u64] {
        &self.khz
    }

    /// Power of a busy CPU at each frequency, in microwatts; empty if unknown.
    pub fn power_uw(&self) -> &[u64] {
        &self.power_uw
    }

    /// Who sets its frequency.
    pub fn governor(&self) -> Governor {
        self.governor
    }

    /// Its highest frequency, in kHz.
    pub fn highest_khz(&self) -> u64 {
        *self.khz.last().expect("a frequency domain has frequencies")
    }

    /// The lowest frequency in use that is not below `khz`, or the highest: `cpufreq_driver_resolve_freq()`.
    pub fn resolve(&self, khz: u64) -> u64 {
        self.resolve_among(khz, false)
    }

    /// The same; with `all`, also those that otherwise are never used.
    pub(crate) fn resolve_among(&self, khz: u64, all: bool) -> u64 {
        let enough = self.khz.partition_point(|&own| own < khz);
        let is_used = |place: &usize| all || !self.skipped.get(*place).is_some_and(|&skipped| skipped);
        (enough..self.khz.len()).find(is_used).map_or_else(|| self.highest_khz(), |place| self.khz[place])
    }

    /// A frequency as a part of 1024 of the highest, rounded down: `arch_scale_freq_capacity()`.
    pub fn capacity_at(&self, khz: u64) -> Capacity {
        khz * SCHED_CAPACITY_SCALE / self.highest_khz()
    }
}
