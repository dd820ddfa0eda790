// SPDX-License-Identifier: GPL-2.0-or-later
//! Limits of frequencies: what the user allows, and what heat leaves.
//!
//! Models `policy->max` with its requests of user and cooling device (6.1).

use crate::state::cpufreq::CpufreqPolicy;

/// Who limits a frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrequencyLimit {
    /// The user: `scaling_max_freq`.
    User,
    /// A cooling device.
    Thermal,
}

/// Highest frequencies of a domain, in kHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrequencyLimits {
    pub(crate) user_khz: u64,
    pub(crate) thermal_khz: u64,
}

impl FrequencyLimits {
    /// Anything up to the highest.
    pub(crate) const fn none(highest_khz: u64) -> Self {
        Self { user_khz: highest_khz, thermal_khz: highest_khz }
    }

    fn max_khz(self) -> u64 {
        self.user_khz.min(self.thermal_khz)
    }
}

impl CpufreqPolicy {
    /// The frequency that is switched to if one is asked for: the lowest in use that is not below it, within the limits.
    /// With `all`, inefficient ones are in use too.
    pub(crate) fn resolve(&self, khz: u64, all: bool) -> u64 {
        let max = self.limits.max_khz();
        let khz = khz.min(max);
        let found = self.domain.resolve_among(khz, all);
        if found <= max { found } else { self.domain.resolve_among(khz, true) }
    }
}
