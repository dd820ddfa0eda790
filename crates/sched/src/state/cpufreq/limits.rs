// SPDX-License-Identifier: GPL-2.0-or-later
//! Frequency limits: the maximum that the user sets, and the cap of a cooling device.
//!
//! Models `policy->max` with the requests of user and cooling device (6.1). Lower limits are left out.

use crate::state::cpufreq::CpufreqPolicy;

/// Source of a frequency limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrequencyLimit {
    /// The user, who sets `scaling_max_freq`.
    User,
    /// A cooling device, because of heat.
    Thermal,
}

/// Highest allowed frequencies of a domain, in kHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrequencyLimits {
    pub(crate) user_khz: u64,
    pub(crate) thermal_khz: u64,
}

impl FrequencyLimits {
    /// No limits: both are the highest frequency of the domain.
    pub(crate) const fn none(highest_khz: u64) -> Self {
        Self { user_khz: highest_khz, thermal_khz: highest_khz }
    }

    pub(crate) fn max_khz(self) -> u64 {
        self.user_khz.min(self.thermal_khz)
    }
}

impl CpufreqPolicy {
    /// Returns the frequency that the driver sets for a request of `khz`: the lowest one in use that is not
    /// below it, within the limits. With `all`, inefficient frequencies are in use too.
    pub(crate) fn resolve(&self, khz: u64, all: bool) -> u64 {
        let max = self.limits.max_khz();
        let khz = khz.min(max);
        let found = self.domain.resolve_among(khz, all);
        if found <= max { found } else { self.domain.resolve_among(khz, true) }
    }
}
